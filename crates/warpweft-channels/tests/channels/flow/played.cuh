// The scheduler of a channel-flow graph on the host's warps, with what the executor would give it.
static unsigned host_faults[4096];
#define WW_THREAD_FAULT host_faults[host_now]
static unsigned host_arrived = 0, host_phase = 0;
// All lanes of all warps meet.
static void __syncthreads() {
    const unsigned phase = host_phase;
    if (++host_arrived == host_lanes.size()) {
        host_arrived = 0;
        ++host_phase;
    }
    while (host_phase == phase) host_yield();
}
HOST_ATOMIC(atomicMin, min(before, value))
