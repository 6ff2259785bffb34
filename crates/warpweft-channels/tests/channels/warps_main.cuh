// Runs the kernel on the host's warps, with what the executor would give it.
static ww_arguments host_arguments;
static ww_watchdog host_dog;
static void host_kernel() {
    channels_stacks(host_arguments, host_dog);
    host_lanes[host_now].ended = true;
}

struct Setting { u32 warps, levels, children, items, depth, ring, frames, every, idle, slots, channels; };

using Root = WW_ROOT;
// Not packed into bits.
struct Value { Root::Output value; };
// Whether the values of `roots` are `expect`.
static bool host_check(const std::vector<Root>& roots, const std::vector<Value>& expect, Setting with, u64 seed) {
    host_seed = seed * 0x9e3779b97f4a7c15ull | 1;
    const u32 count = (u32)roots.size(), warps = with.warps;
    std::vector<Value> results(count);
    memset((void*)results.data(), 0x77, count * sizeof(results[0]));
    std::vector<u64> frames((u64)warps * with.frames * FRAME / 8, 0x5555555555555555ull);
    std::vector<u64> rings((u64)warps * with.ring * ITEM / 8, 0x5555555555555555ull);
    const u32 stack = 32 * (with.items * ITEM_WORDS + with.depth * FRAME_WORDS);
    std::vector<u32> stacks(warps * stack, 0x55555555u);
    const u32 quota = max(1u, most_spawns() + (any_loops() ? with.children : 0u));
    std::vector<u32> more(warps * 32 * quota * ITEM_WORDS, 0x55555555u);
    std::vector<u64> slots((u64)with.channels * with.slots * (SLOT / 8), 0), counts(7, 0);
    std::vector<u32> free_frames(warps * with.frames), returned(warps, NONE), counters(CHANNELS + 32 * with.channels, 0);
    std::vector<u32> words(8, 0);
    counters[RUNNING] = warps;
    counters[ROOTS_LEFT] = count;
    host_dog = ww_watchdog{words.data(), 1000000};
    host_arguments = ww_arguments{(const unsigned char*)roots.data(), (unsigned char*)results.data(),
        (unsigned char*)frames.data(), free_frames.data(), returned.data(), (unsigned char*)rings.data(),
        stacks.data(), more.data(), (unsigned char*)slots.data(), counters.data(), counts.data(), count, sizeof(Root), with.levels, quota,
        with.frames, with.ring, with.slots, with.every, with.idle, with.items, with.depth, with.channels};
    gridDim.x = 1;
    const bool ended = host_run(warps, host_kernel);
    bool right = ended && words[0] == 0 && counters[STATUS] == DONE;
    for (u32 i = 0; right && i < count; ++i) right = memcmp(&results[i], &expect[i], sizeof(results[i])) == 0;
    if (!right)
        printf("seed %llu, %u warps, stacks %u %u, ring %u, frames %u, status %u: wrong\n", seed, warps, with.items, with.depth, with.ring, with.frames, counters[STATUS]);
    host_given += counts[1];
    host_calls += counts[0];
    return right;
}
