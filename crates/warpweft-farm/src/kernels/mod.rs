//! Kernels characterised in words, and what follows for the shape of their launches (TuCCompi, sections 3.1 and 4.4).
//!
//! The words choose a row of a table, whose columns are families of GPUs: block size, split of cache and shared memory, and
//! kernels at the same time. This is where a search begins, and what is taken without one. Measurements refine it while
//! tasks run ([`refine`]). Not here: what a kernel computes.

pub mod occupancy;
pub mod refine;
pub mod table;
pub mod words;

pub use occupancy::{Needs, occupancy};
pub use refine::{BlockSearch, Searches};
pub use table::{Family, KernelTable, Setting};
pub use words::{Arithmetic, Characterisation, Level, Memory};
