// The operation of which all values together are one sum: WW_OPERATION, as in proof.rs.
#pragma once

template<class T> struct ww_order {
    using U = typename ww_word_of<sizeof(T)>::type;
    static constexpr bool SIGNED = (T)-1 < (T)0;
    static constexpr T most = SIGNED ? (T)((U)~(U)0 >> 1) : (T)~(U)0, least = (T)~(U)most;
};
template<class T> WW_FN T neutral() {
    if constexpr (WW_OPERATION == 2) return (T)1;
    if constexpr (WW_OPERATION == 3) return ww_order<T>::most;
    if constexpr (WW_OPERATION == 4) return ww_order<T>::least;
    if constexpr (WW_OPERATION == 5) return (T)-1;
    return (T)0;
}
template<class T> WW_FN T combine(const T& a, const T& b) {
    if constexpr (WW_OPERATION == 1) return ww::add(a, b);
    if constexpr (WW_OPERATION == 2) return ww::wrapping_mul(a, b);
    if constexpr (WW_OPERATION == 3) return a < b ? a : b;
    if constexpr (WW_OPERATION == 4) return a < b ? b : a;
    if constexpr (WW_OPERATION == 5) return (T)(a & b);
    if constexpr (WW_OPERATION == 6) return (T)(a | b);
    return (T)(a ^ b);
}
// The same into a word that others combine into as well.
template<class T> WW_FN void combine_shared(unsigned char* to, T value) {
    using U = typename ww_word_of<sizeof(T)>::type;
    U* place = (U*)to;
    if constexpr (WW_OPERATION == 1) {
        atomicAdd(place, (U)value);
    } else if constexpr (WW_OPERATION == 6) {
        atomicOr(place, (U)value);
    } else if constexpr (WW_OPERATION == 7) {
        atomicXor(place, (U)value);
    } else {
        U before = *(volatile U*)place;
        while (true) {
            const U after = (U)combine<T>((T)before, value);
            if (after == before) break;
            const U now = atomicCAS(place, before, after);
            if (now == before) break;
            before = now;
        }
    }
}
