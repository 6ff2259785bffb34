//! Launches of the kernel that gives ghost cells their values (ghosts.cuh).

use std::sync::Arc;

use crate::cuda::memory::layout::{Layout, axes};
use crate::{Boundaries, Boundary, Stage};
use warpweft_core::cuda::{Args, Launch};
use warpweft_core::element::{CellType, MAX_FIELDS};

/// The kernel's text; compiled on its own, so that every stencil shares it.
pub(crate) const TEXT: &str =
    concat!(include_str!("../kernels/copied.cuh"), include_str!("../kernels/ghosts.cuh"));

/// Which ghost cells a launch writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those beyond a Dirichlet face, which never change.
    Fixed,
    /// Those with a source, beyond one face only.
    Faces,
    /// Those with a source, edges and corners too.
    All,
}

/// Ghost cells beyond one face: a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slab {
    /// The axis and the side of the face.
    face: (usize, usize),
    low: [i32; 4],
    size: [i32; 4],
}

impl Slab {
    fn cells(&self) -> u64 {
        self.size.iter().map(|&n| n as u64).product()
    }
}

/// Boundaries as (w, z, y, x); axes that the volume lacks have no ghosts, so any kind does.
fn faces(boundaries: &Boundaries) -> [[Boundary; 2]; 4] {
    axes(boundaries.rank())
        .map(|axis| axis.map_or([Boundary::Periodic; 2], |axis| boundaries.0[axis]))
}

/// The slabs of ghost cells that a launch visits; they don't overlap.
fn slabs(layout: &Layout, faces: &[[Boundary; 2]; 4], which: Which) -> Vec<Slab> {
    let mut slabs = Vec::new();
    for axis in 0..4 {
        for side in 0..2 {
            let depth = layout.ghosts[axis][side];
            let fixed = faces[axis][side].is_held();
            // Behind a fixed face nothing has a source; the corners of a copied face may be fixed.
            // What functions decide is written by their own kernel.
            // Behind a shared one there are another device's cells, but fixed corners too.
            let shared = layout.shared[axis][side];
            let function = faces[axis][side] == Boundary::Function && !shared;
            if depth == 0 || function || (which != Which::Fixed && (fixed || shared)) {
                continue;
            }
            let (face, size) = ((axis, side), layout.extents.map(|n| n as i32));
            let mut slab = Slab { face, low: [0; 4], size };
            for other in axis + 1..4 {
                if which != Which::Faces {
                    slab.low[other] = -(layout.ghosts[other][0] as i32);
                    slab.size[other] += (layout.ghosts[other][0] + layout.ghosts[other][1]) as i32;
                }
            }
            slab.low[axis] = if side == 0 { -(depth as i32) } else { layout.extents[axis] as i32 };
            slab.size[axis] = depth as i32;
            slabs.push(slab);
        }
    }
    slabs
}

/// A field in the kernel's eyes: its number, and the address of its array.
pub(crate) type At = (usize, u64);

/// Fields, as bits, that are read beyond the faces `[axis][side]` of (w, z, y, x).
pub(crate) type Beyond = [[u32; 2]; 4];

/// All fields beyond all faces.
pub(crate) const EVERYWHERE: Beyond = [[u32::MAX; 2]; 4];

/// The fields that any of `stages` reads beyond each face.
pub(crate) fn beyond<'a>(stages: impl Iterator<Item = &'a Arc<dyn Stage>>) -> Beyond {
    let mut fields = [[0; 2]; 4];
    for stage in stages {
        for tap in stage.taps() {
            for (axis, fields) in axes(stage.rank()).into_iter().zip(&mut fields) {
                let offset = axis.map_or(0, |axis| tap.offset[axis]);
                fields[0] |= u32::from(offset < 0) << tap.field;
                fields[1] |= u32::from(offset > 0) << tap.field;
            }
        }
    }
    fields
}

/// The launch that writes `which` ghosts of `fields` as far as they are read `beyond` the faces, or `None` when there
/// are none.
pub(crate) fn launch(
    layout: &Layout,
    (cell, boundaries): (CellType, &Boundaries),
    (which, beyond): (Which, &Beyond),
    fields: &[At],
) -> Option<(Launch, Args)> {
    let faces = faces(boundaries);
    let mut slabs = slabs(layout, &faces, which);
    // The bits of those of `fields` that a slab is of.
    let of = |slab: &Slab| {
        let read = beyond[slab.face.0][slab.face.1];
        let bits = fields.iter().enumerate().map(|(n, (f, _))| (read >> f & 1) << n);
        bits.fold(0, |all, bit| all | bit)
    };
    slabs.retain(|slab| of(slab) != 0);
    let cells = slabs.iter().map(Slab::cells).max().unwrap_or(0);
    if cells == 0 || fields.is_empty() {
        return None;
    }
    // `struct Ghosts`, member by member; no member needs padding before it.
    let mut blob = Vec::new();
    for stride in layout.strides {
        blob.extend((stride as u64).to_ne_bytes());
    }
    let mut blob32 = |values: &[i32]| {
        for value in values {
            blob.extend_from_slice(&value.to_ne_bytes());
        }
    };
    blob32(&layout.extents.map(|n| n as i32));
    blob32(&codes(layout, boundaries));
    let none = Slab { face: (0, 0), low: [0; 4], size: [1; 4] };
    for n in 0..8 {
        let slab = slabs.get(n).unwrap_or(&none);
        blob.extend(slab.low.iter().chain(&slab.size).flat_map(|n| n.to_ne_bytes()));
        blob.extend(slabs.get(n).map_or(0, of).to_ne_bytes());
    }
    let size = |f: usize| cell.size(f);
    for n in 0..MAX_FIELDS {
        let at = fields.get(n).map_or(0, |&(f, array)| array + (layout.origin * size(f)) as u64);
        blob.extend(at.to_ne_bytes());
    }
    for face in faces.as_flattened() {
        let value = if let Boundary::Dirichlet(value) = face { *value } else { 0.0 };
        let bits = cell.splat(value);
        for n in 0..MAX_FIELDS {
            blob.extend(fields.get(n).map_or(0, |&(f, _)| bits.word(f)).to_ne_bytes());
        }
    }
    for n in 0..MAX_FIELDS {
        blob.extend((fields.get(n).map_or(0, |&(f, _)| size(f)) as i32).to_ne_bytes());
    }
    blob.extend((slabs.len() as i32).to_ne_bytes());
    blob.extend(0i32.to_ne_bytes());
    let mut args = Args::new();
    args.blob(&blob, 8);
    args.value(i32::from(which == Which::Fixed));
    let grid = [cells.div_ceil(256) as u32, slabs.len() as u32, fields.len() as u32];
    Some((Launch::new(grid, [256, 1, 1]), args))
}

/// The kinds of all faces, `[axis][side]` of (w, z, y, x), as copied.cuh numbers them.
pub(crate) fn codes(layout: &Layout, boundaries: &Boundaries) -> [i32; 8] {
    let faces = faces(boundaries);
    std::array::from_fn(|n| {
        if layout.shared[n / 2][n % 2] { SHARED } else { code(&faces[n / 2][n % 2]) }
    })
}

/// What copied.cuh calls a face beyond which lie another device's cells.
const SHARED: i32 = 4;

/// The kinds of boundary as copied.cuh numbers them.
pub(crate) fn code(boundary: &Boundary) -> i32 {
    match boundary {
        Boundary::Periodic => 0,
        Boundary::Dirichlet(_) => 1,
        Boundary::Neumann => 2,
        Boundary::Mirror => 3,
        Boundary::Function => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_cover_every_ghost_once() {
        let layout = Layout {
            dims: 3,
            extents: [1, 4, 5, 6],
            ghosts: [[0, 0], [1, 2], [2, 1], [1, 1]],
            strides: [0; 4],
            west: 0,
            origin: 0,
            len: 0,
            shared: [[false; 2]; 4],
            begin: [0; 4],
            period: [0; 4],
        };
        let faces = [[Boundary::Periodic; 2]; 4];
        let count = |which| slabs(&layout, &faces, which).iter().map(Slab::cells).sum::<u64>();
        assert_eq!(count(Which::All), 7 * 8 * 8 - 4 * 5 * 6);
        assert_eq!(count(Which::Faces), 3 * 5 * 6 + 4 * 3 * 6 + 4 * 5 * 2);
        // Another device's cells are not copied here.
        let mut cut = layout;
        cut.shared[1] = [false, true];
        let count = |which| slabs(&cut, &faces, which).iter().map(Slab::cells).sum::<u64>();
        assert_eq!(count(Which::Faces), 5 * 6 + 4 * 3 * 6 + 4 * 5 * 2);
        assert_eq!(count(Which::Fixed), 7 * 8 * 8 - 4 * 5 * 6);
    }
}
