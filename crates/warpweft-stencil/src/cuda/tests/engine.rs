//! The copy engine on the host.

use crate::cuda::memory::layout::Layout;

/// The declarations of the copy engine's map of the array that is read, and of where its first cell is.
pub fn host_map(layout: &Layout, size: usize, [width, rows]: [usize; 2]) -> String {
    let Layout { extents, ghosts, strides, west, origin, .. } = *layout;
    let padded = |d: usize| extents[d] + ghosts[d][0] + ghosts[d][1];
    let first = origin - west - (0..3).map(|d| ghosts[d][0] * strides[d]).sum::<usize>();
    format!(
        "const host_map engine{{a + {}, {size}, {{{}, {}, {}}}, \
         {{{}, {}, {}, {}}}, {width}, {rows}}};
  ww::stencil::TensorMap map;
  memcpy(&map, &engine, sizeof engine);
  const int4 origin{{{}, {}, {}, {west}}};",
        first * size,
        strides[2] * size,
        strides[1] * size,
        strides[0] * size,
        strides[2],
        padded(2),
        padded(1),
        padded(0),
        ghosts[0][0],
        ghosts[1][0],
        ghosts[2][0],
    )
}
