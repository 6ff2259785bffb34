//! Ghost zones of a subdomain on a GPU: faces packed and unpacked on the device, in a stream of their own
//! concurrently with the sweeps of the interior. Not: how they travel (`peers`, `staging`).

pub(super) mod copies;
pub(super) mod halves;
pub(super) mod interior_first;
pub(super) mod staging;

use self::staging::Staging;
use super::peers::Peers;
use warpweft_core::cuda::{Device, Event, Priority, Stream};
use warpweft_core::error::Result;

/// The kernels' text; compiled with the ghosts', so that every stencil shares it.
pub(super) const TEXT: &str = include_str!("../kernels/halo.cuh");

/// What an executor needs once its subdomain has neighbours.
pub(super) struct Halos {
    /// Computes what neighbours wait for, packs, waits and unpacks, before what the part's core still has
    /// to do.
    pub stream: Stream,
    /// Computes cells that need what was received, next to those that do not and with their priority: blocks of the
    /// launch that was queued first go first.
    after: Stream,
    computed: Event,
    /// The cells that are packed or computed next are there.
    pub ready: Event,
    /// All queued in `stream` is done.
    settled: Event,
    /// Whether the sweeps have yet to wait for that.
    pub awaited: bool,
    /// Whether cells were received since the boundary's ghosts were renewed.
    pub received: bool,
    /// Whether a launch was begun whose other cells are being computed: what is sent is in `stream`, and
    /// neither that nor what is received need wait for them.
    pub split: bool,
    pub staging: Staging,
    pub peers: Option<Peers>,
}

impl Halos {
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            stream: Stream::with_priority(device, Priority::High)?,
            after: Stream::new(device)?,
            computed: Event::new(device)?,
            ready: Event::new(device)?,
            settled: Event::new(device)?,
            awaited: false,
            received: false,
            split: false,
            staging: Staging::default(),
            peers: None,
        })
    }

    /// Lets `sweeps` wait for all that is queued here; whether cells were received.
    pub fn settle(&mut self, sweeps: &Stream) -> Result<bool> {
        if std::mem::take(&mut self.awaited) {
            self.stream.record(&self.settled)?;
            sweeps.wait(&self.settled)?;
        }
        Ok(std::mem::take(&mut self.received))
    }

    /// As [`Halos::settle`], with `work` queued into a stream that waits for all that is queued here, and which `sweeps`
    /// wait for.
    pub fn settle_after(
        &mut self,
        sweeps: &Stream,
        work: impl FnOnce(&Stream) -> Result<()>,
    ) -> Result<()> {
        (self.awaited, self.received) = (false, false);
        self.stream.record(&self.settled)?;
        self.after.wait(&self.settled)?;
        work(&self.after)?;
        self.after.record(&self.computed)?;
        sweeps.wait(&self.computed)
    }
}

impl Drop for Halos {
    fn drop(&mut self) {
        if let Some(peers) = &self.peers {
            peers.call_off();
        }
        // After a failure here nothing is left that could use the areas.
        let _ = self.stream.synchronize();
    }
}
