//! What runs and ranks compute on: the cores, a GPU or several, and by which policy.

pub(crate) mod alone;
pub(crate) mod choice;
pub(crate) mod compile_ahead;
pub(crate) mod gpus;
pub(crate) mod of_rank;
pub(crate) mod placement;

pub(crate) use alone::Prepared;
