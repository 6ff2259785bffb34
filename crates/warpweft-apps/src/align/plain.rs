//! The straightforward loop, as an oracle: shares no code with the library.

use super::{Alignment, Scope, Sequence, Weights};

/// The best alignment by Gotoh's three tables in 64 bits, one row of each kept.
///
/// Complexity: query × target cells, one thread.
pub fn plain(query: &Sequence, target: &Sequence, weights: Weights, scope: Scope) -> Alignment {
    const NEVER: i64 = i64::MIN / 4;
    let [matching, mismatch, open, extend] =
        [weights.matching, weights.mismatch, weights.open, weights.extend].map(i64::from);
    let outside = |letters: usize| match (scope, letters as i64) {
        (Scope::Local, _) | (_, 0) => 0,
        (Scope::Global, letters) => open + extend * (letters - 1),
    };
    let n = target.len();
    let mut above: Vec<i64> = (0..=n).map(outside).collect();
    let mut down = vec![NEVER; n + 1];
    let mut best = (0, 0, 0);
    for (i, a) in query.as_rows().iter().enumerate() {
        let mut diagonal = above[0];
        above[0] = outside(i + 1);
        let mut across = NEVER;
        for (j, b) in target.as_columns().iter().enumerate() {
            let pair = diagonal + if a == b { matching } else { mismatch };
            across = (above[j] + open).max(across + extend);
            down[j + 1] = (above[j + 1] + open).max(down[j + 1] + extend);
            let mut score = pair.max(across).max(down[j + 1]);
            if scope == Scope::Local {
                score = score.max(0);
            }
            diagonal = above[j + 1];
            above[j + 1] = score;
            if score > best.0 {
                best = (score, i + 1, j + 1);
            }
        }
    }
    if scope == Scope::Global {
        best = (above[n], query.len(), n);
    }
    Alignment { score: best.0 as i32, query_end: best.1, target_end: best.2 }
}
