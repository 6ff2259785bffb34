struct wave_ {
  ww::f64 dt_;
  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {
    const auto slope_1 = ww::sub(now.template at<0, 1>(), now.template at<0, -1>());
    const auto t1 = ww::sub(ww::mul(dt_, ww::cast<ww::f64>(slope_1)), ww::cast<ww::f64>(now.template at<3, 0>()));
    next.template ref<2>() = ww::add(next.template ref<2>(), t1);
    if ((now.template at<1, 0>() && (slope_1 > (0.0f)))) {
      next.template ref<0>() = ww::add(ww::mul(now.template at<0, 0>(), (0.5f)), ww::cast<ww::f32>(next.template ref<2>()));
      return;
    }
    next.template ref<1>() = ww::bit_not(next.template ref<1>());
    return;
  }
};
static_assert(WW_OFFSET(wave_, dt_) == 0, "layout of dt");
static_assert(sizeof(wave_) == 8, "layout of the parameters");

struct Wave_ {
  ww::f32 height_;
  bool wet_;
  ww::f64 speed_;
  ww::u8 rock_;
};
static_assert(sizeof(Wave_) == 24, "size of Wave_");
static_assert(WW_OFFSET(Wave_, height_) == 0, "Wave_.height_");
static_assert(WW_OFFSET(Wave_, wet_) == 4, "Wave_.wet_");
static_assert(WW_OFFSET(Wave_, speed_) == 8, "Wave_.speed_");
static_assert(WW_OFFSET(Wave_, rock_) == 16, "Wave_.rock_");

