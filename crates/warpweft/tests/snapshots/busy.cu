struct busy_ww {
  ww::f32 weight_;
  ww::u8 steps_;
  using Row = ww::unit;
  using Column = ww::f32;
  WW_FN Row row(Row a) const { return a; }
  WW_FN Column column(Column b) const { return b; }
  template<class Earlier> WW_FN ww::f32 operator()(const Earlier& h, Row , Column b_2) const {
    auto weight_1 = weight_;
    const auto FAR_3 = ww::isize(2);
    auto sum_4 = (0.0f);
    {
      {
        const auto d_5 = ww::isize(1);
        {
          {
            const auto e_6 = ww::isize(-1);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-1, -1>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
          {
            const auto e_7 = ww::isize(0);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-1, 0>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
          {
            const auto e_8 = ww::isize(1);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-1, 1>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
        }
      }
      {
        const auto d_9 = ww::isize(2);
        {
          {
            const auto e_10 = ww::isize(-1);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-2, -2>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
          {
            const auto e_11 = ww::isize(0);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-2, 0>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
          {
            const auto e_12 = ww::isize(1);
            sum_4 = ww::add(sum_4, ww::mul(weight_1, h.template at<-2, 2>()));
            weight_1 = ww::add(weight_1, (0.5f));
          }
        }
      }
    }
    if (((steps_ >= 3ll && steps_ <= 9ll) && (h.template old<0, 0>() > h.template old<2, -2>()))) {
      return ww::add(sum_4, h.template at<0, -1>());
    }
    if (!((steps_ != ww::u8(77)))) ww::fail(1u);
    return ww::sub(ww::max(sum_4, b_2), h.template old<0, 1>());
  }
};
static_assert(WW_OFFSET(busy_ww, weight_) == 0, "layout of weight");
static_assert(WW_OFFSET(busy_ww, steps_) == 4, "layout of steps");
static_assert(sizeof(busy_ww) == 8, "layout of the parameters");

