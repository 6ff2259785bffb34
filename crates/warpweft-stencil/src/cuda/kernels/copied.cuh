// Copied faces: which cell a ghost beyond a face takes its value from.
//
// Guarded by a macro, as several kernels of one text include it.
#ifndef WW_COPIED
#define WW_COPIED

namespace ww::stencil {

// The kinds of faces. Beyond a shared one lie cells of another device.
enum { periodic = 0, dirichlet = 1, neumann = 2, mirror = 3, shared = 4, function = 5 };

// Whether ghosts beyond such a face have values of their own.
WW_FN bool held(int kind) { return kind == dirichlet || kind == function; }

// The cell, of `extent` along an axis, that the ghost at `at` beyond a copied face takes its value from.
WW_FN int copied(int kind, int at, int extent) {
  const int last = extent - 1, depth = at < 0 ? -at : at - last;
  const int inward = kind == periodic ? last - (depth - 1) : kind == neumann ? depth - 1 : depth;
  return at < 0 ? inward : last - inward;
}

}  // namespace ww::stencil

#endif
