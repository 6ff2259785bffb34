//! The recurrences of a search for parts of a series: each cell also tells where its path begins.
//!
//! After Sakurai, Faloutsos and Yamamuro (2007), "Stream monitoring under the time warping distance", whose matrix
//! holds the same two numbers.

use warpweft::element::Device;
use warpweft::prelude::*;
use warpweft::wavefront::Ranked;
use warpweft::wavefront::traceback::Stored;

/// A cell of the search for parts of a series.
pub trait PartCell<T>: Ranked<Score = T> + Stored {
    /// Series of more samples have no such cells.
    const MOST: usize;
    /// The cell of a path of this cost that begins at this index of the series.
    fn new(cost: T, start: usize) -> Self;
    /// The index at which the path begins.
    fn start(&self) -> usize;
}

macro_rules! part_cells {
    ($($cell:ident of $real:ident, $bits:ident up to $most:expr, by $absolute:ident, $squared:ident;)*) => {$(
        /// The cost of the best path to a pair of samples, and the index in the series at which this path begins.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
        #[repr(C)]
        pub struct $cell {
            /// The sum of the costs along the path.
            #[score]
            pub cost: $real,
            /// The float whose bits are the index: members of one type are computed in vectors.
            pub start: $real,
        }

        impl PartCell<$real> for $cell {
            const MOST: usize = $most;
            fn new(cost: $real, start: usize) -> Self {
                Self { cost, start: $real::from_bits(start as $bits) }
            }
            fn start(&self) -> usize {
                self.start.to_bits() as usize
            }
        }

        impl Stored for $cell {
            const BYTES: usize = 2 * <$real as Stored>::BYTES;
            fn store(self, to: &mut Vec<u8>) {
                Stored::store(self.cost, to);
                Stored::store(self.start, to);
            }
            fn load(from: &[u8]) -> Self {
                let (cost, start) = from.split_at(<$real as Stored>::BYTES);
                Self { cost: <$real as Stored>::load(cost), start: <$real as Stored>::load(start) }
            }
        }

        /// `time_warping` with the beginning of the path. Of equally good steps it takes the one that `best_way` names.
        #[wavefront]
        pub fn $absolute(h: Earlier<$cell>, #[row] a: $real, #[column] b: $real) -> $cell {
            let least = h.w.cost.min(h.nw.cost).min(h.n.cost);
            let alone = if h.w.cost == least { h.w.start } else { h.n.start };
            let start = if h.nw.cost == least { h.nw.start } else { alone };
            $cell { cost: (a - b).abs() + least, start }
        }

        /// `squared_warping` with the beginning of the path. Of equally good steps it takes the one that `best_way` names.
        #[wavefront]
        pub fn $squared(h: Earlier<$cell>, #[row] a: $real, #[column] b: $real) -> $cell {
            let least = h.w.cost.min(h.nw.cost).min(h.n.cost);
            let alone = if h.w.cost == least { h.w.start } else { h.n.start };
            let start = if h.nw.cost == least { h.nw.start } else { alone };
            $cell { cost: (a - b) * (a - b) + least, start }
        }
    )*};
}
part_cells! {
    // Bits of more are not those of a finite number, which a copy might change.
    PartF32 of f32, u32 up to 0x7f7f_ffff, by part_warping_f32, squared_part_warping_f32;
    PartF64 of f64, u64 up to usize::MAX >> 11, by part_warping_f64, squared_part_warping_f64;
}
