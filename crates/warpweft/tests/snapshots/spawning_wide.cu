struct wide_ww {
  ww::u32 n_;
  ww::u64 seed_;
  using Output = ww::u64;
  struct Live {
    ww::u32 n_1;
    ww::u32 high_3;
    ww::array<ww::u32, 2> pair_4;
    ww::u8 turns_5;
    ww::u64 a_6;
    ww::u64 bits_7;
    ww::u64 mixed_in_8;
    ww::u64 all_10;
    ww::u64 last_11;
  };
  static constexpr ww::u32 NUMBER = 0, PIECES = 4, SPAWNS = 6, SPAWNING = 7u;
  static constexpr bool LOOPS = false, KEEPS = false;
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(wide_ww, n_) == 0, "layout of n");
static_assert(WW_OFFSET(wide_ww, seed_) == 8, "layout of seed");
static_assert(sizeof(wide_ww) == 16, "layout of the parameters");

struct fib_ww {
  ww::u32 n_;
  using Output = ww::u64;
  struct Live {
    ww::u64 a_1;
    ww::u64 b_2;
  };
  static constexpr ww::u32 NUMBER = 1, PIECES = 2, SPAWNS = 2, SPAWNING = 1u;
  static constexpr bool LOOPS = false, KEEPS = false;
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(fib_ww, n_) == 0, "layout of n");
static_assert(sizeof(fib_ww) == 4, "layout of the parameters");

struct queens_ww {
  ww::u32 all_;
  ww::u32 columns_;
  ww::u32 left_;
  ww::u32 right_;
  using Output = ww::u64;
  struct Live {
    ww::u64 found_2;
  };
  static constexpr ww::u32 NUMBER = 2, PIECES = 2, SPAWNS = 0, SPAWNING = 1u;
  static constexpr bool LOOPS = true, KEEPS = false;
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(queens_ww, all_) == 0, "layout of all");
static_assert(WW_OFFSET(queens_ww, columns_) == 4, "layout of columns");
static_assert(WW_OFFSET(queens_ww, left_) == 8, "layout of left");
static_assert(WW_OFFSET(queens_ww, right_) == 12, "layout of right");
static_assert(sizeof(queens_ww) == 16, "layout of the parameters");

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

template<class Lane> WW_FN void queens_ww::run(Lane& lane, ww::u32 at, Live& s) const {
  switch (at) {
    case 0: {
      if ((columns_ == all_)) {
        lane.give(ww::u64(1));
        return;
      }
      auto free_1 = ww::bit_and(all_, ww::bit_not(ww::bit_or(ww::bit_or(columns_, left_), right_)));
      auto found_2 = ww::u64(0);
      while ((free_1 != ww::u32(0))) {
        const auto square_4 = ww::bit_and(free_1, ww::wrapping_neg(free_1));
        free_1 = ww::bit_xor(free_1, square_4);
        (void)(lane.template spawn<queens_ww, 1>(WW_OFFSET(Live, found_2), queens_ww{all_, ww::bit_or(columns_, square_4), ww::shl(ww::bit_or(left_, square_4), ww::i32(1)), ww::shr(ww::bit_or(right_, square_4), ww::i32(1))}));
      }
      s.found_2 = found_2;
      if (lane.wait(1u)) return;
    }
    case 1: {
      auto found_2 = s.found_2;
      lane.give(found_2);
      return;
    }
  }
}

template<class Lane> WW_FN void wide_ww::run(Lane& lane, ww::u32 at, Live& s) const {
  switch (at) {
    case 0: {
      auto n_1 = n_;
      const auto t1 = ww::tuple(ww::cast<ww::u32>(seed_), ww::cast<ww::u32>(ww::shr(seed_, ww::i32(32))));
      const auto low_2 = t1._0;
      const auto high_3 = t1._1;
      const auto pair_4 = ww::list(ww::bit_xor(low_2, ww::u32(7)), ww::bit_xor(high_3, ww::u32(9)));
      auto turns_5 = ww::u8(0);
      if ((n_1 == ww::u32(0))) {
        lane.give(ww::bit_xor(seed_, ww::u64(5)));
        return;
      }
      n_1 = ww::sub(n_1, ww::u32(1));
      (void)(lane.template spawn<wide_ww, 0>(WW_OFFSET(Live, a_6), wide_ww{n_1, ww::wrapping_mul(seed_, ww::u64(3))}));
      auto bits_7 = ww::u64(0);
      if ((ww::bit_and(low_2, ww::u32(1)) == ww::u32(0))) {
        (void)(lane.template spawn<wide_ww, 0>(WW_OFFSET(Live, bits_7), wide_ww{ww::div(n_1, ww::u32(2)), ww::bit_xor(seed_, ww::u64(77))}));
      }
      else {
        (void)(lane.template spawn<fib_ww, 3>(WW_OFFSET(Live, bits_7), fib_ww{ww::add(n_1, ww::u32(3))}));
      }
      turns_5 = ww::add(turns_5, ww::u8(1));
      s.n_1 = n_1;
      s.high_3 = high_3;
      s.pair_4 = pair_4;
      s.turns_5 = turns_5;
      s.bits_7 = bits_7;
      if (lane.wait(1u)) return;
    }
    case 1: {
      auto n_1 = s.n_1;
      auto turns_5 = s.turns_5;
      auto a_6 = s.a_6;
      auto bits_7 = s.bits_7;
      const auto mixed_in_8 = ww::bit_xor(a_6, bits_7);
      const auto half_9 = ww::div(n_1, ww::u32(2));
      auto all_10 = ww::u64(0);
      (void)(lane.template spawn<wide_ww, 2>(WW_OFFSET(Live, all_10), wide_ww{half_9, mixed_in_8}));
      (void)(lane.template spawn<wide_ww, 2>(WW_OFFSET(Live, all_10), wide_ww{half_9, ww::bit_xor(mixed_in_8, ww::u64(1))}));
      turns_5 = ww::add(turns_5, ww::u8(1));
      s.n_1 = n_1;
      s.turns_5 = turns_5;
      s.a_6 = a_6;
      s.bits_7 = bits_7;
      s.mixed_in_8 = mixed_in_8;
      s.all_10 = all_10;
      if (lane.wait(2u)) return;
    }
    case 2: {
      auto pair_4 = s.pair_4;
      auto turns_5 = s.turns_5;
      (void)(lane.template spawn<queens_ww, 0>(WW_OFFSET(Live, last_11), queens_ww{ww::u32(7), ww::u32(0), ww::u32(0), ww::u32(0)}));
      turns_5 = ww::add(turns_5, ww::bit_and(ww::cast<ww::u8>(ww::at(pair_4, ww::usize(1), 0u)), ww::u8(3)));
      s.pair_4 = pair_4;
      s.turns_5 = turns_5;
      if (lane.wait(3u)) return;
    }
    case 3: {
      auto n_1 = s.n_1;
      auto high_3 = s.high_3;
      auto pair_4 = s.pair_4;
      auto turns_5 = s.turns_5;
      auto mixed_in_8 = s.mixed_in_8;
      auto all_10 = s.all_10;
      auto last_11 = s.last_11;
      lane.give(ww::bit_xor(ww::bit_xor(ww::bit_xor(ww::bit_xor(ww::bit_xor(ww::bit_xor(ww::wrapping_mul(all_10, ww::u64(31)), mixed_in_8), last_11), ww::cast<ww::u64>(ww::at(pair_4, ww::usize(0), 0u))), ww::cast<ww::u64>(turns_5)), ww::cast<ww::u64>(high_3)), ww::cast<ww::u64>(n_1)));
      return;
    }
  }
}

