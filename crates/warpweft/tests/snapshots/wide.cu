WW_CONST ww::array<ww::f64, 5> table_ww = ww::array<ww::f64, 5>{{(-0x1.6c71c71c71c72p+1), (0x1.999999999999ap+0), (-0x1.999999999999ap-3), (0x1.a01a01a01a01ap-6), (-0x1.d41d41d41d41dp-10)}};

struct wide_ww {
  ww::f32 rate_;
  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {
    auto sum_1 = ww::mul((-0x1.6c71c80000000p+2f), now.template at<0, 0, 0>());
    {
      {
        const auto k_2 = ww::isize(1);
        sum_1 = ww::add(sum_1, ww::mul(ww::cast<ww::f32>(ww::at(table_ww, ww::cast<ww::usize>(k_2), 0u)), ww::add(ww::add(ww::add(now.template at<0, -1, 0>(), now.template at<0, 1, 0>()), now.template at<0, 0, -1>()), now.template at<0, 0, 1>())));
      }
      {
        const auto k_3 = ww::isize(2);
        sum_1 = ww::add(sum_1, ww::mul(ww::cast<ww::f32>(ww::at(table_ww, ww::cast<ww::usize>(k_3), 0u)), ww::add(ww::add(ww::add(now.template at<0, -2, 0>(), now.template at<0, 2, 0>()), now.template at<0, 0, -2>()), now.template at<0, 0, 2>())));
      }
      {
        const auto k_4 = ww::isize(3);
        sum_1 = ww::add(sum_1, ww::mul(ww::cast<ww::f32>(ww::at(table_ww, ww::cast<ww::usize>(k_4), 0u)), ww::add(ww::add(ww::add(now.template at<0, -3, 0>(), now.template at<0, 3, 0>()), now.template at<0, 0, -3>()), now.template at<0, 0, 3>())));
      }
      {
        const auto k_5 = ww::isize(4);
        sum_1 = ww::add(sum_1, ww::mul(ww::cast<ww::f32>(ww::at(table_ww, ww::cast<ww::usize>(k_5), 0u)), ww::add(ww::add(ww::add(now.template at<0, -4, 0>(), now.template at<0, 4, 0>()), now.template at<0, 0, -4>()), now.template at<0, 0, 4>())));
      }
    }
    next.template ref<0>() = ww::add(now.template at<0, 0, 0>(), ww::mul(rate_, sum_1));
    return;
  }
};
static_assert(WW_OFFSET(wide_ww, rate_) == 0, "layout of rate");
static_assert(sizeof(wide_ww) == 4, "layout of the parameters");

