//! How bytes move between ranks: a transport, collective steps on top of it, and simulated networks.
//!
//! A *rank* is one of several workers that share no memory as far as a pattern can tell: threads
//! of this process ([`in_process`]) or processes of a cluster. What the bytes mean is the
//! pattern's business; this room knows no volumes, tiles or tasks.

mod collective;
mod in_process;
mod jitter;
pub mod topology;
mod transport;
mod tree;

pub use collective::{agree, broadcast, gather};
pub use in_process::{in_process, in_process_all};
pub use jitter::Jitter;
pub use transport::{Tag, Transport};
pub use tree::{Link, Transfer, Tree};
