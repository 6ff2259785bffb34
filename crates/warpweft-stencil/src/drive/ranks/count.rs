//! How many ranks there are, and how many of them each process has.

use std::time::Duration;

use warpweft_core::cluster::{Transport, agree};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across};
use warpweft_core::report::counted;

/// A rank that is alive but says nothing for this long is given up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// How many ranks, and how they are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// Number of ranks, at least 1; of one process at most 256. Where several processes were started, a
    /// multiple of their number: each has as many.
    pub count: usize,
    /// Subdomains along each axis; if `None`, the partition for which ranks exchange the fewest cells.
    pub grid: Option<Axes<usize>>,
    /// Steps between two halo exchanges; if `None`, searched while the run goes on.
    pub depth: Option<usize>,
}

/// `2x1x1`.
pub(crate) fn shown(grid: &Axes<usize>) -> String {
    across(grid)
}

/// How many of `count` ranks each process of `net` has.
///
/// # Errors
/// Processes that mean different numbers; ranks that can't be dealt out evenly.
pub(crate) fn each_of(count: usize, net: &dyn Transport) -> Result<usize> {
    agree(net, "a number of ranks of", &count.to_string())?;
    let there = net.ranks();
    if count == 0 || !count.is_multiple_of(there) {
        return Err(Error::spec(
            format!(
                "{} can't be divided evenly among {} processes",
                counted(count as u64, "rank"),
                there
            ),
            format!("use {there} or a multiple of it, or start one process per rank"),
        ));
    }
    Ok(count / there)
}
