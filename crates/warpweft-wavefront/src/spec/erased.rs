//! A wavefront with its element's types as values: what everything works on that only moves bytes.
//!
//! Not here: what computes or compares cells on the host, which is compiled for each element.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Band, Border, Keep, Wavefront};
use crate::recurrence::{Dependence, Interval, Lookup, Ranked, WavefrontElement, bytes_of};
use warpweft_core::element::{DeviceType, Scalar, ScalarKind, TableBytes, Unit};

/// Names a type in C++, which is defined in the unit on first use.
pub(crate) type Named = fn(&mut Unit) -> String;

/// What [`WavefrontElement`] says of a type, at run time.
#[derive(Clone, Copy)]
pub(crate) struct ElementType {
    pub name: &'static str,
    pub dependences: &'static [Dependence],
    pub old: &'static [Dependence],
    pub south: u32,
    /// Bytes of a cell and of the inputs of a row, a column and a cell.
    pub cell: usize,
    pub row: usize,
    pub column: usize,
    pub input: usize,
    /// Alignments of a cell and of the element itself.
    pub cell_align: usize,
    pub align: usize,
    /// The type of a score, and how a C++ cell's is read.
    pub score: ScalarKind,
    pub member: &'static str,
    pub names: Names,
    /// Whether cells carry earlier ones (see `strips/carried.rs`); `dependences` are then those of the cells without them.
    pub carried: bool,
    /// Whether two cells may share registers (see `strips/packed.rs`), and the names of a cell's members then.
    pub packs: bool,
    /// Whether the C++ struct has its function in two parts (see [`WavefrontElement::PAIRED`]).
    pub paired: bool,
    pub members: &'static [&'static str],
}

/// The C++ names of an element's types.
#[derive(Clone, Copy)]
pub(crate) struct Names {
    pub element: Named,
    pub cell: Named,
    pub row: Named,
    pub column: Named,
    pub input: Named,
    pub score: Named,
}

impl ElementType {
    /// That of `E`.
    pub fn of<E: WavefrontElement>() -> Self {
        type Score<E> = <<E as WavefrontElement>::Cell as Ranked>::Score;
        const {
            assert!(
                E::Cell::ALIKE && E::Row::ALIKE && E::Column::ALIKE && E::Input::ALIKE,
                "a cell or an input holds a tuple whose members Rust and C++ order differently; make it \
                 a struct with #[derive(Device)]"
            )
        };
        Self {
            name: E::NAME,
            dependences: E::DEPENDENCES,
            old: E::OLD,
            south: E::SOUTH,
            cell: size_of::<E::Cell>(),
            row: size_of::<E::Row>(),
            column: size_of::<E::Column>(),
            input: size_of::<E::Input>(),
            cell_align: align_of::<E::Cell>(),
            align: align_of::<E>(),
            score: <Score<E> as Scalar>::KIND,
            member: <E::Cell as Ranked>::MEMBER,
            names: Names {
                element: E::cuda,
                cell: <E::Cell as DeviceType>::cuda,
                row: <E::Row as DeviceType>::cuda,
                column: <E::Column as DeviceType>::cuda,
                input: <E::Input as DeviceType>::cuda,
                score: <Score<E> as DeviceType>::cuda,
            },
            carried: false,
            packs: E::PAIRED && E::RELATIVE,
            paired: E::PAIRED,
            members: E::Cell::NEAR_MEMBERS,
        }
    }

    /// Whether a cell is a number, its own score.
    pub fn is_number(&self) -> bool {
        self.member.is_empty() && self.cell == self.score.size()
    }

    /// Whether its function may fault.
    pub fn faults(&self) -> bool {
        faults(self.names.element)
    }
}

/// Whether the function that `define` writes may fault: put together once, as that takes microseconds and each of many
/// problems asks.
pub(crate) fn faults(define: Named) -> bool {
    static KNOWN: Mutex<BTreeMap<usize, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(define as usize).or_insert_with(|| {
        let mut unit = Unit::new();
        define(&mut unit);
        unit.faults()
    })
}

/// A recurrence over rows × columns cells, all of it as bytes.
#[derive(Clone)]
pub(crate) struct Erased<'w> {
    pub element: ElementType,
    pub extents: [usize; 2],
    /// The element's own bytes, and those of the inputs of rows, of columns and of cells.
    pub parameters: &'w [u8],
    /// The slices that those hold.
    pub tables: Vec<TableBytes<'w>>,
    pub rows: &'w [u8],
    pub columns: &'w [u8],
    pub inputs: &'w [u8],
    /// The cells before the first sweep, if they were given, and how many inputs and cells were.
    pub initial: &'w [u8],
    pub given: [usize; 2],
    pub border: &'w dyn Outside,
    pub band: Option<Band<&'w [u8]>>,
    pub sweeps: usize,
    pub keep: Keep,
    /// What the element's function knows of its numbers.
    pub known: &'w dyn Known,
}

/// What cells outside the domain hold, as bytes.
pub(crate) trait Outside {
    /// The cell that all of them are, if they are the same everywhere.
    fn value(&self) -> Option<&[u8]>;
    /// Cell `[-1, -1]` and the one that all others are, if they are.
    fn corner(&self) -> Option<[&[u8]; 2]>;
    /// Corner, top and left, cell by cell, unless they are all the same.
    fn lines(&self, extents: [usize; 2]) -> Option<[Cow<'_, [u8]>; 3]>;
    /// Which function it is, if it is one: the same number, the same function.
    fn function(&self) -> Option<usize>;
    /// How many cells there are on top and on the left, if they were given one by one.
    fn given(&self) -> Option<[usize; 2]>;
    /// Cell `[i, j]`, into `to`.
    fn put(&self, i: isize, j: isize, to: &mut [u8]);
}

impl<C: Copy> Outside for Border<C> {
    fn value(&self) -> Option<&[u8]> {
        match self {
            Self::Value(value) => Some(bytes_of(std::slice::from_ref(value))),
            _ => None,
        }
    }

    fn corner(&self) -> Option<[&[u8]; 2]> {
        let bytes = |cell| bytes_of(std::slice::from_ref(cell));
        match self {
            Self::Value(value) => Some([bytes(value); 2]),
            Self::Corner { corner, rest } => Some([bytes(corner), bytes(rest)]),
            _ => None,
        }
    }

    fn lines(&self, [rows, columns]: [usize; 2]) -> Option<[Cow<'_, [u8]>; 3]> {
        Some(match self {
            Self::Value(_) => return None,
            Self::Lines { corner, top, left } => {
                [std::slice::from_ref(corner), top, left].map(|cells| bytes_of(cells).into())
            }
            Self::Function(_) | Self::Corner { .. } => {
                let cells = |count: usize, at: &dyn Fn(isize) -> [isize; 2]| {
                    let mut bytes = vec![0; count * size_of::<C>()];
                    let each = bytes.chunks_exact_mut(size_of::<C>().max(1));
                    for (k, to) in (0..count as isize).zip(each) {
                        let [i, j] = at(k);
                        self.put(i, j, to);
                    }
                    bytes.into()
                };
                [cells(1, &|_| [-1, -1]), cells(columns, &|j| [-1, j]), cells(rows, &|i| [i, -1])]
            }
        })
    }

    fn function(&self) -> Option<usize> {
        match self {
            Self::Function(function) => Some(function.number()),
            _ => None,
        }
    }

    fn given(&self) -> Option<[usize; 2]> {
        match self {
            Self::Lines { top, left, .. } => Some([top.len(), left.len()]),
            _ => None,
        }
    }

    fn put(&self, i: isize, j: isize, to: &mut [u8]) {
        to.copy_from_slice(bytes_of(&[self.at(i, j)]));
    }
}

/// What an element's function knows of its numbers.
pub(crate) trait Known {
    /// [`WavefrontElement::bounds`].
    fn bounds(&self) -> Option<[f64; 2]>;
    /// [`WavefrontElement::step`], if all cells outside hold the same.
    fn step(&self) -> Option<u32>;
    /// [`WavefrontElement::symbols`] of rows and columns, and [`WavefrontElement::lookups`] for them.
    fn lookups(&self) -> ([Interval; 2], Vec<Lookup>);
}

impl<E: WavefrontElement> Known for Wavefront<'_, E> {
    fn bounds(&self) -> Option<[f64; 2]> {
        self.element.bounds(self.rows.len() as u64, self.columns.len() as u64)
    }

    fn step(&self) -> Option<u32> {
        match self.border {
            Border::Value(border) => self.element.step(border),
            _ => None,
        }
    }

    fn lookups(&self) -> ([Interval; 2], Vec<Lookup>) {
        let symbols = E::symbols(self.rows, self.columns);
        (symbols, self.element.lookups(symbols))
    }
}

impl<E: WavefrontElement> Wavefront<'_, E> {
    /// Whether the sum of all cells is exact, where it is asked for.
    ///
    /// # Errors
    /// Cells whose sum would not be exact.
    #[doc(hidden)]
    pub fn check_sum(&self) -> warpweft_core::Result<()> {
        self.erased().check_sum()
    }

    /// Its types as values.
    #[inline(never)]
    pub(crate) fn erased(&self) -> Erased<'_> {
        Erased {
            element: ElementType::of::<E>(),
            extents: self.extents(),
            parameters: bytes_of(std::slice::from_ref(&self.element)),
            tables: self.element.tables(),
            rows: bytes_of(self.rows),
            columns: bytes_of(self.columns),
            inputs: bytes_of(self.inputs),
            initial: bytes_of(self.initial),
            given: [self.inputs.len(), self.initial.len()],
            border: &self.border,
            band: self.band.as_ref().map(|Band { lower, upper, outside }| Band {
                lower: *lower,
                upper: *upper,
                outside: bytes_of(std::slice::from_ref(outside)),
            }),
            sweeps: self.sweeps,
            keep: self.keep,
            known: self,
        }
    }
}

impl Erased<'_> {
    /// Number of cells of the domain.
    pub fn cells(&self) -> u64 {
        self.extents[0] as u64 * self.extents[1] as u64
    }

    /// Number of calls of the element function: cells in the band, times sweeps.
    pub fn updates(&self) -> u64 {
        let [m, n] = self.extents.map(|n| n as i128);
        let cells = match self.band {
            None => self.cells(),
            Some(Band { lower, upper, .. }) => (0..m)
                .map(|i| {
                    let first = (i + lower as i128).max(0);
                    let last = (i + upper as i128).min(n - 1);
                    (last - first + 1).max(0) as u64
                })
                .sum(),
        };
        cells * self.sweeps as u64
    }

    /// Bytes of inputs that are read, and of a matrix that is written.
    pub fn traffic(&self) -> u64 {
        let matrix = match self.keep {
            Keep::Matrix => self.cells() * self.element.cell as u64,
            _ => 0,
        };
        let read = [self.rows, self.columns, self.inputs, self.initial].map(<[u8]>::len);
        matrix + read.iter().sum::<usize>() as u64
    }

    /// Cells that are kept, of rows or columns or all.
    pub fn kept_cells(&self) -> usize {
        match self.keep {
            Keep::Best | Keep::Least | Keep::Score | Keep::Sum => 0,
            Keep::LastRow => self.extents[1],
            Keep::LastColumn => self.extents[0],
            Keep::Matrix => self.cells() as usize,
        }
    }

    /// The cell outside where it is the same everywhere, otherwise zeros, which are never read.
    pub fn outside(&self) -> Vec<u8> {
        let zeros = || vec![0; self.element.cell];
        self.border.value().map_or_else(zeros, <[u8]>::to_vec)
    }
}
