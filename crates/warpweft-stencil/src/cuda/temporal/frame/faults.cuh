// Faults: where a thread of fused steps notes the first site of a cell that faults and the level (of all stages and steps of the
// pass) that it computes, and where the first fault of a pass is kept, as its level, then its site (frame.cuh). Stands before
// all else but WW_THREADS, the threads of a block.
#define WW_SITES 1
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define WW_ALL_THREADS __shared__
#define WW_EVERYWHERE __device__
#else
#define WW_ALL_THREADS static
#define WW_EVERYWHERE static
#endif
WW_ALL_THREADS unsigned int ww_site[WW_THREADS], ww_level[WW_THREADS];
WW_EVERYWHERE unsigned int ww_first = ~0u;
WW_EVERYWHERE unsigned int ww_arrived = 0;
WW_EVERYWHERE unsigned int ww_over = 0;  // whether a pass before has faulted
#define WW_OWN_SITE ww_site[threadIdx.y * 32 + threadIdx.x]
#define WW_FAIL(site) (void)(WW_OWN_SITE == 0 ? WW_OWN_SITE = (site) : 0u)
#define WW_OWN_LEVEL ww_level[threadIdx.y * 32 + threadIdx.x]
#define WW_SITE_BITS 22
// Loops end after a fault of the thread itself, or of a level before its own, whose cells it may read; not after one of a later
// level, by a block that is ahead: the cells of this one are those of single steps.
#define WW_FAULTED (WW_OWN_SITE != 0 || *(volatile unsigned int*)&ww_first >> WW_SITE_BITS < WW_OWN_LEVEL || \
                    *(volatile unsigned int*)&ww_over != 0)
