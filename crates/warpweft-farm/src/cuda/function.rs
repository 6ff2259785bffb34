//! Functions that `#[task]` was put on, on a lane: a thread a task.
//!
//! Not for tasks that share a workspace, or that fill a device only together: those have a form of their own
//! ([`OnGpu`](crate::OnGpu)).

use std::any::type_name;
use std::mem::MaybeUninit;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::kernels::{Arithmetic, BlockSearch, Characterisation, Level, Memory};
use crate::spec::caught::caught;
use crate::spec::lane::GpuLane;
use crate::spec::task::ChunkOutputs;
use crate::spec::task::{ChunkExecutor, Task};
use crate::spec::worker::Grain;
use warpweft_core::cuda::{Args, Buffer, Cubin, Event, Kernel, Launch, Module, Options, compile};
use warpweft_core::element::{DeviceSlice, DeviceType, Unit};
use warpweft_core::error::Result;

/// A function that `#[task]` was put on: the type of its name, with the parameters that all tasks have.
///
/// # Safety
/// The C++ struct that `cuda` names has the layout of `Self`, and its `Input` and `Output` those of the task's, which
/// hold no pointers. `Self` has a [`DeviceSlice`] at each place that `slices` names, and no other
/// pointers.
pub unsafe trait TaskFunction:
    Task<Input: DeviceType, Output: DeviceType> + Copy + Send + Sync
{
    /// The function's name.
    const NAME: &'static str;
    /// What characterises it as a kernel.
    const WORDS: Characterisation =
        Characterisation::new(Memory::Default, Arithmetic::Default, Level::Default, Level::Default);

    /// The slices that all tasks read.
    fn slices(&self) -> Vec<SliceUse<'_>> {
        Vec::new()
    }

    /// The C++ name of a struct whose call is one task; it and all it calls are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// A slice that all tasks of a function read.
#[derive(Clone, Copy, Debug)]
pub struct SliceUse<'a> {
    /// Its offset in bytes in the function's element.
    place: usize,
    /// The size of an item in bytes.
    item: usize,
    bytes: &'a [MaybeUninit<u8>],
}

impl<'a> SliceUse<'a> {
    #[doc(hidden)]
    pub fn of<T>(place: usize, slice: DeviceSlice<'a, T>) -> Self {
        Self { place, item: size_of::<T>(), bytes: slice.bytes() }
    }
}

/// Threads of a block where the kernel is compiled without a device.
const BLOCK: u32 = 256;
/// Seconds of work before a search for a better block, and of a trial in it.
const WARM: f64 = 2.0;
const TRIAL: f64 = 0.02;
/// A search whose trials would each take longer is not begun.
const LONGEST_TRIAL: f64 = 0.05;
/// Tasks of a launch for each thread that a device holds at most: what is known of each waits in memory.
const ROUNDS: u64 = 8;
/// A launch that takes longer is given up, and its lane with it.
const LIMIT: Duration = Duration::from_secs(600);

/// The kernel's struct of arguments, as `ww_arguments` in `tasks.cuh`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Arguments {
    inputs: u64,
    outputs: u64,
    faults: u64,
    next: u64,
    count: u64,
}

/// CUDA C++ of the kernel.
fn source<E: TaskFunction>(block: u32) -> String {
    let mut unit = Unit::new();
    let task = E::cuda(&mut unit);
    // A fault is its own task's: every thread has a word for it.
    format!(
        "__shared__ unsigned int ww_task_fault[{block}];
#define WW_FAULTED (ww_task_fault[threadIdx.x] != 0u)
#define WW_FAIL(site) (void)(WW_FAULTED ? 0u : ww_task_fault[threadIdx.x] = (site))
{}
using ww_task = {task};
#define WW_BLOCK {block}
#define WW_ARGUMENTS_BYTES {}
#define WW_INPUT_BYTES {}
#define WW_OUTPUT_BYTES {}
{}",
        unit.source(),
        size_of::<Arguments>(),
        size_of::<E::Input>(),
        size_of::<E::Output>(),
        include_str!("tasks.cuh"),
    )
}

/// Compiles the kernel of a function for `arch`, without a device. `a * b + c` is rounded twice, as on cores: whichever
/// worker runs a task, its output is the same.
///
/// # Errors
/// The compiler's.
pub fn compile_check<E: TaskFunction>(arch: &str) -> Result<Cubin> {
    compiled::<E>(BLOCK, arch)
}

fn compiled<E: TaskFunction>(block: u32, arch: &str) -> Result<Cubin> {
    compile(&source::<E>(block), E::NAME, arch, &Options::default())
}

/// What runs chunks of `task` on `lane`. What faults there is done again on the lane's core, which says why.
///
/// Blocks have the size that the policy says, else what an earlier search found, else what the table says of the task's words;
/// then a search begins once some seconds of work are done, see [`BlockSearch`].
///
/// # Errors
/// The compiler's or the driver's; too little memory.
pub fn translated<E: TaskFunction>(
    task: &E,
    lane: GpuLane,
) -> Result<Box<dyn ChunkExecutor<E> + '_>> {
    let device = *lane.device();
    let fixed = lane.block(0);
    let first = if fixed == 0 { lane.setting(&E::WORDS).block } else { fixed };
    let mut shape = Shape::new::<E>(&lane, first)?;
    let search = (fixed == 0).then(|| lane.search(type_name::<E>(), &shape.kernel, &E::WORDS));
    let known = search.as_ref().and_then(|search| locked(search).settled());
    if let Some(block) = known.filter(|block| *block != first) {
        shape = Shape::new::<E>(&lane, block)?;
    }
    let threads = u64::from(shape.blocks * shape.block);
    // All lanes together fill the device.
    let of = (threads / lane.lanes() as u64).next_multiple_of(32);
    let most = ROUNDS * of;
    let room = |bytes: usize| Buffer::new(&device, (most as usize * bytes).max(16));
    let slices = lane.shared(|| uploaded(task, &lane))?;
    Ok(Box::new(OnLane {
        task,
        on_device: on_device(task, &slices),
        _slices: slices,
        shape,
        search: search.filter(|_| known.is_none()),
        busy: 0.0,
        grain: Grain { of, most },
        inputs: room(size_of::<E::Input>())?,
        outputs: room(size_of::<E::Output>())?,
        faults: room(4)?,
        next: Buffer::new(&device, 16)?,
        lane,
    }))
}

/// The copies of a task's slices on a device, which all of its lanes read.
struct Slices(Vec<Buffer>);

fn uploaded<E: TaskFunction>(task: &E, lane: &GpuLane) -> Result<Slices> {
    let buffer = |SliceUse { item, bytes, .. }: SliceUse<'_>| {
        // A read out of bounds reads an item of an empty slice too.
        let buffer = Buffer::zeroed(lane.stream(), bytes.len().max(item))?;
        lane.stream().upload_bytes(&buffer, 0, bytes)?;
        Ok(buffer)
    };
    let all = task.slices().into_iter().map(buffer).collect::<Result<_>>()?;
    // Other lanes have streams of their own.
    lane.wait(LIMIT)?;
    Ok(Slices(all))
}

/// A copy of the task for a device: its slices have the addresses of their copies there.
fn on_device<E: TaskFunction>(task: &E, slices: &Slices) -> MaybeUninit<E> {
    let mut copy = MaybeUninit::new(*task);
    for (slice, buffer) in task.slices().into_iter().zip(&slices.0) {
        let start = copy.as_mut_ptr().cast::<u8>().wrapping_add(slice.place).cast::<u64>();
        // SAFETY: at this place of the copy there is a slice, which begins with its address. The copy is only copied on.
        unsafe { start.write(buffer.address()) };
    }
    copy
}

/// The kernel for blocks of one size.
struct Shape {
    kernel: Kernel,
    /// Threads of a block.
    block: u32,
    /// Blocks that the device holds.
    blocks: u32,
}

impl Shape {
    fn new<E: TaskFunction>(lane: &GpuLane, block: u32) -> Result<Self> {
        let device = lane.device();
        let module = Module::load(device, &compiled::<E>(block, &device.arch()?)?)?;
        let kernel = module.kernel("farm_tasks")?;
        let blocks = kernel.blocks_per_sm(block, 0)?.max(1) * device.sms()?;
        Ok(Self { kernel, block, blocks })
    }
}

struct OnLane<'t, E> {
    task: &'t E,
    /// What kernels are given.
    on_device: MaybeUninit<E>,
    /// Lives as long as that.
    _slices: Arc<Slices>,
    lane: GpuLane,
    shape: Shape,
    /// The search for a better block, until it has come to its end.
    search: Option<Arc<Mutex<BlockSearch>>>,
    /// Seconds of work.
    busy: f64,
    grain: Grain,
    inputs: Buffer,
    outputs: Buffer,
    faults: Buffer,
    next: Buffer,
}

impl<E: TaskFunction> OnLane<'_, E> {
    /// Runs the tasks of `inputs`, at most as many as there is room for, and fetches which of them faulted and all
    /// outputs, as bytes: those of tasks that faulted are none.
    fn launch(&mut self, inputs: &[E::Input]) -> Result<(Vec<u32>, Vec<u8>)> {
        let count = inputs.len();
        self.lane.stream().upload_bytes(&self.inputs, 0, DeviceSlice::of(inputs).bytes())?;
        let seconds = self.pass(&self.shape, count)?;
        self.busy += seconds;
        let stream = self.lane.stream();
        let mut faults = vec![0u32; count];
        stream.download(&self.faults, 0, &mut faults)?;
        let mut outputs = vec![0u8; count * size_of::<E::Output>()];
        stream.download(&self.outputs, 0, &mut outputs)?;
        if self.busy > WARM && count as u64 >= self.grain.of {
            self.explore(count, seconds)?;
        }
        Ok((faults, outputs))
    }

    /// Runs the first `count` of the tasks whose inputs are there, in blocks of a `shape`. The seconds that the device took.
    fn pass(&self, shape: &Shape, count: usize) -> Result<f64> {
        let stream = self.lane.stream();
        stream.fill(&self.next, 0)?;
        let mut args = Args::new();
        let arguments = Arguments {
            inputs: self.inputs.address(),
            outputs: self.outputs.address(),
            faults: self.faults.address(),
            next: self.next.address(),
            count: count as u64,
        };
        // SAFETY: the arguments, which have so many bytes.
        unsafe { args.opaque((&raw const arguments).cast(), size_of::<Arguments>()) };
        // SAFETY: the task itself, likewise.
        unsafe { args.opaque(self.on_device.as_ptr().cast(), size_of::<E>()) };
        let blocks = shape.blocks.min(count.div_ceil(shape.block as usize) as u32);
        let device = self.lane.device();
        let [begin, end] = [Event::new(device)?, Event::new(device)?];
        stream.record(&begin)?;
        // SAFETY: `farm_tasks` takes arguments and task, of these layouts; buffers hold as many tasks as a lane gets at
        // once, and live past the wait.
        unsafe { stream.launch(&shape.kernel, Launch::line(blocks, shape.block), &args)? };
        stream.record(&end)?;
        self.lane.wait(LIMIT)?;
        begin.seconds_until(&end)
    }

    /// Runs some of the `count` tasks that are there, which took so many seconds, in blocks of every size that may be faster,
    /// and goes on with the fastest. The same tasks, since others may take longer; one lane of all does it.
    fn explore(&mut self, count: usize, seconds: f64) -> Result<()> {
        let Some(search) = self.search.clone() else { return Ok(()) };
        let Some(part) = trial(count, seconds, self.grain) else {
            self.search = None;
            return Ok(());
        };
        let Ok(mut search) = search.try_lock() else { return Ok(()) };
        let mut shapes: Vec<Shape> = Vec::new();
        let best = loop {
            if let Some(block) = search.settled() {
                break block;
            }
            let block = search.next();
            let known = shapes.iter().position(|shape| shape.block == block);
            let took = match known {
                // A trial that fails loses nothing: what was computed is fetched already.
                Some(known) => self.pass(&shapes[known], part).unwrap_or(f64::INFINITY),
                None if block == self.shape.block => self.pass(&self.shape, part)?,
                None => match Shape::new::<E>(&self.lane, block) {
                    Ok(shape) => {
                        let took = self.pass(&shape, part).unwrap_or(f64::INFINITY);
                        shapes.push(shape);
                        took
                    }
                    // Not every size need compile.
                    Err(_) => f64::INFINITY,
                },
            };
            search.took(block, took / part as f64);
        };
        drop(search);
        self.search = None;
        if best != self.shape.block {
            self.shape = match shapes.into_iter().find(|shape| shape.block == best) {
                Some(shape) => shape,
                None => Shape::new::<E>(&self.lane, best)?,
            };
        }
        Ok(())
    }
}

/// The tasks of a trial, where `count` of them took so many seconds: at least as many as fill the device. `None` if these
/// take long, so that a search would.
fn trial(count: usize, seconds: f64, grain: Grain) -> Option<usize> {
    let least = (grain.of as usize).min(count);
    let part = (count as f64 * (TRIAL / seconds).min(1.0)) as usize;
    let long = seconds * least as f64 > LONGEST_TRIAL * count as f64;
    (!long).then_some(part.max(least))
}

fn locked(search: &Mutex<BlockSearch>) -> MutexGuard<'_, BlockSearch> {
    search.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<E: TaskFunction> ChunkExecutor<E> for OnLane<'_, E> {
    fn grain(&self) -> Grain {
        self.grain
    }

    fn run(&mut self, inputs: &[E::Input], outputs: &mut ChunkOutputs<'_, E>) -> Result<()> {
        for (part, inputs) in inputs.chunks(self.grain.most as usize).enumerate() {
            let first = part * self.grain.most as usize;
            let (faults, bytes) = self.launch(inputs)?;
            for (k, (&fault, &input)) in faults.iter().zip(inputs).enumerate() {
                if fault == 0 {
                    // SAFETY: the kernel wrote this output, of the same layout, since its task did not fault.
                    let output: E::Output =
                        unsafe { bytes.as_ptr().cast::<E::Output>().add(k).read_unaligned() };
                    outputs.done(first + k, &output);
                    continue;
                }
                match caught(|| self.task.on_core(input).map_err(|why| why.to_string())) {
                    Ok(output) => outputs.done(first + k, &output),
                    Err(why) => outputs.failed(first + k, &why.into()),
                }
            }
        }
        Ok(())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn trials_are_short_or_there_are_none() {
        let grain = Grain { of: 1000, most: 8000 };
        // 1 s for 8000 tasks: a trial of 0.02 s would not fill the device, but one of 0.125 s is long.
        assert_eq!(trial(8000, 1.0, grain), None);
        assert_eq!(trial(8000, 0.32, grain), Some(1000));
        assert_eq!(trial(8000, 0.08, grain), Some(2000));
        assert_eq!(trial(8000, 0.01, grain), Some(8000));
        // Tasks of 100 s a thread.
        assert_eq!(trial(1000, 100.0, grain), None);
    }
}
