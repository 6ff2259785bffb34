//! How long a wavefront takes, before it runs: the paper's equations, its schedule played on the
//! host, and two
//! costs found from measured runs. Not here: the runs, see [`crate::cuda::tiles::probe`].

mod costs;
mod paper;
mod schedule;
mod strips;

pub use costs::{Costs, Measured};
pub use paper::{PaperModel, idle_ratio, idle_slots};
pub use schedule::{Schedule, Timeline};
pub use strips::StripModel;
