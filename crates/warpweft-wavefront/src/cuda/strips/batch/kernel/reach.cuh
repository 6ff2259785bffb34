// Numbers between two others, as translated functions compute with them: whether pairs of 16 bits (near.cuh) hold all
// that arises from cells, inputs and constants. Plain C++.
#pragma once

namespace ww {
// `leaves`: a number of a pair may not be what it stands for.
struct reach {
  i32 least, most;
  bool leaves;
  reach() = default;
  WW_FN reach(i32 least, i32 most, bool leaves) : least(least), most(most), leaves(leaves) {}
  // A constant. What is less than all cells stays so in greatest numbers, but must not be added to.
  WW_FN reach(i32 x) : least(x < -(1 << 14) ? -(1 << 30) : x), most(x), leaves(x > 1 << 14) {}
};

WW_FN reach add(reach a, reach b) {
  const i64 least = (i64)a.least + b.least, most = (i64)a.most + b.most;
  const bool out = least < -(1 << 15) || most >= 1 << 15;
  return reach{out ? 0 : (i32)least, out ? 0 : (i32)most, a.leaves || b.leaves || out};
}
WW_FN reach max(reach a, reach b) {
  return reach{a.least > b.least ? a.least : b.least, a.most > b.most ? a.most : b.most, a.leaves || b.leaves};
}
WW_FN reach add(reach a, i32 b) { return add(a, reach(b)); }
WW_FN reach add(i32 a, reach b) { return add(reach(a), b); }
WW_FN reach max(reach a, i32 b) { return max(a, reach(b)); }
WW_FN reach max(i32 a, reach b) { return max(reach(a), b); }

// Whether `f` gives a cell, of reaches only, that pairs do not hold. Earlier: of cells.
template <class Cell, class Earlier, class Element> WW_FN bool leaves_pairs(const Element& f) {
  constexpr int COUNT = sizeof(Cell) / sizeof(reach);
  // Cells, of which those outside may be the least that a pair holds, and what two inputs score.
  const reach of_cell(-(1 << 14), 32000, false), pair(-128, 127, false);
  Cell any;
  for (int i = 0; i < COUNT; i++) ((reach*)&any)[i] = of_cell;
  const Cell cell = f.template joined<Cell>(Earlier{any, any, any}, pair);
  bool leaves = false;
  for (int i = 0; i < COUNT; i++) leaves = leaves || ((const reach*)&cell)[i].leaves;
  return leaves;
}
}  // namespace ww
