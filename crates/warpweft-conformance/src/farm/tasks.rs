//! The suite's tasks: functions of their number, with a count of how often each was run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use warpweft::cuda::Buffer;
use warpweft::element::Packed;
use warpweft::error::Result;
use warpweft::farm::ChunkOutputs;
use warpweft::farm::GpuLane;
use warpweft::farm::Grain;
use warpweft::farm::{ChunkExecutor, Failure, OnGpu, Task};

/// A function of the task's number.
pub struct Numbered<O> {
    of: fn(u64) -> Result<O, Failure>,
    grain: Option<Grain>,
    lanes: bool,
    pub(super) ran: Vec<AtomicU32>,
}

impl<O> Numbered<O> {
    /// Run task by task.
    pub fn new(of: fn(u64) -> Result<O, Failure>) -> Self {
        Self { of, grain: None, lanes: false, ran: Vec::new() }
    }

    /// Run in chunks of `grain`, last to first.
    pub fn chunks(self, grain: Grain) -> Self {
        Self { grain: Some(grain), ..self }
    }

    /// On GPUs too, whose lanes bring every number to the device and back before its task is run.
    pub fn lanes(self) -> Self {
        Self { lanes: true, ..self }
    }

    /// Of so many tasks.
    pub fn over(mut self, tasks: u64) -> Self {
        self.ran = (0..tasks).map(|_| AtomicU32::new(0)).collect();
        self
    }
}

impl<O: Packed> Task for Numbered<O> {
    type Input = u64;
    type Output = O;
    fn on_core(&self, k: u64) -> Result<O, Failure> {
        self.ran[k as usize].fetch_add(1, Ordering::Relaxed);
        (self.of)(k)
    }
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        self.grain.map(|grain| Box::new(Backwards { task: self, grain }) as _)
    }
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        self.lanes.then_some(self as _)
    }
}

impl<O: Packed> OnGpu<Self> for Numbered<O> {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        let shared = lane.shared(|| Buffer::zeroed(lane.stream(), 8))?;
        Ok(Box::new(There { task: self, lane, zero: shared }))
    }
}

struct There<'a, O> {
    task: &'a Numbered<O>,
    lane: GpuLane,
    /// Eight bytes that all lanes of the device read.
    zero: Arc<Buffer>,
}

impl<O: Packed> ChunkExecutor<Numbered<O>> for There<'_, O> {
    fn grain(&self) -> Grain {
        Grain { of: 32, most: 96 }
    }
    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, Numbered<O>>) -> Result<()> {
        let stream = self.lane.stream();
        let there = Buffer::new(self.lane.device(), 8 * (inputs.len() + 1))?;
        stream.upload(&there, 8, inputs)?;
        stream.copy(&there, 0, &self.zero, 0, 8)?;
        self.lane.wait(Duration::from_secs(10))?;
        let mut back = vec![1u64; inputs.len() + 1];
        stream.download(&there, 0, &mut back)?;
        for (k, &input) in back[1..].iter().enumerate() {
            match self.task.on_core(input + back[0]) {
                Ok(output) => outputs.done(k, &output),
                Err(why) => outputs.failed(k, &why),
            }
        }
        Ok(())
    }
}

struct Backwards<'a, O> {
    task: &'a Numbered<O>,
    grain: Grain,
}

impl<O: Packed> ChunkExecutor<Numbered<O>> for Backwards<'_, O> {
    fn grain(&self) -> Grain {
        self.grain
    }
    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, Numbered<O>>) -> Result<()> {
        for (k, &input) in inputs.iter().enumerate().rev() {
            match self.task.on_core(input) {
                Ok(output) => outputs.done(k, &output),
                Err(why) => outputs.failed(k, &why),
            }
        }
        Ok(())
    }
}

/// Splitmix64's mixture of `k`.
pub fn mix(k: u64) -> Result<u64, Failure> {
    let mut z = k.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    Ok(z ^ (z >> 31))
}

/// An output of several parts.
#[derive(Packed, Clone, Debug, PartialEq)]
pub struct Long {
    number: u64,
    any: Option<f64>,
    text: String,
}

/// A struct.
pub fn found(k: u64) -> Result<Long, Failure> {
    let any = k.is_multiple_of(3).then_some(k as f64 / 8.0);
    Ok(Long { number: k, any, text: format!("number {k}") })
}

/// As many numbers as `k` leaves when divided by 13.
pub fn list(k: u64) -> Result<Vec<u64>, Failure> {
    (0..k % 13).map(|i| mix(k + i)).collect()
}

/// One in fifty takes some thousand times as long as the others.
pub fn uneven(k: u64) -> Result<u64, Failure> {
    let steps = if k % 50 == 7 { 20_000 } else { 2 };
    (0..steps).try_fold(k, |z, _| mix(z + 1))
}

/// One in nine has no output.
pub fn failing(k: u64) -> Result<(u8, u64), Failure> {
    match k % 9 {
        4 => Err(format!("{k} is 4 more than a multiple of 9").into()),
        rest => Ok((rest as u8, mix(k)?)),
    }
}

/// One in 301 panics. By hand: hooks are for bugs.
pub fn panicking(k: u64) -> Result<u64, Failure> {
    match k % 301 {
        7 => std::panic::resume_unwind(Box::new(format!("{k} fell over"))),
        8 => std::panic::resume_unwind(Box::new("a task fell over")),
        rest => Ok(rest),
    }
}
