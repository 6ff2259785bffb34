//! The straightforward loops over whole tables, as reference solutions.

use warpweft::prelude::*;

use super::{Cost, Measure};
use crate::table::Table;

/// The sum of the costs of the pairs of a path. It is added up in the order of the path, so it has
/// the same bits as the sum that the distance was computed from. `None` if `pairs` is not a path
/// from the first samples to the last.
pub fn added_up<T: Real>(a: &[T], b: &[T], cost: Cost, pairs: &[[usize; 2]]) -> Option<T> {
    let steps = |[from, to]: &[[usize; 2]; 2]| {
        let step = [0, 1].map(|side| to[side].wrapping_sub(from[side]));
        step != [0, 0] && step.iter().all(|&step| step <= 1)
    };
    let ends = *pairs.first()? == [0, 0] && *pairs.last()? == [a.len() - 1, b.len() - 1];
    let connected = pairs.array_windows().all(steps);
    let add = |sum, &[i, j]: &[usize; 2]| cost.of(a[i], b[j]) + sum;
    (ends && connected).then(|| pairs.iter().fold(T::default(), add))
}

/// The distance, by the straightforward loop over the whole table; infinity if the constraint
/// allows no path.
pub fn plain<T: Real>(a: &[T], b: &[T], measure: Measure) -> T {
    let infinity = T::lit(f64::INFINITY);
    let Ok(diagonals) = measure.within.diagonals([a.len(), b.len()]) else { return infinity };
    let mut table = Table::filled(infinity, a.len() + 1, b.len() + 1);
    table[0][0] = T::default();
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let diagonal = j as isize - i as isize;
            if diagonals.is_some_and(|[lower, upper]| diagonal < lower || diagonal > upper) {
                continue;
            }
            table[i][j] = measure.cost.of(a[i - 1], b[j - 1]) + least(&table, i, j);
        }
    }
    measure.cost.distance(table[a.len()][b.len()])
}

/// The least of the three entries before `[i, j]`.
fn least<T: Real>(table: &Table<T>, i: usize, j: usize) -> T {
    let mut least = table[i - 1][j - 1];
    for other in [table[i - 1][j], table[i][j - 1]] {
        if other < least {
            least = other;
        }
    }
    least
}

/// For each sample of `series`, the distance between the whole of `query` and the nearest of the
/// parts that end at this sample, by the straightforward loop over the whole table.
pub fn plain_matches<T: Real>(query: &[T], series: &[T], cost: Cost) -> Vec<T> {
    let mut table = Table::filled(T::default(), query.len() + 1, series.len() + 1);
    for i in 1..=query.len() {
        table[i][0] = T::lit(f64::INFINITY);
        for j in 1..=series.len() {
            table[i][j] = cost.of(query[i - 1], series[j - 1]) + least(&table, i, j);
        }
    }
    table[query.len()][1..].iter().map(|&sum| cost.distance(sum)).collect()
}
