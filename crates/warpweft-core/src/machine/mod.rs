//! The machine: cores, caches, memory, GPUs and their links, detected and measured.
//!
//! Nothing runs here except the probe. A machine without a GPU is complete.

mod cpu;
mod fingerprint;
mod gpu;
mod probe;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cuda::Device;
use crate::error::Result;
pub use crate::memory::Memory;

pub use cpu::{Caches, Cpu, Node};
pub use gpu::{Gpu, Link};
pub use probe::known;
pub use probe::{CpuProbe, DISTURBED, GpuProbe, PairProbe, Probe, probe, probed};

/// The machine that this process may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its cores and their memory.
    pub cpu: Cpu,
    /// Its GPUs in the driver's order; may be empty.
    pub gpus: Vec<Gpu>,
    /// Notes for the user, e.g. why there is no GPU.
    pub notes: Vec<String>,
}

impl Machine {
    /// Detects the machine. Takes milliseconds, plus the time that the driver needs to start if there is a
    /// GPU. No CUDA context is created.
    ///
    /// # Errors
    /// The process may not use any core. A missing GPU or driver is a note, not an error.
    pub fn detect() -> Result<Self> {
        let mut notes = Vec::new();
        let cpu = Cpu::detect(Path::new("/"), &mut notes)?;
        let gpus = gpu::detect(&mut notes);
        Ok(Self { cpu, gpus, notes })
    }

    /// The first GPU and those of the same model that can all access each other's memory. These can share a
    /// run whose pace the slowest sets.
    ///
    /// # Errors
    /// The driver's.
    pub fn together(&self) -> Result<Vec<Device>> {
        let mut together: Vec<&Gpu> = Vec::new();
        for gpu in &self.gpus {
            let linked = |a: &Gpu, b: &Gpu| a.links.iter().any(|to| to.to == b.ordinal && to.peer);
            let like = |other: &&Gpu| (&gpu.name, gpu.sms) == (&other.name, other.sms);
            if together.iter().all(|other| like(other) && linked(gpu, other) && linked(other, gpu))
            {
                together.push(gpu);
            }
        }
        together.into_iter().map(Gpu::device).collect()
    }

    /// A text that identifies this machine, for stored results: models, numbers and sizes; nothing that
    /// changes between runs.
    pub fn fingerprint(&self) -> String {
        fingerprint::of(self)
    }
}
