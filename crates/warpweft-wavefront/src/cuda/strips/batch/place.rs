//! Where problems of one launch have their inputs, their borders and what is kept of them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::text::{Problem, Wanted};
use crate::cuda::strips::shape::missing;
use crate::cuda::tables::behind;
use crate::cuda::upload::inputs;
use crate::spec::{ElementType, Erased, Keep, Outside};
use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::element::TableBytes;
use warpweft_core::error::Result;

/// Problems of one element that one launch computes, and what they are computed from, as bytes.
pub(super) struct Batch<'b> {
    pub element: &'b ElementType,
    pub wanted: Wanted,
    /// The largest first.
    pub problems: Vec<Problem>,
    pub rows: Pooled<'b>,
    pub columns: Pooled<'b>,
    /// The element of all, or one for each problem in order, and as many borders.
    pub elements: Cow<'b, [u8]>,
    /// The slices that those hold.
    pub tables: Vec<TableBytes<'b>>,
    pub border: Around<'b>,
    pub each: bool,
    pub sizes: Sizes,
    /// Cells that are kept of all.
    pub kept: usize,
    /// Results in all, each by its number.
    pub results: usize,
}

/// How large all problems are together.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    cells: u64,
    /// Rows and columns of all, and the most of one.
    sums: [u64; 2],
    pub most: [usize; 2],
}

impl Sizes {
    /// Adds those of a problem.
    pub fn add(&mut self, [m, n]: [usize; 2]) {
        self.cells += m as u64 * n as u64;
        self.sums = [self.sums[0] + m as u64, self.sums[1] + n as u64];
        self.most = [self.most[0].max(m), self.most[1].max(n)];
    }
}

/// What the cells outside of all problems hold.
pub(super) enum Around<'b> {
    /// Cell `[-1, -1]` and what every other cell holds: once if they are the same of all, or for each problem.
    Corners(Cow<'b, [u8]>),
    /// The same function of all.
    Function(&'b dyn Outside),
}

impl<'b> Batch<'b> {
    /// That of `wavefronts`, the largest first, which `around` is for; `wanted` of each.
    pub fn of(wavefronts: &[&'b Erased<'b>], wanted: Wanted, around: Around<'b>) -> Self {
        let first = wavefronts[0];
        let (mut rows, mut columns) = (Pooled::new(), Pooled::new());
        let (mut kept, mut sizes) = (0, Sizes::default());
        let place = |(k, wavefront): (usize, &&'b Erased<'b>)| {
            let [m, n] = wavefront.extents;
            sizes.add(wavefront.extents);
            let at = match wanted {
                Wanted::Keep(Keep::LastRow | Keep::LastColumn) => kept,
                _ => k,
            };
            kept += match wanted {
                Wanted::Corner => 1,
                Wanted::Keep(_) => wavefront.kept_cells(),
            };
            Problem {
                rows: rows.place(wavefront.rows, m),
                columns: columns.place(wavefront.columns, n),
                kept: at as u64,
                directions: 0,
                row_count: m as i32,
                column_count: n as i32,
            }
        };
        let problems = wavefronts.iter().enumerate().map(place).collect();
        let (each, elements, tables, border) = elements(wavefronts, around);
        let element = &first.element;
        let results = wavefronts.len();
        Self {
            element,
            wanted,
            problems,
            rows,
            columns,
            elements,
            tables,
            border,
            each,
            sizes,
            kept,
            results,
        }
    }

    /// Corners, and cells above and to the west, as the kernel reads them.
    pub fn outside(&self) -> ([Cow<'_, [u8]>; 3], bool) {
        let nothing = || Cow::from(&[][..]);
        match &self.border {
            Around::Corners(cells) => ([Cow::from(&cells[..]), nothing(), nothing()], false),
            Around::Function(border) => {
                let [corner, top, left] = border
                    .lines(self.sizes.most)
                    .unwrap_or_else(|| [nothing(), nothing(), nothing()]);
                // What rows and columns beyond the domain are computed from is never looked at.
                let pairs = corner.repeat(2 * if self.each { self.problems.len() } else { 1 });
                ([pairs.into(), top, left], true)
            }
        }
    }

    /// Cells that are computed, and bytes of inputs that are read.
    pub fn updates(&self) -> [u64; 2] {
        let Sizes { cells, sums: [rows, columns], .. } = self.sizes;
        [cells, rows * self.rows.bytes as u64 + columns * self.columns.bytes as u64]
    }
}

/// Whether each of `wavefronts` has its own element and border, not all the same; these elements, the slices that they hold, and
/// what is outside.
fn elements<'b>(
    wavefronts: &[&'b Erased<'b>],
    around: Around<'b>,
) -> (bool, Cow<'b, [u8]>, Vec<TableBytes<'b>>, Around<'b>) {
    let first = wavefronts[0];
    let alike = wavefronts.iter().all(|wavefront| wavefront.parameters == first.parameters);
    let one = match &around {
        Around::Corners(cells) => {
            let pair = 2 * first.element.cell;
            cells.chunks(pair.max(1)).all(|cells_of| cells_of == &cells[..pair])
        }
        Around::Function(_) => true,
    };
    let each = !(alike && one);
    let tables = wavefronts.iter().map(|one| &one.tables[..]);
    let some = if each { wavefronts.len() } else { 1 };
    let tables = behind(tables.take(some), first.parameters.len());
    let (elements, border) = match (each, around) {
        (false, Around::Corners(cells)) => {
            let first_cells = cells[..2 * first.element.cell].to_vec().into();
            (first.parameters.into(), Around::Corners(first_cells))
        }
        (false, around) => (first.parameters.into(), around),
        (true, around) => {
            let all: Vec<_> = wavefronts.iter().map(|one| one.parameters).collect();
            let around = match around {
                Around::Corners(cells) if cells.len() == 2 * first.element.cell => {
                    Around::Corners(cells.repeat(wavefronts.len()).into())
                }
                around => around,
            };
            (all.concat().into(), around)
        }
    };
    (each, elements, tables, border)
}

/// What is outside of `wavefronts`, if one kernel can run them: they are to keep the same, and each has one value for a
/// border, but for the corner, or all have the same function.
pub(super) fn around<'w>(wavefronts: &[&'w Erased<'w>]) -> Option<Around<'w>> {
    let first = *wavefronts.first()?;
    let keep = first.keep;
    // They are of one element: of what may be missing, only bands are of a problem alone.
    let able = |one: &&Erased<'_>| one.keep == keep && one.band.is_none();
    if matches!(keep, Keep::Matrix | Keep::Sum)
        || first.element.input > 0
        || missing(first).is_some()
        || !wavefronts.iter().all(able)
    {
        return None;
    }
    let function = first.border.function();
    if function.is_some() && wavefronts.iter().all(|one| one.border.function() == function) {
        return Some(Around::Function(first.border));
    }
    let own = first.border.corner()?;
    if wavefronts.iter().all(|one| one.border.corner() == Some(own)) {
        return Some(Around::Corners(own.concat().into()));
    }
    let corners = wavefronts.iter().map(|one| one.border.corner());
    let corners = corners.collect::<Option<Vec<_>>>()?;
    Some(Around::Corners(corners.concat().concat().into()))
}

/// A hash of an address and a length, which nobody chooses to make them meet: for each of many problems it takes less time than
/// that of the standard library.
#[derive(Default)]
struct OfAddress(u64);

impl Hasher for OfAddress {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, number: usize) {
        // A hash table uses the highest and the lowest bits.
        let product = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

/// Inputs of all problems behind one another; those that several share are there once.
pub(super) struct Pooled<'w> {
    known: HashMap<(*const u8, usize), u64, BuildHasherDefault<OfAddress>>,
    pub count: usize,
    pieces: Vec<&'w [u8]>,
    /// Of one input.
    bytes: usize,
}

impl<'w> Pooled<'w> {
    fn new() -> Self {
        Self { known: HashMap::default(), count: 0, pieces: Vec::new(), bytes: 0 }
    }

    /// Where `count` inputs begin, in inputs.
    fn place(&mut self, bytes: &'w [u8], count: usize) -> u64 {
        *self.known.entry((bytes.as_ptr(), count)).or_insert_with(|| {
            let at = self.count as u64;
            self.pieces.push(bytes);
            self.count += count;
            // An empty one does not say how large an input is.
            self.bytes = bytes.len().checked_div(count).unwrap_or(self.bytes);
            at
        })
    }

    /// Those of `sequences`, and where each begins.
    pub fn all(sequences: impl Iterator<Item = (&'w [u8], usize)>) -> (Self, Vec<u64>) {
        let mut pooled = Self::new();
        let place = |(bytes, count): (&'w [u8], usize)| {
            let at = pooled.count as u64;
            pooled.pieces.push(bytes);
            pooled.count += count;
            pooled.bytes = bytes.len().checked_div(count).unwrap_or(pooled.bytes);
            at
        };
        let firsts = sequences.map(place).collect();
        (pooled, firsts)
    }

    /// Whether it has the same inputs as `other`, in the same memory of the host.
    pub fn is_of(&self, other: &Self) -> bool {
        let same = |(a, b): (&&[u8], &&[u8])| std::ptr::eq(*a, *b);
        self.bytes == other.bytes
            && self.pieces.len() == other.pieces.len()
            && self.pieces.iter().zip(&other.pieces).all(same)
    }

    /// Writes all of them behind `bytes`; one byte each for those that have no size, as in C++.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        match self.bytes {
            0 => bytes.resize(bytes.len() + self.count, 0),
            _ => self.pieces.iter().for_each(|piece| bytes.extend_from_slice(piece)),
        }
    }

    pub fn upload(&self, stream: &Stream) -> Result<Buffer> {
        inputs(stream, &self.pieces.concat(), self.count)
    }
}

/// The numbers of problems of so many cells, the largest first, as far as matters: alike ones may stand in any order.
pub(super) fn largest_first(cells: &[u64]) -> Vec<u32> {
    const BUCKETS: usize = 4096;
    let all = 0..cells.len() as u32;
    if cells.is_sorted_by(|a, b| a >= b) {
        return all.collect();
    }
    let most = cells.iter().max().map_or(1, |&most| u128::from(most) + 1);
    let bucket = |k: u32| {
        let size = u128::from(cells[k as usize]) * BUCKETS as u128 / most;
        BUCKETS - 1 - size as usize
    };
    let mut ends = vec![0u32; BUCKETS + 1];
    all.clone().for_each(|k| ends[bucket(k) + 1] += 1);
    (0..BUCKETS).for_each(|b| ends[b + 1] += ends[b]);
    let mut order = vec![0; cells.len()];
    for k in all {
        let at = &mut ends[bucket(k)];
        order[*at as usize] = k;
        *at += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first() {
        let cells: Vec<u64> = (0..5000).map(|k| k * 7919 % 5003 * 1000).collect();
        let order = largest_first(&cells);
        let mut seen = order.clone();
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(at, &k)| at == k as usize));
        // In order but for those of one bucket.
        let wide = 5_003_000 / 4096 + 1;
        let pairs = order.windows(2).map(|two| [cells[two[0] as usize], cells[two[1] as usize]]);
        pairs.for_each(|[a, b]| assert!(b <= a + wide, "{a} {b}"));
        assert_eq!(largest_first(&[5, 5, 5]), [0, 1, 2]);
        assert!(largest_first(&[]).is_empty());
    }

    #[test]
    fn empty_sequences_leave_the_others_as_they_are() {
        let written = |pooled: &Pooled<'_>| {
            let mut bytes = vec![];
            pooled.append_to(&mut bytes);
            bytes
        };
        let sequences: [(&[u8], usize); 3] = [(&[7, 1, 8, 2], 2), (&[9, 3], 1), (&[], 0)];
        let (all, firsts) = Pooled::all(sequences.into_iter());
        assert_eq!((written(&all), firsts), (vec![7, 1, 8, 2, 9, 3], vec![0, 2, 3]));
        let mut placed = Pooled::new();
        let firsts = sequences.map(|(bytes, count)| placed.place(bytes, count));
        assert_eq!((written(&placed), firsts), (vec![7, 1, 8, 2, 9, 3], [0, 2, 3]));
        // Inputs without a size.
        let (all, _) = Pooled::all([(&[][..], 2), (&[][..], 0)].into_iter());
        assert_eq!(written(&all), [0, 0]);
    }
}
