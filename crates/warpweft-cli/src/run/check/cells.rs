//! The cells of one field as `f64`, whatever scalar type they have.

use warpweft::element::{CellType, Scalar, ScalarKind};
use warpweft::grid::{RawVolume, in_parts};
use warpweft::prelude::*;
use warpweft_apps::soup::SplitMix;

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

    /// All cells in row-major order.
    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        self.bytes.chunks_exact(self.kind.size()).map(move |bytes| self.kind.to_f64(bytes))
    }
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
pub fn put(volume: &mut RawVolume, field: usize, first: usize, values: &[f64]) {
    with_cells!(volume, field, |cells: T| {
        for (cell, &value) in cells[first..].iter_mut().zip(values) {
            *cell = <T as Scalar>::from_f64(value);
        }
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
        in_parts(cells, 1 << 16, |first, part| {
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
            assert!((cells.at(4), cells.at(6).is_nan()) == (third, true), "{kind:?}");
            replace(&mut volume, 0, &mut [7.0, 9.0].into_iter());
            assert_eq!(Cells::of(&volume, 0).iter().take(3).collect::<Vec<_>>(), [7.0, 9.0, 0.0]);
        }
    }
}
