// The scheduler of a channel-flow graph on the host's warps, with what the executor would give it.
static unsigned host_faults[4096];
#define WW_THREAD_FAULT host_faults[host_now]
HOST_ATOMIC(atomicMin, min(before, value))
