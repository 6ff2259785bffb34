//! A farm over ranks: one of them, rank 0, has ledger, journal and sink; the workers of the others request chunks from it and
//! send their outputs there (TuCCompi, sections 2 and 4.1).
//!
//! No input travels: every rank makes those of its own tasks. A worker that is lost, on whichever rank, leaves its
//! tasks to others, and so does a rank that is gone, if the transport can go on without it. Where it can't, and if rank
//! 0 is gone, the farm ends; what is committed by then is in the journal.

pub mod coordinator;
mod follow;
mod heartbeat;
mod message;
mod pause;
mod rank_server;
mod remote_endpoint;
mod table;

pub use follow::follow;
pub use heartbeat::checked as checked_silence;
pub use message::close;
pub use table::{agreed, gather};

use crate::report::{Ended, Outcome};
use warpweft_core::cluster::Tag;
use warpweft_core::error::Result;

/// Tells those who wait how the farm ended, while its threads may still be there: whether it is said that some do not return.
pub type Finish<'a> = dyn FnMut(Result<Ended>, bool) -> Result<Outcome> + 'a;

/// Messages to rank 0 that are looked at even while the sink is behind.
const UP: Tag = Tag(0x300);
/// Outputs and losses of workers, to rank 0.
const OUTPUTS: Tag = Tag(0x302);
/// Messages of rank 0 to the others.
const DOWN: Tag = Tag(0x301);
