WW_FN ww::f32 pair_ww(const ww::f32 a_1, const ww::f32 b_2) {
  return ww::add(a_1, b_2);
}

struct diffuse_ww {
  ww::f32 rate_;
  ww::f32 most_;
  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {
    const auto around_1 = ww::add(ww::add(ww::add(now.template at<0, -1, 0, 0>(), now.template at<0, 1, 0, 0>()), now.template at<0, 0, -1, 0>()), now.template at<0, 0, 1, 0>());
    const auto around_2 = ww::add(around_1, pair_ww(now.template at<0, 0, 0, -1>(), now.template at<0, 0, 0, 1>()));
    if ((around_2 > most_)) {
      next.template ref<0>() = most_;
      return;
    }
    next.template ref<0>() = ww::add(now.template at<0, 0, 0, 0>(), ww::mul(rate_, ww::sub(around_2, ww::mul((6.0f), now.template at<0, 0, 0, 0>()))));
    return;
  }
};
static_assert(WW_OFFSET(diffuse_ww, rate_) == 0, "layout of rate");
static_assert(WW_OFFSET(diffuse_ww, most_) == 4, "layout of most");
static_assert(sizeof(diffuse_ww) == 8, "layout of the parameters");

