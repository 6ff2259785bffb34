//! Choices that warps record of many problems: where they lie, and what they mean to a path.

use super::text::Problem;
use crate::cuda::strips::recording::Recording;
use crate::recurrence::{NEAR, Traced};
use crate::spec::Erased;

/// States of a path at most: their numbers and a move fit 16 bits.
const MOST_STATES: usize = 64;
/// The move that is none.
const BEGINS: u16 = 3;

/// Bytes of a word of choices of a lane's rows.
pub(super) fn word_bytes(rows: u32, recording: &Recording) -> usize {
    (rows * recording.bits).next_power_of_two().max(8) as usize / 8
}

/// Words of choices of a problem of so many rows and columns.
fn words_of([m, n]: [usize; 2], rows: u32) -> usize {
    m.div_ceil(32 * rows as usize) * (n + 31) * 32
}

/// Bytes of choices of a problem at most, if a lane owns up to `most` rows.
pub(super) fn recorded_bytes(wavefront: &Erased<'_>, most: u32, recording: &Recording) -> usize {
    let bytes = |rows| words_of(wavefront.extents, rows) * word_bytes(rows, recording);
    (1..=most).map(bytes).max().unwrap_or(0)
}

/// Says where each problem's words begin; how many there are.
pub(super) fn place_words(problems: &mut [Problem], rows: u32) -> usize {
    let mut words = 0;
    for problem in problems {
        problem.directions = words as u64;
        words += words_of([problem.row_count as usize, problem.column_count as usize], rows);
    }
    words
}

/// What `E` makes of each choice of `bits` bits in each state, as trails.cuh reads it: a path begins in the first. None
/// if there are too many states.
pub(super) fn meanings<E: Traced>(bits: u32) -> Option<Vec<u16>> {
    let mut states = vec![E::State::default()];
    let mut all = Vec::new();
    while all.len() >> bits < states.len() {
        let state = states[all.len() >> bits];
        for choice in 0..1u16 << bits {
            // What does not fit the bits that the choice is said to have means nothing.
            let fits = u32::from(choice) >> E::BITS == 0;
            let meaning = match fits.then(|| E::back(choice as u8, state)) {
                None => BEGINS | 4,
                Some(None) => BEGINS,
                Some(Some((vector, next))) => {
                    let known = states.iter().position(|known| *known == next);
                    let number = known.unwrap_or_else(|| {
                        states.push(next);
                        states.len() - 1
                    });
                    let to = NEAR.iter().position(|near| *near == vector);
                    to.map_or(BEGINS | 4, |to| to as u16 | (number as u16) << 2)
                }
            };
            all.push(meaning);
        }
        if states.len() > MOST_STATES {
            return None;
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::{Dependence, Earlier};
    use crate::wavefront;

    /// The longest common subsequence, two cells apart at least: one more after a pair, in a state of its own.
    #[wavefront]
    fn apart(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
        h.n.max(h.w).max(h.nw + (a == b) as i32)
    }

    #[wavefront(choice)]
    fn apart_choice(h: Earlier<i32>, #[row] a: u8, #[column] b: u8, #[cell] cell: i32) -> u8 {
        ((cell != h.n) as i32 + ((cell != h.n) & (cell != h.nw + (a == b) as i32)) as i32) as u8
    }

    impl Traced for apart {
        type State = bool;
        type Choice = apart_choice;
        type Plain = Self;
        const BITS: u32 = 2;
        fn plain(&self) -> Self {
            *self
        }
        fn choice(&self) -> apart_choice {
            apart_choice()
        }
        fn back(choice: u8, after: bool) -> Option<(Dependence, bool)> {
            match (choice, after) {
                (0, _) => Some(([-1, 0], false)),
                (1, false) => Some(([-1, -1], true)),
                (2, _) => Some(([0, -1], false)),
                (3, _) => Some(([-1, 1], false)),
                _ => None,
            }
        }
    }

    #[test]
    fn choices_mean_moves_and_states() {
        let nothing = BEGINS | 4;
        let all = meanings::<apart>(2).unwrap();
        assert_eq!(all, [1, 4, 2, nothing, 1, BEGINS, 2, nothing]);
        // Two bits where four are recorded: what does not fit means nothing.
        let all = meanings::<apart>(4).unwrap();
        assert_eq!(all.len(), 32);
        assert!(all[4..16].iter().all(|&meaning| meaning == nothing));
    }

    #[test]
    fn words_hold_the_choices_of_a_lanes_rows() {
        let recording = Recording::plain(2);
        assert_eq!(
            [1, 4, 5, 8, 9, 16].map(|rows| word_bytes(rows, &recording)),
            [1, 1, 2, 2, 4, 4]
        );
        assert_eq!(words_of([150, 200], 5), 231 * 32);
        assert_eq!(words_of([161, 200], 5), 2 * 231 * 32);
    }
}
