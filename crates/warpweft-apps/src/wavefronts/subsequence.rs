//! The longest common subsequence of two texts: its length.

use warpweft::error::Result;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{Kept, WavefrontExecutor};

/// The length up to here (Wagner and Fischer 1974).
#[wavefront(bounds = bounds)]
pub fn common_subsequence(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    if a == b { h.nw + 1 } else { h.n.max(h.w) }
}

fn bounds(_: &common_subsequence, rows: u64, columns: u64) -> [f64; 2] {
    [0.0, rows.min(columns) as f64]
}

/// The length of the longest common subsequence of `a` and `b`.
///
/// # Errors
/// An empty text; the executor's.
pub fn length(
    a: &[u8],
    b: &[u8],
    executor: &mut dyn WavefrontExecutor<common_subsequence>,
) -> Result<(usize, Report)> {
    let wavefront = Wavefront::of(common_subsequence()).rows(a).columns(b).keep(Keep::LastRow);
    let (kept, report) = executor.run(&wavefront)?;
    let last = match kept {
        Kept::LastRow(row) => row.last().copied(),
        _ => None,
    };
    Ok((last.unwrap_or(0) as usize, report))
}

/// The same by another way: the longest increasing subsequence of the matches' positions (Hunt and
/// Szymanski 1977).
pub fn plain(a: &[u8], b: &[u8]) -> usize {
    let mut places = vec![vec![]; 256];
    for (j, &letter) in b.iter().enumerate() {
        places[usize::from(letter)].push(j);
    }
    // The least end of an increasing sequence of each length.
    let mut ends: Vec<usize> = Vec::new();
    for &letter in a {
        // Descending, so that no two matches of one letter follow one another.
        for &j in places[usize::from(letter)].iter().rev() {
            let at = ends.partition_point(|&end| end < j);
            match ends.get_mut(at) {
                Some(end) => *end = j,
                None => ends.push(j),
            }
        }
    }
    ends.len()
}
