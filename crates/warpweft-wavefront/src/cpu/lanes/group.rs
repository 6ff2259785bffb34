//! Problems of like sizes computed together, a lane each.
//!
//! A lane that is narrower or shorter than the widest and longest computes further cells, of its own last
//! inputs again, which nothing reads.

use super::cell::{Arrays, CellOfLanes, Each, LANES};
use super::kernel::{Row, compute};
use super::note::Note;
use crate::recurrence::{Best, Extreme, Parts, Ranked, WavefrontElement, is_nan};
use crate::spec::{Keep, Kept, Wavefront};
use warpweft_core::cpu::{Aborted, Simd, Worker};
use warpweft_core::element::Scalar;
use warpweft_core::error::{Error, Result};
use warpweft_core::memory::{check_room, room};

const HINT: &str = "compute fewer problems at a time, or on fewer threads";

/// What the lanes leave.
pub(super) struct Group<C: Ranked> {
    /// Rows and columns of the longest and the widest.
    extents: [usize; 2],
    best: Each<Option<Best<C::Score>>>,
    /// Of each lane, if it was to be kept.
    lines: Vec<Vec<C>>,
    /// Bytes that are noted of a cell of all lanes, and those of all cells.
    bytes: usize,
    notes: Vec<u8>,
}

/// Rows and columns of the longest and the widest.
fn around<E: WavefrontElement>(members: &[&Wavefront<'_, E>]) -> [usize; 2] {
    let most = |axis: usize| members.iter().map(|member| member.extents()[axis]).max();
    [0, 1].map(|axis| most(axis).unwrap_or(0))
}

/// `of` each lane; lanes without a problem take the first one's.
fn each<T, U: Copy>(members: &[T], of: impl Fn(&T) -> U) -> Each<U> {
    std::array::from_fn(|l| of(members.get(l).unwrap_or(&members[0])))
}

/// Computes `members`, at least one and at most [`LANES`], all of the first one's element; none if the
/// worker is to end.
///
/// # Errors
/// Too little memory.
pub(super) fn solve<E: WavefrontElement, N: Note<E>>(
    members: &[&Wavefront<'_, E>],
    note: &N,
    simd: Simd,
    worker: &Worker<'_>,
) -> Result<Option<Group<E::Cell>>> {
    let [m, n] = around(members);
    let element = members[0].element;
    let least = members[0].keep.extreme() == Some(Extreme::Least);
    let extreme = if least { Extreme::Least } else { Extreme::Greatest };
    let bytes = m * n * N::BYTES;
    check_room((bytes + n * size_of::<Each<E::Cell>>()) as u64, HINT)?;
    let mut notes = room(bytes, HINT)?;
    notes.resize(bytes, 0);
    let b: Vec<Each<E::Column>> = (0..n)
        .map(|j| each(members, |member| member.columns[j.min(member.columns.len() - 1)]))
        .collect();
    let border = |i: isize, j: isize| CellOfLanes::of(&outside(members, i, j));
    let mut cells = vec![[Default::default(); LANES]; n * E::Cell::PARTS];
    for (j, cell) in (0..).zip(cells.chunks_exact_mut(E::Cell::PARTS)) {
        border(-1, j).store(cell);
    }
    let mut west = [border(-1, -1); 2];
    let mut winners = [extreme.worst(); LANES];
    let mut at = [-1; LANES];
    let mut best = [None; LANES];
    let mut lines = lines(members)?;
    for i in 0..m {
        if worker.abort.check() == Err(Aborted) {
            return Ok(None);
        }
        west = [west[1], border(i as isize, -1)];
        let columns = each(members, |member| widths(member, i));
        let a = each(members, |member| member.rows[i.min(member.rows.len() - 1)]);
        let row = Row {
            element: &element,
            a: &a,
            b: &b,
            cells: &mut cells,
            west,
            columns: &columns,
            least,
            best: &mut winners,
            at: &mut at,
            notes: &mut notes[i * n * N::BYTES..(i + 1) * n * N::BYTES],
        };
        compute(row, note, simd);
        for (l, best) in best.iter_mut().enumerate() {
            if let Ok(column) = usize::try_from(at[l]) {
                *best = Some(Best { score: winners[l], row: i, column });
            }
        }
        keep(members, &mut lines, i, &cells);
    }
    let best = best.map(|best| best_of_all(best, extreme));
    Ok(Some(Group { extents: [m, n], best, lines, bytes: N::BYTES, notes }))
}

/// Cell `[i, j]` outside of each member.
fn outside<E: WavefrontElement>(
    members: &[&Wavefront<'_, E>],
    i: isize,
    j: isize,
) -> Each<E::Cell> {
    each(members, |member| {
        // Lines end with the problem.
        let [rows, columns] = member.extents().map(|extent| extent as isize);
        member.border.at(i.min(rows - 1), j.min(columns - 1))
    })
}

/// Columns of `member`, or none where it has no row `i`.
fn widths<E: WavefrontElement>(member: &Wavefront<'_, E>, i: usize) -> i32 {
    let [rows, columns] = member.extents();
    if i < rows { columns as i32 } else { 0 }
}

/// The winner of all cells: where no score is better than the worst there is, all are equal to it.
fn best_of_all<S: Scalar>(best: Option<Best<S>>, extreme: Extreme) -> Option<Best<S>> {
    let worst: S = extreme.worst();
    let first = (!is_nan(worst)).then_some(Best { score: worst, row: 0, column: 0 });
    best.filter(|best| !is_nan(best.score)).or(first)
}

/// Memory for what each member keeps of its cells.
fn lines<E: WavefrontElement>(members: &[&Wavefront<'_, E>]) -> Result<Vec<Vec<E::Cell>>> {
    let line = |member: &&Wavefront<'_, E>| match member.keep {
        Keep::LastRow => room(member.columns.len(), HINT),
        Keep::LastColumn => room(member.rows.len(), HINT),
        _ => Ok(Vec::new()),
    };
    members.iter().map(line).collect()
}

/// Keeps of row `i` what each member is to.
fn keep<E: WavefrontElement>(
    members: &[&Wavefront<'_, E>],
    lines: &mut [Vec<E::Cell>],
    i: usize,
    cells: &Arrays<E::Cell>,
) {
    let cell = |j: usize, l: usize| E::Cell::of(|k| cells[j * E::Cell::PARTS + k][l]);
    for (l, (member, line)) in members.iter().zip(lines).enumerate() {
        let [m, n] = member.extents();
        match member.keep {
            Keep::LastRow if i + 1 == m => line.extend((0..n).map(|j| cell(j, l))),
            Keep::LastColumn if i < m => line.push(cell(n - 1, l)),
            _ => {}
        }
    }
}

impl<C: Ranked> Group<C> {
    /// What lane `l` was to keep.
    ///
    /// # Errors
    /// What lanes don't keep.
    pub fn kept(&mut self, l: usize, keep: Keep) -> Result<Kept<C>> {
        let mut line = || std::mem::take(&mut self.lines[l]);
        Ok(match keep {
            Keep::Best | Keep::Least => Kept::Best(self.best[l]),
            Keep::Score => Kept::Score(self.best[l].map(|best| best.score)),
            Keep::LastRow => Kept::LastRow(line()),
            Keep::LastColumn => Kept::LastColumn(line()),
            Keep::Matrix | Keep::Sum => {
                return Err(Error::spec(format!("{keep:?} by lanes"), "report this as a bug"));
            }
        })
    }

    /// What was noted of cell `[i, j]` of all lanes.
    pub fn notes(&self, i: usize, j: usize) -> &[u8] {
        let first = (i * self.extents[1] + j) * self.bytes;
        &self.notes[first..first + self.bytes]
    }
}
