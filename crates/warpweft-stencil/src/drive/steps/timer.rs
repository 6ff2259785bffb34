//! When a rank asks the rebalancer, and what it tells it.

use std::time::Instant;

use super::{Decision, Rebalance};
use warpweft_core::cluster::{Transport, broadcast, gather};
use warpweft_core::error::Result;

/// What a rank took since the rebalancer was asked.
pub(super) struct Timer {
    pub since: Instant,
    pub busy: f64,
    pub swaps: u32,
    /// Halo exchanges between two questions.
    pub every: u32,
}

impl Timer {
    /// Counts an exchange's steps and asks the rebalancer if it is time; whether subdomains must change. All ranks
    /// come by the same swaps, so all of them ask.
    pub fn ask(&mut self, rebalance: &Rebalance<'_>, net: &dyn Transport) -> Result<bool> {
        self.swaps += 1;
        if self.swaps < self.every {
            return Ok(false);
        }
        let each = |seconds: f64| seconds / f64::from(self.swaps);
        let all = gather(net, each(self.busy).to_le_bytes().to_vec())?;
        let mut order = Vec::new();
        if net.rank() == 0 {
            let seconds =
                |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(f64::NAN, f64::from_le_bytes);
            let busy: Vec<f64> = all.iter().map(seconds).collect();
            let next = match rebalance(&busy, each(self.since.elapsed().as_secs_f64())) {
                Decision::Resize => 0,
                Decision::Keep(swaps) => swaps.max(1),
            };
            order = next.to_le_bytes().to_vec();
        }
        let order = broadcast(net, order)?;
        let every = order.as_slice().try_into().map_or(1, u32::from_le_bytes);
        *self = Self { since: Instant::now(), busy: 0.0, swaps: 0, every };
        Ok(every == 0)
    }
}
