struct hasty_ww {
  ww::i32 n_;
  using Output = ww::i32;
  struct Live {
    ww::i32 twice_1;
    Output result;
  };
  static constexpr ww::u32 NUMBER = 0, PIECES = 3, SPAWNS = 4, SPAWNING = 3u;
  static constexpr bool LOOPS = false, KEEPS = true;
  template<class Lane> static WW_FN void finish(Lane& lane, Live& s, const Output& value) {
    s.result = value;
    if (!lane.wait(2u)) lane.give(value);
  }
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(hasty_ww, n_) == 0, "layout of n");
static_assert(sizeof(hasty_ww) == 4, "layout of the parameters");

struct idle_ww {
  ww::u32 n_;
  using Output = ww::unit;
  struct Live {
    Output result;
  };
  static constexpr ww::u32 NUMBER = 1, PIECES = 2, SPAWNS = 0, SPAWNING = 1u;
  static constexpr bool LOOPS = true, KEEPS = false;
  template<class Lane> static WW_FN void finish(Lane& lane, Live& s, const Output& value) {
    s.result = value;
    if (!lane.wait(1u)) lane.give(value);
  }
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(idle_ww, n_) == 0, "layout of n");
static_assert(sizeof(idle_ww) == 4, "layout of the parameters");

template<class Lane> WW_FN void idle_ww::run(Lane& lane, ww::u32 at, Live& s) const {
  switch (at) {
    case 0: {
      for (ww::u32 t1 = ww::u32(0), t2 = n_; t1 < t2; ++t1) {
        const ww::u32 k_1 = t1;
        (void)(lane.template spawn<idle_ww, 4>(0, idle_ww{k_1}));
      }
      finish(lane, s, ww::unit{});
      return;
    }
    case 1: lane.give(s.result);
  }
}

template<class Lane> WW_FN void hasty_ww::run(Lane& lane, ww::u32 at, Live& s) const {
  switch (at) {
    case 0: {
      (void)(lane.template spawn<idle_ww, 4>(0, idle_ww{ww::u32(3)}));
      if ((n_ > ww::i32(4))) {
        (void)(lane.template spawn<idle_ww, 4>(0, idle_ww{ww::u32(2)}));
        finish(lane, s, ww::sub(n_, ww::i32(4)));
        return;
      }
      auto twice_1 = ww::i32(0);
      (void)(lane.template spawn<hasty_ww, 1>(WW_OFFSET(Live, twice_1), hasty_ww{ww::add(n_, ww::i32(3))}));
      s.twice_1 = twice_1;
      if (lane.wait(1u)) return;
    }
    case 1: {
      auto twice_1 = s.twice_1;
      (void)(lane.template spawn<idle_ww, 4>(0, idle_ww{ww::u32(1)}));
      finish(lane, s, ww::sub(ww::mul(twice_1, ww::i32(2)), n_));
      return;
    }
    case 2: lane.give(s.result);
  }
}

