//! GPUs and the links between them, as the driver describes them.

use serde::{Deserialize, Serialize};

use crate::cuda::{Attribute, Device, SharedMemory};
use crate::error::Result;

/// A GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its number, from 0.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Its compute capability, e.g. (9, 0).
    pub capability: (u32, u32),
    /// Number of streaming multiprocessors (SMs).
    pub sms: u32,
    /// Bytes of memory; [`Gpu::memory_free`] returns what is free.
    pub memory: u64,
    /// Bytes of second-level cache.
    pub l2_bytes: u64,
    /// Bytes of shared memory an SM.
    pub shared_per_sm: u32,
    /// The most shared memory a block can have, in bytes.
    pub shared_per_block: u32,
    /// Registers an SM.
    pub registers_per_sm: u32,
    /// The most resident threads an SM.
    pub threads_per_sm: u32,
    /// The most resident blocks an SM.
    pub blocks_per_sm: u32,
    /// The highest clock of the SMs in hertz.
    pub clock: f64,
    /// Whether blocks of one launch may wait for one another.
    pub cooperative: bool,
    /// The other GPUs.
    pub links: Vec<Link>,
}

/// How a GPU reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The other's number.
    pub to: usize,
    /// Whether kernels can address its memory directly.
    pub peer: bool,
    /// The driver's performance rank of the link, 0 the fastest; `None` if it gives none.
    pub rank: Option<u32>,
}

impl Gpu {
    /// The compiler's name for its architecture, e.g. "sm_90".
    pub fn arch(&self) -> String {
        let (major, minor) = self.capability;
        format!("sm_{major}{minor}")
    }

    /// Limits of its shared memory.
    pub fn shared_memory(&self) -> SharedMemory {
        SharedMemory { block: self.shared_per_block as usize, sm: self.shared_per_sm as usize }
    }

    /// Opens the device.
    ///
    /// # Errors
    /// See [`Device::open`].
    pub fn device(&self) -> Result<Device> {
        Device::open(self.ordinal)
    }

    /// Bytes of memory free at present; makes a context.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_free(&self) -> Result<u64> {
        Ok(self.device()?.memory()?.0)
    }

    /// Its name and number, for reports.
    pub fn label(&self) -> String {
        format!("{} ({})", self.name, self.ordinal)
    }

    fn of(device: &Device) -> Result<Self> {
        use Attribute::*;
        let get = |which| device.attribute(which).map(|value| value.max(0) as u32);
        let shared = device.shared_memory()?;
        let mut links = Vec::new();
        for to in (0..Device::count()?).filter(|&to| to != device.ordinal()) {
            // A GPU that can't be opened is omitted.
            let Ok(other) = Device::open(to) else { continue };
            let peer = device.can_access(&other)?;
            links.push(Link { to, peer, rank: device.link_rank(&other).filter(|_| peer) });
        }
        Ok(Self {
            ordinal: device.ordinal(),
            name: device.name().into(),
            capability: device.capability()?,
            sms: device.sms()?,
            memory: device.memory_size()?,
            l2_bytes: u64::from(get(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            shared_per_sm: shared.sm as u32,
            shared_per_block: shared.block as u32,
            registers_per_sm: get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR)?,
            threads_per_sm: get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            blocks_per_sm: get(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR)?,
            clock: f64::from(get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?) * 1e3,
            cooperative: get(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)? != 0,
            links,
        })
    }
}

/// All GPUs. A missing driver or a broken GPU becomes a note.
pub(super) fn detect(notes: &mut Vec<String>) -> Vec<Gpu> {
    let count = match Device::count() {
        Ok(count) => count,
        Err(error) => {
            notes.push(format!("no GPU: {error}"));
            return Vec::new();
        }
    };
    if count == 0 {
        notes.push("no GPU: the driver shows none to this process".into());
    }
    let mut gpus = Vec::new();
    for ordinal in 0..count {
        match Device::open(ordinal).and_then(|device| Gpu::of(&device)) {
            Ok(gpu) => gpus.push(gpu),
            Err(error) => notes.push(format!("GPU {ordinal} is left out: {error}")),
        }
    }
    gpus
}
