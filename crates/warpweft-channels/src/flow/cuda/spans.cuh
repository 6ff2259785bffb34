// Firings of a warp, and its waits between them, for a timeline: in kernels that are compiled to record them (WW_TRACED 1). In all others it does nothing.
//
// Of each warp: a header of two words (records, firings seen; the next one to record), and WW_SPANS records of three words: begin and end
// in nanoseconds, kernel and items; of a wait the number of kernels, and how many firings were put off. Half of the records are the first firings. Of all later ones every second, fourth, .. is recorded, so that
// records never run out: the distance doubles with every four.
#pragma once

struct ww_spans {
#if WW_TRACED
    u64* words;
    u32 count, seen, next;
    u64 waits_since, waits_until;  // in which nothing fired, up to now; 0: the warp does not wait
    u32 yields;                    // firings put off since then

    static WW_FN u64 now() { return ww_nanoseconds(); }
    WW_FN void begin(u64* of_all, u32 warp) {
        words = of_all + (u64)warp * (2 + 3 * WW_SPANS);
        count = (u32)words[0];
        seen = (u32)(words[0] >> 32);
        next = (u32)words[1];
        waits_since = waits_until = 0;
        yields = 0;
    }
    // By one lane: a firing of kernel `kernel` since `start`.
    WW_FN void add(u64 start, u32 kernel, u32 items) { add(start, now(), kernel, items); }
    WW_FN void add(u64 start, u64 end, u32 kernel, u32 items) {
        if (seen++ < next || count == WW_SPANS) return;
        u64* const record = words + 2 + 3 * count++;
        record[0] = start;
        record[1] = end;
        record[2] = (u64)kernel << 32 | items;
        if (count > WW_SPANS / 2) next = seen + (2u << min((count - WW_SPANS / 2) / 4, 28u)) - 1;
    }
    WW_FN void put_off() { ++yields; }
    // Nothing could be fired.
    WW_FN void waits() {
        waits_until = now();
        if (waits_since == 0) waits_since = waits_until;
    }
    // By one lane, when something has been fired again: the wait before as one of kernel `none`, with the firings put off as items.
    WW_FN void ends_wait(u32 none) {
        if (waits_since != 0) add(waits_since, waits_until, none, yields);
        waits_since = 0;
        yields = 0;
    }
    WW_FN void end() const {
        words[0] = (u64)seen << 32 | count;
        words[1] = next;
    }
#else
    static WW_FN u64 now() { return 0; }
    WW_FN void begin(u64*, u32) {}
    WW_FN void add(u64, u32, u32) {}
    WW_FN void put_off() {}
    WW_FN void waits() {}
    WW_FN void ends_wait(u32) {}
    WW_FN void end() const {}
#endif
};
