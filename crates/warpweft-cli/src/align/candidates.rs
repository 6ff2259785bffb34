//! Which pairs a run aligns, and which of them it reports.

use std::ptr;

use warpweft::Result;
use warpweft::memory::grow;
use warpweft_apps::align::{Scope, Scoring};
use warpweft_apps::errors::about;

use super::Align;
use super::input::LeftOut;
use super::pair::{Named, Pair};

/// The pairs of queries and targets, in a batch as many of both, once for each strand. Without those that can't be
/// aligned, if they may be left out.
///
/// # Errors
/// A pair that can't be aligned, with the names of both records; too little memory.
pub fn candidates<'s>(
    of: &Align,
    scoring: &Scoring,
    queries: &'s [Named],
    targets: &'s [Named],
) -> Result<Vec<Pair<'s>>> {
    // The scores of an extension stay as near to the best one as local ones.
    let scope = if of.x_drop.is_some() { Scope::Local } else { of.scope() };
    let strands = of.strand.reversed();
    let (mut pairs, mut left_out) = (Vec::new(), LeftOut::default());
    let mut add = |query: &'s Named, target: &'s Named| {
        match scoring.check_pair(&query.sequence, &target.sequence, scope) {
            Ok(()) => {
                grow(&mut pairs, strands.len(), "align fewer sequences at once, or with --stream")?;
                pairs.extend(strands.iter().map(|&minus| Pair::new(query, target, minus)));
            }
            Err(error) => {
                let error = about(format!("{} and {}", query.name, target.name), error);
                if !of.skip_invalid {
                    return Err(error);
                }
                left_out.add("pair", &error);
            }
        }
        Ok(())
    };
    if of.batch {
        queries.iter().zip(targets).try_for_each(|(query, target)| add(query, target))?;
    } else {
        let mut with = |query| targets.iter().try_for_each(|target| add(query, target));
        queries.iter().try_for_each(&mut with)?;
    }
    left_out.end("pair", "");
    Ok(pairs)
}

/// Whether both are of the same two records.
pub fn alike(a: &Pair<'_>, b: &Pair<'_>) -> bool {
    ptr::eq(a.query, b.query) && ptr::eq(a.target, b.target)
}

/// Of the strands of a query with the same target, the first that scores most.
pub fn best_strands(pairs: Vec<Pair<'_>>) -> Vec<Pair<'_>> {
    let mut best: Vec<Pair<'_>> = Vec::with_capacity(pairs.len());
    for pair in pairs {
        match best.last_mut() {
            Some(last) if alike(last, &pair) => {
                if pair.alignment.score > last.alignment.score {
                    *last = pair;
                }
            }
            _ => best.push(pair),
        }
    }
    best
}

/// Of each query the `top` targets that score most, best first; of equal ones the first.
pub fn best_targets(pairs: Vec<Pair<'_>>, top: usize) -> Vec<Pair<'_>> {
    let mut all = Vec::new();
    let mut rest = pairs.into_iter().peekable();
    while let Some(first) = rest.next() {
        let query = first.query;
        let mut of_query = vec![first];
        while let Some(pair) = rest.next_if(|pair| ptr::eq(pair.query, query)) {
            of_query.push(pair);
        }
        of_query.sort_by_key(|pair| std::cmp::Reverse(pair.alignment.score));
        all.extend(of_query.into_iter().take(top));
    }
    all
}
