//! Where a rank is, and whether another there may write into its memory.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::exchange::{Answer, Route};
use warpweft_core::cuda::Device;
use warpweft_core::error::Result;

/// Where a rank is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Tells hosts apart, and starts of one.
    pub host: String,
    pub process: u64,
    /// The device's address on the host's bus.
    pub bus: [i32; 3],
}

impl Place {
    pub fn of(device: &Device) -> Result<Self> {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        let process = *PROCESS.get_or_init(|| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u32(std::process::id());
            hasher.finish()
        });
        // Another host can't have the same; another container of this host does.
        let host = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        Ok(Self { host: host.trim().into(), process, bus: device.bus()? })
    }

    /// Whether a sender there may be offered memory here.
    pub fn admits(&self, sender: &Self, wanted: Option<Route>) -> Answer<()> {
        if self.host.is_empty() || self.host != sender.host {
            return Err("it is on another host".into());
        }
        let shared = self.process != sender.process && self.bus == sender.bus;
        if shared && wanted.is_none() {
            // Processes take turns on a device: a wait would last as long as a turn.
            return Err("another process shares its GPU".into());
        }
        Ok(())
    }
}
