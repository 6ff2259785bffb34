//! One suite for every executor: the same cells as the reference, bit for bit.

mod elements;
mod suite;

pub use elements::{AffineCell, AffineLocal, Local, Mix, Warp};
pub use suite::suite;

use super::element::WavefrontElement;
use super::executor::WavefrontExecutor;
use super::rank::Ranked;
use super::reference::reference;
use super::spec::{Border, Keep, Kept, Wavefront};

/// Extents that are multiples of nothing, of a warp, and less than one.
pub const EXTENTS: [[usize; 2]; 12] = [
    [1, 1],
    [1, 200],
    [200, 1],
    [2, 3],
    [31, 33],
    [64, 64],
    [127, 513],
    [300, 97],
    [513, 700],
    [1025, 31],
    [33, 2050],
    [1200, 1100],
];

/// What to keep, each in turn.
pub const KEEPS: [Keep; 4] = [Keep::Best, Keep::LastRow, Keep::LastColumn, Keep::Matrix];

/// Splitmix64: inputs that everyone can repeat.
#[derive(Clone, Copy, Debug)]
pub struct Inputs(pub u64);

impl Inputs {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One of `choices`.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[(self.bits() % choices.len() as u64) as usize]
    }
}

/// Runs `element` over [`EXTENTS`] × `keeps`, with a constant border and with one of `lines`, on
/// `executor` and on the reference.
///
/// # Errors
/// The first case in which they differ or the executor fails, in words.
pub fn conforms<E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    keeps: &[Keep],
    row: impl Fn(&mut Inputs) -> E::Row,
    column: impl Fn(&mut Inputs) -> E::Column,
    lines: impl Fn(isize, isize) -> E::Cell + Copy,
) -> Result<usize, String> {
    let mut cases = 0;
    for (seed, [m, n]) in EXTENTS.into_iter().enumerate() {
        let mut inputs = Inputs(seed as u64);
        let rows: Vec<_> = (0..m).map(|_| row(&mut inputs)).collect();
        let columns: Vec<_> = (0..n).map(|_| column(&mut inputs)).collect();
        for border in [Border::Value(lines(-1, -1)), Border::from_fn(m, n, lines)] {
            for &keep in keeps {
                let wavefront = Wavefront::of(element)
                    .rows(&rows)
                    .columns(&columns)
                    .border(border.clone())
                    .keep(keep);
                let expect = reference(&wavefront).map_err(|error| error.to_string())?;
                let found = executor.run(&wavefront).map(|(kept, _)| kept);
                let found = found.map_err(|error| format!("{m} × {n} {keep:?}: {error}"))?;
                if let Some(difference) = difference(&expect, &found, n) {
                    let border = if matches!(border, Border::Value(_)) { "value" } else { "lines" };
                    return Err(format!(
                        "{} over {m} × {n}, border {border}, {keep:?}: {difference}",
                        E::NAME
                    ));
                }
                cases += 1;
            }
        }
    }
    Ok(cases)
}

/// The first cell that differs, if any.
fn difference<C: Ranked>(expect: &Kept<C>, found: &Kept<C>, columns: usize) -> Option<String> {
    let cells = |kept: &Kept<C>| match kept {
        Kept::LastRow(cells) | Kept::LastColumn(cells) | Kept::Matrix(cells) => cells.clone(),
        Kept::Best(_) => Vec::new(),
    };
    if let (Kept::Best(expect), Kept::Best(found)) = (expect, found) {
        return (expect != found).then(|| format!("expected {expect:?}, found {found:?}"));
    }
    let (expect, found) = (cells(expect), cells(found));
    if expect.len() != found.len() {
        return Some(format!("expected {} cells, found {}", expect.len(), found.len()));
    }
    let at = expect.iter().zip(&found).position(|(a, b)| a != b)?;
    let wrong = expect.iter().zip(&found).filter(|(a, b)| a != b).count();
    Some(format!(
        "expected {:?}, found {:?} at cell {at} (row {}, column {} of a matrix), {wrong} wrong in all",
        expect[at],
        found[at],
        at / columns,
        at % columns
    ))
}
