//! Every cell's choice, front by front: what a tile-row leaves in addition to its cells, for a path.
//!
//! A front's choices lie side by side, one a lane, packed into bytes: they are computed and packed in
//! vectors, as the cells are computed. Lanes outside the domain leave what is never read.

use super::form::by_fronts;
use super::lanes::{bits, choice_at, mask, pack};
use super::strip::reversed;
use crate::executor::{Choices, Need};
use crate::policy::CpuPolicy;
use crate::recurrence::{Traced, choice_of};
use crate::spec::Wavefront;
use warpweft_core::cpu::Simd;
use warpweft_core::error::Result;
use warpweft_core::memory::{available_memory, check_room, room};

/// Bytes of a front of so many lanes.
const fn stride<E: Traced>(lanes: usize) -> usize {
    (lanes * bits::<E>()).div_ceil(8)
}

/// What goes along with a tile-row, front by front.
pub(super) trait Record<C>: Send {
    /// Where the next front's cells go, one a lane.
    fn cells(&mut self) -> &mut [C];
    /// `count` lanes from `first` on have their cells, the first at `column`; `north` is above lane 0.
    fn front(&mut self, first: usize, count: usize, column: usize, north: C);
}

/// The choices of all tile-rows.
pub(super) struct Recorded<E: Traced> {
    tile_rows: usize,
    rows: usize,
    columns: usize,
    reversed: Vec<E::Column>,
    fronts: Vec<Vec<u8>>,
}

impl<E: Traced> Recorded<E> {
    /// Memory for those of `wavefront` in tile-rows of `policy`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(wavefront: &Wavefront<'_, E>, policy: CpuPolicy) -> Result<Self> {
        let [rows, columns] = wavefront.extents();
        let tile_rows = policy.within([rows, columns]).tile_rows;
        let mut all =
            Self { tile_rows, rows, columns, reversed: reversed(wavefront)?, fronts: Vec::new() };
        let hint = "look for the path in linear space";
        check_room(all.bytes(), hint)?;
        for lanes in all.lanes() {
            let bytes = (columns + lanes - 1) * stride::<E>(lanes);
            all.fronts.push(room(bytes, hint)?);
        }
        Ok(all)
    }

    /// What that takes, if there are choices to be recorded at all.
    pub fn need(wavefront: &Wavefront<'_, E>, policy: CpuPolicy) -> Option<Need> {
        let [rows, columns] = wavefront.extents();
        let tile_rows = policy.within([rows, columns]).tile_rows;
        let all = Self { tile_rows, rows, columns, reversed: Vec::new(), fronts: Vec::new() };
        by_fronts::<E::Plain>().then(|| Need {
            whose: "host".into(),
            needed: all.bytes(),
            available: available_memory().unwrap_or(0),
            speedup: if E::RELATIVE && policy.cells_16_bit { SPEEDUP_16_BIT } else { SPEEDUP },
        })
    }

    /// Lanes of each tile-row.
    fn lanes(&self) -> impl Iterator<Item = usize> + use<E> {
        let (rows, most) = (self.rows, self.tile_rows);
        (0..rows).step_by(most).map(move |first| most.min(rows - first))
    }

    fn bytes(&self) -> u64 {
        let bytes = |lanes| ((self.columns + lanes - 1) * stride::<E>(lanes)) as u64;
        self.lanes().map(bytes).sum()
    }

    /// What records each tile-row of `wavefront`.
    pub fn recorders<'r>(
        &'r mut self,
        wavefront: &'r Wavefront<'_, E>,
        simd: Simd,
    ) -> impl Iterator<Item = Box<dyn Record<E::Cell> + 'r>> {
        let (tile_rows, rows) = (self.tile_rows, self.rows);
        let reversed = &self.reversed;
        self.fronts.iter_mut().enumerate().map(move |(s, to)| {
            let range = s * tile_rows..((s + 1) * tile_rows).min(rows);
            let border = |row: usize| wavefront.border.at(row as isize - 1, -1);
            let front: Vec<_> = (range.start..=range.end).map(border).collect();
            Box::new(Recorder::<E> {
                choice: wavefront.element.choice(),
                rows: &wavefront.rows[range.clone()],
                reversed,
                columns: wavefront.columns.len(),
                fronts: [front.clone(), front.clone(), front],
                choices: vec![0; stride::<E>(range.len()) * 8 / bits::<E>()],
                to,
                simd: simd.min(Simd::detect()),
            }) as _
        })
    }
}

impl<E: Traced> Choices for Recorded<E> {
    fn at(&mut self, row: usize, column: usize) -> Result<u8> {
        let (s, lane) = (row / self.tile_rows, row % self.tile_rows);
        let lanes = self.tile_rows.min(self.rows - s * self.tile_rows);
        let front = &self.fronts[s][(column + lane) * stride::<E>(lanes)..];
        Ok(choice_at::<E>(front, lane))
    }
}

/// How many times as fast as in linear space a path is found on the cores: in 32 bits and more, and
/// where linear space goes by 16 bits. Assumptions, after `path_rates` at 20,000 squared, one core and the
/// profile of tests: 0.55 and 0.45 with affine gaps, 0.39 for warping, 0.27 and 0.22 with linear ones.
const SPEEDUP: f64 = 0.4;
const SPEEDUP_16_BIT: f64 = 0.2;

/// One tile-row's choices on their way.
struct Recorder<'r, E: Traced> {
    choice: E::Choice,
    rows: &'r [E::Row],
    reversed: &'r [E::Column],
    columns: usize,
    /// The fronts before last, last and present, a cell a lane; before lane 0's the row above's.
    fronts: [Vec<E::Cell>; 3],
    /// Those of the present front, a byte a lane.
    choices: Vec<u8>,
    to: &'r mut Vec<u8>,
    simd: Simd,
}

impl<E: Traced> Record<E::Cell> for Recorder<'_, E> {
    fn cells(&mut self) -> &mut [E::Cell] {
        &mut self.fronts[2][1..]
    }

    fn front(&mut self, first: usize, count: usize, column: usize, north: E::Cell) {
        let [older, old, cells] = &mut self.fronts;
        old[0] = north;
        let at = self.columns - 1 - column;
        let lanes = Lanes::<E> {
            choice: self.choice,
            older: &older[first..first + count],
            old: &old[first..first + count + 1],
            cells: &cells[first + 1..first + 1 + count],
            a: &self.rows[first..first + count],
            b: &self.reversed[at..at + count],
        };
        let choices = &mut self.choices;
        match self.simd {
            // SAFETY: the machine has the features, says `detect`.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => unsafe { avx512(lanes, first, choices, self.to) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => unsafe { avx2(lanes, first, choices, self.to) },
            _ => portable(lanes, first, choices, self.to),
        }
        self.fronts.rotate_left(1);
    }
}

/// What the choices of some lanes are computed from.
struct Lanes<'l, E: Traced> {
    choice: E::Choice,
    older: &'l [E::Cell],
    old: &'l [E::Cell],
    cells: &'l [E::Cell],
    a: &'l [E::Row],
    b: &'l [E::Column],
}

macro_rules! copies {
    ($($(#[$attribute:meta])* $name:ident;)*) => {$(
        $(#[$attribute])*
        fn $name<E: Traced>(
            lanes: Lanes<'_, E>,
            first: usize,
            choices: &mut [u8],
            to: &mut Vec<u8>,
        ) {
            choose(lanes, &mut choices[first..]);
            let packed = to.len();
            to.resize(packed + choices.len() * bits::<E>() / 8, 0);
            pack(bits::<E>(), choices, &mut to[packed..]);
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
fn choose<E: Traced>(lanes: Lanes<'_, E>, choices: &mut [u8]) {
    let Lanes { choice, older, old, cells, a, b } = lanes;
    let count = cells.len();
    let (older, north, west) = (&older[..count], &old[..count], &old[1..count + 1]);
    let (a, b, choices) = (&a[..count], &b[..count], &mut choices[..count]);
    for k in 0..count {
        let near = [older[k], north[k], west[k]];
        choices[k] = choice_of::<E>(&choice, near, cells[k], a[k], b[k]) & mask::<E>();
    }
}
