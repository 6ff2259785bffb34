//! Measures the machine in a few seconds: the limits that reports and models use.
//!
//! This is not a benchmark of Warpweft: it runs plain copies, flags and empty launches. What can't be
//! measured is `None` with a note; nothing here fails a run.

mod cpu;
mod gpu;
mod pairs;
mod store;

use std::time::{Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::Machine;
use crate::error::Result;

pub use store::known;
pub use store::probed;

/// Average number of other tasks on the cores above which a measurement counts as disturbed.
const DISTURBING: f64 = 0.5;

/// The note about disturbed limits. The probe and those who use its results give the same text, so that it
/// can be deduplicated.
pub const DISTURBED: &str = "the cores were busy with other work when this machine's limits were measured, \
     so the true limits are higher; measure them again with `warpweft info --probe` when nothing else runs";

/// The measured limits of a machine. Rates are bytes a second, times are seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The host.
    pub cpu: CpuProbe,
    /// The GPUs, in the machine's order.
    pub gpus: Vec<GpuProbe>,
    /// Every ordered pair of GPUs.
    pub pairs: Vec<PairProbe>,
    /// Why something is missing.
    pub notes: Vec<String>,
    /// Seconds the measuring took.
    pub seconds: f64,
    /// When it was measured, in seconds since 1970; 0 if unknown.
    #[serde(default)]
    pub when: u64,
}

/// Limits of the host with all usable threads at work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuProbe {
    /// Number of threads.
    pub threads: usize,
    /// Copy with streaming stores: bytes read and written, a second.
    pub copy: Option<f64>,
    /// Copy with ordinary stores, which read each line before they write it: bytes read and written as the
    /// program counts them.
    pub copy_ordinary: Option<f64>,
    /// Reading memory.
    pub read: Option<f64>,
    /// Latency of a flag from one core to another; `None` on a single core.
    pub hop: Option<f64>,
    /// Average number of other tasks in the worst part of the measurement; `None` if the system does not say.
    #[serde(default)]
    pub others: Option<f64>,
}

impl CpuProbe {
    /// Whether other work used enough of the cores to make the limits too low.
    pub fn disturbed(&self) -> bool {
        self.others.is_some_and(|others| others > DISTURBING)
    }

    /// The better of two measurements of one machine, value by value: other work can only make it seem
    /// slower.
    pub(super) fn or_better(self, other: &Self) -> Self {
        let better = |a: Option<f64>, b: Option<f64>, of: fn(f64, f64) -> f64| {
            a.into_iter().chain(b).reduce(of)
        };
        if self.threads != other.threads {
            return self;
        }
        Self {
            threads: self.threads,
            copy: better(self.copy, other.copy, f64::max),
            copy_ordinary: better(self.copy_ordinary, other.copy_ordinary, f64::max),
            read: better(self.read, other.read, f64::max),
            hop: better(self.hop, other.hop, f64::min),
            others: self.others,
        }
    }
}

/// Limits of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuProbe {
    /// Its number.
    pub ordinal: usize,
    /// Copy by a kernel: bytes read and written, a second.
    pub copy: Option<f64>,
    /// Copy by the driver: bytes read and written, a second.
    pub copy_driver: Option<f64>,
    /// Read by a kernel.
    pub read: Option<f64>,
    /// Latency of a flag from one SM to another.
    pub hop: Option<f64>,
    /// A barrier of all blocks, one an SM.
    pub barrier: Option<f64>,
    /// One of several launches in one stream.
    pub launch: Option<f64>,
    /// One of several launches in one graph.
    pub graph_launch: Option<f64>,
    /// From page-locked host memory to the device.
    pub to_device: Option<f64>,
    /// From the device to page-locked host memory.
    pub from_device: Option<f64>,
}

/// Limits between two GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairProbe {
    /// Number of the GPU that sends.
    pub from: usize,
    /// Number of the GPU that receives.
    pub to: usize,
    /// A large copy.
    pub copy: Option<f64>,
    /// A copy of 4 KiB, from call to arrival.
    pub latency: Option<f64>,
    /// Latency of a flag stored by one GPU for a kernel on the other; `None` without peer access.
    pub hop: Option<f64>,
}

/// Measures the machine.
///
/// # Errors
/// The host's workers can't be started. Any other failure is a note.
pub fn probe(machine: &Machine) -> Result<Probe> {
    let start = Instant::now();
    let mut notes = Vec::new();
    let cpu = cpu::measure(&machine.cpu, &mut notes)?;
    let gpus = machine.gpus.iter().map(|gpu| gpu::measure(gpu, &mut notes)).collect();
    let pairs = pairs::measure(&machine.gpus, &mut notes);
    Ok(Probe { cpu, gpus, pairs, notes, seconds: start.elapsed().as_secs_f64(), when: now() })
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs())
}

impl Probe {
    /// The probe of GPU `ordinal`.
    pub fn gpu(&self, ordinal: usize) -> Option<&GpuProbe> {
        self.gpus.iter().find(|gpu| gpu.ordinal == ordinal)
    }

    /// The probe of the copies from GPU `from` to GPU `to`.
    pub fn pair(&self, from: usize, to: usize) -> Option<&PairProbe> {
        self.pairs.iter().find(|pair| (pair.from, pair.to) == (from, to))
    }
}

impl GpuProbe {
    /// The rate that limits a kernel that reads and writes: the better of the two copies.
    pub fn bandwidth(&self) -> Option<f64> {
        self.copy.into_iter().chain(self.copy_driver).reduce(f64::max)
    }
}

/// The median of several measurements; `None` if there are none.
fn median(mut tries: Vec<f64>) -> Option<f64> {
    tries.sort_by(f64::total_cmp);
    tries.get(tries.len() / 2).copied()
}

/// A measurement, or a note why there is none.
fn keep(what: &str, measured: Result<Option<f64>>, notes: &mut Vec<String>) -> Option<f64> {
    measured.unwrap_or_else(|error| {
        notes.push(format!("{what} was not measured: {error}"));
        None
    })
}
