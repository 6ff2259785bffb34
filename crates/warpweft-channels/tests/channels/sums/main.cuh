// Runs the kernel of sums.cuh on the host's warps, with what the executor would give it.
static ww_arguments host_arguments;
static ww_watchdog host_dog;
using Root = WW_ROOT;
#if WW_UNIFORM
static Root host_root;
#endif
static void host_kernel() {
#if WW_UNIFORM
    channels_sums(host_arguments, host_dog, host_root);
#else
    channels_sums(host_arguments, host_dog);
#endif
    host_lanes[host_now].ended = true;
}

struct Setting { u32 warps, window, every, idle, ramp, age; };

// Whether the values of `roots` are `expect`.
static bool host_check(const std::vector<Root>& roots, const std::vector<Total>& expect, Setting with, u64 seed) {
    host_seed = seed * 0x9e3779b97f4a7c15ull | 1;
    const u32 count = (u32)roots.size(), warps = with.warps;
    std::vector<Total> results(count, neutral<Total>());
    u32 ring_size = 1;
    while (ring_size < 2 * warps) ring_size *= 2;
    const u32 chunks = 4096;
    std::vector<u32> ring(ring_size, 0), inbox(warps * 32 * (RECORD + 1), 0x55555555u), inbox_counts(warps, 0);
    std::vector<u32> stacks(warps * with.window * 32 * RECORD, 0x55555555u), pool(chunks * CHUNK_WORDS, 0x55555555u);
    std::vector<u32> counters(256, 0), words(8, 0);
    std::vector<u64> counts(8, 0);
    counters[LIVE] = warps;
    host_dog = ww_watchdog{words.data(), 1000000};
    host_arguments = ww_arguments{(const unsigned char*)roots.data(), (unsigned char*)results.data(), ring.data(), inbox.data(),
        inbox_counts.data(), stacks.data(), pool.data(), counters.data(), counts.data(), count, sizeof(Root), ring_size,
        with.window, chunks, with.every, with.idle, with.ramp, with.age, warps};
#if WW_UNIFORM
    host_root = roots[0];
#endif
    gridDim.x = 1;
    const bool ended = host_run(warps, host_kernel);
    bool right = ended && words[0] == 0 && counters[STATUS] == DONE;
    for (u32 i = 0; right && i < count; ++i) right = results[i] == expect[i];
    if (!right) {
        printf("seed %llu, %u warps, window %u, every %u, status %u: wrong\n", seed, warps, with.window, with.every, counters[STATUS]);
        for (u32 i = 0; ended && i < count; ++i) printf(" %lld instead of %lld\n", (long long)results[i], (long long)expect[i]);
    }
    host_calls += counts[CALLS];
    host_given += counts[GIVEN];
    host_spilled += counts[SPILLED];
    return right;
}
