//! Every cell's choice recorded in one pass, and the path read off them; and which method is used.

use super::follow::in_linear_space;
use super::trail::path_from;
use super::{Checkpoint, Partition, Way};
use crate::executor::{Need, WavefrontExecutor, unrecorded};
use crate::path::{End, Path, Score};
use crate::recurrence::{Choice, Dependence, NEAR, Traced};
use crate::spec::{Band, Wavefront, check_lookups};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// The path to the cell where `end` says, or none where no cell has a number for a score; the same, of
/// equal ones too, whichever `way` it is looked for.
///
/// The report is that of all runs together and says which way was taken. Time and space: see the head
/// of this module.
///
/// # Errors
/// As [`Wavefront::check`]; a band that the path's end, or the path itself, lies outside of;
/// several sweeps, or vectors that reach further than one row or column. If directions were asked
/// for: too little memory, in bytes, an executor that records none, or a checkpoint. A checkpoint
/// of another problem, or one that can't be written; the executor's.
pub fn trace<E: Traced, X: WavefrontExecutor<E> + ?Sized>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    way: Way,
    partition: &Partition,
    checkpoint: Option<&Checkpoint>,
    mut executor: &mut X,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    traced(wavefront, end, (way, partition, checkpoint), &mut executor)
}

/// The same, compiled once for all executors.
pub(super) fn traced<E: Traced>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    (way, partition, checkpoint): (Way, &Partition, Option<&Checkpoint>),
    executor: &mut dyn WavefrontExecutor<E>,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    check(wavefront, end)?;
    let wavefront = &wavefront.clone().keep(end.keep());
    let need = match (way, checkpoint) {
        (Way::LinearSpace, _) | (Way::Auto, Some(_)) => None,
        (Way::Auto, None) if wavefront.band.is_some() => None,
        (Way::Directions, None) if wavefront.band.is_some() => {
            let what = "directions in a band, which are not recorded";
            return Err(Error::spec(what, "look for the path in linear space"));
        }
        (Way::Auto, None) => executor.directions(wavefront)?,
        (Way::Directions, Some(_)) => {
            let what = "directions with a checkpoint, of which nothing is saved";
            return Err(Error::spec(what, "leave one of them out"));
        }
        (Way::Directions, None) => {
            let need = executor.directions(wavefront)?.ok_or_else(|| unrecorded::<E>())?;
            if !need.fits() {
                let Need { whose, needed, available, .. } = need;
                let hint = "look for the path in linear space".into();
                return Err(Error::Memory { whose, needed, available, hint });
            }
            Some(need)
        }
    };
    const { assert!(1 <= E::BITS && E::BITS <= 8, "choices of 1 to 8 bits") };
    let why_not = match &need {
        Some(need) if !need.fits() => format!(
            ": directions need {} bytes of {}, which has {}",
            need.needed, need.whose, need.available
        ),
        Some(need) if way == Way::Auto && need.speedup <= 1.0 => {
            format!(": directions take some {:.1} times as long", 1.0 / need.speedup)
        }
        Some(need) => match by_directions(wavefront, end, need, executor) {
            // Others may take memory meanwhile.
            Err(Error::Memory { whose, .. }) if way == Way::Auto => {
                format!(": directions did not fit {whose}")
            }
            found => return found,
        },
        None => String::new(),
    };
    let (path, mut report) = in_linear_space(wavefront, end, partition, checkpoint, executor)?;
    report.notes.push(format!("the path was found in linear space{why_not}"));
    Ok((path, report))
}

/// Checks that the problem is well posed, and what [`check_path`] does.
pub(super) fn check<E: Traced>(wavefront: &Wavefront<'_, E>, end: End) -> Result<()> {
    wavefront.check()?;
    check_path(wavefront, end)
}

/// Checks that all vectors reach one row and one column at most, that cells are computed once, and
/// that the end is inside the band.
pub(super) fn check_path<E: Traced>(wavefront: &Wavefront<'_, E>, end: End) -> Result<()> {
    let symbols = E::Choice::symbols(wavefront.rows, wavefront.columns);
    let choice = wavefront.element.choice();
    check_lookups(E::Choice::NAME, symbols, &choice.lookups(symbols))?;
    let [m, n] = wavefront.extents();
    if let Some(Band { lower, upper, .. }) = wavefront.band
        && end == End::Corner
        && m > 0
        && n > 0
        && !wavefront.computes(m - 1, n - 1)
    {
        return Err(Error::spec(
            format!(
                "a band from diagonal {lower} to {upper}, which does not contain the last cell of {m} x {n} cells"
            ),
            format!("widen it to contain diagonal {} (columns minus rows)", n as i128 - m as i128),
        ));
    }
    let far = |vectors: &[Dependence]| vectors.iter().find(|v| !NEAR.contains(v)).copied();
    let what = if !E::OLD.is_empty() {
        "old values".to_string()
    } else if let Some(far) = far(E::DEPENDENCES).or(far(E::Choice::DEPENDENCES)) {
        format!("dependence {far:?}")
    } else {
        return Ok(());
    };
    Err(Error::spec(
        format!("a path through {} with {what}", E::NAME),
        "keep the matrix and follow the path there",
    ))
}

/// The path through directions that fit.
fn by_directions<E: Traced>(
    wavefront: &Wavefront<'_, E>,
    end: End,
    need: &Need,
    executor: &mut dyn WavefrontExecutor<E>,
) -> Result<(Option<Path<Score<E>>>, Report)> {
    let mut path = None;
    let mut report = executor.record(wavefront, &mut |kept, choices| {
        let Some((score, at)) = end.of(kept, wavefront.extents())? else { return Ok(()) };
        path = Some(path_from::<E>(score, at, |row, column| choices.at(row, column))?);
        Ok(())
    })?;
    report.notes.push(format!("the path was found by directions, {} bytes", need.needed));
    Ok((path, report))
}
