struct AffineCell_ww {
  ww::i32 h_;
  ww::i32 e_;
  ww::i32 f_;
};
static_assert(sizeof(AffineCell_ww) == 12, "size of AffineCell_ww");
static_assert(WW_OFFSET(AffineCell_ww, h_) == 0, "AffineCell_ww.h_");
static_assert(WW_OFFSET(AffineCell_ww, e_) == 4, "AffineCell_ww.e_");
static_assert(WW_OFFSET(AffineCell_ww, f_) == 8, "AffineCell_ww.f_");

struct affine_local_ww {
  ww::i32 matching_;
  ww::i32 mismatch_;
  ww::i32 open_;
  ww::i32 extend_;
  using Row = ww::u8;
  using Column = ww::u8;
  WW_FN Row row(Row a) const { return a; }
  WW_FN Column column(Column b) const { return b; }
  template<class Earlier> WW_FN AffineCell_ww operator()(const Earlier& h, Row a_1, Column b_2) const {
    const auto pair_3 = ((a_1 == b_2) ? matching_ : mismatch_);
    const auto e_4 = ww::max(ww::add(h.template at<0, -1>().h_, open_), ww::add(h.template at<0, -1>().e_, extend_));
    const auto f_5 = ww::max(ww::add(h.template at<-1, 0>().h_, open_), ww::add(h.template at<-1, 0>().f_, extend_));
    AffineCell_ww t1;
    t1.h_ = ww::max(ww::max(ww::max(ww::add(h.template at<-1, -1>().h_, pair_3), e_4), f_5), ww::i32(0));
    t1.e_ = e_4;
    t1.f_ = f_5;
    return t1;
  }
};
static_assert(WW_OFFSET(affine_local_ww, matching_) == 0, "layout of matching");
static_assert(WW_OFFSET(affine_local_ww, mismatch_) == 4, "layout of mismatch");
static_assert(WW_OFFSET(affine_local_ww, open_) == 8, "layout of open");
static_assert(WW_OFFSET(affine_local_ww, extend_) == 12, "layout of extend");
static_assert(sizeof(affine_local_ww) == 16, "layout of the parameters");

