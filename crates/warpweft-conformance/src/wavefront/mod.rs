//! One suite for every executor: the same cells as the reference, bit for bit.

mod elements;
mod inputs;
mod suite;

pub use elements::{AffineCell, affine_local, area, far, local, mix, relax, remix, sliced, warp};
pub use inputs::Inputs;
pub use suite::{Runs, suite, suite_of, suite_picked};

use super::Pick;
use warpweft::error::Error;
use warpweft::wavefront::Border;
use warpweft::wavefront::Ranked;
use warpweft::wavefront::Reach;
use warpweft::wavefront::Solution;
use warpweft::wavefront::WavefrontElement;
use warpweft::wavefront::WavefrontExecutor;
use warpweft::wavefront::{Keep, Kept, Wavefront};

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
    [1200, 520],
];

/// What to keep, each in turn.
pub const KEEPS: [Keep; 7] = Keep::ALL;

/// Where inputs and cells of an element come from.
pub struct Samples<'a, E: WavefrontElement> {
    /// The input of a row.
    pub row: &'a dyn Fn(&mut Inputs) -> E::Row,
    /// The input of a column.
    pub column: &'a dyn Fn(&mut Inputs) -> E::Column,
    /// The input of a cell.
    pub input: &'a dyn Fn(&mut Inputs) -> E::Input,
    /// An initial cell, and what cells outside a band hold.
    pub cell: &'a dyn Fn(&mut Inputs) -> E::Cell,
}

/// What came of one element.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// So many cases equal the reference.
    Passed(usize),
    /// The first case that differs or fails, in words.
    Failed(String),
    /// The executor can't run it: what it lacks.
    Skipped(&'static str),
}

/// Runs `element`, which has inputs for rows and columns only, over [`EXTENTS`] × `keeps`, with a
/// constant border and with `lines`, on `executor` and on the reference.
///
/// # Errors
/// The first case in which they differ or the executor fails, in words.
pub fn conforms<E: WavefrontElement<Input = ()>>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    keeps: &[Keep],
    row: impl Fn(&mut Inputs) -> E::Row,
    column: impl Fn(&mut Inputs) -> E::Column,
    lines: impl Fn(isize, isize) -> E::Cell + Copy + Send + Sync + 'static,
) -> Result<usize, String> {
    let cell = |_: &mut Inputs| lines(-1, -1);
    let samples = Samples { row: &row, column: &column, input: &|_| (), cell: &cell };
    match conforms_on(executor, element, keeps, &samples, lines) {
        Outcome::Passed(cases) => Ok(cases),
        Outcome::Failed(why) => Err(why),
        Outcome::Skipped(what) => Err(format!("the executor runs no {what}")),
    }
}

/// Runs `element` over [`EXTENTS`] × `keeps`, with every kind of border, with bands and with several
/// sweeps as far as `executor` can, on it and on the reference. Of floats there is no sum.
pub fn conforms_on<E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    keeps: &[Keep],
    samples: &Samples<'_, E>,
    lines: impl Fn(isize, isize) -> E::Cell + Copy + Send + Sync + 'static,
) -> Outcome {
    conforms_picked(executor, element, keeps, samples, lines, &mut Pick::all())
}

/// [`conforms_on`] as far as its cases are picked.
fn conforms_picked<E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    element: E,
    keeps: &[Keep],
    samples: &Samples<'_, E>,
    lines: impl Fn(isize, isize) -> E::Cell + Copy + Send + Sync + 'static,
    pick: &mut Pick<'_>,
) -> Outcome {
    let (mut met, mut cases) = (0, 0);
    let (mut missing, mut failure) = (None, None);
    for (seed, [m, n]) in EXTENTS.into_iter().enumerate() {
        let mut inputs = Inputs(seed as u64);
        let rows: Vec<_> = (0..m).map(|_| (samples.row)(&mut inputs)).collect();
        let columns: Vec<_> = (0..n).map(|_| (samples.column)(&mut inputs)).collect();
        let each = |wanted: bool| if wanted { 0..m * n } else { 0..0 };
        let cells: Vec<_> =
            each(size_of::<E::Input>() > 0).map(|_| (samples.input)(&mut inputs)).collect();
        let initial: Vec<_> =
            each(!E::OLD.is_empty()).map(|_| (samples.cell)(&mut inputs)).collect();
        let plain = Wavefront::of(element)
            .rows(&rows)
            .columns(&columns)
            .inputs(&cells)
            .initial(&initial)
            .border(Border::function(lines));
        let outside = (samples.cell)(&mut inputs);
        let variants = variants(plain, (seed, [m, n]), lines, outside);
        for variant in variants {
            let mut solution = None;
            for &keep in keeps {
                let wavefront = variant.clone().keep(keep);
                if wavefront.check_sum().is_err() {
                    continue;
                }
                if let Some(what) = executor.misses(&wavefront) {
                    missing = Some(what);
                    continue;
                }
                met += 1;
                // The first failure ends an element.
                if pick.take() && failure.is_none() {
                    match compare(executor, &wavefront, (&variant, &mut solution)) {
                        Ok(()) => cases += 1,
                        Err(why) => failure = Some(why),
                    }
                }
            }
        }
    }
    match (failure, missing) {
        (Some(why), _) => Outcome::Failed(why),
        (None, Some(what)) if met == 0 => Outcome::Skipped(what),
        _ => Outcome::Passed(cases),
    }
}

/// The borders, bands and sweeps that `plain`, number `seed` of the extents, is run with.
fn variants<'a, E: WavefrontElement>(
    plain: Wavefront<'a, E>,
    (seed, [m, n]): (usize, [usize; 2]),
    lines: impl Fn(isize, isize) -> E::Cell + Copy + Send + Sync + 'static,
    outside: E::Cell,
) -> Vec<Wavefront<'a, E>> {
    let reach = Reach::of(E::DEPENDENCES).with(Reach::of(E::OLD));
    let mut variants = vec![plain.clone().border(Border::Value(lines(-1, -1)))];
    if reach.north.max(reach.west) <= 1 && reach.south + reach.east == 0 {
        variants.push(plain.clone().border(Border::from_fn(m, n, lines)));
    } else {
        variants.push(plain.clone());
    }
    let (m, n) = (m as isize, n as isize);
    variants.push(plain.clone().band(-m / 3, n / 4, outside));
    if seed % 4 == 0 {
        let border = Border::Corner { corner: lines(-1, -1), rest: outside };
        variants.push(plain.clone().border(border));
        variants.push(plain.clone().band(2 - m, 5 - m, outside));
        variants.push(plain.clone().band(isize::MIN, 0, outside));
    }
    if !E::OLD.is_empty() {
        variants.push(plain.clone().sweeps(2));
        variants.push(plain.sweeps(5));
    } else if m * n > 200_000 {
        variants.truncate(2);
    }
    variants
}

/// Runs `wavefront` on `executor`, which is to find what the reference does: the `solution` of `variant`, which keeps something
/// else, computed when it is first compared with.
fn compare<'s, 'w, E: WavefrontElement>(
    executor: &mut dyn WavefrontExecutor<E>,
    wavefront: &Wavefront<'w, E>,
    (variant, solution): (&'s Wavefront<'w, E>, &mut Option<Solution<'s, 'w, E>>),
) -> Result<(), String> {
    let [m, n] = wavefront.extents();
    let Wavefront { keep, border, band, sweeps, .. } = wavefront;
    let of = |error: Error| error.to_string();
    let solved = match solution {
        Some(solved) => solved,
        None => solution.insert(Solution::of(variant).map_err(of)?),
    };
    let expect = solved.kept(*keep).map_err(of)?;
    let found = executor.run(wavefront).map(|(kept, _)| kept);
    let found = found.map_err(|error| format!("{} over {m} × {n} {keep:?}: {error}", E::NAME))?;
    let Some(difference) = difference(&expect, &found, n) else { return Ok(()) };
    let border = match border {
        Border::Value(_) => "a value",
        Border::Lines { .. } => "lines",
        Border::Corner { .. } => "a corner",
        Border::Function(_) => "a function",
    };
    let band = band.map(|band| format!(", band {} to {}", band.lower, band.upper));
    Err(format!(
        "{} over {m} × {n}, border {border}{}, {sweeps} sweeps, {keep:?}: {difference}",
        E::NAME,
        band.unwrap_or_default()
    ))
}

/// The first cell that differs, if any.
fn difference<C: Ranked>(expect: &Kept<C>, found: &Kept<C>, columns: usize) -> Option<String> {
    let cells = |kept: &Kept<C>| match kept {
        Kept::LastRow(cells) | Kept::LastColumn(cells) | Kept::Matrix(cells) => cells.clone(),
        Kept::Best(_) | Kept::Score(_) | Kept::Sum(_) => Vec::new(),
    };
    if matches!(expect, Kept::Best(_) | Kept::Score(_) | Kept::Sum(_)) {
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
