//! A task whose workers are lost after two chunks. Not: what becomes of the farm.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use warpweft::farm::{ChunkExecutor, ChunkOutputs, Grain};
use warpweft::prelude::*;

/// Triples. A worker does two chunks, then fails as it says.
pub struct Dies {
    /// What comes of the third chunk.
    pub how: fn() -> Result<()>,
    /// Workers that never fail.
    pub living: AtomicU64,
}

struct Dying<'a> {
    task: &'a Dies,
    left: u32,
    immortal: bool,
}

impl Task for Dies {
    type Input = u64;
    type Output = u64;
    fn on_core(&self, k: u64) -> Result<u64, Failure> {
        Ok(k * 3)
    }
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        let mut taken = self.living.load(Ordering::Relaxed);
        while taken > 0 {
            match self.living.compare_exchange(
                taken,
                taken - 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(Box::new(Dying { task: self, left: 2, immortal: true })),
                Err(now) => taken = now,
            }
        }
        Some(Box::new(Dying { task: self, left: 2, immortal: false }))
    }
}

impl ChunkExecutor<Dies> for Dying<'_> {
    fn grain(&self) -> Grain {
        Grain { of: 8, most: 8 }
    }
    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, Dies>) -> Result<()> {
        // Every worker gets its chunks, on one core too.
        std::thread::sleep(Duration::from_micros(200));
        if self.left == 0 && !self.immortal {
            // Some of the chunk was told already.
            outputs.done(0, &0);
            return (self.task.how)();
        }
        self.left -= u32::from(self.left > 0);
        inputs.iter().enumerate().for_each(|(k, input)| outputs.done(k, &(input * 3)));
        Ok(())
    }
}

pub fn fails() -> Result<()> {
    Err(Error::spec("the lane broke", "mend it"))
}
