// Where a case notes that it faulted: one word a thread.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
static __shared__ unsigned int ww_case_faults[1024];
__device__ __forceinline__ void ww_case_fault(unsigned int site) { ww_case_faults[threadIdx.x] = site; }
__device__ __forceinline__ bool ww_case_faulted() { return ww_case_faults[threadIdx.x] != 0; }
#else
static unsigned int ww_case_word = 0;
static inline void ww_case_fault(unsigned int site) { ww_case_word = site; }
static inline bool ww_case_faulted() { return ww_case_word != 0; }
#endif
