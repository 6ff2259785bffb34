// Runs translated functions over packed inputs.
//
// The file of cases, little endian: u32 number of entries; for each entry u32 count, u32 bytes of
// an input, u32 bytes of an answer, u32 length of its name, the name, all inputs, and all answers,
// each with a byte in front that is 1 if Rust panicked (the value then does not matter). Values are
// packed without padding; every NaN is the canonical one.
//
// On a GPU every entry is a kernel of its name: a thread an input, at most 1024 threads a block.
//   name(const u8* inputs, u8* answers, u32 count, u32 in_bytes, u32 out_bytes)
// On the host a `main` reads the file named by its argument and prints what differs.
namespace {
using namespace ww;
template<class T> struct io {
  static constexpr usize bytes = sizeof(T);
  WW_FN static T get(const u8*& p) {
    T v;
    for (usize i = 0; i < sizeof(T); ++i) ((u8*)&v)[i] = *p++;
    return v;
  }
  WW_FN static void put(u8*& p, T v) {
    if constexpr (num<T>::real && sizeof(T) == 2) {
      if (v != v) v.bits = 0x7fff;
    } else if constexpr (num<T>::real) {
      if (v != v) v = from_bits((typename num<T>::same)(sizeof(T) == 4 ? 0x7fc00000ull : 0x7ff8000000000000ull));
    }
    for (usize i = 0; i < sizeof(T); ++i) *p++ = ((const u8*)&v)[i];
  }
};
template<class A> struct io<tuple1<A>> {
  WW_FN static tuple1<A> get(const u8*& p) { return {io<A>::get(p)}; }
  WW_FN static void put(u8*& p, tuple1<A> v) { io<A>::put(p, v._0); }
};
template<class A, class B> struct io<tuple2<A, B>> {
  WW_FN static tuple2<A, B> get(const u8*& p) {
    tuple2<A, B> t;
    t._0 = io<A>::get(p); t._1 = io<B>::get(p);
    return t;
  }
  WW_FN static void put(u8*& p, tuple2<A, B> v) { io<A>::put(p, v._0); io<B>::put(p, v._1); }
};
template<class A, class B, class C> struct io<tuple3<A, B, C>> {
  WW_FN static tuple3<A, B, C> get(const u8*& p) {
    tuple3<A, B, C> t;
    t._0 = io<A>::get(p); t._1 = io<B>::get(p); t._2 = io<C>::get(p);
    return t;
  }
  WW_FN static void put(u8*& p, tuple3<A, B, C> v) {
    io<A>::put(p, v._0); io<B>::put(p, v._1); io<C>::put(p, v._2);
  }
};
template<class A, class B, class C, class D> struct io<tuple4<A, B, C, D>> {
  WW_FN static tuple4<A, B, C, D> get(const u8*& p) {
    tuple4<A, B, C, D> t;
    t._0 = io<A>::get(p); t._1 = io<B>::get(p); t._2 = io<C>::get(p); t._3 = io<D>::get(p);
    return t;
  }
  WW_FN static void put(u8*& p, tuple4<A, B, C, D> v) {
    io<A>::put(p, v._0); io<B>::put(p, v._1); io<C>::put(p, v._2); io<D>::put(p, v._3);
  }
};
template<class T, usize N> struct io<array<T, N>> {
  WW_FN static array<T, N> get(const u8*& p) {
    array<T, N> a;
    for (usize i = 0; i < N; ++i) a.items[i] = io<T>::get(p);
    return a;
  }
  WW_FN static void put(u8*& p, const array<T, N>& a) {
    for (usize i = 0; i < N; ++i) io<T>::put(p, a.items[i]);
  }
};
template<> struct io<unit> {
  WW_FN static unit get(const u8*&) { return {}; }
  WW_FN static void put(u8*&, unit) {}
};
}  // namespace

#if WW_DEVICE
#define WW_CASE(name)                                                                            \
  WW_FN void name##_one(const ww::u8* in, ww::u8* out);                                          \
  extern "C" __global__ void name(const ww::u8* in, ww::u8* out, ww::u32 count, ww::u32 in_bytes, \
                                  ww::u32 out_bytes) {                                           \
    const ww::u32 i = blockIdx.x * blockDim.x + threadIdx.x;                                     \
    if (i >= count) return;                                                                      \
    ww_case_faults[threadIdx.x] = 0;                                                             \
    out += (ww::u64)i * (out_bytes + 1);                                                         \
    name##_one(in + (ww::u64)i * in_bytes, out + 1);                                             \
    *out = ww_case_faults[threadIdx.x] != 0;                                                     \
  }                                                                                              \
  WW_FN void name##_one(const ww::u8* in, ww::u8* out)
#define WW_TABLE_BEGIN
#define WW_ROW(name, label)
#define WW_TABLE_END
#else
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#define WW_CASE(name) static void name(const ww::u8* in, ww::u8* out)
struct Row { void (*run)(const ww::u8*, ww::u8*); const char* label; };
#define WW_TABLE_BEGIN static const Row table[] = {
#define WW_ROW(name, label) {name, label},
#define WW_TABLE_END                                                                             \
  };                                                                                             \
  static unsigned word(const ww::u8*& p) {                                                       \
    unsigned v;                                                                                  \
    memcpy(&v, p, 4);                                                                            \
    p += 4;                                                                                      \
    return v;                                                                                    \
  }                                                                                              \
  static void show(const char* what, const ww::u8* p, unsigned n) {                              \
    printf(" %s", what);                                                                         \
    for (unsigned i = 0; i < n; ++i) printf(" %02x", p[i]);                                      \
  }                                                                                              \
  int main(int, char** argv) {                                                                   \
    alarm(120); /* A loop without end fails here. */                                             \
    FILE* file = fopen(argv[1], "rb");                                                           \
    if (!file) return 2;                                                                         \
    fseek(file, 0, SEEK_END);                                                                    \
    const long size = ftell(file);                                                               \
    rewind(file);                                                                                \
    ww::u8* bytes = (ww::u8*)malloc(size);                                                       \
    if (fread(bytes, 1, size, file) != (size_t)size) return 2;                                   \
    const ww::u8* p = bytes;                                                                     \
    const unsigned entries = word(p);                                                            \
    unsigned long wrong = 0, runs = 0;                                                           \
    for (unsigned e = 0; e < entries; ++e) {                                                     \
      const unsigned count = word(p), in_bytes = word(p), out_bytes = word(p), name = word(p);   \
      p += name;                                                                                 \
      const ww::u8 *in = p, *expected = in + (size_t)count * in_bytes;                           \
      p = expected + (size_t)count * (out_bytes + 1);                                            \
      ww::u8* out = (ww::u8*)calloc(out_bytes + 64, 1);                                          \
      unsigned shown = 0;                                                                        \
      for (unsigned i = 0; i < count; ++i, in += in_bytes, expected += out_bytes + 1) {          \
        ww_case_word = 0;                                                                        \
        table[e].run(in, out);                                                                   \
        ++runs;                                                                                  \
        const bool same = expected[0] ? ww_case_word != 0                                        \
                                      : ww_case_word == 0 && !memcmp(out, expected + 1, out_bytes); \
        if (same) continue;                                                                      \
        ++wrong;                                                                                 \
        if (shown++ > 2) continue;                                                               \
        printf("%s input %u:", table[e].label, i);                                               \
        show("in", in, in_bytes);                                                                \
        show("| C++", out, out_bytes);                                                           \
        printf(" fault %u |", ww_case_word);                                                     \
        show("Rust", expected + 1, out_bytes);                                                   \
        printf(" fault %u\n", expected[0]);                                                      \
      }                                                                                          \
      free(out);                                                                                 \
    }                                                                                            \
    printf("%u functions, %lu runs, %lu differ\n", entries, runs, wrong);                        \
    return wrong ? 1 : 0;                                                                        \
  }
#endif
