//! The straightforward loop, as an oracle: shares no code with the library.

use super::{Alignment, Sequence, Weights};

/// The best local alignment by the textbook's table, one row kept.
///
/// Complexity: query × target cells, one thread.
pub fn plain(query: &Sequence, target: &Sequence, weights: Weights) -> Alignment {
    let mut above = vec![0i64; target.len() + 1];
    let mut best = (0, 0, 0);
    for (i, a) in query.as_rows().iter().enumerate() {
        let mut diagonal = 0;
        for (j, b) in target.as_columns().iter().enumerate() {
            let pair = if a == b { weights.matching } else { weights.mismatch };
            let gap = i64::from(weights.gap);
            let score =
                0.max(diagonal + i64::from(pair)).max(above[j] + gap).max(above[j + 1] + gap);
            diagonal = above[j + 1];
            above[j + 1] = score;
            if score > best.0 {
                best = (score, i + 1, j + 1);
            }
        }
    }
    Alignment { score: best.0 as i32, query_end: best.1, target_end: best.2 }
}
