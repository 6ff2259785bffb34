// The thread that a kernel of `#[kernel]` sees, and the arrays of its block.
#if WW_DEVICE
#define WW_BLOCK_ARRAY __shared__
#else
#define WW_BLOCK_ARRAY static
#endif
namespace ww {
struct thread {
  u32 number, of_block, size, blocks;
};
WW_FN usize thread_index(const thread& at) { return (usize)at.of_block * at.size + at.number; }
WW_FN usize thread_threads(const thread& at) { return (usize)at.blocks * at.size; }
WW_FN usize thread_block(const thread& at) { return at.of_block; }
WW_FN usize thread_in_block(const thread& at) { return at.number; }
WW_FN usize thread_block_size(const thread& at) { return at.size; }
WW_FN unit thread_barrier(const thread&) {
#if WW_DEVICE
  __syncthreads();
#endif
  return {};
}
}  // namespace ww
