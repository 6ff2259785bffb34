//! Sources and probes over parts: who adds and who records what.
//!
//! Every part adds to all its copies of a source's cells, ghosts too, so that its redundant work stays
//! the reference's and no step needs a swap for it; a probe's cells are recorded by those that own them.

use std::mem::take;
use std::sync::{Mutex, PoisonError};

use crate::plan::halo::Span;
use crate::plan::partition::Partition;
use crate::spec::points::{Points, RawPointSource, RawProbe};
use warpweft_core::cluster::{Transport, gather};
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;
use warpweft_core::report::Series;

/// `points` as a part sees them whose cells are those of `zone`, in its own indices.
pub(crate) fn of_subdomain(
    points: &Points,
    partition: &Partition,
    part: usize,
    zone: Span,
) -> Points {
    let dims = partition.rank();
    let local = |at: Axes<isize>| -> Axes<usize> {
        Axes::from_fn(dims, |d| (at[d] - zone.low[d]) as usize)
    };
    let sources = points.sources.iter().map(|source| {
        let copies = source.at.iter().flat_map(|&at| copies(at, partition, zone));
        RawPointSource { at: copies.map(local).collect(), ..source.clone() }
    });
    let probes = points.probes.iter().map(|probe| {
        let own = owned(probe, partition, part).map(|n| probe.at[n].map(|index| index as isize));
        RawProbe { at: own.map(local).collect(), ..probe.clone() }
    });
    Points { sources: sources.collect(), probes: probes.collect() }
}

/// Where the cell `at` is in a box of a part's frame: several times where that runs on around the volume.
fn copies(at: Axes<usize>, partition: &Partition, zone: Span) -> impl Iterator<Item = Axes<isize>> {
    let dims = at.rank();
    let extents = partition.extents();
    let around = |d: usize| isize::from(partition.is_periodic(d) && partition.is_cut(d));
    let turns = Span {
        low: Axes::from_fn(dims, |d| -around(d)),
        high: Axes::from_fn(dims, |d| 1 + around(d)),
    };
    let placed = move |turn: Axes<isize>| {
        Axes::from_fn(dims, |d| at[d] as isize + turn[d] * extents[d] as isize)
    };
    turns.iter().map(placed).filter(move |&at| zone.contains(at))
}

/// Which of a probe's cells `part` owns.
fn owned(probe: &RawProbe, partition: &Partition, part: usize) -> impl Iterator<Item = usize> {
    let own = Span::from(partition.region(part));
    let inside = move |at: &Axes<usize>| own.contains(at.map(|index| index as isize));
    (0..probe.at.len()).filter(move |&n| inside(&probe.at[n])).collect::<Vec<_>>().into_iter()
}

/// Takes out what all ranks recorded since the last time, and adds it to `all` on rank 0.
///
/// # Errors
/// As [`gather`].
pub(crate) fn collect(
    points: &Points,
    partition: &Partition,
    own: &mut [Series],
    all: &Mutex<Vec<Series>>,
    net: &dyn Transport,
) -> Result<()> {
    if points.probes.is_empty() {
        return Ok(());
    }
    let values = own.iter().flat_map(|series| series.values.iter().flatten());
    let told = gather(net, values.flat_map(|value| value.to_le_bytes()).collect())?;
    let taken: Vec<_> = own.iter_mut().map(|series| take(&mut series.values).len()).collect();
    if net.rank() > 0 {
        return Ok(());
    }
    let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
    let mut read: Vec<_> = told.iter().map(|bytes| bytes.as_chunks().0.iter()).collect();
    for ((probe, taken), series) in points.probes.iter().zip(taken).zip(&mut *all) {
        // All ranks recorded as often.
        let mut records = vec![vec![f64::NAN; probe.at.len()]; taken];
        for (rank, read) in read.iter_mut().enumerate() {
            for record in &mut records {
                for n in owned(probe, partition, rank) {
                    record[n] = read.next().map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes));
                }
            }
        }
        series.values.append(&mut records);
    }
    Ok(())
}
