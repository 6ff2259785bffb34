//! The executor's copy of a volume: one or two padded arrays a field.

use super::ghosts::{Array, Ghosts};
use super::layout::{Layout, M, X, Y, Z};
use warpweft_core::cpu::{Aborted, Buffer, Pool, Worker, WorkerPanic};
use warpweft_core::element::{CellType, MAX_FIELDS};
use warpweft_core::error::Result;
use warpweft_core::grid::RawVolume;

/// The bytes after which a first-level cache begins again with its first set, and those of a line of it.
const SETS: usize = 4096;
const LINE: usize = 64;

/// Where array number `number` of `count` starts in its memory, so that the same cell of all of them does not fall into the
/// same cache set: they are spread over the sets of the first-level cache, and begin on different pages.
fn skew(number: usize, count: usize) -> usize {
    number * ((SETS / count.max(1)).next_multiple_of(LINE) + LINE + SETS)
}

/// Padded arrays of every field of `S`.
pub(super) struct Arrays {
    pub layout: Layout,
    /// Owners of the memory.
    _buffers: Vec<Buffer>,
    /// Per field its arrays; equal if there is one.
    bases: [[*mut u8; 2]; MAX_FIELDS],
    sizes: [usize; MAX_FIELDS],
    fields: usize,
}

// SAFETY: the pointers are into buffers that the struct owns; who writes where is the executor's
// affair, which gives workers disjoint boxes.
unsafe impl Send for Arrays {}
// SAFETY: as above.
unsafe impl Sync for Arrays {}

impl Arrays {
    /// Zeroed arrays, two for each field whose bit is set in `doubled`.
    pub fn new(cell: CellType, layout: Layout, doubled: u32, pool: &Pool) -> Result<Self> {
        let mut buffers = Vec::new();
        let mut bases = [[std::ptr::null_mut(); 2]; MAX_FIELDS];
        let mut sizes = [0; MAX_FIELDS];
        let twice = |f: usize| doubled >> f & 1 == 1;
        let count = (0..cell.len()).map(|f| 1 + usize::from(twice(f))).sum();
        for (f, field) in cell.fields().iter().enumerate() {
            sizes[f] = field.kind.size();
            for which in 0..1 + usize::from(twice(f)) {
                let skew = skew(buffers.len(), count);
                let buffer = Buffer::zeroed(layout.len * sizes[f] + skew, pool)?;
                let base = buffer.as_ptr().wrapping_add(skew);
                bases[f][which..].fill(base);
                buffers.push(buffer);
            }
        }
        Ok(Self { layout, _buffers: buffers, bases, sizes, fields: cell.len() })
    }

    /// The array of `field` that bit `field` of `which` selects.
    pub fn array(&self, field: usize, which: u32) -> Array {
        Array { base: self.bases[field][(which >> field & 1) as usize], size: self.sizes[field] }
    }

    /// Per field, the address of element `index` in the array that `which` selects.
    #[inline]
    pub fn at(&self, which: u32, index: isize) -> [*mut u8; MAX_FIELDS] {
        let mut at = [std::ptr::null_mut(); MAX_FIELDS];
        for f in 0..self.fields {
            // Not dereferenced here; `index` is inside for every caller.
            at[f] = self.array(f, which).base.wrapping_offset(index * self.sizes[f] as isize);
        }
        at
    }

    /// Copies a volume in and fills all ghost cells of both arrays of every field.
    pub fn load(
        &self,
        volume: &RawVolume,
        ghosts: &Ghosts,
        depth: [usize; 2],
        pool: &Pool,
    ) -> Result<(), WorkerPanic> {
        let from = Shared(volume.base().map(<*const u8>::cast_mut));
        let whole = self.layout.extents.map(|n| [0, n as isize]);
        let [low, high] = self.layout.padded(Z);
        pool.run(|worker| {
            for plane in worker.share((high - low) as usize) {
                self.fix(volume.cell_type(), ghosts, low + plane as isize);
            }
            // SAFETY: each worker copies its own planes, from a volume nobody writes.
            self.rows(worker, |index, cells, f, array| unsafe {
                let from = from.at(f, index * array.size);
                std::ptr::copy_nonoverlapping(
                    from,
                    array.at(cells),
                    self.layout.extents[X] * array.size,
                );
            });
            Ok(())
        })?;
        for f in 0..self.fields {
            // SAFETY: no worker is running.
            unsafe { ghosts.refresh(self.array(f, 0), whole) };
        }
        pool.run(|worker| {
            for f in 0..self.fields {
                // SAFETY: planes are dealt round, and nobody else is writing.
                unsafe {
                    ghosts.fill(self.array(f, 0), depth, |z| z % worker.count == worker.index)
                };
            }
            Ok(())
        })
    }

    /// Copies the arrays that `present` selects back into a volume.
    pub fn store(
        &self,
        present: u32,
        volume: &mut RawVolume,
        pool: &Pool,
    ) -> Result<(), WorkerPanic> {
        let to = Shared(volume.base_mut());
        pool.run(|worker| {
            // SAFETY: each worker copies its own planes, and the volume is borrowed exclusively.
            self.rows_of(worker, present, |index, cells, f, array| unsafe {
                let to = to.at(f, index * array.size);
                std::ptr::copy_nonoverlapping(
                    array.at(cells),
                    to,
                    self.layout.extents[X] * array.size,
                );
            });
            Ok(())
        })
    }

    fn rows(&self, worker: &Worker<'_>, body: impl FnMut(usize, isize, usize, Array)) {
        self.rows_of(worker, 0, body);
    }

    /// Calls `body(cell number, element index, field, array)` for the first cell of every row in
    /// this worker's share.
    pub fn rows_of(
        &self,
        worker: &Worker<'_>,
        which: u32,
        mut body: impl FnMut(usize, isize, usize, Array),
    ) {
        let n = self.layout.extents;
        for row in worker.share(n[Z] * n[Y] * n[M]) {
            let at = [row / n[M] / n[Y], row / n[M] % n[Y], row % n[M], 0].map(|i| i as isize);
            for f in 0..self.fields {
                body(row * n[X], self.layout.index(at), f, self.array(f, which));
            }
        }
    }

    /// Writes the Dirichlet values of one plane into both arrays.
    fn fix(&self, cell: CellType, ghosts: &Ghosts, z: isize) {
        let [y, m, x] = [Y, M, X].map(|axis| self.layout.padded(axis));
        let n = self.layout.extents[X] as isize;
        for y in y[0]..y[1] {
            for m in m[0]..m[1] {
                let row = |cells: std::ops::Range<isize>| {
                    for x in cells {
                        let at = [z, y, m, x];
                        let Some(value) = ghosts.fixed(at) else { continue };
                        let bits = cell.splat(value);
                        for field in 0..self.fields {
                            let value = bits.bytes(field);
                            for array in [0, u32::MAX].map(|which| self.array(field, which)) {
                                // SAFETY: the cell is inside the padded layout, in this worker's plane.
                                unsafe {
                                    let to = array.at(self.layout.index(at));
                                    to.copy_from(value.as_ptr(), array.size);
                                }
                            }
                        }
                    }
                };
                // A row inside along the other axes has fixed cells at its ends only.
                if ghosts.fixed([z, y, m, 0]).is_some() {
                    row(x[0]..x[1]);
                } else {
                    row(x[0]..0);
                    row(n..x[1]);
                }
            }
        }
    }
}

/// Addresses of a volume's fields, handed to workers.
struct Shared([*mut u8; MAX_FIELDS]);

// SAFETY: workers access disjoint rows.
unsafe impl Sync for Shared {}

impl Shared {
    fn at(&self, field: usize, byte: usize) -> *mut u8 {
        self.0[field].wrapping_add(byte)
    }
}

/// So that closures of `pool.run` read well.
pub(super) type Outcome = std::result::Result<(), Aborted>;
