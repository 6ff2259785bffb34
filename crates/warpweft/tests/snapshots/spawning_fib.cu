struct fib_ww {
  ww::u32 n_;
  using Output = ww::u64;
  struct Live {
    ww::u64 a_1;
    ww::u64 b_2;
  };
  static constexpr ww::u32 NUMBER = 0, PIECES = 2, SPAWNS = 2, SPAWNING = 1u;
  static constexpr bool LOOPS = false, KEEPS = false;
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(fib_ww, n_) == 0, "layout of n");
static_assert(sizeof(fib_ww) == 4, "layout of the parameters");

template<class Lane> WW_FN void fib_ww::run(Lane& lane, ww::u32 at, Live& s) const {
  switch (at) {
    case 0: {
      if ((n_ < ww::u32(2))) {
        lane.give(ww::cast<ww::u64>(n_));
        return;
      }
      (void)(lane.template spawn<fib_ww, 0>(WW_OFFSET(Live, a_1), fib_ww{ww::sub(n_, ww::u32(1))}));
      (void)(lane.template spawn<fib_ww, 0>(WW_OFFSET(Live, b_2), fib_ww{ww::sub(n_, ww::u32(2))}));
      if (lane.wait(1u)) return;
    }
    case 1: {
      auto a_1 = s.a_1;
      auto b_2 = s.b_2;
      lane.give(ww::add(a_1, b_2));
      return;
    }
  }
}

