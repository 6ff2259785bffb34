// Runs a graph to its end and prints how it ended: status, items left, items consumed, words of buffers, items of the host.
static const ww_arguments* host_given;
static void host_kernel() {
    channels_flow(*host_given);
    host_lanes[host_now].ended = true;
}
using Bytes = std::vector<unsigned char>;
static void print(const void* from, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k) printf("%02x", ((const unsigned char*)from)[k]);
    printf(" ");
}
// Lets the queues of channel C and of those after it begin at `start`.
template<u32 C> static void begin_at(u32 start, u32* queues, u32* states) {
    if constexpr (C < WW_CHANNELS) {
        using Channel = ww_channel<C>;
        for (u32 level = 0; !Channel::HOST && level < Channel::LEVELS; ++level) {
            const u32 number = Channel::QUEUE + (Channel::LEVELS - 1 - level) * Channel::STRIDE;
            const ww_queue<Channel::SHIFT, Channel::WORDS> queue{queues + 2 * APART * number, states + Channel::STATES + ((u64)level << Channel::SHIFT) * LINE, nullptr};
            queue.control[0] = *queue.head() = start;
            for (u32 k = 0; k < queue.ELEMENTS; ++k) *queue.state(start + k) = queue.available(start + k);
        }
        begin_at<C + 1>(start, queues, states);
    }
}
static bool play(u64 seed, const std::vector<u32>& capacities, const std::vector<Bytes>& first, const std::vector<u32>& counts,
                 const std::vector<u32>& host, const std::vector<Bytes>& words, const std::vector<u32>& lengths, const Bytes& nodes,
                 u32 states, u32 items) {
    host_seed = seed * 0x9e3779b97f4a7c15ull | 1;
    std::vector<u32> queues(2 * APART * WW_QUEUES), state(states + 1), item(items + 1, 0x55555555u), credits(APART * capacities.size());
    std::vector<u32> taken(APART * WW_KERNELS), drained(APART * WW_CHANNELS), pending(4), record(4 + 256), activity(WW_WARPS);
    std::vector<u64> tally(COUNTS * WW_KERNELS, 0);
    for (size_t k = 0; k < capacities.size(); ++k) credits[APART * k] = capacities[k];
    for (u32 count : counts) pending[0] += count;
    // Half of the runs begin where positions are about to begin anew.
    if (seed % 2 == 0) begin_at<0>((1u << 31) - 40, queues.data(), state.data());
    std::vector<Bytes> buffers = words, room, drainage(WW_CHANNELS);
    alignas(16) static unsigned char memory[sizeof(ww_arguments)];
    ww_arguments& a = *new (memory) ww_arguments{queues.data(), state.data(), item.data(), credits.data(), taken.data(),
        drained.data(), pending.data(), record.data(), activity.data(), tally.data(), nullptr, 3000000};
    for (size_t k = 0; k < first.size(); ++k) a.first[k] = {first[k].data(), counts[k]};
    // Credits of the host's channels are the last.
    u32 first_host = (u32)capacities.size();
    for (u32 bytes : host) first_host -= bytes > 0;
    u32 group = first_host;
    for (u32 bytes : host) room.emplace_back(bytes > 0 ? (size_t)bytes * capacities[group++] : 1);
    for (size_t c = 0; c < host.size(); ++c) a.host[c] = room[c].data();
    for (size_t b = 0; b < buffers.size(); ++b) a.buffers[b] = {buffers[b].data(), lengths[b]};
    memcpy(a.nodes, nodes.data(), nodes.size());
    host_given = &a;
    u32 launches = 0;
    gridDim.x = 1;
    while (true) {
        memset(host_faults, 0, sizeof(host_faults));
        if (!host_run(WW_WARPS, host_kernel)) return false;
        u32 number = first_host;
        for (size_t c = 0; c < host.size(); ++c) {
            if (host[c] == 0) continue;
            const size_t bytes = (size_t)host[c] * drained[APART * c];
            drainage[c].insert(drainage[c].end(), room[c].begin(), room[c].begin() + bytes);
            if (record[0] <= DRAIN && drained[APART * c] + credits[APART * number] != capacities[number]) return !printf("credits of the host are lost\n");
            credits[APART * number] = capacities[number];
            drained[APART * c] = 0;
            ++number;
        }
        if (record[0] != DRAIN) break;
        record[0] = RUNNING;
        if (++launches > 100000) return !printf("no end of launches\n");
    }
    // Every credit is back.
    for (size_t k = 0; record[0] == RUNNING && k < capacities.size(); ++k)
        if (credits[APART * k] != capacities[k]) return !printf("%u of %u credits\n", credits[APART * k], capacities[k]);
    u64 consumed = 0;
    for (u32 k = 0; k < WW_KERNELS; ++k) consumed += tally[COUNTS * k];
    printf("%u %u %llu ", record[0], pending[0], consumed);
    for (const Bytes& buffer : buffers) print(buffer.data(), buffer.size());
    for (size_t c = 0; c < host.size(); ++c)
        if (host[c] > 0) print(drainage[c].data(), drainage[c].size());
    printf("\n");
    return true;
}
