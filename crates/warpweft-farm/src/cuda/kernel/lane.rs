//! A lane that kernels are launched on, with buffers of its own.
//!
//! The block of each kernel is the policy's, else what an earlier search found, else the table's, from which a search goes on
//! while tasks run: every launch is timed until it has come to its end.

use std::any::{TypeId, type_name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::memory::{DeviceWords, Held, Words, WordsUse, used};
use super::thread::memory_id;
use super::{KernelFunction, source};
use crate::kernels::BlockSearch;
use crate::spec::lane::GpuLane;
use warpweft_core::cuda::{Args, Buffer, Event, Kernel, Launch, Module, Options, Plain, compile};
use warpweft_core::element::{Unit, Word};
use warpweft_core::error::{Error, Result};

/// Launches that take longer are given up, and their lane with them.
const LIMIT: Duration = Duration::from_secs(600);
/// Kernels of a lane at most: each has a word for its faults.
const KERNELS: usize = 64;

/// A lane for kernels.
#[derive(Debug)]
pub struct KernelLane {
    lane: GpuLane,
    id: u32,
    buffers: Vec<Held>,
    kernels: HashMap<TypeId, Compiled>,
    /// A word for each kernel, by its number.
    faults: Buffer,
}

/// A kernel on this lane.
#[derive(Debug)]
struct Compiled {
    number: usize,
    kernel: Kernel,
    unit: Unit,
    block: u32,
    /// The search for a better block, while it goes on.
    search: Option<Arc<Mutex<BlockSearch>>>,
    /// Before and after each launch of the present measurement.
    timed: Vec<[Event; 2]>,
}

impl KernelLane {
    /// On `lane`.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn new(lane: GpuLane) -> Result<Self> {
        let faults = Buffer::zeroed(lane.stream(), 4 * KERNELS)?;
        let (buffers, kernels) = Default::default();
        Ok(Self { lane, id: memory_id(), buffers, kernels, faults })
    }

    /// The lane.
    pub fn lane(&self) -> &GpuLane {
        &self.lane
    }

    fn hold<T: Word>(&mut self, buffer: Arc<Buffer>, count: usize) -> Words<T> {
        self.buffers.push(Held::new::<T>(buffer, count));
        Words::new(self.id, self.buffers.len() - 1)
    }

    /// A new buffer of so many words, all zero.
    ///
    /// # Errors
    /// More words than there are bytes to count; too little memory; the driver's.
    pub fn words<T: Word + Plain>(&mut self, count: usize) -> Result<Words<T>> {
        let bytes = bytes_of::<T>(count)?;
        let buffer = Buffer::zeroed(self.lane.stream(), bytes)?;
        Ok(self.hold(buffer.into(), count))
    }

    /// Words that other lanes of the device use, too.
    ///
    /// # Errors
    /// They are another device's.
    pub fn share<T: Word + Plain>(&mut self, words: &DeviceWords<T>) -> Result<Words<T>> {
        let (of, here) = (words.buffer.device(), self.lane.device());
        on_one_device([(of.ordinal(), of.label()), (here.ordinal(), here.label())])?;
        Ok(self.hold(words.buffer.clone(), words.count()))
    }

    fn held<T: Word>(&self, words: Words<T>) -> Result<&Held> {
        used(&self.buffers, self.id, WordsUse::of(words))
    }

    /// Sets every byte of a buffer, after what is queued.
    ///
    /// # Errors
    /// A buffer of other memory; the driver's.
    pub fn fill<T: Word>(&self, words: Words<T>, byte: u8) -> Result<()> {
        self.lane.stream().fill(&self.held(words)?.buffer, byte)
    }

    /// Sets words of a buffer from `index` on, after what is queued.
    ///
    /// # Errors
    /// As [`KernelLane::fill`]; words beyond its end.
    pub fn set<T: Word + Plain>(&self, words: Words<T>, index: usize, values: &[T]) -> Result<()> {
        let held = self.held(words)?;
        inside(index, values.len(), held.count)?;
        self.lane.stream().upload(&held.buffer, index * size_of::<T>(), values)
    }

    /// Waits for what is queued and reads words of a buffer from `index` on.
    ///
    /// # Errors
    /// As [`KernelLane::set`].
    pub fn get<T: Word + Plain>(&self, words: Words<T>, index: usize, to: &mut [T]) -> Result<()> {
        let held = self.held(words)?;
        inside(index, to.len(), held.count)?;
        self.lane.stream().download(&held.buffer, index * size_of::<T>(), to)
    }

    /// Queues a launch of `kernel` by at least so many threads.
    ///
    /// # Errors
    /// A buffer of other memory; the compiler's; a block that the device does not hold.
    pub fn launch<K: KernelFunction>(&mut self, kernel: K, threads: usize) -> Result<()> {
        if !self.kernels.contains_key(&TypeId::of::<K>()) {
            let compiled = self.compiled::<K>()?;
            self.kernels.insert(TypeId::of::<K>(), compiled);
        }
        let mut list = Vec::new();
        for of in kernel.uses() {
            let held = used(&self.buffers, self.id, of)?;
            list.extend([held.buffer.address(), held.count as u64]);
        }
        list.resize(list.len().max(2), 0);
        let Some(compiled) = self.kernels.get_mut(&TypeId::of::<K>()) else { return Ok(()) };
        let mut args = Args::new();
        args.value(self.faults.address() + 4 * compiled.number as u64);
        let bytes: Vec<u8> = list.iter().flat_map(|word| word.to_ne_bytes()).collect();
        args.blob(&bytes, 8);
        // SAFETY: the kernel itself, which has so many bytes.
        unsafe { args.opaque((&raw const kernel).cast(), size_of::<K>()) };
        let blocks = threads.div_ceil(compiled.block as usize).max(1);
        let blocks = u32::try_from(blocks).map_err(|_| {
            Error::spec(format!("a launch of {threads} threads"), "have each thread do more")
        })?;
        let launch = Launch::line(blocks, compiled.block).shared(4 * compiled.block);
        let stream = self.lane.stream();
        let timed = compiled.search.is_some();
        let events = || -> Result<[Event; 2]> {
            let device = self.lane.device();
            let [begin, end] = [Event::new(device)?, Event::new(device)?];
            stream.record(&begin)?;
            Ok([begin, end])
        };
        let events = timed.then(events).transpose()?;
        // SAFETY: `ww_launch` takes the word for faults, the list of buffers and the kernel, of these layouts. Buffers live as
        // long as the lane, whose queue is waited for before it goes; indices outside of them are caught by the kernel.
        unsafe { stream.launch(&compiled.kernel, launch, &args)? };
        if let Some(events) = events {
            stream.record(&events[1])?;
            compiled.timed.push(events);
        }
        Ok(())
    }

    fn compiled<K: KernelFunction>(&self) -> Result<Compiled> {
        let device = self.lane.device();
        let (text, unit) = source::<K>();
        let cubin = compile(&text, K::NAME, &device.arch()?, &Options::default())?;
        let kernel = Module::load(device, &cubin)?.kernel("ww_launch")?;
        let fixed = self.lane.block(0);
        let search = self.lane.search(type_name::<K>(), &kernel, &K::WORDS);
        let next = search.lock().unwrap_or_else(PoisonError::into_inner).next();
        let settled = search.lock().unwrap_or_else(PoisonError::into_inner).settled().is_some();
        let block = if fixed == 0 { next } else { fixed };
        let most = kernel.attributes().max_threads;
        if block > most {
            let what = format!(
                "kernel {} can have at most {most} threads per block, not {block}",
                K::NAME
            );
            return Err(Error::spec(what, "take a smaller block: its threads need many registers"));
        }
        if let Some(percent) = self.lane.setting(&K::WORDS).shared {
            kernel.prefer_shared(percent)?;
        }
        let number = self.kernels.len();
        if number >= KERNELS {
            let what = format!("more than {KERNELS} kernels on a lane");
            return Err(Error::spec(what, "use several lanes"));
        }
        let search = (fixed == 0 && !settled).then_some(search);
        Ok(Compiled { number, kernel, unit, block, search, timed: Vec::new() })
    }

    /// Waits for all queued launches. `work` is the amount of work that the launches since the last call did (in any unit,
    /// such as searches or cells): time per work decides which block sizes the next launches use.
    ///
    /// # Errors
    /// A fault of a kernel, such as an index outside of a buffer, with its line; the driver's.
    pub fn finish(&mut self, work: f64) -> Result<()> {
        self.lane.wait(LIMIT)?;
        let mut faults = [0u32; KERNELS];
        self.lane.stream().download(&self.faults, 0, &mut faults)?;
        for compiled in self.kernels.values_mut() {
            let fault = faults[compiled.number];
            if fault != 0 {
                self.lane.stream().fill(&self.faults, 0)?;
                return Err(compiled.unit.fault(fault, self.lane.device().label()));
            }
            compiled.measured(work)?;
        }
        Ok(())
    }

    /// The block of a kernel at present, if it was launched.
    pub fn block_of<K: KernelFunction>(&self) -> Option<u32> {
        self.kernels.get(&TypeId::of::<K>()).map(|compiled| compiled.block)
    }
}

impl Compiled {
    /// The timed launches did so much work.
    fn measured(&mut self, work: f64) -> Result<()> {
        let Some(search) = self.search.clone() else { return Ok(()) };
        let mut seconds = 0.0;
        for [begin, end] in self.timed.drain(..) {
            seconds += begin.seconds_until(&end)?;
        }
        let mut search = search.lock().unwrap_or_else(PoisonError::into_inner);
        if seconds > 0.0 && work > 0.0 {
            search.took(self.block, seconds / work);
        }
        self.block = search.next().min(self.kernel.attributes().max_threads);
        if search.settled().is_some() {
            self.search = None;
        }
        Ok(())
    }
}

impl Drop for KernelLane {
    fn drop(&mut self) {
        // Buffers must not go while kernels use them. What went wrong was returned before.
        let _ = self.lane.wait(LIMIT);
    }
}

/// Bytes of a buffer of so many words.
fn bytes_of<T>(count: usize) -> Result<usize> {
    let bytes = count.checked_mul(size_of::<T>()).map(|bytes| bytes.max(16));
    bytes.ok_or_else(|| {
        let what = format!("a buffer of {count} words of {} bytes", size_of::<T>());
        Error::spec(what, "take fewer words")
    })
}

/// Refuses words of a device on a lane of another: each has a number and a name.
fn on_one_device([of, here]: [(usize, &str); 2]) -> Result<()> {
    if of.0 == here.0 {
        return Ok(());
    }
    let what = format!("a buffer in the memory of {} was passed to a lane of {}", of.1, here.1);
    Err(Error::spec(what, "upload them on a lane of this device"))
}

/// Whether `count` words from `index` on are inside of `of`.
fn inside(index: usize, count: usize, of: usize) -> Result<()> {
    if index.checked_add(count).is_some_and(|end| end <= of) {
        return Ok(());
    }
    let what = format!("words {index}..{} of a buffer of {of}", index.saturating_add(count));
    Err(Error::spec(what, "stay inside of the buffer"))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_cannot_be_and_words_of_another_device_are_refused() {
        assert_eq!(bytes_of::<u64>(3).unwrap(), 24);
        assert_eq!(bytes_of::<u32>(0).unwrap(), 16);
        // Eight times this is no number of 64 bits.
        let told = bytes_of::<u64>(1 << 61).unwrap_err().to_string();
        assert!(told.contains("2305843009213693952 words of 8 bytes"), "{told}");
        assert!(on_one_device([(1, "GPU 1"), (1, "GPU 1")]).is_ok());
        let told = on_one_device([(0, "GPU 0"), (1, "GPU 1")]).unwrap_err().to_string();
        assert!(told.contains("in the memory of GPU 0 was passed to a lane of GPU 1"), "{told}");
    }
}
