//! What there is to run on: cores, caches, memory, GPUs and their links; found, then measured.
//!
//! Not a mechanism: nothing is run here but the probe. A machine without a GPU is a whole machine.

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
    /// Its GPUs in the driver's order; empty when there are none.
    pub gpus: Vec<Gpu>,
    /// What the user may want to know, e.g. why there is no GPU.
    pub notes: Vec<String>,
}

impl Machine {
    /// Looks at the machine. Takes milliseconds without a GPU, and what the driver takes to start
    /// with one; no context is made.
    ///
    /// # Errors
    /// The process may use no core at all. A missing GPU or driver is a note.
    pub fn detect() -> Result<Self> {
        let mut notes = Vec::new();
        let cpu = Cpu::detect(Path::new("/"), &mut notes)?;
        let gpus = gpu::detect(&mut notes);
        Ok(Self { cpu, gpus, notes })
    }

    /// The first GPU and those like it that it and all of them can store into the memory of: what can
    /// share a run that goes at the pace of the slowest.
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

    /// What tells this machine from others, for results that are kept: models, numbers and sizes,
    /// nothing that changes from run to run.
    pub fn fingerprint(&self) -> String {
        fingerprint::of(self)
    }
}
