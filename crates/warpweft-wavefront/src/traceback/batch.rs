//! The paths of many problems.

use std::sync::{Mutex, PoisonError};

use super::directions::{check_path, traced};
use super::{Partition, Way};
use crate::executor::{Paths, WavefrontExecutor};
use crate::path::{End, Path, Score};
use crate::recurrence::Traced;
use crate::report::TotalReport;
use crate::spec::{Wavefront, of_problem};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Bytes that the search for one of the paths keeps in memory in linear space.
const MEMORY: u64 = 512 << 20;

/// The path of each of `wavefronts`, in their order, as [`trace`](super::trace) finds it: many small problems at once, each
/// with one lane of a vector, others one after another. The report is that of all together.
///
/// ```
/// use warpweft::prelude::*;
/// use warpweft::wavefront::traceback::{Choice, End, Stored, Traced, trace_batch};
/// use warpweft::wavefront::{Dependence, Run, RunExecutor};
///
/// #[wavefront]
/// fn common(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
///     if a == b { h.nw + 1 } else { h.n.max(h.w) }
/// }
///
/// #[wavefront(choice)]
/// fn chosen(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, #[cell] cell: i32) -> u8 {
///     if a == b { 0 } else if cell == h.n { 1 } else { 2 }
/// }
///
/// impl Traced for common {
///     type State = ();
///     type Choice = chosen;
///     type Plain = Self;
///     const BITS: u32 = 2;
///     fn plain(&self) -> Self {
///         *self
///     }
///     fn choice(&self) -> chosen {
///         chosen()
///     }
///     fn back(choice: u8, (): ()) -> Option<(Dependence, ())> {
///         let moves: [Dependence; 3] = [[-1, -1], [-1, 0], [0, -1]];
///         moves.get(usize::from(choice)).map(|&back| (back, ()))
///     }
/// }
///
/// # fn main() -> warpweft::Result<()> {
/// let run = Run { threads: Some(1), ..Run::default() };
/// let mut executor = RunExecutor::new(&Machine::detect()?, &run)?;
/// let pairs: [[&[u8]; 2]; 3] = [[b"GATTACA", b"ATTACK"], [b"ACA", b"CAT"], [b"A", b"A"]];
/// let all = pairs.map(|[a, b]| Wavefront::of(common()).rows(a).columns(b));
/// let (paths, _) = trace_batch(&all, End::Corner, &mut executor)?;
/// let lengths: Vec<_> = paths.iter().flatten().map(|path| path.score).collect();
/// assert_eq!(lengths, [5, 2, 1]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// No problems; as [`trace`](super::trace) of any, with its number from 1.
pub fn trace_batch<E: Traced, X: WavefrontExecutor<E> + ?Sized>(
    wavefronts: &[Wavefront<'_, E>],
    end: End,
    executor: &mut X,
) -> Result<Paths<E>> {
    trace_batch_with(wavefronts, end, executor, &|_, path| Ok(path))
}

/// What `make` makes of the path of each of `wavefronts`, in their order: as [`trace_batch`], without memory for all paths.
/// `make` gets the number of the problem and its path, if there is one; several threads call it at once.
///
/// # Errors
/// As [`trace_batch`]; that of `make`, after which no further problem is computed.
pub fn trace_batch_with<E: Traced, X: WavefrontExecutor<E> + ?Sized, T: Send>(
    wavefronts: &[Wavefront<'_, E>],
    end: End,
    mut executor: &mut X,
    make: &(dyn Fn(usize, Option<Path<Score<E>>>) -> Result<T> + Sync),
) -> Result<(Vec<T>, Report)> {
    let wavefronts: Vec<_> = wavefronts.iter().map(|one| one.clone().keep(end.keep())).collect();
    let each = || wavefronts.iter().enumerate();
    // Whether it is well posed, an executor asks that finds many paths.
    each().try_for_each(|(k, one)| check_path(one, end).map_err(|error| of_problem(k, error)))?;
    let made = Mutex::new(wavefronts.iter().map(|_| None).collect::<Vec<_>>());
    let take = |part: Vec<(usize, Option<Path<Score<E>>>)>| {
        let part = part.into_iter().map(|(k, path)| Ok((k, make(k, path)?)));
        let part = part.collect::<Result<Vec<_>>>()?;
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        part.into_iter().for_each(|(k, one)| made[k] = Some(one));
        Ok(())
    };
    let report = match executor.paths(&wavefronts, end, &take)? {
        Some(report) => report,
        None => {
            each().try_for_each(|(k, one)| one.check().map_err(|error| of_problem(k, error)))?;
            let mut total = TotalReport::default();
            for (k, wavefront) in each() {
                let (path, report) = trace_one(wavefront, end, &mut executor)?;
                take(vec![(k, path)])?;
                total.add(report);
            }
            total.report()?
        }
    };
    let left = || Error::spec("a path left undone", "report this as a bug");
    let made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    let all = made.into_iter().map(|one| one.ok_or_else(left));
    Ok((all.collect::<Result<_>>()?, report))
}

/// The path of one of them alone.
pub(crate) fn trace_one<E: Traced>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    executor: &mut dyn WavefrontExecutor<E>,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    let partition = Partition::fitting(MEMORY, wavefront.extents(), size_of::<E::Cell>());
    traced(wavefront, end, (Way::Auto, &partition, None), executor)
}
