//! A small machine by itself: which of its GPUs to use, and in which order.

use warpweft::Result;
use warpweft::cluster::Tree;
use warpweft::stencil::drive::select;

use crate::model::scaling::{How, Row, row};
use crate::model::workload::Workload;

/// One row for each number of GPUs of a small machine, on those that suit best, in the best order.
pub fn placed<const D: usize>(
    work: &Workload<D>,
    extents: [usize; D],
    network: &Tree,
    how: &How,
) -> Result<Vec<Row>> {
    let on = |placement: &[usize]| {
        let mut grid = [1; D];
        grid[0] = placement.len();
        let quiet = How { jitter: 0.0, ..*how };
        row(work, extents, grid, network, placement, &quiet)
    };
    let mut rows = Vec::new();
    for count in 1..=network.devices() {
        let seconds = |placement: &[usize]| {
            (placement.len() == count).then(|| on(placement).ok()).flatten().map(|r| r.simulated)
        };
        match select(network.devices(), seconds) {
            Some(best) => rows.push(on(&best.devices)?),
            // The first number of GPUs that does not fit says why.
            None => {
                on(&(0..count).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(rows)
}
