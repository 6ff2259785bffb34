//! Sums of a rectangle by scans, on one NVIDIA GPU.
//!
//! A recurrence `h = n + w − nw + x` need not wait for its neighbours cell by cell: a row's
//! differences to the row above are running sums. Integers come out the same; floats are summed in
//! another order than the recurrence, with fewer roundings. For elements that say they are such sums
//! ([`WavefrontElement::SUMS`](crate::WavefrontElement::SUMS)) and keep the matrix.

mod executor;
mod memory;
mod text;

pub use executor::{ScanExecutor, misses};
pub use text::compile_check;
