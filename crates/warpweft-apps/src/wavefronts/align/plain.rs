//! The plain loop, as a reference solution: shares no code with the library.

use super::{Alignment, Scope, Sequence, Weights};
use crate::table::Table;

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

/// The CIGAR text (`=XID`) of the best alignment and the letters of query and target before it, from
/// three whole tables; of equal paths the one that [`super::trace`] takes. Empty for no alignment.
///
/// Complexity: query × target cells of 24 bytes, one thread.
pub fn plain_path(
    query: &Sequence,
    target: &Sequence,
    weights: Weights,
    scope: Scope,
) -> (String, [usize; 2]) {
    const NEVER: i64 = i64::MIN / 4;
    let [matching, mismatch, open, extend] =
        [weights.matching, weights.mismatch, weights.open, weights.extend].map(i64::from);
    let (q, t) = (query.as_rows(), target.as_columns());
    // Entry [i][j] of each is of the first i and j letters: best, end in a deletion, in an insertion.
    let mut tables = Table::filled([0, NEVER, NEVER], q.len() + 1, t.len() + 1);
    if scope == Scope::Global {
        for i in 1..=q.len() {
            let gap = open + extend * (i as i64 - 1);
            tables[i][0] = [gap, NEVER, gap];
        }
        for j in 1..=t.len() {
            let gap = open + extend * (j as i64 - 1);
            tables[0][j] = [gap, gap, NEVER];
        }
    }
    let mut end = [q.len(), t.len()];
    let mut best = 0;
    for i in 1..=q.len() {
        for j in 1..=t.len() {
            let deletion = (tables[i][j - 1][0] + open).max(tables[i][j - 1][1] + extend);
            let insertion = (tables[i - 1][j][0] + open).max(tables[i - 1][j][2] + extend);
            let pair = if q[i - 1] == t[j - 1] { matching } else { mismatch };
            let mut score = (tables[i - 1][j - 1][0] + pair).max(deletion).max(insertion);
            if scope == Scope::Local {
                score = score.max(0);
                if score > best {
                    (best, end) = (score, [i, j]);
                }
            }
            tables[i][j] = [score, deletion, insertion];
        }
    }
    if scope == Scope::Local && best == 0 {
        return (String::new(), [0, 0]);
    }
    let [mut i, mut j] = end;
    let mut letters = Vec::new();
    let mut table = 0;
    while if scope == Scope::Local { table > 0 || tables[i][j][0] > 0 } else { i + j > 0 } {
        let pair = if i > 0 && j > 0 && q[i - 1] == t[j - 1] { matching } else { mismatch };
        let here = tables[i][j];
        if table == 0 && i > 0 && j > 0 && here[0] == tables[i - 1][j - 1][0] + pair {
            letters.push(if q[i - 1] == t[j - 1] { '=' } else { 'X' });
            (i, j) = (i - 1, j - 1);
        } else if table == 1 || table == 0 && j > 0 && here[0] == here[1] {
            table = usize::from(here[1] != tables[i][j - 1][0] + open);
            letters.push('D');
            j -= 1;
        } else {
            table = 2 * usize::from(here[2] != tables[i - 1][j][0] + open);
            letters.push('I');
            i -= 1;
        }
    }
    letters.reverse();
    let runs = letters.chunk_by(|a, b| a == b);
    (runs.map(|run| format!("{}{}", run.len(), run[0])).collect(), [i, j])
}
