//! A farm over ranks: one of them, rank 0, has ledger, journal and sink; the workers of the others request chunks from it and
//! send their outputs there (TuCCompi, sections 2 and 4.1).
//!
//! No input travels: every rank makes those of its own tasks. A worker that is lost, on whichever rank, leaves its
//! tasks to others. A rank that is gone ends the farm, since the transport has no ranks but all; what is committed by
//! then is in the journal.

pub mod coordinator;
mod follow;
mod message;
mod pause;
mod rank_server;
mod remote_endpoint;
mod table;

pub use follow::follow;
pub use message::close;
pub use table::{agreed, gather};

use warpweft_core::cluster::Tag;

/// Messages to rank 0.
const UP: Tag = Tag(0x300);
/// Messages of rank 0 to the others.
const DOWN: Tag = Tag(0x301);
