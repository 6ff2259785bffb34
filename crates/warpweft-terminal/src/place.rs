//! This process among those that `mpirun` started, as it can be told before they are joined.

use std::sync::OnceLock;

use warpweft::cluster::Launched;

/// This process's place among several; `None` when it is alone.
pub fn place() -> Option<Launched> {
    static PLACE: OnceLock<Option<Launched>> = OnceLock::new();
    *PLACE.get_or_init(|| Launched::detect().filter(|launched| launched.ranks > 1))
}

/// Whether this process is the one that talks and writes files.
pub fn speaks() -> bool {
    place().is_none_or(|place| place.rank == 0)
}
