//! This process's rank, before MPI is joined.

use std::sync::OnceLock;

use warpweft::cluster::Launched;

/// This process's rank among several; `None` if it is alone.
pub fn place() -> Option<Launched> {
    static PLACE: OnceLock<Option<Launched>> = OnceLock::new();
    *PLACE.get_or_init(|| Launched::detect().filter(|launched| launched.ranks > 1))
}

/// Whether this process prints and writes files.
pub fn speaks() -> bool {
    place().is_none_or(|place| place.rank == 0)
}
