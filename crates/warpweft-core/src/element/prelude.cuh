// The semantics of Rust that C++ does not share, for translated element functions. NVRTC compiles this for
// the device, the host's compiler for differential tests; it needs no headers. Arithmetic is written as
// overloads (ww::add), because the translator does not know types.
#pragma once
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define WW_DEVICE 1
#define WW_FN __device__ __forceinline__
#define WW_RECURSIVE __device__ __noinline__
#define WW_CONST static __device__ constexpr
#define WW_MATH(name) ::name
#define WW_OFFSET(type, member) __INTADDR__(&((type*)0)->member)
// A translated body may declare variables that it does not use, and return twice.
#pragma nv_diag_suppress 111
#pragma nv_diag_suppress 128
#pragma nv_diag_suppress 177
#pragma nv_diag_suppress 186
#pragma nv_diag_suppress 550
#else
#define WW_DEVICE 0
#define WW_FN inline
#define WW_RECURSIVE inline
#define WW_CONST static constexpr
#define WW_MATH(name) __builtin_##name
#define WW_OFFSET(type, member) __builtin_offsetof(type, member)
#endif

// The number of the first site that faulted since the host cleared this, or 0. A test may define WW_FAIL and
// WW_FAULTED to record faults elsewhere.
#ifndef WW_FAIL
#if WW_DEVICE
extern "C" __device__ unsigned int ww_fault;
__device__ unsigned int ww_fault = 0;
#define WW_FAIL(site) atomicCAS(&ww_fault, 0u, site)
#else
static unsigned int ww_fault = 0;
#define WW_FAIL(site) (void)(ww_fault == 0 ? ww_fault = (site) : 0u)
#endif
#define WW_FAULTED (*(volatile unsigned int*)&ww_fault != 0)
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
struct unit {};

// Records that site `site` did what panics in Rust. The first record stays.
WW_FN void fail(u32 site) { WW_FAIL(site); }

// How deep a function that calls itself is. A lane has 32 KiB of stack for such functions (cuda/module.rs), of which what
// these call gets 4. Frames of one function are of one size, so a function that leaves no room for another frame as large as
// its own is too deep.
WW_FN u32 stack_now() {
#if WW_DEVICE
  u32 here;
  asm volatile("" :: "l"(&here) : "memory");
  return (u32)__cvta_generic_to_local(&here);
#else
  return (u32)(usize)__builtin_frame_address(0);
#endif
}
struct level {
  u32 depth, first, last;
  WW_FN level next() const { return {depth + 1, first, stack_now()}; }
  WW_FN bool too_deep() const {
    const u32 now = stack_now();
    return depth >= 256u || first - now + (last - now) > (28u << 10);
  }
  // Whether this level checks for faults of other lanes: not every one does, since the check reads memory.
  WW_FN bool checks_faults() const { return (depth & 7u) == 7u; }
};
WW_FN level first_level() {
  const u32 now = stack_now();
  return {0, now, now};
}

// Ends loops after a fault of this thread, or of one whose cells it reads: Rust ends there, and a loop that
// continues with 0 in place of a value may never end. An iteration costs an addition and a test; memory is
// read every 256 iterations.
struct watch {
  u32 iterations = 0;
  WW_FN bool over() { return (++iterations & 255u) == 0 && WW_FAULTED; }
};

// Properties of a number type: the unsigned integer of its size, and the type to compute in (C++ promotes
// types narrower than int to a signed int, whose overflow is undefined).
template<class T> struct num { static constexpr bool known = false, real = false, has_sign = false; };
#define WW_INT(T, U, W, SIGNED)                                                                  \
  template<> struct num<T> {                                                                     \
    static constexpr bool known = true, real = false, has_sign = SIGNED;                         \
    static constexpr int bits = 8 * sizeof(T);                                                   \
    using same = U;                                                                              \
    using wide = W;                                                                              \
    static constexpr T low = SIGNED ? (T)((U)1 << (bits - 1)) : (T)0;                            \
    static constexpr T high = SIGNED ? (T)((U)((U)1 << (bits - 1)) - 1) : (T)(U)-1;              \
  };
WW_INT(i8, u8, u32, true)
WW_INT(i16, u16, u32, true)
WW_INT(i32, u32, u32, true)
WW_INT(i64, u64, u64, true)
WW_INT(u8, u8, u32, false)
WW_INT(u16, u16, u32, false)
WW_INT(u32, u32, u32, false)
WW_INT(u64, u64, u64, false)
#undef WW_INT
template<> struct num<f32> {
  static constexpr bool known = true, real = true, has_sign = true;
  using same = u32;
};
template<> struct num<f64> {
  static constexpr bool known = true, real = true, has_sign = true;
  using same = u64;
};
template<> struct num<bool> {
  static constexpr bool known = true, real = false, has_sign = false;
};
// Stored in two bytes, computed in f32. The braces hold the bits. Operators round each result, as those of
// the Rust types do; it is better to widen first.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
template<> struct num<f16> {
  static constexpr bool known = true, real = true, has_sign = true;
  using same = u16;
};
template<> struct num<bf16> {
  static constexpr bool known = true, real = true, has_sign = true;
  using same = u16;
};
template<class A, class B> struct same_type { static constexpr bool value = false; };
template<class A> struct same_type<A, A> { static constexpr bool value = true; };

// Bit patterns.
#if WW_DEVICE
WW_FN u32 to_bits(f32 x) { return (u32)__float_as_int(x); }
WW_FN u64 to_bits(f64 x) { return (u64)__double_as_longlong(x); }
WW_FN f32 from_bits(u32 x) { return __int_as_float((int)x); }
WW_FN f64 from_bits(u64 x) { return __longlong_as_double((long long)x); }
#else
WW_FN u32 to_bits(f32 x) { u32 y; __builtin_memcpy(&y, &x, 4); return y; }
WW_FN u64 to_bits(f64 x) { u64 y; __builtin_memcpy(&y, &x, 8); return y; }
WW_FN f32 from_bits(u32 x) { f32 y; __builtin_memcpy(&y, &x, 4); return y; }
WW_FN f64 from_bits(u64 x) { f64 y; __builtin_memcpy(&y, &x, 8); return y; }
#endif
// In constants.
WW_FN constexpr f32 f32_bits(u32 x) { return __builtin_bit_cast(f32, x); }
WW_FN constexpr f64 f64_bits(u64 x) { return __builtin_bit_cast(f64, x); }

// Widening is exact; narrowing rounds to nearest, ties to even (as in element/stored.rs).
WW_FN f32 widen(f32 x) { return x; }
WW_FN f64 widen(f64 x) { return x; }
WW_FN f32 widen(bf16 x) { return from_bits((u32)x.bits << 16); }
WW_FN bf16 narrow_bf16(f32 x) {
  const u32 bits = to_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {(u16)(bits >> 16 | 0x40u)};
  return {(u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
#if WW_DEVICE
WW_FN f32 widen(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
WW_FN f16 narrow_f16(f32 x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
#else
WW_FN f32 widen(f16 x) {
  const u32 magnitude = (x.bits & 0x7fffu) << 13;
  u32 number = to_bits(from_bits(magnitude) * from_bits(0x77800000u));
  if (magnitude >= 0x0f800000u) number = magnitude | 0x7f800000u;
  return from_bits(number | (x.bits & 0x8000u) << 16);
}
WW_FN f16 narrow_f16(f32 x) {
  const u32 bits = to_bits(x), magnitude = bits & 0x7fffffffu;
  u32 number = (magnitude + 0xc8000fffu + (magnitude >> 13 & 1u)) >> 13;
  if (magnitude < 0x38800000u) number = to_bits(from_bits(magnitude) + 0.5f) - 0x3f000000u;
  if (magnitude >= 0x47800000u) number = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return {(u16)(number | (bits >> 16 & 0x8000u))};
}
#endif
WW_FN f32 to_f32(f16 x) { return widen(x); }
WW_FN f32 to_f32(bf16 x) { return widen(x); }
WW_FN f64 to_f64(f16 x) { return (f64)widen(x); }
WW_FN f64 to_f64(bf16 x) { return (f64)widen(x); }
WW_FN u16 to_bits(f16 x) { return x.bits; }
WW_FN u16 to_bits(bf16 x) { return x.bits; }
// An f64 with fewer digits, rounded to odd, so that it can be rounded once more.
WW_FN f32 to_odd(f32 x) { return x; }
WW_FN f32 to_odd(f64 x) {
  const f32 y = (f32)x;
  if ((f64)y == x || x != x) return y;
  const bool above = ((f64)y < 0 ? -(f64)y : (f64)y) > (x < 0 ? -x : x);
  return from_bits((to_bits(y) - (above ? 1u : 0u)) | 1u);
}
#define WW_STORED(T)                                                                             \
  WW_FN T operator+(T a, T b) { return narrow_##T(widen(a) + widen(b)); }                        \
  WW_FN T operator-(T a, T b) { return narrow_##T(widen(a) - widen(b)); }                        \
  WW_FN T operator*(T a, T b) { return narrow_##T(widen(a) * widen(b)); }                        \
  WW_FN T operator/(T a, T b) { return narrow_##T(widen(a) / widen(b)); }                        \
  WW_FN T operator-(T a) { return {(u16)(a.bits ^ 0x8000u)}; }                                   \
  WW_FN bool operator==(T a, T b) { return widen(a) == widen(b); }                               \
  WW_FN bool operator!=(T a, T b) { return widen(a) != widen(b); }                               \
  WW_FN bool operator<(T a, T b) { return widen(a) < widen(b); }                                 \
  WW_FN bool operator<=(T a, T b) { return widen(a) <= widen(b); }                               \
  WW_FN bool operator>(T a, T b) { return widen(a) > widen(b); }                                 \
  WW_FN bool operator>=(T a, T b) { return widen(a) >= widen(b); }
WW_STORED(f16)
WW_STORED(bf16)
#undef WW_STORED

// Arithmetic: integers wrap, floats are plain operators (contraction is the compiler's option).
#define WW_ARITHMETIC(name, op)                                                                  \
  template<class T> WW_FN T name(T a, T b) {                                                     \
    if constexpr (num<T>::real) return a op b;                                                   \
    else return (T)((typename num<T>::wide)a op (typename num<T>::wide)b);                       \
  }
WW_ARITHMETIC(add, +)
WW_ARITHMETIC(sub, -)
WW_ARITHMETIC(mul, *)
#undef WW_ARITHMETIC
// -a if `where` holds, else a. Written so that no compiler uses the machine's absolute value: ptxas assumes
// that its result is at least 0, which is wrong for the lowest integer.
template<class T> WW_FN T negated_if(T a, bool where) {
  using W = typename num<T>::wide;
  W mask = where ? (W)-1 : (W)0;
#if WW_DEVICE
  if constexpr (sizeof(W) == 4) asm("" : "+r"(mask));
  else asm("" : "+l"(mask));
#endif
  return (T)(((W)a ^ mask) - mask);
}
template<class T> WW_FN T neg(T a) {
  if constexpr (num<T>::real) return -a;
  else return negated_if(a, true);
}
template<class T> WW_FN T bit_not(T a) {
  if constexpr (same_type<T, bool>::value) return !a;
  else return (T)~a;
}
template<class T> WW_FN T bit_and(T a, T b) { return (T)(a & b); }
template<class T> WW_FN T bit_or(T a, T b) { return (T)(a | b); }
template<class T> WW_FN T bit_xor(T a, T b) { return (T)(a ^ b); }
// The amount of a shift is masked to the width.
template<class T, class S> WW_FN T shl(T a, S by) {
  return (T)((typename num<T>::wide)a << ((u32)by & (num<T>::bits - 1)));
}
template<class T, class S> WW_FN T shr(T a, S by) {
  return (T)(a >> ((u32)by & (num<T>::bits - 1)));
}

WW_FN f32 mod(f32 a, f32 b) { return WW_MATH(fmodf)(a, b); }
WW_FN f64 mod(f64 a, f64 b) { return WW_MATH(fmod)(a, b); }
WW_FN f16 mod(f16 a, f16 b) { return narrow_f16(mod(widen(a), widen(b))); }
WW_FN bf16 mod(bf16 a, bf16 b) { return narrow_bf16(mod(widen(a), widen(b))); }

// Division by a constant that is neither 0 nor -1.
template<class T> WW_FN T div(T a, T b) { return (T)(a / b); }
template<class T> WW_FN T rem(T a, T b) {
  if constexpr (num<T>::real) return mod(a, b);
  else return (T)(a % b);
}
// Reports whether a / b is undefined.
template<class T> WW_FN bool bad_division(T a, T b, u32 zero, u32 overflow) {
  if (b == 0) { fail(zero); return true; }
  if constexpr (num<T>::has_sign) {
    if (a == num<T>::low && b == (T)-1) { fail(overflow); return true; }
  }
  return false;
}
template<class T> WW_FN T div(T a, T b, u32 zero, u32 overflow) {
  if constexpr (!num<T>::real) { if (bad_division(a, b, zero, overflow)) return 0; }
  return (T)(a / b);
}
template<class T> WW_FN T rem(T a, T b, u32 zero, u32 overflow) {
  if constexpr (!num<T>::real) { if (bad_division(a, b, zero, overflow)) return 0; }
  return rem(a, b);
}

// `as`.
template<class To, class From> WW_FN To cast(From x) {
  if constexpr (same_type<To, From>::value) {
    return x;
  } else if constexpr (same_type<From, f16>::value || same_type<From, bf16>::value) {
    return cast<To>(widen(x));
  } else if constexpr (same_type<To, f16>::value) {
    return narrow_f16(to_odd(x));
  } else if constexpr (same_type<To, bf16>::value) {
    return narrow_bf16(to_odd(x));
  } else if constexpr (num<From>::real && num<To>::known && !num<To>::real && !same_type<To, bool>::value) {
    // Saturating, NaN to 0. 2^bits is exact in both formats; the highest integer may not be.
    constexpr int magnitude = num<To>::bits - (num<To>::has_sign ? 1 : 0);
    constexpr From limit = (From)2 * (From)((u64)1 << (magnitude - 1));
    if (x != x) return (To)0;
    if (x >= limit) return num<To>::high;
    if constexpr (num<To>::has_sign) { if (x <= -limit) return num<To>::low; }
    else { if (x <= (From)0) return (To)0; }
    return (To)x;
  } else {
    return (To)x;
  }
}

// Tuples and arrays.
template<class A> struct tuple1 { A _0; };
template<class A, class B> struct tuple2 { A _0; B _1; };
template<class A, class B, class C> struct tuple3 { A _0; B _1; C _2; };
template<class A, class B, class C, class D> struct tuple4 { A _0; B _1; C _2; D _3; };
template<class A> WW_FN tuple1<A> tuple(A a) { return {a}; }
template<class A, class B> WW_FN tuple2<A, B> tuple(A a, B b) { return {a, b}; }
template<class A, class B, class C> WW_FN tuple3<A, B, C> tuple(A a, B b, C c) { return {a, b, c}; }
template<class A, class B, class C, class D> WW_FN tuple4<A, B, C, D> tuple(A a, B b, C c, D d) {
  return {a, b, c, d};
}
template<class T, usize N> struct array { T items[N]; };
template<class T, class... R> WW_FN array<T, 1 + sizeof...(R)> list(T first, R... rest) {
  return {{first, rest...}};
}
template<class T> struct item_of;
template<class T, usize N> struct item_of<array<T, N>> {
  using type = T;
  static constexpr usize length = N;
};
template<class A> WW_FN A repeat(typename item_of<A>::type value) {
  A all;
  for (usize i = 0; i < item_of<A>::length; ++i) all.items[i] = value;
  return all;
}
template<class T, usize N> WW_FN T& at(array<T, N>& a, usize i, u32 site) {
  if (i >= N) { fail(site); i = 0; }
  return a.items[i];
}
template<class T, usize N> WW_FN const T& at(const array<T, N>& a, usize i, u32 site) {
  if (i >= N) { fail(site); i = 0; }
  return a.items[i];
}

// Items in memory: `&[T]`, and `&mut [T]` in functions whose calls run on a device. Who writes rustc has seen. What has no items
// still has memory for one, unless its items are words, which then are read and written elsewhere.
template<class T> struct slice {
  T* items;
  usize count;
  slice() = default;
  WW_FN slice(T* first, usize length) : items(first), count(length) {}
  template<usize N> WW_FN slice(const array<T, N>& a) : items((T*)a.items), count(N) {}
};
#if WW_DEVICE
static __device__ u64 nowhere;
#else
static u64 nowhere;
#endif
template<class T> WW_FN T& at(const slice<T>& a, usize i, u32 site) {
  if (i >= a.count) {
    fail(site);
    if constexpr (sizeof(T) <= sizeof(nowhere)) return *(T*)&nowhere;
    i = 0;
  }
  return a.items[i];
}
// An index that the host knows to be inside for all inputs of a run; cells beyond a domain are made of others.
template<class T> WW_FN const T& item(const slice<T>& a, usize i) { return a.items[i < a.count ? i : 0]; }
template<class T> WW_FN usize length(const slice<T>& a) { return a.count; }
// The items from `low` up to `high`.
template<class T> WW_FN slice<T> part(const slice<T>& of, usize low, usize high, u32 site) {
  if (low > high || high > of.count) {
    fail(site);
    return slice<T>(of.items, 0);
  }
  return slice<T>(of.items + (low < high ? low : 0), high - low);
}
// Those before `middle`, and the others.
template<class T> WW_FN tuple2<slice<T>, slice<T>> split_at(const slice<T>& of, usize middle, u32 site) {
  if (middle > of.count) {
    fail(site);
    middle = 0;
  }
  return {slice<T>(of.items, middle), slice<T>(of.items + (middle < of.count ? middle : 0), of.count - middle)};
}

// The range of a `for`, except `low..high`: the ends of the type are reached without overflow.
template<class T, bool inclusive, bool reversed> struct steps {
  using U = typename num<T>::same;
  T at, last;
  usize step;
  bool more;
  steps() = default;
  WW_FN steps(T low, T high, usize by, u32 site) : at(low), last(high), step(by) {
    more = inclusive ? low <= high : low < high;
    if (!inclusive) last = (T)((U)high - (U)1);
    if (reversed) { const T t = at; at = last; last = t; }
    if (by == 0) { fail(site); more = false; }
  }
  WW_FN void advance() {
    const U left = reversed ? (U)((U)at - (U)last) : (U)((U)last - (U)at);
    if (left < step) more = false;
    else at = reversed ? (T)((U)at - (U)step) : (T)((U)at + (U)step);
  }
};

// Floats.
#define WW_REAL(name)                                                                            \
  WW_FN f32 name(f32 x) { return WW_MATH(name##f)(x); }                                          \
  WW_FN f64 name(f64 x) { return WW_MATH(name)(x); }
#define WW_REAL_AS(name, of)                                                                     \
  WW_FN f32 name(f32 x) { return WW_MATH(of##f)(x); }                                            \
  WW_FN f64 name(f64 x) { return WW_MATH(of)(x); }
// Functions whose result is exact or correctly rounded.
WW_REAL(sqrt) WW_REAL(floor) WW_REAL(ceil) WW_REAL(round) WW_REAL(trunc)
WW_REAL_AS(round_ties_even, rint)
// Functions whose result is within the tolerance of the library.
WW_REAL(exp) WW_REAL(exp2) WW_REAL(log2) WW_REAL(log10) WW_REAL(sin) WW_REAL(cos) WW_REAL(tan)
WW_REAL(asin) WW_REAL(acos) WW_REAL(atan) WW_REAL(sinh) WW_REAL(cosh) WW_REAL(tanh) WW_REAL(cbrt)
WW_REAL_AS(exp_m1, expm1) WW_REAL_AS(ln, log) WW_REAL_AS(ln_1p, log1p)
#undef WW_REAL
#undef WW_REAL_AS
#define WW_REAL2(name, of)                                                                       \
  WW_FN f32 name(f32 x, f32 y) { return WW_MATH(of##f)(x, y); }                                  \
  WW_FN f64 name(f64 x, f64 y) { return WW_MATH(of)(x, y); }
WW_REAL2(atan2, atan2) WW_REAL2(powf, pow) WW_REAL2(hypot, hypot)
#undef WW_REAL2
// On bits: with the library's function, ptxas takes -|x| < 1 to hold for NaN as well.
WW_FN f32 copysign(f32 x, f32 y) {
  return from_bits((to_bits(x) & 0x7fffffffu) | (to_bits(y) & 0x80000000u));
}
WW_FN f64 copysign(f64 x, f64 y) {
  constexpr u64 sign = (u64)1 << 63;
  return from_bits((to_bits(x) & ~sign) | (to_bits(y) & sign));
}
WW_FN f32 mul_add(f32 x, f32 a, f32 b) { return WW_MATH(fmaf)(x, a, b); }
WW_FN f64 mul_add(f64 x, f64 a, f64 b) { return WW_MATH(fma)(x, a, b); }
template<class T> WW_FN bool is_nan(T x) { return x != x; }
template<class T> WW_FN bool is_finite(T x) { return widen(x) - widen(x) == 0; }
template<class T> WW_FN bool is_infinite(T x) { return x == x && widen(x) - widen(x) != 0; }
template<class T> WW_FN bool is_sign_negative(T x) {
  return (to_bits(x) >> (8 * sizeof(T) - 1)) != 0;
}
template<class T> WW_FN bool is_sign_positive(T x) { return !is_sign_negative(x); }
template<class T> WW_FN T recip(T x) { return (T)1 / x; }
template<class T> WW_FN T fract(T x) { return x - trunc(x); }
WW_FN f32 to_degrees(f32 x) { return x * 57.2957795130823208767981548141051703f; }
WW_FN f64 to_degrees(f64 x) { return x * (180.0 / 3.14159265358979323846264338327950288); }
WW_FN f32 to_radians(f32 x) { return x * 0.017453292519943295769236907684886f; }
WW_FN f64 to_radians(f64 x) { return x * (3.14159265358979323846264338327950288 / 180.0); }
// By repeated squaring, in the order in which Rust's library multiplies.
template<class T> WW_FN T powi(T x, i32 n) {
  T r = (T)1;
  u32 left = n < 0 ? 0u - (u32)n : (u32)n;
  while (true) {
    if (left & 1u) r *= x;
    left >>= 1;
    if (left == 0) break;
    x *= x;
  }
  return n < 0 ? (T)1 / r : r;
}

// Functions of integers and of floats.
template<class T> WW_FN T abs(T x) {
  if constexpr (num<T>::real) return from_bits((typename num<T>::same)(to_bits(x) & ((typename num<T>::same)-1 >> 1)));
  else return negated_if(x, x < 0);
}
// a + |x|: of floats one instruction. ptxas assumes too much of an absolute value that is compared, not of one
// that is added.
template<class T> WW_FN T add_abs(T a, T x) {
#if WW_DEVICE
  if constexpr (same_type<T, f32>::value) return a + fabsf(x);
  else if constexpr (same_type<T, f64>::value) return a + fabs(x);
  else
#endif
  return add(a, abs(x));
}
template<class T> WW_FN T signum(T x) {
  if constexpr (num<T>::real) return x != x ? x : copysign((T)1, x);
  else return (T)((x > 0) - (x < 0));
}
WW_FN f32 min(f32 a, f32 b) { return WW_MATH(fminf)(a, b); }
WW_FN f64 min(f64 a, f64 b) { return WW_MATH(fmin)(a, b); }
WW_FN f32 max(f32 a, f32 b) { return WW_MATH(fmaxf)(a, b); }
WW_FN f64 max(f64 a, f64 b) { return WW_MATH(fmax)(a, b); }
template<class T> WW_FN T min(T a, T b) { return b < a ? b : a; }
template<class T> WW_FN T max(T a, T b) { return b < a ? a : b; }
template<class T> WW_FN T clamp(T x, T low, T high, u32 site) {
  if (!(low <= high)) fail(site);
  if (x < low) x = low;
  if (x > high) x = high;
  return x;
}
template<class T> WW_FN T rem_euclid(T a, T b, u32 zero, u32 overflow) {
  const T r = rem(a, b, zero, overflow);
  if (!(r < 0)) return r;
  return add(r, abs(b));
}
template<class T> WW_FN T div_euclid(T a, T b, u32 zero, u32 overflow) {
  if constexpr (num<T>::real) {
    const T q = trunc(a / b);
    if (mod(a, b) < 0) return b > 0 ? q - (T)1 : q + (T)1;
    return q;
  } else {
    if (bad_division(a, b, zero, overflow)) return 0;
    const T q = (T)(a / b);
    if ((T)(a % b) < 0) return b > 0 ? sub(q, (T)1) : add(q, (T)1);
    return q;
  }
}

// Integers.
template<class T> WW_FN T pow(T x, u32 n) {
  T r = (T)1;
  for (; n != 0; n >>= 1) {
    if (n & 1u) r = mul(r, x);
    x = mul(x, x);
  }
  return r;
}
template<class T> WW_FN T wrapping_add(T a, T b) { return add(a, b); }
template<class T> WW_FN T wrapping_sub(T a, T b) { return sub(a, b); }
template<class T> WW_FN T wrapping_mul(T a, T b) { return mul(a, b); }
template<class T> WW_FN T wrapping_neg(T a) { return neg(a); }
template<class T> WW_FN T wrapping_abs(T a) { return abs(a); }
template<class T> WW_FN T wrapping_pow(T a, u32 n) { return pow(a, n); }
template<class T> WW_FN T wrapping_shl(T a, u32 n) { return shl(a, n); }
template<class T> WW_FN T wrapping_shr(T a, u32 n) { return shr(a, n); }
template<class T> WW_FN T wrapping_div(T a, T b, u32 zero) {
  if (b == 0) { fail(zero); return 0; }
  if constexpr (num<T>::has_sign) { if (b == (T)-1) return neg(a); }
  return (T)(a / b);
}
template<class T> WW_FN T wrapping_rem(T a, T b, u32 zero) {
  if (b == 0) { fail(zero); return 0; }
  if constexpr (num<T>::has_sign) { if (b == (T)-1) return 0; }
  return (T)(a % b);
}
template<class T> WW_FN T saturating_add(T a, T b) {
  const T r = add(a, b);
  if constexpr (num<T>::has_sign) {
    if ((T)((a ^ r) & (b ^ r)) < 0) return a < 0 ? num<T>::low : num<T>::high;
    return r;
  } else {
    return r < a ? num<T>::high : r;
  }
}
template<class T> WW_FN T saturating_sub(T a, T b) {
  const T r = sub(a, b);
  if constexpr (num<T>::has_sign) {
    if ((T)((a ^ b) & (a ^ r)) < 0) return a < 0 ? num<T>::low : num<T>::high;
    return r;
  } else {
    return b > a ? (T)0 : r;
  }
}
template<class T> WW_FN T saturating_mul(T a, T b) {
  if (a == 0 || b == 0) return 0;
  const T r = mul(a, b);
  bool fits;
  if constexpr (num<T>::has_sign) {
    const bool corner = (a == (T)-1 && b == num<T>::low) || (b == (T)-1 && a == num<T>::low);
    fits = !corner && (T)(r / b) == a;
    if (!fits) return (a < 0) == (b < 0) ? num<T>::high : num<T>::low;
  } else {
    fits = (T)(r / b) == a;
    if (!fits) return num<T>::high;
  }
  return r;
}
template<class T> WW_FN auto unsigned_abs(T a) { return (typename num<T>::same)abs(a); }
template<class T> WW_FN auto abs_diff(T a, T b) {
  using U = typename num<T>::same;
  return negated_if(sub((U)a, (U)b), a < b);
}
#if WW_DEVICE
WW_FN u32 ones(u64 x) { return (u32)__popcll((long long)x); }
WW_FN u32 lead(u64 x) { return (u32)__clzll((long long)x); }
WW_FN u64 mirror(u64 x) { return (u64)__brevll(x); }
#else
WW_FN u32 ones(u64 x) { return (u32)__builtin_popcountll(x); }
WW_FN u32 lead(u64 x) { return x == 0 ? 64u : (u32)__builtin_clzll(x); }
WW_FN u64 mirror(u64 x) {
  u64 y = 0;
  for (int i = 0; i < 64; ++i) y |= ((x >> i) & 1) << (63 - i);
  return y;
}
#endif
template<class T> WW_FN u64 pattern(T x) { return (u64)(typename num<T>::same)x; }
template<class T> WW_FN u32 count_ones(T x) { return ones(pattern(x)); }
template<class T> WW_FN u32 count_zeros(T x) { return (u32)num<T>::bits - count_ones(x); }
template<class T> WW_FN u32 leading_zeros(T x) { return lead(pattern(x)) - (64u - num<T>::bits); }
template<class T> WW_FN u32 trailing_zeros(T x) {
  return x == 0 ? (u32)num<T>::bits : 63u - lead(pattern(x) & (0 - pattern(x)));
}
template<class T> WW_FN T rotate_left(T x, u32 n) {
  using U = typename num<T>::same;
  n &= num<T>::bits - 1;
  return n == 0 ? x : (T)(U)((pattern(x) << n) | (pattern(x) >> (num<T>::bits - n)));
}
template<class T> WW_FN T rotate_right(T x, u32 n) {
  return rotate_left(x, (u32)num<T>::bits - (n & (num<T>::bits - 1)));
}
template<class T> WW_FN T reverse_bits(T x) {
  return (T)(typename num<T>::same)(mirror(pattern(x)) >> (64 - num<T>::bits));
}
template<class T> WW_FN T swap_bytes(T x) {
  u64 from = pattern(x), to = 0;
  for (int i = 0; i < num<T>::bits; i += 8) to |= ((from >> i) & 0xff) << (num<T>::bits - 8 - i);
  return (T)(typename num<T>::same)to;
}
template<class T> WW_FN bool is_positive(T x) { return x > 0; }
template<class T> WW_FN bool is_negative(T x) { return x < 0; }
template<class T> WW_FN bool is_power_of_two(T x) { return count_ones(x) == 1; }
}  // namespace ww
