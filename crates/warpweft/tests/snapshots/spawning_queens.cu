struct queens_ww {
  ww::u32 all_;
  ww::u32 columns_;
  ww::u32 left_;
  ww::u32 right_;
  using Output = ww::u64;
  struct Live {
    ww::u64 found_2;
  };
  static constexpr ww::u32 NUMBER = 0, PIECES = 2, SPAWNS = 0, SPAWNING = 1u;
  static constexpr bool LOOPS = true, KEEPS = false;
  template<class Lane> WW_FN void run(Lane& lane, ww::u32 at, Live& s) const;
};
static_assert(WW_OFFSET(queens_ww, all_) == 0, "layout of all");
static_assert(WW_OFFSET(queens_ww, columns_) == 4, "layout of columns");
static_assert(WW_OFFSET(queens_ww, left_) == 8, "layout of left");
static_assert(WW_OFFSET(queens_ww, right_) == 12, "layout of right");
static_assert(sizeof(queens_ww) == 16, "layout of the parameters");

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

