//! How long a wavefront takes, before it runs: the paper's equations, its schedule played on the
//! host, and the costs measured by a probe.

mod costs;
mod paper;
mod probe;
mod schedule;
mod strips;

pub use costs::{Costs, Measured};
pub use paper::{PaperModel, idle_ratio, idle_slots};
pub use probe::{PROBE_WIDTHS, measure, probe};
pub use schedule::{Schedule, Timeline};
pub use strips::StripModel;
