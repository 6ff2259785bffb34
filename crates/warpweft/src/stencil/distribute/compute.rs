//! What the run loop asks of whatever computes a part.

use super::super::halo::{Reach, Span};
use super::super::plan::Region;
use super::swap::Message;
use crate::cluster::Transport;
use crate::element::Fields;
use crate::error::Result;
use crate::grid::Volume;

/// What came of some steps.
pub(super) struct Advanced {
    /// The written fields' own values before the last step, if they were to be kept.
    pub before: Option<Vec<Vec<f64>>>,
    /// Whether the messages given were sent.
    pub sent: bool,
}

/// One part on one device.
pub(super) trait Compute<S: Fields, const D: usize> {
    /// Computes `reach.depth` steps. May send the messages of this part among `ahead`, the first
    /// phase of the next swap, as soon as their cells are ready.
    fn advance(
        &mut self,
        reach: &Reach<D>,
        ahead: Option<&[Message<D>]>,
        keep: bool,
        net: &dyn Transport,
    ) -> Result<Advanced>;

    /// The bytes of a message this part sends.
    fn pack(&mut self, message: &Message<D>) -> Result<Vec<u8>>;

    /// Writes a message of the right length into the ghost zone.
    fn unpack(&mut self, message: &Message<D>, bytes: &[u8]) -> Result<()>;

    /// Own cells of one field as `f64`, in row-major order.
    fn own_values(&mut self, field: usize) -> Result<Vec<f64>>;

    /// Ends the part and hands its cells over.
    fn store(self: Box<Self>) -> Result<Held<S, D>>;
}

/// Cells of a part and around it.
pub(super) struct Held<S: Fields, const D: usize> {
    /// The first cell, in the part's frame.
    pub low: [isize; D],
    /// The cells.
    pub volume: Volume<S, D>,
}

impl<S: Fields, const D: usize> Held<S, D> {
    /// Copies the cells of `own` into the whole volume.
    pub fn store(&self, own: Region<D>, volume: &mut Volume<S, D>) {
        for at in Span::from(own).iter() {
            let local = std::array::from_fn(|d| (at[d] - self.low[d]) as usize);
            if let Some(cell) = self.volume.get(local) {
                volume.set(at.map(|index| index as usize), cell);
            }
        }
    }
}
