// An element with tables, which each lane indexes by symbols of its own.
//
// Lanes that read different addresses of the kernel's parameters are served one after another; of
// shared memory, unless they meet in a bank, all at once. So an element that is large, and large is only
// what holds tables, is copied there once a block or a warp.
#pragma once

// The same number as in shared.rs.
constexpr unsigned FEW_BYTES = 256;
template <class T> constexpr bool has_tables = sizeof(T) > FEW_BYTES;
// Bytes of shared memory for a copy of T.
template <class T> constexpr unsigned copy_bytes = has_tables<T> ? sizeof(T) : 4;

// `value`, or a copy of it in `memory` that `threads` threads make, of which this is number `thread`; they
// must meet before they read it.
template <class T>
__device__ __forceinline__ const T& held(char* memory, const T& value, unsigned thread,
                                         unsigned threads) {
    if constexpr (has_tables<T>) {
        for (unsigned i = thread; i < sizeof(T); i += threads) memory[i] = ((const char*)&value)[i];
        return *(const T*)memory;
    } else {
        return value;
    }
}

// An element by value, so that it lies in registers, unless it holds tables.
template <class T, bool> struct passed { using type = const T; };
template <class T> struct passed<T, true> { using type = const T&; };
