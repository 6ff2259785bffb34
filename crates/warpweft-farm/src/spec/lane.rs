//! A lane: one of a few queues of chunks on a GPU, with a host thread of its own that sleeps while its chunk runs.
//!
//! Several lanes keep a device busy while one of them fetches results (TuCCompi's concurrent kernels, section 4.3).
//! What tasks only read is there once a device, in [`GpuLane::shared`].

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::kernels::{
    BlockSearch, Characterisation, Family, KernelTable, Needs, Searches, Setting, occupancy,
};
use crate::spec::worker::{Place, Worker};
use warpweft_core::cuda::{Device, Event, Kernel, Stream, Watchdog};
use warpweft_core::error::Result;
use warpweft_core::machine::Gpu;

/// How long a wait of one block for another may take. Executors whose blocks wait give their kernels the watchdog.
const BLOCKS: Duration = Duration::from_secs(10);

/// A queue of chunks on a GPU, for one executor.
#[derive(Debug)]
pub struct GpuLane {
    stream: Stream,
    watchdog: Watchdog,
    number: usize,
    lanes: usize,
    block: u32,
    shared: Arc<Shared>,
    gpu: Arc<Gpu>,
    tuning: Arc<KernelTuning>,
}

/// What all lanes of a process know of the shapes of launches.
#[derive(Debug)]
pub(crate) struct KernelTuning {
    /// The table that searches begin with.
    pub table: KernelTable,
    /// The searches that go on.
    pub searches: Searches,
}

/// What the lanes of a device have together, by type.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    values: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

/// Where a lane will be, before its device is opened.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The device.
    pub gpu: Arc<Gpu>,
    /// The lane's among those of the device.
    pub number: usize,
    /// How many lanes the device has.
    pub lanes: usize,
    /// Threads of a block; 0 if the executor chooses.
    pub block: u32,
    /// Of all of them.
    pub shared: Arc<Shared>,
    /// Of all lanes of the process.
    pub tuning: Arc<KernelTuning>,
}

impl Site {
    /// Those of `lanes` lanes of a device, with blocks of so many threads.
    pub fn of(
        gpu: &Gpu,
        lanes: usize,
        block: u32,
        tuning: &Arc<KernelTuning>,
    ) -> impl Iterator<Item = Self> + use<> {
        let (gpu, shared) = (Arc::new(gpu.clone()), Arc::new(Shared::default()));
        let tuning = tuning.clone();
        (0..lanes).map(move |number| {
            let (gpu, shared, tuning) = (gpu.clone(), shared.clone(), tuning.clone());
            Self { gpu, number, lanes, block, shared, tuning }
        })
    }

    /// The worker that it is of `node`.
    pub fn unit(&self, node: usize) -> Worker {
        Worker { node, place: Place::Lane { gpu: self.gpu.ordinal, lane: self.number } }
    }

    /// The lane, on its device.
    ///
    /// # Errors
    /// There is no such device, or none that can be used.
    pub fn open(&self) -> Result<GpuLane> {
        let device = Device::open(self.gpu.ordinal)?;
        Ok(GpuLane {
            stream: Stream::new(&device)?,
            watchdog: Watchdog::new(&device, BLOCKS)?,
            number: self.number,
            lanes: self.lanes,
            block: self.block,
            shared: self.shared.clone(),
            gpu: self.gpu.clone(),
            tuning: self.tuning.clone(),
        })
    }
}

impl GpuLane {
    /// Its device.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// Its device's description.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Its device's family: for tasks with kernels of their own for some of them.
    pub fn family(&self) -> Family {
        Family::of(self.gpu.capability)
    }

    /// What the table says of a kernel of these words on such a device.
    pub fn setting(&self, words: &Characterisation) -> Setting {
        self.tuning.table.setting(words, self.family()).1
    }

    /// The search for the block of the kernel called `name`, which goes on while tasks run: one for all GPUs of this kind in
    /// the process. It begins with the table's block and tries those that fill the device as well.
    pub fn search(
        &self,
        name: &str,
        kernel: &Kernel,
        words: &Characterisation,
    ) -> Arc<Mutex<BlockSearch>> {
        let attributes = kernel.attributes();
        let needs = Needs { registers: attributes.registers, shared: attributes.shared_bytes };
        // The same kernel, changed, is another one.
        let name = format!("{name} of {} registers and {} bytes", needs.registers, needs.shared);
        let most = attributes.max_threads;
        let possible = |block: u32| block.is_multiple_of(32) && (32..=most).contains(&block);
        self.tuning.searches.search(&name, &self.gpu.name, possible, || {
            BlockSearch::new(self.setting(words).block, |block| occupancy(&self.gpu, needs, block))
        })
    }

    /// Its queue.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// What kernels get whose blocks wait for one another.
    pub fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    /// Its number among those of its device, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many lanes share the device, and its memory.
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The number of threads per block that the policy sets, a multiple of 32; `own` if it sets none.
    pub fn block(&self, own: u32) -> u32 {
        if self.block == 0 { own } else { self.block }
    }

    /// A value of type `V` that all lanes of the device share. The first lane that calls this makes it while the others wait. If
    /// `make` fails, the next caller tries again. The value is kept as long as the farm runs.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn shared<V: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        self.shared.get(make)
    }

    /// Waits for all that is queued, for at most `limit`. The thread sleeps: the driver's own wait would take a
    /// core from the worker on it.
    ///
    /// # Errors
    /// As [`Watchdog::wait`].
    pub fn wait(&self, limit: Duration) -> Result<()> {
        self.watchdog.wait(&self.stream, limit)
    }

    /// The end of what is queued now, for [`GpuLane::wait_for`] after more is queued.
    ///
    /// # Errors
    /// The driver's.
    pub fn mark(&self) -> Result<Event> {
        let mark = Event::new(self.device())?;
        self.stream.record(&mark)?;
        Ok(mark)
    }

    /// Waits for all that was queued before `mark`, for at most `limit`.
    ///
    /// # Errors
    /// As [`GpuLane::wait`].
    pub fn wait_for(&self, mark: Event, limit: Duration) -> Result<()> {
        self.watchdog.wait_for(mark, limit, &mut || Ok(()))
    }
}

impl Shared {
    fn get<V: Any + Send + Sync>(&self, make: impl FnOnce() -> Result<V>) -> Result<Arc<V>> {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        let known = values.get(&TypeId::of::<V>()).cloned();
        if let Some(value) = known.and_then(|value| value.downcast().ok()) {
            return Ok(value);
        }
        let value = Arc::new(make()?);
        values.insert(TypeId::of::<V>(), value.clone());
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::occupancy::tests::{ampere, hopper};
    use warpweft_core::error::Error;

    #[test]
    fn lanes_of_a_device_share_one_value_of_a_type_and_devices_none() {
        let table = KernelTable::shipped().unwrap();
        let tuning = Arc::new(KernelTuning { table, searches: Searches::default() });
        let lanes: Vec<_> = Site::of(&ampere(0), 2, 0, &tuning)
            .chain(Site::of(&hopper(1), 1, 64, &tuning))
            .collect();
        let of = |lane: usize, number: u32| lanes[lane].shared.get(|| Ok(number));
        assert!(lanes[0].shared.get::<u32>(|| Err(Error::spec("full", "wait"))).is_err());
        assert_eq!(*of(0, 7).unwrap(), 7);
        assert_eq!((*of(1, 8).unwrap(), *of(2, 9).unwrap()), (7, 9));
        assert_eq!(*lanes[0].shared.get(|| Ok("text")).unwrap(), "text");
        assert_eq!(lanes[1].number, 1);
    }
}
