//! Tasks that are runs of other patterns: a stencil, a recurrence or spawning functions on the
//! core or the GPU of a worker.
//!
//! Not for small tasks, of which many together fill a GPU: see [`OnGpu`].

use std::cell::OnceCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::spec::caught::caught;
use crate::spec::lane::GpuLane;
use crate::spec::task::{ChunkExecutor, ChunkOutputs, Failure, OnGpu, Task};
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};
use warpweft_core::machine::Machine;
use warpweft_core::run::Target;

/// Where a task runs: the machine and the target to pass to a run of another pattern.
#[derive(Clone, Debug)]
pub struct Here {
    machine: Machine,
    target: Target,
}

impl Here {
    /// A machine with only this worker's core, or only this lane's GPU.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The target that names the core or the GPU.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Whether the task runs on a GPU.
    pub fn is_gpu(&self) -> bool {
        self.target != Target::Cpu
    }

    /// The core that this thread runs on.
    fn core() -> Result<Self> {
        // Of what the thread may use, which is one core where a worker is bound to it.
        let mut machine = Machine::detect()?;
        machine.gpus.clear();
        // Workers that are not bound to cores may use all of them: each takes another.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        if !machine.cpu.cores.is_empty() {
            let next = NEXT.fetch_add(1, Ordering::Relaxed) % machine.cpu.cores.len();
            machine.cpu.cores = vec![machine.cpu.cores[next]];
        }
        Ok(Self { machine, target: Target::Cpu })
    }

    /// The GPU of `lane`.
    fn gpu(lane: &GpuLane) -> Result<Self> {
        let gpu = lane.gpu().clone();
        let target = Target::Gpu(gpu.ordinal);
        Ok(Self { machine: Machine { gpus: vec![gpu], ..Machine::detect()? }, target })
    }
}

thread_local! {
    /// For a worker on a core; computed once.
    static CORE: OnceCell<Here> = const { OnceCell::new() };
}

/// A task that calls a function with its input and with where it runs; made by [`on_devices`].
pub struct OnDevices<F, I> {
    function: F,
    input: PhantomData<fn(I)>,
}

/// Makes a task of a function that runs on cores and on lanes of GPUs. The function gets its input
/// and a [`Here`], and passes
/// [`Here::machine`] and [`Here::target`] to a run of another pattern.
///
/// ```
/// use warpweft::farm::{Here, on_devices};
/// use warpweft::prelude::*;
/// use warpweft::stencil::Run;
///
/// #[stencil]
/// fn diffuse(u: Near<f64, 1>, rate: f64) -> f64 {
///     u[[0]] + rate * (u[[-1]] - 2.0 * u[[0]] + u[[1]])
/// }
///
/// # fn main() -> warpweft::Result<()> {
/// // A sweep over rates: each run takes one core or one GPU.
/// let heat = on_devices(|rate: f64, here: &Here| {
///     let mut volume = Volume::from_fn([64], |[x]| if x == 32 { 1.0 } else { 0.0 });
///     let run = Run { target: here.target(), ..Run::default() };
///     Stencil::of(diffuse(rate)).run_with(&mut volume, Steps(100), here.machine(), &run)?;
///     Ok(volume[[32]])
/// });
/// let (middle, _) = Farm::of(heat).run(vec![0.1, 0.2, 0.4], &Machine::detect()?)?;
/// assert!(middle[0] > middle[1] && middle[1] > middle[2]);
/// # Ok(())
/// # }
/// ```
///
/// If the function returns a device or memory error, the lane it ran on gets no more tasks, and other workers run its tasks, this
/// one included. Any other error is a failure of the task alone.
pub fn on_devices<F, I, O>(function: F) -> OnDevices<F, I>
where
    F: Fn(I, &Here) -> Result<O, Failure> + Sync,
    O: Packed,
{
    OnDevices { function, input: PhantomData }
}

impl<F, I, O> Task for OnDevices<F, I>
where
    F: Fn(I, &Here) -> Result<O, Failure> + Sync,
    I: Clone,
    O: Packed,
{
    type Input = I;
    type Output = O;

    fn on_core(&self, input: I) -> Result<O, Failure> {
        CORE.with(|core| {
            let here = match core.get() {
                Some(here) => here,
                None => {
                    let found = Here::core()?;
                    core.get_or_init(|| found)
                }
            };
            (self.function)(input, here)
        })
    }

    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        Some(self)
    }
}

impl<F, I, O> OnGpu<Self> for OnDevices<F, I>
where
    F: Fn(I, &Here) -> Result<O, Failure> + Sync,
    I: Clone,
    O: Packed,
{
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        Ok(Box::new(OnLane { task: self, here: Here::gpu(&lane)?, _lane: lane }))
    }
}

/// Runs tasks one by one on a lane's GPU.
struct OnLane<'t, F, I> {
    task: &'t OnDevices<F, I>,
    here: Here,
    /// Keeps its device open.
    _lane: GpuLane,
}

impl<F, I, O> ChunkExecutor<OnDevices<F, I>> for OnLane<'_, F, I>
where
    F: Fn(I, &Here) -> Result<O, Failure> + Sync,
    I: Clone,
    O: Packed,
{
    fn run(&mut self, inputs: &[I], outputs: &mut ChunkOutputs<'_, OnDevices<F, I>>) -> Result<()> {
        for (k, input) in inputs.iter().enumerate() {
            let mut lost = None;
            let run = || {
                (self.task.function)(input.clone(), &self.here).map_err(|why| {
                    let what = why.to_string();
                    lost = why.downcast::<Error>().ok();
                    what
                })
            };
            match caught(run) {
                Ok(output) => outputs.done(k, &output),
                Err(what) => match lost.map(|why| *why) {
                    // Another worker may have room, or a device that works.
                    Some(why @ (Error::Device { .. } | Error::Memory { .. })) => return Err(why),
                    _ => outputs.failed(k, &what.into()),
                },
            }
        }
        Ok(())
    }
}
