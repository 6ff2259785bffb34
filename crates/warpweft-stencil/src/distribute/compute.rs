//! What the run loop asks of whatever computes a part.

use super::super::halo::Reach;
use super::super::residual::Residual;
use super::super::total::Total;
use super::links::Parcel;
use super::routes::{Route, Routes};
use super::swap::Message;
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;
use warpweft_core::report::Series;

/// What came of some steps.
pub(super) struct Advanced {
    /// What the last step changed in the part's own cells, if that was asked for.
    pub change: Option<Total>,
    /// Steps of the last launch, if the messages given were sent beside it; 0 if they were not.
    pub sent: u64,
    /// Seconds that measuring it took.
    pub measuring: f64,
}

/// One part on one device.
pub(super) trait Compute<const D: usize> {
    /// Computes `reach.depth` steps. May send the messages of this part in the first phase of the next
    /// swap, whose phases are `ahead`, as soon as their cells are ready. Measures the last step for a
    /// residual if one is given.
    fn advance(
        &mut self,
        reach: &Reach<D>,
        ahead: Option<&[Vec<Message<D>>]>,
        measure: Option<Residual>,
        net: &dyn Transport,
    ) -> Result<Advanced>;

    /// Does what sources and probes do after step `step`, the last one computed; [`Compute::advance`] does
    /// it for the steps before.
    fn after(&mut self, step: u64) -> Result<()>;

    /// What probes recorded of the part's own cells, for whoever takes it out.
    fn series(&mut self) -> &mut [Series];

    /// Sends a message of this part.
    fn send(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<()>;

    /// Receives a message into the ghost zone; returns the seconds waited for it.
    fn receive(&mut self, message: &Message<D>, net: &dyn Transport) -> Result<f64>;

    /// The bytes of the part's own cells of one field, in row-major order.
    fn cells(&mut self, field: usize) -> Result<Vec<u8>>;

    /// Waits until all is computed.
    fn finish(&mut self) -> Result<()>;

    /// As [`super::HaloExecutor::connect`].
    fn connect(
        &mut self,
        parcels: &[Parcel],
        net: &dyn Transport,
        wanted: Option<Route>,
    ) -> Result<()>;

    /// As [`super::HaloExecutor::disconnect`].
    fn disconnect(&mut self, net: &dyn Transport) -> Result<()>;

    /// How halos travel to the neighbours.
    fn routes(&self) -> Routes;
}
