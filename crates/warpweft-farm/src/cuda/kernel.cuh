// One kernel of `#[kernel]`, ready to launch.
//
// Grid: a line of blocks, block: any number of threads; dynamic shared memory: a word for the fault of each thread. The first
// fault of a launch is left in `fault`; the threads that fault go on with zeros.
struct ww_words {
  void* words;
  ww::u64 count;
};
struct ww_list {
  ww_words at[ww_kernel::BUFFERS == 0 ? 1 : ww_kernel::BUFFERS];
};
static_assert(ww_kernel::BUFFERS == 0 || sizeof(ww_kernel) == WW_KERNEL_BYTES, "the host has the same layout");

struct ww_frame {
  const ww_list& list;
  template<class T> WW_FN ww::shared<T> buffer(ww::u32 number) const {
    return {(T*)list.at[number].words, list.at[number].count};
  }
};

#if WW_DEVICE
extern "C" __global__ void ww_launch(unsigned* fault, const ww_list list, const ww_kernel kernel) {
  WW_THREAD_FAULT = 0u;
  const ww::thread at{threadIdx.x, blockIdx.x, blockDim.x, gridDim.x};
  kernel(at, ww_frame{list});
  if (WW_THREAD_FAULT != 0u) atomicCAS(fault, 0u, WW_THREAD_FAULT);
}
#endif
