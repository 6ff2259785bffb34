//! What each symbol of the rows gives with every column, looked up once: a profile (Rognes and Seeberg 2000, there of a query).
//!
//! A line of the profile is a byte for each column, of one symbol. On consecutive fronts a lane reads consecutive bytes of the line
//! of its row's symbol. Vectors want the bytes of many lanes on one front, so blocks of fronts are transposed. Nothing is looked
//! up in a table for each cell.

mod fronts;
mod transpose;

use self::transpose::Transpose;
use super::parts::GROUP;
use crate::recurrence::WavefrontElement;
use warpweft_core::cpu::Simd;

pub(super) use fronts::OnFronts;

/// Fronts that are transposed at once.
pub(super) const BLOCK: usize = 16;

/// Bytes that lines take at most.
const ROOM: usize = 64 << 20;

/// Where the lines of the lanes of a vector begin.
type Line = [isize; GROUP];

/// Where the lines of a tile-row's lanes begin, each as many bytes early as its lane is fronts late.
pub(super) struct Begins {
    of: Vec<Line>,
    /// The first and the last of them.
    range: [isize; 2],
}

impl Begins {
    /// The number of vectors of lanes.
    pub fn vectors(&self) -> usize {
        self.of.len()
    }
}

/// A line a symbol.
pub(super) struct Profile {
    lines: Vec<i8>,
    /// Where the line of each symbol begins.
    of: Box<[usize; 256]>,
    transpose: Transpose,
}

impl Profile {
    /// Of rows and columns, for tile-rows of so many rows; none for functions that look nothing up, if symbols of rows are no bytes
    /// or what they give does not fit one, or if it takes too much memory.
    pub fn of<E: WavefrontElement>(
        element: &E,
        (rows, columns): (&[E::Row], &[E::Column]),
        tile_rows: usize,
        simd: Simd,
    ) -> Option<Self> {
        if const { !E::LOOKS_UP || size_of::<E::Row>() != 1 } {
            return None;
        }
        // Lanes are computed for nothing before their first column and after their last one: they read what is there.
        let around = tile_rows + 2 * GROUP + BLOCK;
        let (mut of, mut lines) = (Box::new([usize::MAX; 256]), vec![0; around]);
        for &row in rows {
            let at = &mut of[symbol(row)];
            if *at != usize::MAX {
                continue;
            }
            *at = lines.len();
            if lines.len() + columns.len() > ROOM {
                return None;
            }
            for &column in columns {
                lines.push(i8::try_from(element.pair(row, column)).ok()?);
            }
        }
        lines.resize(lines.len() + around, 0);
        Some(Self { lines, of, transpose: transpose::of(simd) })
    }

    /// Where the lines of `rows` begin, of which lane `lane(at)` is the one at place `at`; whole vectors of them.
    pub fn begins<R: Copy>(&self, rows: &[R], lane: impl Fn(usize) -> usize) -> Begins {
        let begin = |at| self.of[symbol(rows[lane(at)])] as isize - lane(at) as isize;
        let of = |v| std::array::from_fn(|k| begin(v * GROUP + k));
        let of: Vec<Line> = (0..rows.len() / GROUP).map(of).collect();
        let all = || of.iter().flatten().copied();
        let range = [all().min().unwrap_or(0), all().max().unwrap_or(0)];
        Begins { of, range }
    }

    /// What inputs give on the block of fronts from `front` on, for some `vectors` of lanes: a vector for each on every front, those of
    /// the first front first, as many apart as there are vectors of all lanes.
    pub fn block(
        &self,
        lanes: &Begins,
        vectors: std::ops::Range<usize>,
        front: usize,
        to: &mut [[i8; GROUP]],
    ) {
        let [first, last] = lanes.range.map(|begin| begin + front as isize);
        assert!(first >= 0 && last as usize + BLOCK <= self.lines.len());
        let lines = self.lines.as_ptr().wrapping_add(front);
        let (apart, first) = (lanes.of.len(), vectors.start);
        // SAFETY: the machine has the instructions, as `transpose::of` says. All lanes' bytes are in the lines: those of the first
        // and the last are. Where there are no vectors for them, it panics.
        unsafe { (self.transpose)(lines, &lanes.of[vectors], &mut to[first..], apart) };
    }
}

/// The byte that `row` is, where it is one.
fn symbol<R: Copy>(row: R) -> usize {
    if const { size_of::<R>() != 1 } {
        return 0;
    }
    // SAFETY: a value of one byte that rows have as input: a number, which is initialised.
    usize::from(unsafe { std::mem::transmute_copy::<R, u8>(&row) })
}
