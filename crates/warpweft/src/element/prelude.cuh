// The part of Rust's semantics that C++ does not share, for translated element functions.
// Compiled by NVRTC for the device and by the host's compiler for differential tests.
#pragma once
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define WW_FN __device__ __forceinline__
#else
#define WW_FN inline
#endif

namespace ww {
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using isize = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using usize = unsigned long long;
using f32 = float;
using f64 = double;
}  // namespace ww
