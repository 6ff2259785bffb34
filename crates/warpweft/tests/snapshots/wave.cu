struct wave_ww {
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
static_assert(WW_OFFSET(wave_ww, dt_) == 0, "layout of dt");
static_assert(sizeof(wave_ww) == 8, "layout of the parameters");

struct Wave_ww {
  ww::f32 height_;
  bool wet_;
  ww::f64 speed_;
  ww::u8 rock_;
};
static_assert(sizeof(Wave_ww) == 24, "size of Wave_ww");
static_assert(WW_OFFSET(Wave_ww, height_) == 0, "Wave_ww.height_");
static_assert(WW_OFFSET(Wave_ww, wet_) == 4, "Wave_ww.wet_");
static_assert(WW_OFFSET(Wave_ww, speed_) == 8, "Wave_ww.speed_");
static_assert(WW_OFFSET(Wave_ww, rock_) == 16, "Wave_ww.rock_");

