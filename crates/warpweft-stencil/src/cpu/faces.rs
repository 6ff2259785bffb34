//! Ghost cells beyond faces that are functions: written for every level anew.
//!
//! Each belongs to the cell that a Neumann boundary would copy (`anchor`) and is written right after a
//! level computed that cell, into the same array. So the order that suits followers suits these.

use super::arrays::Arrays;
use super::ghosts::Box4;
use super::layout::{Layout, canonical};
use crate::spec::functions::{FaceFunction, Times};
use crate::{Face, Source, Spec};
use warpweft_core::cpu::{Pool, WorkerPanic};
use warpweft_core::element::MAX_FIELDS;

/// A coordinate of a ghost.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    at: isize,
    /// The cell after which it is written.
    anchor: isize,
    /// What functions are called with: the source's coordinate where the face copies cells.
    coordinate: isize,
    /// Whether the face holds values.
    held: bool,
}

/// The function faces of a layout.
pub(super) struct Faces {
    stencil: Spec,
    layout: Layout,
    /// Per canonical axis; none along axes whose ghosts are deep.
    beyond: [Vec<Beyond>; 4],
    /// Canonical axis, end and function.
    functions: Vec<(usize, Face, FaceFunction)>,
}

impl Faces {
    /// The function faces of `stencil`; `deep` as in [`super::ghosts::Ghosts`].
    pub fn new(stencil: &Spec, layout: Layout, deep: [bool; 4]) -> Self {
        let axes = canonical(stencil.rank());
        let functions = stencil.function_faces();
        let functions = functions.map(|(axis, face, f)| (axes[axis], face, f.clone())).collect();
        let mut beyond: [Vec<Beyond>; 4] = Default::default();
        for (d, &axis) in axes.iter().enumerate().filter(|&(_, &axis)| !deep[axis]) {
            let (n, [low, high]) = (layout.extents[axis] as isize, layout.padded(axis));
            for at in (low..0).chain(n..high) {
                let anchor = if at < 0 { -at - 1 } else { 2 * n - 1 - at };
                let ghost = match stencil.boundaries.source(d, at, n as usize) {
                    Source::Cell(cell) => {
                        Beyond { at, anchor: cell as isize, coordinate: cell as isize, held: false }
                    }
                    _ => Beyond { at, anchor: anchor.clamp(0, n - 1), coordinate: at, held: true },
                };
                beyond[axis].push(ghost);
            }
        }
        Self { stencil: stencil.clone(), layout, beyond, functions }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Fields as [`Stencil::times`] has them.
    pub fn times(&self, stages: usize) -> Times {
        self.stencil.times(stages)
    }

    /// Writes the function ghosts that belong to the cells of `done` into the arrays whose first
    /// elements are `base`: each of `values`' fields, as bits, as after that step.
    ///
    /// # Safety
    /// The arrays must have this layout; nothing else may access those ghosts meanwhile.
    pub unsafe fn write(&self, base: &[*mut u8; MAX_FIELDS], done: Box4, values: [(u64, u32); 2]) {
        let axes = canonical(self.stencil.rank());
        for (axis, face, function) in &self.functions {
            let along = |other: usize| self.coordinates(other, done, (*axis, *face));
            let [z, y, m, x] = [0, 1, 2, 3].map(along);
            for z in &z {
                for y in &y {
                    for m in &m {
                        for x in &x {
                            let coordinate =
                                [z.coordinate, y.coordinate, m.coordinate, x.coordinate];
                            let coordinate = axes.map(|axis| coordinate[axis]);
                            let coordinate = self.stencil.functions.frame.place(coordinate);
                            let index = self.layout.index([z.at, y.at, m.at, x.at]);
                            for (step, fields) in values {
                                if fields != 0 {
                                    // SAFETY: the ghost is in the layout; the caller's contract.
                                    unsafe {
                                        function.store((coordinate, step), (base, index), fields)
                                    };
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// As [`Faces::write`] for all cells, into the arrays that `which` selects.
    pub fn write_all(
        &self,
        arrays: &Arrays,
        which: u32,
        values: [(u64, u32); 2],
        pool: &Pool,
    ) -> Result<(), WorkerPanic> {
        if self.is_empty() {
            return Ok(());
        }
        let whole = self.layout.extents.map(|n| [0, n as isize]);
        // A worker of the pool, so that a function's panic is caught.
        pool.run(|worker| {
            if worker.index == 0 {
                // SAFETY: the arrays have this layout, and the other workers do nothing.
                unsafe { self.write(&arrays.at(which, 0), whole, values) };
            }
            Ok(())
        })
    }

    /// The coordinates along `axis` of the ghosts of `done` that a face decides: a face across a slower
    /// axis would decide first.
    fn coordinates(&self, axis: usize, done: Box4, (across, face): (usize, Face)) -> Vec<Beyond> {
        let [low, high] = done[axis];
        let n = self.layout.extents[axis] as isize;
        let ghosts = self.beyond[axis].iter().copied();
        let ghosts = ghosts.filter(|ghost| low <= ghost.anchor && ghost.anchor < high);
        if axis == across {
            return ghosts.filter(|ghost| (ghost.at < 0) == (face == Face::Low)).collect();
        }
        // Levels compute around the seam of an axis that repeats.
        let coordinate = |at: isize| at.rem_euclid(n);
        let cells = (low..high).map(|at| Beyond {
            at,
            anchor: at,
            coordinate: coordinate(at),
            held: false,
        });
        cells.chain(ghosts.filter(|ghost| axis > across || !ghost.held)).collect()
    }
}
