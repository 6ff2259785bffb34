//! Moves bytes between ranks: a transport, collective operations over it, and simulated networks.
//!
//! A *rank* is one of several workers that share no memory as far as a pattern knows: threads of this process
//! ([`in_process`]), processes of a cluster ([`Launched`]), or several threads of each process
//! ([`thread_group()`]). The pattern defines what the bytes mean; this module knows no volumes, tiles or
//! tasks.

mod alone;
mod collective;
mod in_process;
mod jitter;
mod launched;
#[cfg(feature = "mpi")]
pub mod mpi;
mod placement;
mod thread_group;
mod threads;
pub mod topology;
mod transport;
mod tree;

pub use alone::Alone;
pub use collective::{agree, broadcast, gather};
pub use collective::{agree_on, agree_on_each, all_fine, gather_fine};
pub use in_process::{in_process, in_process_all};
pub use jitter::Jitter;
pub use launched::{Launched, Launcher};
pub use placement::{Placement, host_name, placement};
pub use thread_group::MOST as MAX_RANKS_PER_PROCESS;
pub use thread_group::thread_group;
pub use transport::{Endpoints, Remote, Shared, Tag, Transport};
pub use tree::{Link, Transfer, Tree};
