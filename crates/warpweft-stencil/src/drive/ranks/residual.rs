//! A residual over parts: each rank's own total, some hundred bytes, merged on rank 0.

use crate::spec::residual::Residual;
use crate::spec::total::Total;
use warpweft_core::cluster::{Transport, broadcast, gather};
use warpweft_core::error::Result;

/// The residual of one step on every rank, of which each gives what changed in its own cells.
///
/// # Errors
/// As [`Transport::receive`].
pub(crate) fn residual(net: &dyn Transport, kind: Residual, change: &Total) -> Result<f64> {
    // The largest change comes first, and is all that its norm needs.
    let words = if kind == Residual::Max { 1 } else { Total::WORDS };
    let mine = change.words().take(words).flat_map(u64::to_le_bytes).collect();
    let gathered = gather(net, mine)?;
    let mut total = Total::default();
    for bytes in &gathered {
        let (words, _) = bytes.as_chunks::<8>();
        total.merge(&Total::from_words(words.iter().copied().map(u64::from_le_bytes)));
    }
    let bytes = broadcast(net, kind.of_total(&total).to_le_bytes().to_vec())?;
    // What is no number meets no tolerance.
    Ok(bytes.try_into().map_or(f64::NAN, f64::from_le_bytes))
}
