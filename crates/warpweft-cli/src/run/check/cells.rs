//! The cells of one field as `f64`, whatever scalar type they have.

use std::ops::Range;

use warpweft::element::{CellType, Scalar, ScalarKind};
use warpweft::grid::{RawVolume, in_parts, over_parts};
use warpweft::prelude::*;
use warpweft_apps::soup::SplitMix;

use super::rows::{self, NO_RANGE, wider};

/// Cells that are worth a thread.
pub const PART: usize = 1 << 16;
/// Cells that are converted at a time: they stay in the cache.
const BLOCK: usize = 1 << 10;

/// A cell type with one unnamed field.
pub fn cell_of(kind: ScalarKind) -> CellType {
    match kind {
        ScalarKind::F16 => CellType::of::<f16>(),
        ScalarKind::Bf16 => CellType::of::<bf16>(),
        ScalarKind::F64 => CellType::of::<f64>(),
        ScalarKind::U8 => CellType::of::<u8>(),
        _ => CellType::of::<f32>(),
    }
}

/// A field, for reading.
#[derive(Clone, Copy)]
pub struct Cells<'a> {
    kind: ScalarKind,
    bytes: &'a [u8],
}

impl<'a> Cells<'a> {
    /// What `fold` makes of parts of the cells, in their order, from `none` on. It gets a part's cells in blocks. The parts
    /// are the same on any number of threads.
    pub fn by_parts<R: Copy + Send + Sync>(
        volume: &RawVolume,
        field: usize,
        none: R,
        fold: impl Fn(R, &[f64]) -> R + Sync,
    ) -> Vec<R> {
        let cells = Cells::of(volume, field);
        over_parts(volume.len(), 16 * PART, |part| {
            let (mut all, mut block) = (none, vec![0.0; BLOCK.min(part.len())]);
            for first in part.clone().step_by(BLOCK) {
                let block = &mut block[..BLOCK.min(part.end - first)];
                cells.read(first, block);
                all = fold(all, block);
            }
            all
        })
    }

    /// The least and the greatest value of a field, infinite where there is none; NaN is passed over.
    pub fn range(volume: &RawVolume, field: usize) -> [f64; 2] {
        let wider_by = |range, cells: &[f64]| wider(range, rows::range(cells));
        let parts = Self::by_parts(volume, field, NO_RANGE, wider_by);
        parts.into_iter().fold(NO_RANGE, wider)
    }

    /// Field number `field` of `volume`.
    ///
    /// # Panics
    /// If there is no such field.
    pub fn of(volume: &'a RawVolume, field: usize) -> Self {
        Self { kind: volume.cell_type().kind(field), bytes: volume.field_bytes(field) }
    }

    /// The cell with this index in row-major order; NaN if there is none.
    pub fn at(self, number: usize) -> f64 {
        let size = self.kind.size();
        let bytes = self.bytes.get(number * size..(number + 1) * size);
        bytes.map_or(f64::NAN, |bytes| self.kind.to_f64(bytes))
    }

    /// Reads as many cells as `values` has, from this index on.
    ///
    /// # Panics
    /// There are not so many.
    pub fn read(self, first: usize, values: &mut [f64]) {
        let size = self.kind.size();
        let bytes = &self.bytes[first * size..(first + values.len()) * size];
        match self.kind {
            ScalarKind::F32 => convert(bytes, values, |bytes| f64::from(f32::from_ne_bytes(bytes))),
            ScalarKind::F64 => convert(bytes, values, f64::from_ne_bytes),
            _ => {
                let cells = bytes.chunks_exact(size).map(|bytes| self.kind.to_f64(bytes));
                values.iter_mut().zip(cells).for_each(|(value, cell)| *value = cell);
            }
        }
    }

    /// The cells with these indices.
    pub fn part(self, cells: Range<usize>) -> impl Iterator<Item = f64> + 'a {
        let size = self.kind.size();
        Self { bytes: &self.bytes[cells.start * size..cells.end * size], ..self }.iter()
    }

    /// All cells in row-major order.
    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        self.bytes.chunks_exact(self.kind.size()).map(move |bytes| self.kind.to_f64(bytes))
    }
}

/// Scalars of `N` bytes by a loop that can be vectorised.
fn convert<const N: usize>(bytes: &[u8], values: &mut [f64], number: impl Fn([u8; N]) -> f64) {
    let (cells, _) = bytes.as_chunks::<N>();
    values.iter_mut().zip(cells).for_each(|(value, &cell)| *value = number(cell));
}

/// Does something with a field of numbers of a type that files and noise support, as a slice of that type.
macro_rules! with_cells {
    ($volume:expr, $field:expr, |$cells:ident: $t:ident| $body:expr) => {
        match $volume.cell_type().kind($field) {
            ScalarKind::F16 => with_cells!(of f16, $volume, $field, |$cells: $t| $body),
            ScalarKind::Bf16 => with_cells!(of bf16, $volume, $field, |$cells: $t| $body),
            ScalarKind::F32 => with_cells!(of f32, $volume, $field, |$cells: $t| $body),
            ScalarKind::F64 => with_cells!(of f64, $volume, $field, |$cells: $t| $body),
            ScalarKind::U8 => with_cells!(of u8, $volume, $field, |$cells: $t| $body),
            _ => {}
        }
    };
    (of $float:ident, $volume:expr, $field:expr, |$cells:ident: $t:ident| $body:expr) => {{
        type $t = $float;
        if let Some($cells) = $volume.field_mut::<$float>($field) {
            $body
        }
    }};
}

/// Replaces the cells of a field from cell number `first` on by `values`, rounded.
#[cfg(test)]
pub fn put(volume: &mut RawVolume, field: usize, first: usize, values: &[f64]) {
    with_cells!(volume, field, |cells: T| {
        for (cell, &value) in cells[first..].iter_mut().zip(values) {
            *cell = <T as Scalar>::from_f64(value);
        }
    });
}

/// Takes the number of a row and its values.
pub type WriteRow<'a> = dyn FnMut(usize, &[f64]) + 'a;

/// Writes rows of `width` cells of a field: `rows(some, write)` calls `write` with the number and the values of each of
/// `some` rows. Threads have different rows.
pub fn put_rows(
    volume: &mut RawVolume,
    field: usize,
    width: usize,
    rows: &(dyn Fn(Range<usize>, &mut WriteRow<'_>) + Sync),
) {
    with_cells!(volume, field, |cells: T| {
        in_parts(cells, width * PART.div_ceil(width), |first, part| {
            let first = first / width;
            rows(first..first + part.len() / width, &mut |row, values| {
                let to = &mut part[(row - first) * width..][..width];
                let pairs = to.iter_mut().zip(values);
                pairs.for_each(|(cell, &value)| *cell = <T as Scalar>::from_f64(value));
            });
        });
    });
}

/// Replaces the cells of a field by `values`, as far as there are any.
pub fn replace(volume: &mut RawVolume, field: usize, values: &mut dyn Iterator<Item = f64>) {
    with_cells!(volume, field, |cells: T| {
        cells
            .iter_mut()
            .zip(values)
            .for_each(|(cell, value)| *cell = <T as Scalar>::from_f64(value));
    });
}

/// Fills a field with random numbers in [0, 1) from `seed`.
pub fn noise(volume: &mut RawVolume, field: usize, seed: u64) {
    with_cells!(volume, field, |cells: T| {
        // A number takes 3 ns.
        in_parts(cells, PART, |first, part| {
            let mut noise = SplitMix::after(seed, first as u64);
            part.iter_mut().for_each(|cell| *cell = <T as Scalar>::from_f64(noise.next_unit()));
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read_back_as_the_cells_hold_it() {
        // A third in f16, bf16, f32 and f64, with their 11, 8, 24 and 53 digits; in u8 it is 0.
        let thirds = [
            (ScalarKind::F16, 1365.0 / 4096.0),
            (ScalarKind::Bf16, 171.0 / 512.0),
            (ScalarKind::F32, f64::from(1.0f32 / 3.0)),
            (ScalarKind::F64, 1.0 / 3.0),
            (ScalarKind::U8, 0.0),
        ];
        for (kind, third) in thirds {
            let mut volume = RawVolume::zeroed(cell_of(kind), [2, 3]).unwrap();
            put(&mut volume, 0, 3, &[1.0, 1.0 / 3.0]);
            let cells = Cells::of(&volume, 0);
            assert_eq!(cells.iter().collect::<Vec<_>>(), [0.0, 0.0, 0.0, 1.0, third, 0.0]);
            let mut read = [9.0; 3];
            cells.read(2, &mut read);
            assert_eq!(read, [0.0, 1.0, third]);
            assert_eq!(Cells::range(&volume, 0), [0.0, 1.0]);
            assert!((cells.at(4), cells.at(6).is_nan()) == (third, true), "{kind:?}");
            replace(&mut volume, 0, &mut [7.0, 9.0].into_iter());
            assert_eq!(Cells::of(&volume, 0).iter().take(3).collect::<Vec<_>>(), [7.0, 9.0, 0.0]);
        }
    }
}
