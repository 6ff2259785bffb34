//! Launches of the kernel that computes numbers of a session (scalars.cuh).

use std::sync::Arc;

use crate::cuda::sums::COPIES;
use crate::spec::reduction::Reduction;
use crate::spec::reduction::scalar::{Bank, CAPACITY, Operation};
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Module, Pinned, Stream};
use warpweft_core::error::Result;

/// The kernel's text, after that of reductions.
pub(super) const TEXT: &str = include_str!("scalars.cuh");

/// Operations of a launch at most, as in the kernel.
const OPERATIONS: usize = 64;
/// Reductions that are queued at most before their sums are taken out.
const ACCUMULATORS: usize = 16;
const BYTES: usize = Reduction::WORDS * size_of::<u64>();

/// The kernel, and the numbers that it computes.
#[derive(Debug)]
pub(crate) struct Numbers {
    kernel: Kernel,
    /// Those in use hold what reductions add; the others are 0.
    accumulators: Buffer,
    used: usize,
    numbers: Buffer,
    read: Pinned<f64>,
    pub bank: Arc<Bank>,
}

impl Numbers {
    pub fn new(stream: &Stream, module: &Module) -> Result<Self> {
        let device = stream.device();
        let numbers = Buffer::zeroed(stream, CAPACITY * size_of::<f64>())?;
        Ok(Self {
            kernel: module.kernel("ww_numbers")?,
            accumulators: Buffer::zeroed(stream, ACCUMULATORS * COPIES * BYTES)?,
            used: 0,
            bank: Bank::new(numbers.address()),
            numbers,
            read: Pinned::new(device, CAPACITY)?,
        })
    }

    /// An accumulator that is 0, of [`COPIES`] copies: the address and the number of the first, for an operation that takes
    /// the sum out.
    pub fn accumulator(&mut self, stream: &Stream) -> Result<(u64, u32)> {
        if self.used == ACCUMULATORS {
            self.compute(stream)?;
        }
        let number = self.used * COPIES;
        self.used += 1;
        Ok((self.accumulators.address() + (number * BYTES) as u64, number as u32))
    }

    /// The words of an accumulator, which is 0 afterwards. Waits for the device.
    pub fn taken(&self, stream: &Stream, number: u32) -> Result<Vec<u64>> {
        let (offset, mut words) = (number as usize * BYTES, vec![0u64; Reduction::WORDS]);
        stream.download(&self.accumulators, offset, &mut words)?;
        stream.upload(&self.accumulators, offset, &[0u64; Reduction::WORDS])?;
        Ok(words)
    }

    /// Queues all operations that are pending.
    pub fn compute(&mut self, stream: &Stream) -> Result<()> {
        for some in self.bank.take_pending().chunks(OPERATIONS) {
            let mut list = Vec::with_capacity(OPERATIONS * size_of::<Operation>() + 8);
            some.iter().for_each(|operation| list.extend(operation.bytes()));
            list.resize(OPERATIONS * size_of::<Operation>(), 0);
            list.extend((some.len() as i64).to_ne_bytes());
            let mut args = Args::new();
            args.blob(&list, 8);
            args.buffer(&self.accumulators);
            args.buffer(&self.numbers);
            // SAFETY: operations name places that the bank gave out and accumulators below `ACCUMULATORS`.
            unsafe { stream.launch(&self.kernel, Launch::line(1, 32), &args)? };
        }
        self.used = 0;
        Ok(())
    }

    /// Queues the operations that are pending if they fill a launch, so that a program that only does arithmetic does not
    /// pile them up.
    pub fn compute_full(&mut self, stream: &Stream) -> Result<()> {
        if self.bank.pending() >= OPERATIONS { self.compute(stream) } else { Ok(()) }
    }

    /// The number at `place`, after everything queued so far. Waits for the device.
    pub fn value(&mut self, stream: &Stream, place: usize) -> Result<f64> {
        self.compute(stream)?;
        let offset = place * size_of::<f64>();
        // SAFETY: waited for below, before anything else is done with it.
        let copied = unsafe { stream.download_async(&self.numbers, offset, &mut self.read, 0..1) };
        stream.synchronize()?;
        copied.map(|()| self.read[0])
    }

    /// Gives the bank the values of all its numbers. Waits for the device.
    pub fn end(&mut self, stream: &Stream) -> Result<()> {
        self.compute(stream)?;
        let count = self.bank.taken();
        // SAFETY: waited for below, before anything else is done with them.
        let copied = unsafe { stream.download_async(&self.numbers, 0, &mut self.read, 0..count) };
        stream.synchronize()?;
        copied.map(|()| self.bank.end(self.read[..count].to_vec()))
    }
}
