//! The transforms on the cores, in `f64` whatever the cells are.

use std::sync::{Arc, Mutex, PoisonError};

use realfft::RealFftPlanner;
use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftPlanner};

use super::symbol::{Symbol, power, root, turned};
use warpweft_core::cpu::Pool;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::filled;

const ROOM: &str = "choose a smaller volume: transforms on the cores take 16 bytes a cell";
/// Values that a worker takes at a time, about.
const SHARE: usize = 1 << 14;
/// Values that are brought into the volume at a time.
const GROUP: usize = 1 << 20;
/// Side of the blocks by which arrays are transposed.
const BLOCK: usize = 16;

/// A spectrum whose axes take turns to be the last: rows lie along that.
pub(super) struct Spectrum<'p> {
    pool: &'p Pool,
    values: Vec<Complex64>,
    /// As many values for the next order of axes.
    spare: Vec<Complex64>,
}

/// Calls `work` with parts of `slice` of `share` values and where they begin, on all workers.
fn parts<T: Send>(
    pool: &Pool,
    slice: &mut [T],
    share: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let share = share.max(1);
    let left = Mutex::new(slice.chunks_mut(share).enumerate());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let done = pool.run(|_| {
        while let Some((n, part)) = next() {
            work(n * share, part);
        }
        Ok(())
    });
    done.map_err(|panic| Error::Device {
        stage: "a Fourier transform".into(),
        device: "the cores".into(),
        what: panic.message,
        hint: "report this as a defect of Warpweft".into(),
    })
}

/// Values of whole rows of `row` values that a worker takes at a time.
fn share(row: usize) -> usize {
    row * (SHARE / row.max(1)).max(1)
}

impl Spectrum<'_> {
    /// Transposes rows of `row` values: the last axis becomes the first.
    fn transpose(&mut self, row: usize) -> Result<()> {
        let (from, rows) = (&self.values, self.values.len() / row.max(1));
        // Each part is of whole rows of the result, which is `row` rows of `rows` values.
        parts(self.pool, &mut self.spare, share(rows), |first, to| {
            let column = first / rows.max(1);
            for begin in (0..rows).step_by(BLOCK) {
                for (n, to) in to.chunks_mut(rows).enumerate() {
                    let end = (begin + BLOCK).min(rows);
                    for (k, value) in (begin..end).zip(&mut to[begin..end]) {
                        *value = from[k * row + column + n];
                    }
                }
            }
        })?;
        std::mem::swap(&mut self.values, &mut self.spare);
        Ok(())
    }

    /// Transforms every row.
    fn transform(&mut self, fft: &Arc<dyn Fft<f64>>) -> Result<()> {
        let row = fft.len();
        parts(self.pool, &mut self.values, share(row), |_, rows| {
            let mut scratch = vec![Complex64::default(); fft.get_inplace_scratch_len()];
            fft.process_with_scratch(rows, &mut scratch);
        })
    }

    /// Multiplies every mode by its factor of all `steps`. Its axes are `axes`, in this order, of `modes` modes.
    fn multiply(
        &mut self,
        symbol: &Symbol,
        (axes, modes): (&[usize], &[usize]),
        (steps, scale): (u64, f64),
    ) -> Result<()> {
        let Some((&last, row)) = axes.last().zip(modes.last().copied()) else { return Ok(()) };
        let n = symbol.extents[last];
        let roots: Vec<_> = (0..n).map(|k| root(k, n)).collect();
        let even = symbol.even();
        parts(self.pool, &mut self.values, share(row), |first, part| {
            for (number, values) in part.chunks_mut(row).enumerate() {
                let mut rest = first / row + number;
                let mut fixed = vec![0; modes.len() - 1];
                for (k, &modes) in fixed.iter_mut().zip(modes).rev() {
                    (*k, rest) = (rest % modes, rest / modes);
                }
                let factors = symbol.along(axes, &fixed);
                for (k, value) in values.iter_mut().enumerate() {
                    let turn = |(offset, factor): &(isize, Complex64)| {
                        factor * roots[turned(k, *offset, n)]
                    };
                    let mut factor: Complex64 = factors.iter().map(turn).sum();
                    if even {
                        factor.im = 0.0;
                    }
                    *value *= power(factor, steps) * scale;
                }
            }
        })
    }
}

/// The spectrum of the cells that `read` gives by their indices.
///
/// # Errors
/// Too little memory.
pub(super) fn forward<'p>(
    pool: &'p Pool,
    symbol: &Symbol,
    read: &(dyn Fn(usize) -> f64 + Sync),
) -> Result<Spectrum<'p>> {
    let extents = &symbol.extents;
    let dims = extents.len();
    let cells: usize = extents.iter().product();
    let row = extents[dims - 1];
    let half = row / 2 + 1;
    let zeros = || filled((0..cells / row * half).map(|_| Complex64::default()), ROOM);
    let mut spectrum = Spectrum { pool, values: zeros()?, spare: zeros()? };
    let forth = RealFftPlanner::<f64>::new().plan_fft_forward(row);
    parts(pool, &mut spectrum.values, share(half), |first, part| {
        let mut scratch = forth.make_scratch_vec();
        let mut values = forth.make_input_vec();
        for (n, to) in part.chunks_mut(half).enumerate() {
            let begin = (first / half + n) * row;
            values.iter_mut().enumerate().for_each(|(x, value)| *value = read(begin + x));
            // All three lengths are those of the plan, which is all that it checks.
            let _ = forth.process_with_scratch(&mut values, to, &mut scratch);
        }
    })?;
    Ok(spectrum)
}

/// Takes `steps` steps of `symbol` from a spectrum; `write` gets groups of cells of the result, and where each begins.
///
/// # Errors
/// Too little memory.
pub(super) fn finish(
    mut spectrum: Spectrum<'_>,
    symbol: &Symbol,
    steps: u64,
    write: &mut dyn FnMut(usize, &[f64]),
) -> Result<()> {
    let extents = &symbol.extents;
    let dims = extents.len();
    let cells: usize = extents.iter().product();
    let row = extents[dims - 1];
    // The axes in the order in which they lie: each in turn becomes the last.
    let mut axes: Vec<usize> = (0..dims).collect();
    let mut modes: Vec<usize> = [&extents[..dims - 1], &[row / 2 + 1]].concat();
    let mut planner = FftPlanner::<f64>::new();
    for axis in (0..dims - 1).rev() {
        spectrum.transpose(modes[dims - 1])?;
        axes.rotate_right(1);
        modes.rotate_right(1);
        spectrum.transform(&planner.plan_fft_forward(extents[axis]))?;
    }
    spectrum.multiply(symbol, (&axes, &modes), (steps, 1.0 / cells as f64))?;
    for &axis in &extents[..dims - 1] {
        spectrum.transform(&planner.plan_fft_inverse(axis))?;
        // The other way round: the first axis becomes the last again.
        let rest = spectrum.values.len() / modes[0];
        spectrum.transpose(rest)?;
        modes.rotate_left(1);
    }
    let back = RealFftPlanner::<f64>::new().plan_fft_inverse(row);
    rows_back(&mut spectrum, &*back, write)
}

/// Gives `write` the rows of values of a spectrum, a group of rows at a time.
fn rows_back(
    spectrum: &mut Spectrum<'_>,
    back: &dyn realfft::ComplexToReal<f64>,
    write: &mut dyn FnMut(usize, &[f64]),
) -> Result<()> {
    let (row, half) = (back.len(), back.len() / 2 + 1);
    let group = GROUP / row.max(1) + 1;
    let mut values = filled((0..group * row).map(|_| 0.0), ROOM)?;
    for (n, part) in spectrum.values.chunks_mut(group * half).enumerate() {
        let part = &*part;
        let rows = part.len() / half;
        parts(spectrum.pool, &mut values[..rows * row], share(row), |first, to| {
            let mut scratch = back.make_scratch_vec();
            let mut modes = back.make_input_vec();
            for (k, to) in to.chunks_mut(row).enumerate() {
                let begin = (first / row + k) * half;
                modes.copy_from_slice(&part[begin..begin + half]);
                // What they are but for rounding errors, which the plan would refuse.
                modes[0].im = 0.0;
                if row.is_multiple_of(2) {
                    modes[half - 1].im = 0.0;
                }
                let _ = back.process_with_scratch(&mut modes, to, &mut scratch);
            }
        })?;
        write(n * group * row, &values[..rows * row]);
    }
    Ok(())
}
