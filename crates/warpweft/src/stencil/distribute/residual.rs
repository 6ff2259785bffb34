//! A residual over parts, in the order that [`super::super::Residual`] defines: the same bits as on one
//! device.

use super::super::partition::Partition;
use super::super::plan::Region;
use super::super::residual::Residual;
use crate::cluster::{Transport, broadcast, gather};
use crate::error::Result;

/// The residual of one step on every rank. `changes` holds, per written field, the contributions
/// of the part's own cells in row-major order.
///
/// Lines along uncut trailing axes are totalled where they are; the rest is brought to rank 0, for
/// slabs across the slowest axis one number a plane, for other cuts up to one a cell.
///
/// # Errors
/// As [`Transport::receive`].
pub(super) fn residual<const D: usize>(
    net: &dyn Transport,
    partition: &Partition<D>,
    kind: Residual,
    changes: Vec<Vec<f64>>,
) -> Result<f64> {
    let extents = partition.extents();
    // Axes from `whole` on are uncut, so every line along them is in one part.
    let whole = (0..D).rev().take_while(|&d| !partition.is_cut(d)).last().unwrap_or(D);
    let fields = changes.len();
    let partial: Vec<u8> = changes
        .into_iter()
        .flat_map(|values| total_axes(kind, values, &extents[whole..]))
        .flat_map(f64::to_le_bytes)
        .collect();
    let gathered = gather(net, partial)?;
    let mut total = 0.0;
    if net.rank() == 0 {
        let lines: usize = extents[..whole].iter().product();
        let mut values = vec![vec![0.0; lines]; fields];
        for (part, bytes) in gathered.iter().enumerate() {
            let numbers =
                bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default()));
            let places = leading_cells(partition.region(part), extents, whole);
            let count = places.len();
            for (i, number) in numbers.enumerate() {
                values[i / count][places[i % count]] = number;
            }
        }
        for values in values {
            let field = total_axes(kind, values, &extents[..whole]);
            total = kind.combine(total, field.first().copied().unwrap_or(0.0));
        }
    }
    let bytes = broadcast(net, total.to_le_bytes().to_vec())?;
    Ok(f64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Totals `values` along `axes`, the innermost of theirs, innermost first.
fn total_axes(kind: Residual, mut values: Vec<f64>, axes: &[usize]) -> Vec<f64> {
    for &n in axes.iter().rev() {
        values = values.chunks_exact(n).map(|line| kind.total(line.iter().copied())).collect();
    }
    values
}

/// Row-major indices, over the first `axes` axes of `extents`, of a region's cells.
fn leading_cells<const D: usize>(
    region: Region<D>,
    extents: [usize; D],
    axes: usize,
) -> Vec<usize> {
    let mut places = vec![0];
    for d in 0..axes {
        let along =
            |place: usize| (region.low[d]..region.high[d]).map(move |i| place * extents[d] + i);
        places = places.into_iter().flat_map(along).collect();
    }
    places
}
