//! Many problems at once on each core, a lane each: for sizes of which one can't fill vectors.
//!
//! Problems of like sizes go together. After Rognes (2011), who computed database sequences that way.

mod cell;
mod group;
mod kernel;
mod note;

use std::cmp::Reverse;

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
/// How many lanes of a group have work on average at least, if what is kept is found: 64 lanes are 1.6 (1,000 × 1,000
/// cells) to 2.8 (200 × 200) times as fast as strips on a Xeon with AVX-512.
pub(super) const FEWEST: usize = 24;
/// The same if paths are found, for which strips were not measured.
pub(super) const FEWEST_PATHS: usize = 8;
/// Problems of like rows among which those of like columns go together.
const BLOCK: usize = 16 * LANES;

/// Whether lanes compute such recurrences at all.
pub(super) const fn can<E: WavefrontElement>() -> bool {
    by_fronts::<E>() && size_of::<E::Input>() == 0
}

/// Those of the problems numbered `of` that lanes compute, in groups, and the others.
pub(super) fn grouped<E: WavefrontElement>(
    wavefronts: &[Wavefront<'_, E>],
    of: Vec<usize>,
    fewest: usize,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let suits = |k: usize| suits(&wavefronts[k]) && alike(&wavefronts[k], &wavefronts[of[0]]);
    let extents = |k: usize| wavefronts[k].extents();
    groups_of((&of, fewest), &suits, &extents, &|k, extents| holds(&wavefronts[k], extents))
}

/// The same, of problems that `suits` lanes, of their `extents`, where a problem as large as a group has scores that its
/// numbers hold. `fewest` lanes of a group have work on average: the largest problem, which the others would wait for, is
/// left out until that is so.
fn groups_of(
    (of, fewest): (&[usize], usize),
    suits: &dyn Fn(usize) -> bool,
    extents: &dyn Fn(usize) -> [usize; 2],
    holds: &dyn Fn(usize, [usize; 2]) -> bool,
) -> (Vec<Vec<usize>>, Vec<usize>) {
    let (mut by_lanes, mut others): (Vec<usize>, Vec<usize>) = of.iter().partition(|&&k| suits(k));
    by_lanes.sort_by_key(|&k| Reverse(extents(k)));
    for block in by_lanes.chunks_mut(BLOCK) {
        block.sort_by_key(|&k| Reverse(extents(k)[1]));
    }
    let cells = |k: usize| extents(k).map(|extent| extent as u64).iter().product::<u64>();
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    let mut rest = by_lanes.into_iter();
    loop {
        group.extend(rest.by_ref().take(LANES - group.len()));
        let Some(largest) = (0..group.len()).max_by_key(|&l| cells(group[l])) else { break };
        let [m, n] = [0, 1].map(|axis| group.iter().map(|&k| extents(k)[axis]).max().unwrap_or(0));
        let own: u64 = group.iter().map(|&k| cells(k)).sum();
        match own >= (m * n * fewest) as u64 && holds(group[0], [m, n]) {
            true => groups.push(std::mem::take(&mut group)),
            false => others.push(group.remove(largest)),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(extents: &[[usize; 2]], fewest: usize) -> (Vec<Vec<usize>>, Vec<usize>) {
        let all: Vec<_> = (0..extents.len()).collect();
        groups_of((&all, fewest), &|_| true, &|k| extents[k], &|_, _| true)
    }

    #[test]
    fn a_problem_that_others_would_wait_for_is_left_out() {
        for far in [[150, 6900], [6900, 200]] {
            let mut extents = vec![[150, 200]; 63];
            extents.insert(20, far);
            let (found, others) = groups(&extents, 24);
            assert_eq!((found.len(), found[0].len(), others), (1, 63, vec![20]));
        }
        assert_eq!(groups(&[[150, 200]; 23], 24), (vec![], (0..23).rev().collect()));
        assert_eq!(groups(&[[150, 200]; 64], 24).0.len(), 1);
    }

    /// Lanes compute at most a third more cells than problems of rows and columns at random have.
    #[test]
    fn problems_of_mixed_lengths_waste_little() {
        let mut state = 1u64;
        let mut length = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            50 + (state >> 33) as usize % 200
        };
        let extents: Vec<_> = (0..8192).map(|_| [length(), length()]).collect();
        let (found, others) = groups(&extents, 24);
        assert!(others.is_empty());
        let most = |group: &Vec<usize>, axis: usize| group.iter().map(|&k| extents[k][axis]).max();
        let computed = |group| LANES * most(group, 0).unwrap() * most(group, 1).unwrap();
        let computed: usize = found.iter().map(computed).sum();
        let own: usize = extents.iter().map(|[m, n]| m * n).sum();
        assert!(3 * computed < 4 * own, "{computed} for {own}");
        let mut all: Vec<_> = found.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..8192).collect::<Vec<_>>());
    }
}
