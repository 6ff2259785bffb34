// Values that blocks hand to one another without flags and fences: a word is 4 bytes of a value and a tag, stored and
// loaded at once. A reader knows by the tag that these bytes are there.
//
// A relaxed store of 64 bits is not torn, and a tag says nothing of other words: no order is needed. A fence and a
// flag would cost two more ways through the L2 cache.
#pragma once

using ww_tagged = unsigned long long;  // the tag above

// PEERS: of several GPUs. A load leaves what it would replace where it is not `wanted`, without a branch: loads of
// several values are under way at once.
template <bool PEERS> struct tagged_memory;
#define WW_TAGGED_MEMORY(PEERS, scope)                                                             \
    template <> struct tagged_memory<PEERS> {                                                      \
        static __device__ __forceinline__ void store(ww_tagged* to, ww_tagged a) {                 \
            asm volatile("st.relaxed." #scope ".global.u64 [%0], %1;" ::"l"(to), "l"(a) : "memory"); \
        }                                                                                          \
        static __device__ __forceinline__ void store(ww_tagged* to, ww_tagged a, ww_tagged b) {    \
            asm volatile("st.relaxed." #scope ".global.v2.u64 [%0], {%1, %2};"                     \
                         ::"l"(to), "l"(a), "l"(b) : "memory");                                    \
        }                                                                                          \
        static __device__ __forceinline__ void load(const ww_tagged* from, int wanted, ww_tagged& a) { \
            asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0;"                                   \
                         " @p ld.relaxed." #scope ".global.u64 %0, [%1]; }"                        \
                         : "+l"(a) : "l"(from), "r"(wanted) : "memory");                           \
        }                                                                                          \
        static __device__ __forceinline__ void load(const ww_tagged* from, int wanted, ww_tagged& a, \
                                                    ww_tagged& b) {                                \
            asm volatile("{ .reg .pred p; setp.ne.s32 p, %3, 0;"                                   \
                         " @p ld.relaxed." #scope ".global.v2.u64 {%0, %1}, [%2]; }"               \
                         : "+l"(a), "+l"(b) : "l"(from), "r"(wanted) : "memory");                  \
        }                                                                                          \
    };
WW_TAGGED_MEMORY(false, gpu)
WW_TAGGED_MEMORY(true, sys)
#undef WW_TAGGED_MEMORY

// A value in such words.
template <class T> struct tagged {
    static constexpr int WORDS = (sizeof(T) + 3) / 4;
    static constexpr int PAIRED = WORDS % 2 == 0 ? WORDS : 0;  // those that are accessed two at a time
    ww_tagged words[WORDS];

    __device__ __forceinline__ tagged() : words{} {}
    template <bool PEERS = false>
    static __device__ __forceinline__ void leave(ww_tagged* to, unsigned tag, const T& value) {
        unsigned parts[WORDS] = {};
        memcpy(parts, &value, sizeof(T));
        const ww_tagged high = (ww_tagged)tag << 32;
#pragma unroll
        for (int i = 0; i < PAIRED; i += 2)
            tagged_memory<PEERS>::store(to + i, high | parts[i], high | parts[i + 1]);
#pragma unroll
        for (int i = PAIRED; i < WORDS; i++) tagged_memory<PEERS>::store(to + i, high | parts[i]);
    }
    template <bool PEERS = false>
    __device__ __forceinline__ void ask(const ww_tagged* from, bool wanted = true) {
#pragma unroll
        for (int i = 0; i < PAIRED; i += 2)
            tagged_memory<PEERS>::load(from + i, wanted, words[i], words[i + 1]);
#pragma unroll
        for (int i = PAIRED; i < WORDS; i++) tagged_memory<PEERS>::load(from + i, wanted, words[i]);
    }
    __device__ __forceinline__ bool there(unsigned tag) const {
        bool all = true;
#pragma unroll
        for (int i = 0; i < WORDS; i++) all &= (unsigned)(words[i] >> 32) == tag;
        return all;
    }
    __device__ __forceinline__ T value() const {
        unsigned parts[WORDS];
#pragma unroll
        for (int i = 0; i < WORDS; i++) parts[i] = (unsigned)words[i];
        T value;
        memcpy(&value, parts, sizeof(T));
        return value;
    }
};
