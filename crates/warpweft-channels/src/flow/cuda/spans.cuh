// Firings of a warp for a timeline: in kernels that are compiled to record them (WW_TRACED 1). In all others it does nothing.
//
// Of each warp: a header of two words (records, firings seen; the next one to record), and WW_SPANS records of three words: begin and end
// in nanoseconds, kernel and items. Half of the records are the first firings. Of all later ones every second, fourth, .. is recorded, so that
// records never run out: the distance doubles with every four.
#pragma once

struct ww_spans {
#if WW_TRACED
    u64* words;
    u32 count, seen, next;

    static WW_FN u64 now() { return ww_nanoseconds(); }
    WW_FN void begin(u64* of_all, u32 warp) {
        words = of_all + (u64)warp * (2 + 3 * WW_SPANS);
        count = (u32)words[0];
        seen = (u32)(words[0] >> 32);
        next = (u32)words[1];
    }
    // By one lane: a firing of kernel `kernel` since `start`.
    WW_FN void add(u64 start, u32 kernel, u32 items) {
        if (seen++ < next || count == WW_SPANS) return;
        u64* const record = words + 2 + 3 * count++;
        record[0] = start;
        record[1] = now();
        record[2] = (u64)kernel << 32 | items;
        if (count > WW_SPANS / 2) next = seen + (2u << min((count - WW_SPANS / 2) / 4, 28u)) - 1;
    }
    WW_FN void end() const {
        words[0] = (u64)seen << 32 | count;
        words[1] = next;
    }
#else
    static WW_FN u64 now() { return 0; }
    WW_FN void begin(u64*, u32) {}
    WW_FN void add(u64, u32, u32) {}
    WW_FN void end() const {}
#endif
};
