//! A path on its way: the moves so far, from its end on.

use crate::path::{Moves, Path, Score};
use crate::recurrence::{Dependence, NEAR, Traced};
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::grow;

/// The moves so far, and what of the cell reached the path goes through.
pub(super) struct Trail<E: Traced> {
    state: E::State,
    moves: Vec<Moves>,
}

impl<E: Traced> Trail<E> {
    /// At the end.
    pub fn new() -> Self {
        Self { state: E::State::default(), moves: Vec::new() }
    }

    /// Moves on from a cell by its choice; none where the path begins there.
    ///
    /// # Errors
    /// A choice of more bits than declared, or a move that is none of [`NEAR`].
    #[inline]
    pub fn go(&mut self, choice: u8) -> Result<Option<Dependence>> {
        if u32::from(choice) >> E::BITS != 0 {
            return Err(Error::spec(
                format!("{} chooses {choice}, which takes more than {} bits", E::NAME, E::BITS),
                "raise `BITS`",
            ));
        }
        let Some((vector, state)) = E::back(choice, self.state) else { return Ok(None) };
        if !NEAR.contains(&vector) {
            return Err(Error::spec(
                format!("{} goes back by {vector:?}", E::NAME),
                format!("let it go by one of {NEAR:?}"),
            ));
        }
        self.state = state;
        match self.moves.last_mut() {
            Some(last) if last.vector == vector => last.count += 1,
            _ => {
                grow(&mut self.moves, 1, "look for a shorter path")?;
                self.moves.push(Moves { vector, count: 1 });
            }
        }
        Ok(Some(vector))
    }

    /// The moves from the path's start to its end.
    pub fn moves(mut self) -> Vec<Moves> {
        self.moves.reverse();
        self.moves
    }
}

/// The path to cell `at`, which has `score`, where `choice` tells the choice of a cell.
///
/// # Errors
/// Those of `choice`, and what it tells that is none.
pub(crate) fn path_from<E: Traced>(
    score: Score<E>,
    at: [usize; 2],
    mut choice: impl FnMut(usize, usize) -> Result<u8>,
) -> Result<Path<Score<E>>> {
    let mut trail = Trail::<E>::new();
    let [mut i, mut j] = at.map(|at| at as isize);
    while let (Ok(row), Ok(column)) = (usize::try_from(i), usize::try_from(j)) {
        let Some(vector) = trail.go(choice(row, column)?)? else { break };
        (i, j) = (i + vector[0], j + vector[1]);
    }
    Ok(Path { score, end: at, start: [i, j], moves: trail.moves() })
}
