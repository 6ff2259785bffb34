// The tasks of a chunk: a warp takes the next 32, a thread each, until none is left, so that a long task holds up its
// own warp alone.
//
// Grid: a line of any number of blocks; block: WW_BLOCK threads. No thread waits for another but for its warp's
// next 32. A task that faults leaves its output as it is, and in `faults` that it did; a thread has a word of
// its own for that while it runs.

struct ww_arguments {
    const typename ww_task::Input* inputs;  // [count]
    typename ww_task::Output* outputs;      // [count]
    unsigned* faults;                       // [count]: whether a task faulted
    unsigned* next;                         // the first that nobody has taken, 0
    unsigned long long count;               // below 2^31
};
static_assert(sizeof(ww_arguments) == WW_ARGUMENTS_BYTES, "the host has the same layout");
static_assert(sizeof(ww_task::Input) == WW_INPUT_BYTES, "the host has the same layout");
static_assert(sizeof(ww_task::Output) == WW_OUTPUT_BYTES, "the host has the same layout");

extern "C" __global__ void __launch_bounds__(WW_BLOCK) farm_tasks(const ww_arguments A, const ww_task task) {
    const unsigned lane = threadIdx.x % 32u, count = (unsigned)A.count;
    for (;;) {
        unsigned first = 0;
        if (lane == 0) first = atomicAdd(A.next, 32u);
        first = __shfl_sync(~0u, first, 0);
        if (first >= count) return;
        const unsigned k = first + lane;
        if (k < count) {
            ww_task_fault[threadIdx.x] = 0;
            const typename ww_task::Output output = task(A.inputs[k]);
            const unsigned fault = ww_task_fault[threadIdx.x];
            A.faults[k] = fault;
            if (fault == 0) A.outputs[k] = output;
        }
        __syncwarp();
    }
}
