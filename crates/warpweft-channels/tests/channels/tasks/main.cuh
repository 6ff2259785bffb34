// Runs the kernel of tasks.cuh on the host's warps, with what the executor would give it.
static ww_arguments host_arguments;
static ww_watchdog host_dog;
using Root = WW_ROOT;
#if WW_UNIFORM
static Root host_root;
#endif
static void host_kernel() {
#if WW_UNIFORM
    channels_tasks(host_arguments, host_dog, host_root);
#else
    channels_tasks(host_arguments, host_dog);
#endif
    host_lanes[host_now].ended = true;
}

struct Setting { u32 warps, window, every, idle, ramp, age, records; };
// Not packed into bits.
struct Value { Root::Output value; };
// Bytes between members may be anything.
template<class T> static bool same(const T& a, const T& b) { return memcmp(&a, &b, sizeof a) == 0; }

// Whether the values of `roots` are `expect`.
static bool host_check(const std::vector<Root>& roots, const std::vector<Value>& expect, Setting with, u64 seed) {
    host_seed = seed * 0x9e3779b97f4a7c15ull | 1;
    const u32 count = (u32)roots.size(), warps = with.warps;
    std::vector<Value> results(count);
    memset((void*)results.data(), 0x77, count * sizeof(results[0]));
#if !WW_JOINS
    for (auto& result : results) result.value = neutral<Total>();
#endif
    const u64 records_each = with.records, all = warps * records_each;
    std::vector<u64> records(all * RECORD_WORDS / 2 + 1, 0x5555555555555555ull);
    std::vector<u32> free_records(all + 1, 0x55555555u), returned(all / 32 + 1, 0);
    u32 ring_size = 1;
    while (ring_size < 2 * warps) ring_size *= 2;
    const u32 chunks = 4096;
    std::vector<u32> ring(ring_size, 0), inbox(warps * 32 * (RECORD + 2), 0x55555555u), inbox_counts(warps, 0);
    std::vector<u32> stacks(warps * with.window * 32 * RECORD, 0x55555555u), pool(chunks * CHUNK_WORDS, 0x55555555u);
    std::vector<u32> counters(256, 0), words(8, 0);
    std::vector<u64> counts(8, 0);
    counters[LIVE] = warps;
    host_dog = ww_watchdog{words.data(), 1000000};
    host_arguments = ww_arguments{(const unsigned char*)roots.data(), (unsigned char*)results.data(), ring.data(), inbox.data(),
        inbox_counts.data(), stacks.data(), pool.data(), (u32*)records.data(), free_records.data(), returned.data(), counters.data(), counts.data(), count, sizeof(Root), ring_size,
        with.window, chunks, with.every, with.idle, with.ramp, with.age, warps, with.records};
#if WW_UNIFORM
    host_root = roots[0];
#endif
    gridDim.x = 1;
#ifdef HOST_BLOCK_WARPS
    const bool ended = host_run(warps * HOST_BLOCK_WARPS, host_kernel);
#else
    const bool ended = host_run(warps, host_kernel);
#endif
    bool right = ended && words[0] == 0 && counters[STATUS] == DONE;
    // Of all cycles, some are in functions and some without work.
    right = right && counts[CYCLES + 1] > 0 && counts[CYCLES] >= counts[CYCLES + 1] + counts[CYCLES + 2];
    for (u32 i = 0; right && i < count; ++i) right = same(results[i].value, expect[i].value);
    if (!right) {
        printf("seed %llu, %u warps, window %u, every %u, status %u: wrong\n", seed, warps, with.window, with.every, counters[STATUS]);
        for (u32 i = 0; ended && i < count; ++i) printf(" %d", (int)same(results[i].value, expect[i].value));
        printf("\n");
    }
    host_calls += counts[CALLS];
    host_given += counts[GIVEN];
    host_spilled += counts[SPILLED];
    return right;
}
