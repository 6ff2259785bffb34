//! Recurrences over a rectangle: sums, alignments, sweeps in place.

pub mod align;
pub mod area;
pub mod relaxation;
pub mod subsequence;
pub mod warping;
