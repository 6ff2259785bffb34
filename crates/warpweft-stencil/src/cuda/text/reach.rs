//! How a stage uses each field, and how far it reads it.

use crate::cuda::memory::layout::axes;
use crate::{CudaPolicy, Stage};
use warpweft_core::element::{CellType, ScalarKind};

/// Bytes that rows of the copy engine's tiles are whole multiples of, and begin on.
pub const COPY_UNIT: usize = 16;

/// How a stage uses a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Not at all.
    Unused,
    /// Read only: one pointer.
    Read,
    /// Written where it is read from: one pointer.
    InPlace,
    /// Read next to the cell and written, so into a second array: two pointers.
    Doubled,
}

/// How far a stage reads one field: `Reach` in cells.cuh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Along z in the cell's own column; `None` where it isn't read.
    pub own: Option<[isize; 2]>,
    /// Along z off that column.
    pub off: Option<[isize; 2]>,
    /// Along y, below and above.
    pub y: [usize; 2],
    /// Along x, below and above.
    pub x: [usize; 2],
    /// Whether all reads off that column are along y or along x alone, as a star's are.
    pub cross: bool,
}

/// How `stage` uses field `f`.
pub fn role_of(stage: &dyn Stage, f: usize) -> Role {
    let mut taps = stage.taps().iter().filter(|tap| tap.field == f).peekable();
    let read = taps.peek().is_some();
    match (stage.writes().contains(&f), read) {
        (false, false) => Role::Unused,
        (false, true) => Role::Read,
        (true, _) if taps.any(|tap| tap.offset.iter().any(|&offset| offset != 0)) => Role::Doubled,
        (true, _) => Role::InPlace,
    }
}

pub fn reach_of(stage: &dyn Stage, f: usize) -> Reach {
    let mut reach = Reach { cross: true, ..Reach::default() };
    for tap in stage.taps().iter().filter(|tap| tap.field == f) {
        let [w, z, y, x] = axes(stage.rank()).map(|axis| axis.map_or(0, |axis| tap.offset[axis]));
        let widen = |range: Option<[isize; 2]>| {
            let [low, high] = range.unwrap_or_default();
            Some([low.min(z), high.max(z)])
        };
        if w != 0 {
            // Reached through global memory by every skeleton.
        } else if y == 0 && x == 0 {
            reach.own = widen(reach.own);
        } else {
            reach.off = widen(reach.off);
            reach.cross &= z == 0 && (y == 0 || x == 0);
            reach.y = [reach.y[0].max(-y.min(0) as usize), reach.y[1].max(y.max(0) as usize)];
            reach.x = [reach.x[0].max(-x.min(0) as usize), reach.x[1].max(x.max(0) as usize)];
        }
    }
    reach
}

/// The fields in the ring and the ring's bytes, as planes.cuh works them out.
pub fn ring_of(
    cell: CellType,
    reach: &[Reach],
    policy: &CudaPolicy,
) -> (Vec<(usize, [usize; 2])>, usize) {
    let widest = |planes: &dyn Fn(&Reach) -> Option<[isize; 2]>, side: usize| {
        let depth = |[low, high]: [isize; 2]| if side == 0 { -low } else { high };
        reach.iter().filter_map(planes).map(depth).max().unwrap_or(0).max(0) as usize
    };
    let (own, off) = (|r: &Reach| r.own, |r: &Reach| r.off);
    let high = widest(&own, 1).max(widest(&off, 1));
    let slots = widest(&off, 0) + high + 1 + policy.prefetch as usize;
    let mut ringed = Vec::new();
    let mut slot = 0;
    for (f, reach) in reach.iter().enumerate().filter(|(_, reach)| reach.off.is_some()) {
        let size = cell.size(f);
        let [west, east] = reach.x.map(|depth| depth.next_multiple_of(COPY_UNIT / size));
        let width = 32 * policy.cells[0] as usize + west + east;
        let rows = (policy.warps * policy.cells[1]) as usize + reach.y[0] + reach.y[1];
        ringed.push((f, [width, rows]));
        slot += (width * rows * size).next_multiple_of(128);
    }
    (ringed, slots * slot)
}

/// The C++ name of field `f`'s scalar.
pub fn type_of(cell: CellType, f: usize) -> String {
    match cell.kind(f) {
        ScalarKind::Bool => "bool".into(),
        kind => format!("ww::{}", kind.name()),
    }
}
