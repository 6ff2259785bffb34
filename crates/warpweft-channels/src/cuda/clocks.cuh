// Where the time of a warp goes, in cycles of its SM: in kernels that are compiled to measure it (WW_TIMED 1). In all others
// it does nothing.
#pragma once

struct ww_clocks {
#if WW_TIMED
    ww::u64 begun, functions, waiting;

    static WW_FN ww::u64 now() { return (ww::u64)clock64(); }
    WW_FN void begin() {
        functions = waiting = 0;
        begun = now();
    }
    // Since `start` the warp ran the user's functions, or had nothing to run.
    WW_FN void ran(ww::u64 start) { functions += now() - start; }
    WW_FN void waited(ww::u64 start) { waiting += now() - start; }
    // All cycles, those in functions and those without work.
    WW_FN void add_to(ww::u64* counts) const {
        atomicAdd(counts, now() - begun);
        atomicAdd(counts + 1, functions);
        atomicAdd(counts + 2, waiting);
    }
#else
    static WW_FN ww::u64 now() { return 0; }
    WW_FN void begin() {}
    WW_FN void ran(ww::u64) {}
    WW_FN void waited(ww::u64) {}
    WW_FN void add_to(ww::u64*) const {}
#endif
};
