// The three cells that a strip's cell depends on, as an element reads them.
#pragma once

template <class T> struct earlier_of {
    T nw, n, w;
    template <int DI, int DJ> WW_FN const T& at() const {
        static_assert(DI >= -1 && DJ >= -1 && DI <= 0 && DJ <= 0 && DI + DJ < 0, "not a neighbour");
        if constexpr (DI == 0) return w;
        else if constexpr (DJ == 0) return n;
        else return nw;
    }
};
