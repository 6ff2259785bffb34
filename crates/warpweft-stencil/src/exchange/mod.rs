//! Halo exchange: which cells travel between subdomains, in which messages, over which routes, and how the two
//! ends agree. What executors and the driver both need. Not here: who exchanges when (`drive`), or how a device
//! packs cells (`cpu`, `cuda`).

mod cells;
mod endpoints;
mod messages;
mod routes;
mod split;

pub use cells::Cells;
pub(crate) use cells::{check_bytes, dense_rows, single};
pub use endpoints::Endpoint;
pub(crate) use endpoints::{Answer, Handshake, decline, recv_answer, send_answer};
pub use messages::{HaloMessage, Piece, halo_messages};
pub use routes::{Route, Routes};
pub use split::BoundarySplit;
pub(crate) use split::sent_depth;
