//! What a search for a policy is told, in patterns that run on one device.

use std::path::PathBuf;
use std::time::Duration;

use super::Target;

/// What to tune for.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The device; [`Target::Auto`] is the first GPU if there is one, else the cores.
    pub target: Target,
    /// Threads on the cores; all of them if `None`.
    pub threads: Option<usize>,
    /// The approximate time that the search may take.
    pub budget: Duration,
    /// The folder for the result. If `None`, it is the user's cache folder, which later runs read.
    pub folder: Option<PathBuf>,
}

impl Default for Tuning {
    /// Ten seconds for the best device.
    fn default() -> Self {
        let budget = Duration::from_secs(10);
        Self { target: Target::Auto, threads: None, budget, folder: None }
    }
}
