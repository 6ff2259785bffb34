//! Kernels whose body on a device is CUDA C++ of the user, with typed arguments.

use warpweft::cuda::compiler;
use warpweft::farm::{
    BlockArray, ChunkExecutor, ChunkOutputs, GpuLane, HostMemory, KernelLane, OnGpu, Run, Shared,
    Target, Thread, kernel, kernel_compile_check,
};
use warpweft::prelude::*;

/// Adds `by` times the sum of all words to `sum`; the warp's own instructions have no form in Rust.
#[kernel(memory = coalesced, arithmetic = low, unsafe(cuda = r"
    const unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) of_block[0] = 0;
    __syncthreads();
    const unsigned word = k < from_len ? from[k] : 0u;
    const unsigned of_warp = __reduce_add_sync(~0u, word);
    if (threadIdx.x % 32 == 0) atomicAdd(&of_block[0], of_warp);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&sum[0], by * of_block[0]);
"))]
fn add_up(
    at: &Thread,
    from: &Shared<u32>,
    sum: &Shared<u32>,
    of_block: &BlockArray<u32, 1>,
    by: u32,
) {
    // Any Rust, since it is not translated.
    let words: Vec<u32> = (at.index()..from.len()).take(1).map(|k| from.load(k)).collect();
    of_block.add(0, words.iter().sum());
    at.barrier();
    if at.in_block() == 0 {
        sum.add(0, by.wrapping_mul(of_block.load(0)));
    }
}

#[test]
fn the_host_runs_the_rust_of_a_kernel_in_cuda() {
    let mut memory = HostMemory::new();
    let (from, sum) = (memory.words(1..=100u32), memory.words([7u32]));
    memory.run(add_up(from, sum, 3), 100, 32).unwrap();
    assert_eq!(memory.read(sum).unwrap(), [7 + 3 * 5050]);
}

#[test]
fn a_kernel_in_cuda_compiles_for_devices() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        kernel_compile_check::<add_up>(arch).unwrap();
    }
}

/// The sum of the words up to the input, by that kernel.
struct Sums;

struct OnLane(KernelLane);

impl Task for Sums {
    type Input = u32;
    type Output = u32;
    fn on_core(&self, end: u32) -> Result<u32, Failure> {
        Ok((1..=end).sum())
    }
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        Some(self)
    }
}

impl OnGpu<Self> for Sums {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        Ok(Box::new(OnLane(KernelLane::new(lane)?)))
    }
}

impl ChunkExecutor<Sums> for OnLane {
    fn run(&mut self, inputs: &[u32], outputs: &mut ChunkOutputs<'_, Sums>) -> Result<()> {
        for (k, &end) in inputs.iter().enumerate() {
            let words: Vec<u32> = (1..=end).collect();
            let (from, sum) = (self.0.words(words.len())?, self.0.words(1)?);
            self.0.set(from, 0, &words)?;
            self.0.launch(add_up(from, sum, 1), words.len())?;
            self.0.finish(f64::from(end))?;
            let mut found = [0];
            self.0.get(sum, 0, &mut found)?;
            outputs.done(k, &found[0]);
        }
        Ok(())
    }
}

#[test]
fn on_gpus_a_kernel_in_cuda_gives_the_same() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let run = Run { target: Target::AllGpus, ..Run::default() };
    let inputs: Vec<u32> = (1..200).collect();
    let (sums, _) = Farm::of(Sums).run_with(&inputs, &machine, &run).unwrap();
    let expect: Vec<_> = inputs.iter().map(|&end| Some(end * (end + 1) / 2)).collect();
    assert_eq!(sums, expect);
}

/// 64 KiB a block, beyond what a kernel's own arrays may have.
#[kernel]
fn too_wide(at: &Thread, sum: &Shared<u32>, all: &BlockArray<u32, 16384>) {
    all.store(at.in_block(), 1);
    at.barrier();
    sum.add(0, all.load(at.in_block() + 1));
}

#[test]
fn arrays_beyond_the_shared_memory_of_a_block_are_refused_with_both_sizes() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let refused = kernel_compile_check::<too_wide>("sm_90").unwrap_err().to_string();
    assert!(refused.contains("too_wide") && refused.contains("0x10000 bytes"), "{refused}");
}

/// Asks for more memory than any device has.
struct TooMuch;

impl Task for TooMuch {
    type Input = u32;
    type Output = u32;
    fn on_core(&self, k: u32) -> Result<u32, Failure> {
        Ok(k)
    }
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        Some(self)
    }
}

impl OnGpu<Self> for TooMuch {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        let mut lane = KernelLane::new(lane)?;
        lane.words::<u64>(1 << 42)?;
        Err(Error::spec("room for 32 TiB", "buy no more"))
    }
}

#[test]
fn buffers_that_do_not_fit_cost_the_lane_which_names_both_sizes() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let run = Run { target: Target::Auto, ..Run::default() };
    let (found, outcome) = Farm::of(TooMuch).run_with(0..100u32, &machine, &run).unwrap();
    assert!(found.into_iter().eq((0..100).map(Some)));
    let lost: Vec<_> = outcome.shares.iter().filter_map(|share| share.lost.as_ref()).collect();
    assert!(lost.len() >= machine.gpus.len(), "{lost:?}");
    let named =
        |why: &&String| why.contains("35184372088832 bytes needed") && why.contains("available");
    assert!(lost.iter().all(named), "{lost:?}");
}

/// Threads beyond the words are through before the others meet.
#[kernel(memory = coalesced)]
fn sum_of_few(at: &Thread, from: &Shared<u32>, sum: &Shared<u32>, of_block: &BlockArray<u32, 1>) {
    if at.index() >= from.len() {
        return;
    }
    of_block.add(0, from.load(at.index()));
    at.barrier();
    if at.in_block() == 0 {
        sum.add(0, of_block.load(0));
    }
}

/// As on a GPU, where threads that have returned are no longer waited for.
#[test]
fn a_barrier_on_the_host_does_not_wait_for_threads_that_have_returned() {
    let mut memory = HostMemory::new();
    let (from, sum) = (memory.words(1..=100u32), memory.words([0u32]));
    memory.run(sum_of_few(from, sum), 128, 64).unwrap();
    assert_eq!(memory.read(sum).unwrap(), [5050]);
}

#[test]
fn blocks_that_no_gpu_has_are_refused_on_the_host_too() {
    let mut memory = HostMemory::new();
    let (from, sum) = (memory.words([1u32]), memory.words([0u32]));
    for size in [0, 1025] {
        let refused = memory.run(sum_of_few(from, sum), 1, size).unwrap_err().to_string();
        let said = format!("kernel sum_of_few in blocks of {size} threads");
        assert!(refused.contains(&said) && refused.contains("1 to 1024"), "{refused}");
    }
}
