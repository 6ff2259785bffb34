//! Extents, boundaries and steps to run an element in, and states to begin with.

use warpweft::element::{CellType, ScalarKind, bf16, f16};
use warpweft::error::Result;
use warpweft::grid::{Axes, RawVolume};
use warpweft::stencil::{Boundaries, Boundary};

/// A problem but for its element.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub name: &'static str,
    pub extents: Axes<usize>,
    pub boundaries: Boundaries,
    pub steps: u64,
    /// The values that cells of one byte have at the beginning: from 0 up to this.
    pub states: u64,
}

/// Odd extents of `dims` axes, none a multiple of a vector, the contiguous axis last; one row with a tail, one
/// shorter than any vector.
fn extents(dims: usize, which: usize) -> Axes<usize> {
    let sizes: [&[[usize; 4]]; 4] = [
        &[[0, 0, 0, 131], [0, 0, 0, 7], [0, 0, 0, 64]],
        &[[0, 0, 23, 71], [0, 0, 9, 9], [0, 0, 16, 130]],
        &[[0, 11, 13, 37], [0, 5, 17, 9], [0, 12, 8, 32]],
        &[[5, 7, 6, 19], [5, 5, 5, 5], [6, 5, 8, 16]],
    ];
    let of = sizes[dims - 1][which % 3];
    Axes::from_fn(dims, |d| of[4 - dims + d])
}

/// The settings every element of `dims` axes runs in.
pub(super) fn all(dims: usize) -> Vec<Setting> {
    let kinds = [
        Boundary::Dirichlet(1.0),
        Boundary::Mirror,
        Boundary::Periodic,
        Boundary::Neumann,
        Boundary::Dirichlet(0.0),
    ];
    // No two axes alike, and no two faces of an axis where they may differ.
    let mixed = |first: usize| {
        Boundaries(Axes::from_fn(dims, |d| {
            let low = kinds[(first + d) % kinds.len()];
            let high = kinds[(first + d + 1) % kinds.len()];
            match (low, high) {
                (Boundary::Periodic, _) => [low, low],
                (_, Boundary::Periodic) => [low, Boundary::Neumann],
                faces => [faces.0, faces.1],
            }
        }))
    };
    let setting = |name, which, boundaries, steps| Setting {
        name,
        extents: extents(dims, which),
        boundaries,
        steps,
        states: 3,
    };
    vec![
        setting("fixed", 0, Boundaries::all(dims, kinds[0]), 5),
        setting("periodic", 0, Boundaries::all(dims, Boundary::Periodic), 7),
        setting("neumann", 1, Boundaries::all(dims, Boundary::Neumann), 4),
        setting("mirror", 1, Boundaries::all(dims, Boundary::Mirror), 1),
        setting("mixed faces", 2, mixed(0), 6),
        setting("other mixed faces", 0, mixed(2), 9),
    ]
}

/// The setting for cells that are packed: rows of whole words, and more of them than steps are fused.
pub(super) fn packed() -> Setting {
    Setting {
        name: "rows of whole words",
        extents: [67, 192].into(),
        boundaries: Boundaries::all(2, Boundary::Dirichlet(1.0)),
        steps: 35,
        // Cells of one bit fit words.
        states: 2,
    }
}

/// A volume of pseudo-random cells (Knuth's multiplicative generator), the same every time.
pub(super) fn state(cell: CellType, setting: &Setting) -> Result<RawVolume> {
    let mut volume = RawVolume::zeroed(cell, setting.extents)?;
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    for (f, field) in cell.fields().iter().enumerate() {
        macro_rules! fill {
            ($t:ty, $value:expr) => {
                if let Some(cells) = volume.field_mut::<$t>(f) {
                    cells.iter_mut().for_each(|cell| *cell = $value);
                }
            };
        }
        match field.kind {
            ScalarKind::Bool => fill!(bool, next() % 2 == 1),
            // Small, so that automata have states to live in.
            ScalarKind::U8 => fill!(u8, (next() % setting.states) as u8),
            ScalarKind::I8 => fill!(i8, next() as i8),
            ScalarKind::I16 => fill!(i16, next() as i16),
            ScalarKind::U16 => fill!(u16, next() as u16),
            ScalarKind::I32 => fill!(i32, next() as i32),
            ScalarKind::U32 => fill!(u32, next() as u32),
            ScalarKind::I64 => fill!(i64, next() as i64),
            ScalarKind::U64 => fill!(u64, next()),
            ScalarKind::Isize => fill!(isize, next() as isize),
            ScalarKind::Usize => fill!(usize, next() as usize),
            ScalarKind::F32 => fill!(f32, next() as f32 / 2e9 - 0.5),
            ScalarKind::F64 => fill!(f64, next() as f64 / 2e9 - 0.5),
            ScalarKind::F16 => fill!(f16, f16::from_f64(next() as f64 / 2e9 - 0.5)),
            ScalarKind::Bf16 => fill!(bf16, bf16::from_f64(next() as f64 / 2e9 - 0.5)),
        }
    }
    Ok(volume)
}
