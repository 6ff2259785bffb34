struct relax_ww {
  ww::f32 omega_;
  using Row = ww::unit;
  using Column = ww::unit;
  WW_FN Row row(Row a) const { return a; }
  WW_FN Column column(Column b) const { return b; }
  template<class Earlier> WW_FN ww::f32 operator()(const Earlier& h, Row , Column ) const {
    auto source_1 = h.input();
    const auto mean_2 = ww::mul((0.25f), ww::add(ww::add(ww::add(ww::add(h.template at<-1, 0>(), h.template at<0, -1>()), h.template old<0, 1>()), h.template old<1, 0>()), source_1));
    return ww::add(h.template old<0, 0>(), ww::mul(omega_, ww::sub(mean_2, h.template old<0, 0>())));
  }
};
static_assert(WW_OFFSET(relax_ww, omega_) == 0, "layout of omega");
static_assert(sizeof(relax_ww) == 4, "layout of the parameters");

