//! The plain loop, as a reference solution: shares no code with the library.

use super::{Alignment, Ends, Scope, Scoring, Sequence};
use crate::table::Table;

/// The best alignment by Gotoh's three tables in 64 bits, one row of each kept.
///
/// Complexity: query × target cells, one thread.
pub fn plain(
    query: &Sequence,
    target: &Sequence,
    scoring: impl Into<Scoring>,
    scope: Scope,
) -> Alignment {
    let scoring = scoring.into();
    const NEVER: i64 = i64::MIN / 4;
    let [open, extend] = [scoring.weights().open, scoring.weights().extend].map(i64::from);
    let Ends { query: query_ends, target: target_ends } = scope.ends();
    let beyond = |i: usize, j: usize| scoring.band().is_some_and(|band| i.abs_diff(j) > band);
    let outside = |free: bool, letters: usize| match letters as i64 {
        0 => 0,
        _ if beyond(letters, 0) && scope != Scope::Local => NEVER,
        _ if free || scope == Scope::Local => 0,
        letters => open + extend * (letters - 1),
    };
    let n = target.len();
    let mut above: Vec<i64> = (0..=n).map(|j| outside(target_ends[0], j)).collect();
    let mut down = vec![NEVER; n + 1];
    let mut best: Option<(i64, usize, usize)> = None;
    for (i, a) in query.as_rows().iter().enumerate() {
        let mut diagonal = above[0];
        above[0] = outside(query_ends[0], i + 1);
        let mut across = NEVER;
        for (j, b) in target.as_columns().iter().enumerate() {
            let pair = diagonal + i64::from(scoring.pair(*a, *b));
            across = (above[j] + open).max(across + extend);
            down[j + 1] = (above[j + 1] + open).max(down[j + 1] + extend);
            let mut score = pair.max(across).max(down[j + 1]);
            if scope == Scope::Local {
                score = score.max(0);
            }
            diagonal = above[j + 1];
            if beyond(i, j) {
                (score, across, down[j + 1]) = (NEVER, NEVER, NEVER);
            }
            above[j + 1] = score;
            // Where an alignment may end: anywhere, or in the last row or column.
            let last = [i + 1 == query.len(), j + 1 == n];
            let ends = match scope {
                Scope::Local => score > 0,
                _ => match last {
                    [true, true] => true,
                    [true, false] => target_ends[1],
                    [false, true] => query_ends[1],
                    [false, false] => false,
                },
            };
            if ends && best.is_none_or(|(most, ..)| score > most) {
                best = Some((score, i + 1, j + 1));
            }
        }
    }
    let best = best.unwrap_or((0, 0, 0));
    Alignment { score: best.0 as i32, query_end: best.1, target_end: best.2 }
}

/// The CIGAR text (`=XID`) of the best alignment and the letters of query and target before it, from
/// three whole tables; of equal paths the one that [`super::trace`] takes. Empty for no alignment.
///
/// Complexity: query × target cells of 24 bytes, one thread.
pub fn plain_path(
    query: &Sequence,
    target: &Sequence,
    scoring: impl Into<Scoring>,
    scope: Scope,
) -> (String, [usize; 2]) {
    let scoring = scoring.into();
    let open = i64::from(scoring.weights().open);
    let Ends { query: [query_free, _], target: [target_free, _] } = scope.ends();
    let (q, t) = (query.as_rows(), target.as_columns());
    let tables = tables(q, t, &scoring, scope);
    let Alignment { query_end: mut i, target_end: mut j, .. } =
        plain(query, target, &scoring, scope);
    let mut letters = Vec::new();
    let mut table = 0;
    let goes_on = |i: usize, j: usize, table: usize, score: i64| match scope {
        Scope::Local => table > 0 || score > 0,
        // Letters before the start stand against nothing where they are not free.
        _ => !(i == 0 && (j == 0 || target_free) || j == 0 && query_free),
    };
    while goes_on(i, j, table, tables[i][j][0]) {
        let pair = if i > 0 && j > 0 { i64::from(scoring.pair(q[i - 1], t[j - 1])) } else { 0 };
        let here = tables[i][j];
        if table == 0 && i > 0 && j > 0 && here[0] == tables[i - 1][j - 1][0] + pair {
            letters.push(if scoring.is_match(q[i - 1], t[j - 1]) { '=' } else { 'X' });
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

/// The whole tables of [`plain_path`].
fn tables(q: &[u8], t: &[u8], scoring: &Scoring, scope: Scope) -> Table<[i64; 3]> {
    const NEVER: i64 = i64::MIN / 4;
    let [open, extend] = [scoring.weights().open, scoring.weights().extend].map(i64::from);
    let Ends { query: [query_free, _], target: [target_free, _] } = scope.ends();
    // Entry [i][j] of each is of the first i and j letters: best, end in a deletion, in an insertion.
    let mut tables = Table::filled([0, NEVER, NEVER], q.len() + 1, t.len() + 1);
    let global = scope != Scope::Local;
    let beyond = |i: usize, j: usize| scoring.band().is_some_and(|band| i.abs_diff(j) > band);
    for i in (1..=q.len()).filter(|_| global && !query_free) {
        let gap = open + extend * (i as i64 - 1);
        tables[i][0] = [gap, NEVER, gap];
    }
    for j in (1..=t.len()).filter(|_| global && !target_free) {
        let gap = open + extend * (j as i64 - 1);
        tables[0][j] = [gap, gap, NEVER];
    }
    (1..=q.len()).filter(|&i| global && beyond(i, 0)).for_each(|i| tables[i][0] = [NEVER; 3]);
    (1..=t.len()).filter(|&j| global && beyond(0, j)).for_each(|j| tables[0][j] = [NEVER; 3]);
    for i in 1..=q.len() {
        for j in 1..=t.len() {
            let deletion = (tables[i][j - 1][0] + open).max(tables[i][j - 1][1] + extend);
            let insertion = (tables[i - 1][j][0] + open).max(tables[i - 1][j][2] + extend);
            let pair = i64::from(scoring.pair(q[i - 1], t[j - 1]));
            let mut score = (tables[i - 1][j - 1][0] + pair).max(deletion).max(insertion);
            if scope == Scope::Local {
                score = score.max(0);
            }
            tables[i][j] = if beyond(i, j) { [NEVER; 3] } else { [score, deletion, insertion] };
        }
    }
    tables
}
