//! Many problems at once on each core, a lane each: for sizes of which one can't fill vectors.
//!
//! Problems of like sizes go together. After Rognes (2011), who computed database sequences that way.

mod cell;
mod group;
mod kernel;
mod note;

use super::form::by_fronts;
use crate::recurrence::{Ranked, Traced, WavefrontElement};
use crate::spec::{Keep, Kept, Wavefront, holds_all};
use crate::traceback::{End, Path, path_from};
pub(super) use cell::LANES;
use group::solve;
use note::{Chosen, Nothing};
pub(super) use note::{bits, choice_at, mask, pack};
use warpweft_core::cpu::{Simd, Worker};
use warpweft_core::element::Scalar;
use warpweft_core::error::Result;

/// Cells of the largest problem: their choices still fit a cache of a core.
pub(super) const MOST: u64 = 1 << 20;
/// The fewest problems of a group; fewer are computed one by one.
const FEWEST: usize = 8;

/// Whether lanes compute such recurrences at all.
pub(super) const fn can<E: WavefrontElement>() -> bool {
    by_fronts::<E>() && size_of::<E::Input>() == 0
}

/// Those of the problems numbered `of` that lanes compute, in groups, and the others.
pub(super) fn grouped<E: WavefrontElement>(
    wavefronts: &[Wavefront<'_, E>],
    of: Vec<usize>,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let suits = |k: usize| suits(&wavefronts[k]) && alike(&wavefronts[k], &wavefronts[of[0]]);
    let extents = |k: usize| wavefronts[k].extents();
    groups_of(&of, &suits, &extents, &|k, extents| holds(&wavefronts[k], extents))
}

/// The same, of problems that `suits` lanes, of their `extents`, where a problem as large as a group has scores that its
/// numbers hold.
fn groups_of(
    of: &[usize],
    suits: &dyn Fn(usize) -> bool,
    extents: &dyn Fn(usize) -> [usize; 2],
    holds: &dyn Fn(usize, [usize; 2]) -> bool,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let (mut by_lanes, mut others): (Vec<usize>, Vec<usize>) = of.iter().partition(|&&k| suits(k));
    by_lanes.sort_by_key(|&k| std::cmp::Reverse(extents(k)));
    let mut groups = Vec::new();
    for group in by_lanes.chunks(LANES) {
        let ([mut m, mut n], mut own) = ([0; 2], 0);
        for [rows, columns] in group.iter().map(|&k| extents(k)) {
            (m, n) = (m.max(rows), n.max(columns));
            own += rows as u64 * columns as u64;
        }
        // Lanes that wait for others are worth it as long as some work.
        let worth = group.len() >= FEWEST && own * 4 >= (m * n * FEWEST) as u64;
        match worth && holds(group[0], [m, n]) {
            true => groups.push(group.to_vec()),
            false => others.extend(group),
        }
    }
    (groups, others)
}

/// Whether lanes compute `wavefront`.
fn suits<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> bool {
    let kept = !matches!(wavefront.keep, Keep::Matrix | Keep::Sum);
    can::<E>() && kept && wavefront.band.is_none() && wavefront.cells() <= MOST
}

/// Whether `a` and `b` have the same function, with the same parameters, and keep the same.
fn alike<E: WavefrontElement>(a: &Wavefront<'_, E>, b: &Wavefront<'_, E>) -> bool {
    a.keep == b.keep && a.element.alike(&b.element)
}

/// Whether scores of a problem like `wavefront`, but of `m` × `n` cells, overflow no number.
fn holds<E: WavefrontElement>(wavefront: &Wavefront<'_, E>, [m, n]: [usize; 2]) -> bool {
    let bounds = wavefront.element.bounds(m as u64, n as u64);
    bounds.is_none_or(|bounds| holds_all(<Score<E> as Scalar>::KIND, bounds))
}

/// What each of the problems numbered `group` was to keep; none if the worker is to end.
///
/// # Errors
/// Too little memory.
pub(super) fn kept<E: WavefrontElement>(
    wavefronts: &[Wavefront<'_, E>],
    group: &[usize],
    simd: Simd,
    worker: &Worker<'_>,
) -> Result<Option<Vec<Kept<E::Cell>>>> {
    let members: Vec<_> = group.iter().map(|&k| &wavefronts[k]).collect();
    let Some(mut solved) = solve(&members, &Nothing, simd, worker)? else { return Ok(None) };
    let each = members.iter().enumerate().map(|(l, member)| solved.kept(l, member.keep));
    each.collect::<Result<_>>().map(Some)
}

/// A path a problem, if there is one.
type PathOfEach<E> = Vec<Option<Path<Score<E>>>>;

/// What a path is compared by.
type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;

/// The path of each of the problems numbered `group`; none if the worker is to end.
///
/// # Errors
/// Too little memory; a choice that is none.
pub(super) fn paths<E: Traced>(
    wavefronts: &[Wavefront<'_, E>],
    group: &[usize],
    end: End,
    simd: Simd,
    worker: &Worker<'_>,
) -> Result<Option<PathOfEach<E>>> {
    let element = wavefronts[group[0]].element;
    let plain: Vec<_> = group.iter().map(|&k| wavefronts[k].with(element.plain())).collect();
    let members: Vec<_> = plain.iter().collect();
    let Some(mut solved) = solve(&members, &Chosen::new(&element), simd, worker)? else {
        return Ok(None);
    };
    let mut all = Vec::with_capacity(group.len());
    for (l, member) in members.iter().enumerate() {
        let end = end.of(&solved.kept(l, member.keep)?, member.extents())?;
        let path = end.map(|(score, at)| {
            path_from::<E>(score, at, |i, j| Ok(choice_at::<E>(solved.notes(i, j), l)))
        });
        all.push(path.transpose()?);
    }
    Ok(Some(all))
}
