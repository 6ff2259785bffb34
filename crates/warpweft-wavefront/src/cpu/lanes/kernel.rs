//! A row of several problems at once, a lane each: loops over lanes, compiled once an instruction set.
//!
//! Problems have nothing to do with one another, so that no lane waits for another: a row is computed
//! from west to east, cell by cell, each of all lanes at once.

use super::cell::{Arrays, CellOfLanes, Each, LANES};
use super::note::Note;
use crate::recurrence::{Cells, Parts, Ranked, WavefrontElement, is_nan};
use warpweft_core::cpu::Simd;

type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;

/// A row on its way.
pub(super) struct Row<'r, E: WavefrontElement> {
    pub element: &'r E,
    pub a: &'r Each<E::Row>,
    /// Of all columns.
    pub b: &'r [Each<E::Column>],
    /// The row above, part by part of each cell, which becomes this one.
    pub cells: &'r mut Arrays<E::Cell>,
    /// The cells to the west of the row above and of this one.
    pub west: [CellOfLanes<E::Cell>; 2],
    /// Columns of each lane, 0 where it has no such row.
    pub columns: &'r Each<i32>,
    /// Whether the least score wins.
    pub least: bool,
    /// The winners so far, and the column of those of this row, otherwise -1.
    pub best: &'r mut Each<Score<E>>,
    pub at: &'r mut Each<i32>,
    /// What is noted of each cell.
    pub notes: &'r mut [u8],
}

/// Computes `row` by the instructions of `simd`.
pub(super) fn compute<E: WavefrontElement, N: Note<E>>(row: Row<'_, E>, note: &N, simd: Simd) {
    match simd.min(Simd::detect()) {
        // SAFETY: the machine has the features, says `detect`.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx512 => unsafe { avx512(row, note) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Simd::Avx2 => unsafe { avx2(row, note) },
        _ => portable(row, note),
    }
}

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        #[inline(never)]
        fn $name<E: WavefrontElement, N: Note<E>>(row: Row<'_, E>, note: &N) {
            every_cell(row, note);
        }
    )*};
}
copies! {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
    avx512;
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    avx2;
    portable;
}

#[inline(always)]
fn every_cell<E: WavefrontElement, N: Note<E>>(row: Row<'_, E>, note: &N) {
    let Row { element, a, b, cells, west, columns, least, best, at, notes } = row;
    let [mut corner, mut west] = west;
    let (mut winners, mut places) = (*best, [-1; LANES]);
    let columns = *columns;
    let mut notes = notes.chunks_exact_mut(N::BYTES.max(1));
    let mut north = CellOfLanes::new();
    let each = cells.chunks_exact_mut(const { E::Cell::PARTS });
    for (j, (b, above)) in b.iter().zip(each).enumerate() {
        north.load(above);
        let mut now = CellOfLanes::new();
        for l in 0..LANES {
            let earlier = E::Earlier::gather(|k| match E::DEPENDENCES[k] {
                [-1, -1] => corner.at(l),
                [-1, 0] => north.at(l),
                _ => west.at(l),
            });
            let old = E::Old::gather(|_| E::Cell::default());
            now.set(l, element.cell(earlier, old, a[l], b[l], E::Input::default()));
        }
        for l in 0..LANES {
            let (score, winner) = (now.at(l).score(), winners[l]);
            let wins = if least { score < winner } else { score > winner };
            let wins = (wins | is_nan(winner)) & ((j as i32) < columns[l]);
            winners[l] = if wins { score } else { winner };
            places[l] = if wins { j as i32 } else { places[l] };
        }
        if N::BYTES > 0
            && let Some(to) = notes.next()
        {
            note.note([&corner, &north, &west], &now, a, b, to);
        }
        now.store(above);
        corner.copy(&north);
        west.copy(&now);
    }
    (*best, *at) = (winners, places);
}
