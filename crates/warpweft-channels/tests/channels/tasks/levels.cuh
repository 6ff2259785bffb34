// Runs the kernel of levels.cuh on the host's warps, level after level, as the executor does.
static ww_level_arguments host_arguments;
#if WW_UNIFORM
static WW_ROOT host_root;
#endif
static void host_kernel() {
#if WW_UNIFORM
    channels_level(host_arguments, host_root);
#else
    channels_level(host_arguments);
#endif
    host_lanes[host_now].ended = true;
}

// Whether the values of `roots` are `expect`; prints how many calls there were.
static bool host_check(const std::vector<WW_ROOT>& roots, const std::vector<Total>& expect, u64 capacity) {
    std::vector<u32> calls[2];
    for (auto& level : calls) level.assign(capacity * CALL, 0x55555555u);
    std::vector<Total> results(roots.size(), neutral<Total>());
    for (size_t i = 0; i < roots.size(); ++i) {
        u32 words[WORDS] = {};
        memcpy(words, &roots[i], sizeof roots[i]);
        for (u32 k = 0; k < WORDS; ++k) calls[0][k * capacity + i] = words[k];
        if (FUNCTIONS > 1) calls[0][NUMBERED * capacity + i] = WW_ROOT::NUMBER;
        if (!WW_ONE_ROOT) calls[0][ROOTED * capacity + i] = (u32)i;
    }
#if WW_UNIFORM
    host_root = roots[0];
#endif
    gridDim.x = 1;
    u64 all = 0, count = roots.size();
    for (u32 level = 0; count > 0; ++level) {
        all += count;
        u64 appended = 0;
        u32 status = 0;
        host_seed = (level + 1) * 0x9e3779b97f4a7c15ull | 1;
        host_arguments = ww_level_arguments{calls[level % 2].data(), calls[(level + 1) % 2].data(),
            (unsigned char*)results.data(), &appended, &status, count, capacity};
        if (!host_run(WW_WARPS, host_kernel)) return false;
        if (appended > capacity) return printf("level %u has %llu calls\n", level + 1, appended), false;
        count = appended;
    }
    printf("%llu\n", all);
    return results == expect;
}
