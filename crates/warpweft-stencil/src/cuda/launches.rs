//! The launches of sweeps of parts of a volume, which are kept. Not: how they are made (`sweeps::parts`).

use std::collections::HashMap;
use std::sync::Arc;

use super::launch::queued::Queued;
use crate::Region;

/// The launches of sweeps of parts.
pub(super) type Parts = HashMap<Part, Arc<Launches>>;

/// Which cells a sweep is of, how many steps it has and how many follow, in what state it begins, and whether it does
/// while a halo exchange is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Part {
    pub region: Region,
    pub steps: u64,
    pub following: u64,
    pub state: usize,
    pub overlapped: bool,
}

/// What is queued, and in what state that ends.
pub(super) struct Launches {
    pub first: Option<First>,
    pub queued: Vec<Queued>,
    pub state: usize,
    /// Passes over memory.
    pub passes: u64,
}

/// The first time block, where its interior goes before the end of a halo exchange.
pub(super) struct First {
    pub interior: Vec<Queued>,
    /// After the exchange: what renews the boundary's ghosts, and the other cells.
    pub boundary: Vec<Queued>,
}
