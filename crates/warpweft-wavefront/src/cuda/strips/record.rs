//! Every cell's choice recorded by register strips, and read back where a path passes.
//!
//! Words of choices stay on the GPU, as `directions.cuh` lays them out; the host takes windows of one
//! warp's rows, each as many macro-steps as a diagonal needs twice. Not here: several GPUs.

use super::executor::CudaExecutor;
use super::recording::{AlsoKept, Recording};
use super::results::{found, last_row};
use super::shape::missing;
use super::shared::check;
use super::text::{Variant, options, source};
use crate::cuda::filled::Found;
use crate::executor::{Choices, Need};
use crate::policy::CudaPolicy;
use crate::recurrence::Traced;
use crate::spec::{Erased, Keep, Wavefront};
use warpweft_core::cuda::{Buffer, Cubin, Pinned, SharedMemory, Stream, compile};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// How many times as fast as in linear space a path is found on a GPU, at least. Measured on an H200, with
/// copies and the walk, of sequences with a linear and an affine gap: 7.5 and 55 times at 20,000 squared,
/// 6.1 and 15.9 times at 100,000 squared (`bench wavefront --only traceback`).
const SPEEDUP: f64 = 6.0;

/// What is done with the results of a run that recorded choices: winners, choices, and what fills the
/// cells that are kept.
type Then<'t> = dyn FnMut(&[[u64; 3]], &mut dyn Choices, &mut dyn FnMut(&mut [u8]) -> Result<()>) -> Result<()>
    + 't;

impl CudaExecutor {
    /// What recording the choices of `wavefront` needs, if strips can.
    pub(super) fn need(
        &self,
        wavefront: &Erased<'_>,
        recording: &Recording,
    ) -> Result<Option<Need>> {
        if missing(wavefront).is_some() || recording.faults() {
            return Ok(None);
        }
        let device = &self.gpus[0].device;
        let [rows, columns] = wavefront.extents;
        let (cell, sms) = (wavefront.element.cell, device.sms()?);
        let policy = recording.policy(self.given(), wavefront, sms, self.shared()?);
        let inputs = wavefront.rows.len() + wavefront.columns.len() + (rows + columns) * cell;
        Ok(Some(Need {
            whose: device.label().into(),
            needed: (recording.bytes([rows, columns], &policy) + inputs) as u64,
            available: device.memory()?.0,
            speedup: SPEEDUP,
        }))
    }

    /// Computes all cells and records their choices, `then` looks at them.
    pub(super) fn choices(
        &mut self,
        wavefront: &Erased<'_>,
        recording: &Recording,
        then: &mut Then<'_>,
    ) -> Result<Report> {
        let name = wavefront.element.name;
        if recording.faults() {
            return Err(Error::spec(
                format!("choices of {name}, which may fault"),
                "look for the path in linear space",
            ));
        }
        let also = AlsoKept::Choices(recording);
        let cut = recording.cut(self.given());
        let (_, mut report) = self.compute(wavefront, also, &mut |policy, subdomains| {
            let [subdomain] = subdomains else {
                return Err(Error::spec("choices over several GPUs", "report this as a bug"));
            };
            let columns = wavefront.extents[1];
            let stream = &subdomain.gpu.stream;
            let mut windows = Windows::new(stream, &subdomain.kept, recording, policy, columns)?;
            let winners = match wavefront.keep {
                Keep::Best => found(policy, subdomains)?,
                _ => Found::new(),
            };
            then(&winners, &mut windows, &mut |cells| match wavefront.keep {
                Keep::LastRow => last_row(wavefront, policy, subdomains, cells),
                _ => Ok(()),
            })?;
            Ok(Found::new())
        })?;
        report.notes.extend(cut);
        Ok(report)
    }
}

/// Choices on the GPU, of which the host has a window.
struct Windows<'w> {
    stream: &'w Stream,
    all: &'w Buffer,
    rows: usize,
    columns: usize,
    bits: usize,
    word: usize,
    /// Macro-steps of a warp, and of a window.
    steps: usize,
    most: usize,
    /// The warp and the macro-steps that are here.
    warp: usize,
    here: std::ops::Range<usize>,
    words: Pinned<u8>,
}

impl<'w> Windows<'w> {
    fn new(
        stream: &'w Stream,
        all: &'w Buffer,
        recording: &Recording,
        policy: &CudaPolicy,
        columns: usize,
    ) -> Result<Self> {
        let steps = recording.steps(columns, policy);
        let diagonal = 32 * policy.rows.div_ceil(policy.columns) as usize + 32;
        let most = (2 * diagonal).min(steps);
        let words = Pinned::new(stream.device(), most * recording.step_bytes(policy))?;
        Ok(Self {
            stream,
            all,
            rows: policy.rows as usize,
            columns: policy.columns as usize,
            bits: recording.bits as usize,
            word: recording.word(policy),
            steps,
            most,
            warp: 0,
            here: 0..0,
            words,
        })
    }
}

impl Choices for Windows<'_> {
    fn at(&mut self, row: usize, column: usize) -> Result<u8> {
        let (strip, r) = (row / self.rows, row % self.rows);
        let (warp, lane) = (strip / 32, strip % 32);
        let step = column / self.columns + lane;
        let bytes = 32 * self.columns * self.word;
        if warp != self.warp || !self.here.contains(&step) {
            // A path goes back from here.
            (self.warp, self.here) = (warp, (step + 1).saturating_sub(self.most)..step + 1);
            let first = (warp * self.steps + self.here.start) * bytes;
            let to = &mut self.words[..self.here.len() * bytes];
            self.stream.download(self.all, first, to)?;
        }
        let at = ((step - self.here.start) * 32 + lane) * self.columns + column % self.columns;
        let mut word = [0; 8];
        word[..self.word].copy_from_slice(&self.words[at * self.word..(at + 1) * self.word]);
        let mask = (1 << self.bits) - 1;
        Ok((u64::from_le_bytes(word) >> (r * self.bits) & mask) as u8)
    }
}

/// Compiles the kernel that records the choices of `wavefront` for `arch` without a device.
///
/// # Errors
/// A policy that no kernel can have; the compiler's.
pub fn compile_check<E: Traced>(
    wavefront: &Wavefront<'_, E>,
    policy: Option<CudaPolicy>,
    arch: &str,
) -> Result<Cubin> {
    let recording = Recording::of(&wavefront.element);
    let plain = wavefront.with(wavefront.element.plain());
    let erased = plain.erased();
    let memory = SharedMemory::of_arch(arch);
    let policy = recording.policy(policy, &erased, 132, memory);
    policy.check(erased.element.cell)?;
    check(&erased, &policy, memory)?;
    let source = source(&erased, &policy, memory, Variant::default(), Some(&recording));
    compile(&source, erased.element.name, arch, &options())
}
