//! What is computed: the recurrence over a domain, its border, what is kept, and whether that is well
//! posed.
//!
//! Not here: how it is computed. `erased` has the same with types as values, for what only moves
//! bytes.

mod border;
mod check;
mod database;
mod erased;
mod erased_pairs;
mod pairs;
mod wavefront;

pub use border::{Band, Border, BorderFunction};
pub(crate) use check::{check_lookups, holds_all, of_problem};
pub use database::Database;
pub(crate) use erased::{ElementType, Erased, Named, Outside, faults};
pub(crate) use erased_pairs::ErasedPairs;
pub use pairs::Pairs;
pub use wavefront::{Keep, Kept, MAX_EXTENT, Wavefront, no_inputs};
