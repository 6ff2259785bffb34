//! Functions that `#[task]` was put on, on a lane: a thread a task.
//!
//! Not for tasks that share a workspace, or that fill a device only together: those have a form of their own
//! ([`OnGpu`](crate::OnGpu)).

use std::time::Duration;

use crate::spec::attempt::caught;
use crate::spec::lane::GpuLane;
use crate::spec::task::ChunkOutputs;
use crate::spec::task::{ChunkExecutor, Task};
use crate::spec::worker::Grain;
use warpweft_core::cuda::{Args, Buffer, Cubin, Kernel, Launch, Module, Options, compile};
use warpweft_core::element::{DeviceType, Unit};
use warpweft_core::error::Result;

/// A function that `#[task]` was put on: the type of its name, with the parameters that all tasks have.
///
/// # Safety
/// The C++ struct that `cuda` names has the layout of `Self`, and its `Input` and `Output` those of the task's, which
/// hold no pointers.
pub unsafe trait TaskFunction:
    Task<Input: DeviceType, Output: DeviceType> + Copy + Send + Sync + 'static
{
    /// The function's name.
    const NAME: &'static str;

    /// The C++ name of a struct whose call is one task; it and all it calls are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// Threads of a block where the policy leaves that open.
const BLOCK: u32 = 256;
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
/// # Errors
/// The compiler's or the driver's; too little memory.
pub fn translated<E: TaskFunction>(
    task: &E,
    lane: GpuLane,
) -> Result<Box<dyn ChunkExecutor<E> + '_>> {
    let device = *lane.device();
    let block = lane.block(BLOCK);
    let module = Module::load(&device, &compiled::<E>(block, &device.arch()?)?)?;
    let kernel = module.kernel("farm_tasks")?;
    let blocks = kernel.blocks_per_sm(block, 0)?.max(1) * device.sms()?;
    let threads = u64::from(blocks * block);
    // All lanes together fill the device.
    let of = (threads / lane.lanes() as u64).next_multiple_of(32);
    let most = ROUNDS * of;
    let room = |bytes: usize| Buffer::new(&device, (most as usize * bytes).max(16));
    Ok(Box::new(OnLane {
        task,
        kernel,
        block,
        blocks,
        grain: Grain { of, most },
        inputs: room(size_of::<E::Input>())?,
        outputs: room(size_of::<E::Output>())?,
        faults: room(4)?,
        next: Buffer::new(&device, 16)?,
        lane,
    }))
}

struct OnLane<'t, E> {
    task: &'t E,
    lane: GpuLane,
    kernel: Kernel,
    /// Its threads.
    block: u32,
    /// That the device holds.
    blocks: u32,
    grain: Grain,
    inputs: Buffer,
    outputs: Buffer,
    faults: Buffer,
    next: Buffer,
}

impl<E: TaskFunction> OnLane<'_, E> {
    /// Runs the tasks of `inputs`, at most as many as there is room for, and fetches which of them faulted and all
    /// outputs, as bytes: those of tasks that faulted are none.
    fn launch(&self, inputs: &[E::Input]) -> Result<(Vec<u32>, Vec<u8>)> {
        let (stream, count) = (self.lane.stream(), inputs.len());
        stream.upload(&self.inputs, 0, bytes_of(inputs))?;
        stream.fill(&self.next, 0)?;
        let mut args = Args::new();
        let arguments = Arguments {
            inputs: self.inputs.address(),
            outputs: self.outputs.address(),
            faults: self.faults.address(),
            next: self.next.address(),
            count: count as u64,
        };
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        // SAFETY: the task itself, which has so many bytes.
        unsafe { args.opaque(std::ptr::from_ref(self.task).cast(), size_of::<E>()) };
        let blocks = self.blocks.min(count.div_ceil(self.block as usize) as u32);
        // SAFETY: `farm_tasks` takes arguments and task, of these layouts; buffers hold as many tasks as a lane gets at
        // once, and live past the wait.
        unsafe { stream.launch(&self.kernel, Launch::line(blocks, self.block), &args)? };
        self.lane.wait(LIMIT)?;
        let mut faults = vec![0u32; count];
        stream.download(&self.faults, 0, &mut faults)?;
        let mut outputs = vec![0u8; count * size_of::<E::Output>()];
        stream.download(&self.outputs, 0, &mut outputs)?;
        Ok((faults, outputs))
    }
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

/// The bytes of values.
fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: they are only copied, by the driver, never looked at; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}
