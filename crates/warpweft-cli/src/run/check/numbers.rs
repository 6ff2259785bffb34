//! Cells that are NaN or infinite: refused in input files, a failure in results.

use std::borrow::Borrow;
use std::ops::Range;
use std::path::Path;

use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::{Axes, RawVolume, over_parts};
use warpweft::{Error, Result};

use super::Check;
use super::cells::{Cells, PART};
use crate::run::values::bare;

/// NaN and infinite cells of a volume.
struct NotNumbers {
    nan: usize,
    infinite: usize,
    /// The index of the first, and its value.
    first: (usize, f64),
    field: &'static str,
    kind: ScalarKind,
}

/// Checks that all cells read from the file at `path` are finite numbers.
///
/// # Errors
/// One is not: its index and value.
pub fn all_in(path: &Path, volume: &RawVolume) -> Result<()> {
    let Some(NotNumbers { first: (at, value), .. }) = find(volume) else { return Ok(()) };
    Err(Error::file(
        path,
        format!("cell {:?} is {value}", place(volume.extents(), at)),
        "make all cells numbers, e.g. by `numpy.nan_to_num(array, posinf=0, neginf=0)`",
    ))
}

/// The failure of a run whose result has cells that are NaN or infinite although its initial state had none.
/// It names the largest initial value; `start` returns the initial state again.
pub fn overflow<V: Borrow<RawVolume>>(
    result: &RawVolume,
    start: impl FnOnce() -> Result<V>,
) -> Option<Check> {
    let NotNumbers { nan, infinite, first: (at, value), field, kind } = find(result)?;
    let of = if result.cell_type().len() > 1 { format!(" of {field}") } else { String::new() };
    let most = start().ok().and_then(|start| largest(start.borrow()));
    let from = most.map_or(String::new(), |(at, value)| {
        let value = bare(&json!(value));
        format!(", after a start with {value} at {:?}", place(result.extents(), at))
    });
    Some(Check::failed(format!(
        "{nan} NaN and {infinite} infinite cells{of} in the result, the first, {value}, at {:?}: there was \
         a value larger than {} holds, or a division by zero{from}; {}",
        place(result.extents(), at),
        kind.name(),
        hint(kind),
    )))
}

/// The hint for a result that `kind` can't hold.
fn hint(kind: ScalarKind) -> &'static str {
    match kind {
        ScalarKind::F64 => "give smaller values",
        _ => "give smaller values, or a type that holds more (--dtype, `array.astype('float64')`)",
    }
}

/// Those of the first field that has any.
fn find(volume: &RawVolume) -> Option<NotNumbers> {
    let fields = volume.cell_type().fields().iter().enumerate();
    fields.map(|(f, field)| (f, field.kind, field.name)).find_map(|(f, kind, field)| {
        let parts = over_parts(volume.len(), 16 * PART, |part| {
            let mut found = None;
            if all_finite(volume, f, part.clone()) {
                return found;
            }
            each(volume, f, part, |at, value| {
                if !value.is_finite() {
                    let first = (at, value);
                    let found =
                        found.get_or_insert(NotNumbers { nan: 0, infinite: 0, first, field, kind });
                    found.nan += usize::from(value.is_nan());
                    found.infinite += usize::from(value.is_infinite());
                }
            });
            found
        });
        parts.into_iter().flatten().reduce(|all, more| NotNumbers {
            nan: all.nan + more.nan,
            infinite: all.infinite + more.infinite,
            ..all
        })
    })
}

/// Whether cells of a float field are all finite, if that can be told at the speed of memory.
fn all_finite(volume: &RawVolume, f: usize, part: Range<usize>) -> bool {
    if let Some(cells) = volume.field::<f32>(f) {
        cells[part].iter().fold(true, |all, cell| all & cell.is_finite())
    } else if let Some(cells) = volume.field::<f64>(f) {
        cells[part].iter().fold(true, |all, cell| all & cell.is_finite())
    } else {
        false
    }
}

/// The index and value of the cell furthest from 0, of all fields.
fn largest(volume: &RawVolume) -> Option<(usize, f64)> {
    let mut most: Option<(usize, f64)> = None;
    for f in 0..volume.cell_type().len() {
        each(volume, f, 0..volume.len(), |at, value| {
            if value.is_finite() && most.is_none_or(|(_, most)| value.abs() > most.abs()) {
                most = Some((at, value));
            }
        });
    }
    most
}

/// Calls `see` with the index and value of these cells of a float field.
fn each(volume: &RawVolume, f: usize, part: Range<usize>, mut see: impl FnMut(usize, f64)) {
    let kind = volume.cell_type().fields()[f].kind;
    let first = part.start;
    if let Some(cells) = volume.field::<f32>(f) {
        cells[part].iter().enumerate().for_each(|(at, &cell)| see(first + at, f64::from(cell)));
    } else if let Some(cells) = volume.field::<f64>(f) {
        cells[part].iter().enumerate().for_each(|(at, &cell)| see(first + at, cell));
    } else if matches!(kind, ScalarKind::F16 | ScalarKind::Bf16) {
        Cells::of(volume, f).part(part).enumerate().for_each(|(at, cell)| see(first + at, cell));
    }
}

/// The coordinates of the cell with index `at`.
fn place(extents: Axes<usize>, mut at: usize) -> Axes<usize> {
    let dims = extents.rank();
    let mut place = Axes::filled(dims, 0);
    for d in (0..dims).rev() {
        place[d] = at % extents[d];
        at /= extents[d];
    }
    place
}

#[cfg(test)]
mod tests {
    use warpweft::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_number_is_found_with_its_place_in_every_type() {
        fn refusals<T: Scalar>() -> [String; 2] {
            let mut volume = Volume::<T, 3>::zeroed([2, 3, 4]).unwrap();
            let start = || Volume::from_fn([2, 3, 4], |[z, ..]| T::from_f64(-2.0 * z as f64));
            assert!(
                overflow(&volume, || Ok(start().into_raw())).is_none()
                    && all_in(Path::new("a"), &volume).is_ok()
            );
            volume.set([1, 0, 2], T::from_f64(f64::NAN));
            volume.set([1, 2, 3], T::from_f64(f64::NEG_INFINITY));
            let refusal = all_in(Path::new("a.npy"), &volume).unwrap_err().to_string();
            [refusal, overflow(&volume, || Ok(start().into_raw())).unwrap().reason.unwrap()]
        }
        for [refusal, failure] in
            [refusals::<f32>(), refusals::<f64>(), refusals::<f16>(), refusals::<bf16>()]
        {
            assert!(refusal.starts_with("a.npy: cell [1, 0, 2] is NaN; help: "), "{refusal}");
            let expect = "1 NaN and 1 infinite cells in the result, the first, NaN, at [1, 0, 2]";
            assert!(failure.starts_with(expect), "{failure}");
            assert!(
                failure.contains("or a division by zero, after a start with -2 at [1, 0, 0]; give"),
                "{failure}"
            );
        }
    }
}
