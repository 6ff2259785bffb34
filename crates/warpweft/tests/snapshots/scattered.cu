enum class Hue_ww : ww::i8 { Red_ = ww::i8(0xfffffffffffffffdull), Green_ = ww::i8(0x0ull), Blue_ = ww::i8(0x7ull) };

struct scattered_ww {
  ww::i32 weight_;
  Hue_ww hue_;
  ww::array<ww::i16, 3> table_;
  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {
    auto weight_1 = weight_;
    const auto REACH_2 = ww::isize(2);
    const auto far_3 = ww::add(REACH_2, ww::isize(1));
    auto sum_4 = ww::i32(0);
    {
      {
        const auto y_5 = ww::isize(2);
        {
          {
            const auto x_6 = ww::isize(0);
            if (((y_5 != ww::isize(0)) || (x_6 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, 2, -1>()));
            }
          }
          {
            const auto x_7 = ww::isize(1);
            if (((y_5 != ww::isize(0)) || (x_7 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, 2, 1>()));
            }
          }
        }
      }
      {
        const auto y_8 = ww::isize(0);
        {
          {
            const auto x_9 = ww::isize(0);
            if (((y_8 != ww::isize(0)) || (x_9 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, 0, -1>()));
            }
          }
          {
            const auto x_10 = ww::isize(1);
            if (((y_8 != ww::isize(0)) || (x_10 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, 0, 1>()));
            }
          }
        }
      }
      {
        const auto y_11 = ww::isize(-2);
        {
          {
            const auto x_12 = ww::isize(0);
            if (((y_11 != ww::isize(0)) || (x_12 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, -2, -1>()));
            }
          }
          {
            const auto x_13 = ww::isize(1);
            if (((y_11 != ww::isize(0)) || (x_13 == ww::isize(1)))) {
              weight_1 = ww::add(weight_1, ww::i32(1));
              sum_4 = ww::add(sum_4, ww::mul(weight_1, now.template at<0, -2, 1>()));
            }
          }
        }
      }
    }
    {
      {
        const auto i_14 = ww::usize(0);
        sum_4 = ww::bit_xor(sum_4, ww::add(ww::cast<ww::i32>(ww::at(table_, i_14, 0u)), now.template at<0, 3, -3>()));
      }
      {
        const auto i_15 = ww::usize(1);
        sum_4 = ww::bit_xor(sum_4, ww::add(ww::cast<ww::i32>(ww::at(table_, i_15, 0u)), now.template at<0, 3, -3>()));
      }
      {
        const auto i_16 = ww::usize(2);
        sum_4 = ww::bit_xor(sum_4, ww::add(ww::cast<ww::i32>(ww::at(table_, i_16, 0u)), now.template at<0, 3, -3>()));
      }
    }
    const auto u_17 = now.template at<0, 0, 0>();
    const auto t1 = hue_;
    if ((t1 == Hue_ww::Red_)) {
      next.template ref<0>() = sum_4;
      return;
    }
    else if ((u_17 > ww::i32(3))) {
      next.template ref<0>() = ww::div(sum_4, u_17, 1u, 2u);
      return;
    }
    else {
      next.template ref<0>() = u_17;
      return;
    }
  }
};
static_assert(WW_OFFSET(scattered_ww, weight_) == 0, "layout of weight");
static_assert(WW_OFFSET(scattered_ww, hue_) == 4, "layout of hue");
static_assert(WW_OFFSET(scattered_ww, table_) == 6, "layout of table");
static_assert(sizeof(scattered_ww) == 12, "layout of the parameters");

