// Values of any size moved as machine words: shuffles, and vector loads and stores of shared memory. And single words there that are
// flags.
#pragma once

// The value of the lane above, of which only the words in the bit mask WORDS are asked for.
template <unsigned WORDS = ~0u, class T> __device__ __forceinline__ T shuffle_up(const T& value) {
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        words[i] = WORDS >> i & 1 ? __shfl_up_sync(~0u, words[i], 1) : 0u;
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

// The value of another lane, of which only the words in the bit mask WORDS are asked for.
template <unsigned WORDS = ~0u, class T>
__device__ __forceinline__ T of_lane(const T& value, int lane) {
    constexpr int COUNT = (sizeof(T) + 3) / 4;
    unsigned words[COUNT] = {};
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        words[i] = WORDS >> i & 1 ? __shfl_sync(~0u, words[i], lane) : 0u;
    T result;
    memcpy(&result, words, sizeof(T));
    return result;
}

template <int BYTES> struct vector_word;
template <> struct vector_word<1> { using type = unsigned char; };
template <> struct vector_word<2> { using type = unsigned short; };
template <> struct vector_word<4> { using type = unsigned; };
template <> struct vector_word<8> { using type = uint2; };
template <> struct vector_word<16> { using type = uint4; };

// The widest access for N values of T that start at a multiple of N from an aligned array.
template <class T, int N> struct vector_of {
    static constexpr int BYTES = sizeof(T) * N;
    static constexpr int WIDTH = (BYTES & -BYTES) < 16 ? (BYTES & -BYTES) : 16;
    using type = typename vector_word<WIDTH>::type;
    static constexpr int COUNT = BYTES / WIDTH;
};

template <int N, class T> __device__ __forceinline__ void load_vector(T (&to)[N], const T* from) {
    using V = vector_of<T, N>;
    typename V::type words[V::COUNT];
#pragma unroll
    for (int i = 0; i < V::COUNT; i++) words[i] = ((const typename V::type*)from)[i];
    memcpy(to, words, V::BYTES);
}

template <int N, class T> __device__ __forceinline__ void store_vector(T* to, const T (&from)[N]) {
    using V = vector_of<T, N>;
    typename V::type words[V::COUNT];
    memcpy(words, from, V::BYTES);
#pragma unroll
    for (int i = 0; i < V::COUNT; i++) ((typename V::type*)to)[i] = words[i];
}

// Cells that are not read again soon: they leave the caches first.
template <int N, class T> __device__ __forceinline__ void store_streaming(T* to, const T (&from)[N]) {
    using V = vector_of<T, N>;
    typename V::type words[V::COUNT];
    memcpy(words, from, V::BYTES);
#pragma unroll
    for (int i = 0; i < V::COUNT; i++) __stcs((typename V::type*)to + i, words[i]);
}

// Hides from the compiler where a value comes from; no instruction.
template <class T> __device__ __forceinline__ void opaque(T& value) {
    if constexpr (sizeof(T) == 4) {
        unsigned word;
        memcpy(&word, &value, 4);
        asm("" : "+r"(word));
        memcpy(&value, &word, 4);
    } else if constexpr (sizeof(T) == 8) {
        unsigned long long word;
        memcpy(&word, &value, 8);
        asm("" : "+l"(word));
        memcpy(&value, &word, 8);
    }
}

// Through the L2 cache, past the L1, which is not coherent between SMs.
template <class T> __device__ __forceinline__ T load_global(const T* from) {
    using V = vector_of<T, 1>;
    typename V::type words[V::COUNT];
#pragma unroll
    for (int i = 0; i < V::COUNT; i++) words[i] = __ldcg((const typename V::type*)from + i);
    T value;
    memcpy(&value, words, sizeof(T));
    return value;
}

template <class T> __device__ __forceinline__ void store_global(T* to, const T& value) {
    using V = vector_of<T, 1>;
    typename V::type words[V::COUNT];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (int i = 0; i < V::COUNT; i++) __stcg((typename V::type*)to + i, words[i]);
}

__device__ __forceinline__ int load_acquire_shared(const int* flag) {
    int value;
    asm volatile("ld.acquire.cta.shared.b32 %0, [%1];"
                 : "=r"(value) : "r"((unsigned)__cvta_generic_to_shared(flag)) : "memory");
    return value;
}
// Needs no fence: a warp's accesses to shared memory are performed in the order in which it issues
// them, data before flag. A fence would also wait for everything else on its way: two a chunk cost
// 600 cycles, as much as 16 columns take.
__device__ __forceinline__ void store_in_order_shared(int* flag, int value) {
    asm volatile("st.relaxed.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(flag)), "r"(value) : "memory");
}

// Between two tests of a flag, a random wait: delays show orders that a quiet machine hides.
__device__ __forceinline__ void delay(unsigned seed, unsigned where) {
#ifdef WW_DELAYS
    unsigned x = seed ^ (blockIdx.x * 0x9e3779b9u) ^ (threadIdx.x / 32 * 0x85ebca6bu) ^ (where * 0xc2b2ae35u);
    x ^= x >> 16; x *= 0x7feb352du; x ^= x >> 15; x *= 0x846ca68bu; x ^= x >> 16;
    if (x % 4 == 0) __nanosleep(x >> 20);
#endif
}
