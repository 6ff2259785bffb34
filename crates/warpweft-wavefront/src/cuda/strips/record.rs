//! Every cell's choice recorded by register strips, and read back where a path passes.
//!
//! Words of choices stay on the GPU, as `directions.cuh` lays them out; the host takes windows of one
//! warp's rows, each as many macro-steps as a diagonal needs twice. Not here: several GPUs.

use std::mem::MaybeUninit;

use super::executor::CudaExecutor;
use super::results::{found, last_row};
use super::shape::missing;
use super::shared::{check, fitted};
use super::text::{Variant, options, source};
use crate::cuda::filled::Found;
use crate::cuda::tables::OnDevice;
use crate::executor::{Choices, Need};
use crate::policy::CudaPolicy;
use crate::recurrence::{Choice, Traced, bytes_of};
use crate::spec::{Erased, Keep, Named, Wavefront, faults};
use warpweft_core::cuda::{Buffer, Cubin, Pinned, SharedMemory, Stream, compile};
use warpweft_core::element::TableBytes;
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// What a run keeps in addition to what the wavefront says.
#[derive(Clone, Copy)]
pub(super) enum AlsoKept<'b> {
    Nothing,
    /// Last row and last column.
    Edges,
    /// Every cell's choice.
    Choices(&'b Recording),
}

impl<'b> AlsoKept<'b> {
    pub fn edges(self) -> bool {
        matches!(self, Self::Edges)
    }

    pub fn recording(self) -> Option<&'b Recording> {
        match self {
            Self::Choices(recording) => Some(recording),
            Self::Nothing | Self::Edges => None,
        }
    }
}

/// What records choices: the function that tells them, without its type.
pub(super) struct Recording {
    /// Of a choice: none straddles two words.
    pub bits: u32,
    /// Defines it in C++.
    pub define: Named,
    /// Its parameters, and the slices that they hold, each with where its address lies.
    choice: Vec<u8>,
    tables: Vec<(usize, Vec<MaybeUninit<u8>>)>,
    pub align: usize,
}

/// How many times as fast as in linear space a path is found on a GPU, at least. Measured on an H200, with
/// copies and the walk, of sequences with a linear and an affine gap: 7.5 and 55 times at 20,000 squared,
/// 6.1 and 15.9 times at 100,000 squared (`bench wavefront --only traceback`).
const SPEEDUP: f64 = 6.0;
/// The most bits of a lane's rows of one column.
const MOST_BITS: u32 = 64;
/// Bits of rows that a word should have: longer ones come from more rows than registers are good for.
const WORD_BITS: u32 = 32;
impl Recording {
    /// That of choices of so many bits, which are never told.
    #[cfg(test)]
    pub fn plain(bits: u32) -> Self {
        let define = |_: &mut _| String::new();
        Self { bits, define, choice: vec![], tables: vec![], align: 1 }
    }

    pub fn of<E: Traced>(element: &E) -> Self {
        let choice = element.choice();
        Self {
            bits: E::BITS.next_power_of_two(),
            define: E::Choice::cuda,
            choice: bytes_of(std::slice::from_ref(&choice)).to_vec(),
            tables: choice.tables().iter().map(|it| (it.offset, it.bytes.to_vec())).collect(),
            align: align_of::<E::Choice>(),
        }
    }

    /// Its parameters, as the device of `stream` gets them.
    ///
    /// # Errors
    /// Too little memory on the device; the driver's.
    pub fn on_device(&self, stream: &Stream) -> Result<OnDevice> {
        let tables: Vec<_> = self
            .tables
            .iter()
            .map(|(offset, bytes)| TableBytes { offset: *offset, bytes })
            .collect();
        OnDevice::new(stream, &self.choice, &tables)
    }

    /// Bytes of a word.
    fn word(&self, policy: &CudaPolicy) -> usize {
        (policy.rows * self.bits).next_power_of_two().max(8) as usize / 8
    }

    /// Macro-steps of a warp over so many columns.
    fn steps(&self, columns: usize, policy: &CudaPolicy) -> usize {
        let chunk = policy.chunk as usize;
        (columns + policy.lag() as usize).div_ceil(chunk) * (chunk / policy.columns as usize)
    }

    /// Bytes of a macro-step of a warp.
    fn step_bytes(&self, policy: &CudaPolicy) -> usize {
        32 * policy.columns as usize * self.word(policy)
    }

    /// Bytes of all words.
    pub fn bytes(&self, [rows, columns]: [usize; 2], policy: &CudaPolicy) -> usize {
        let warps = rows.div_ceil(32 * policy.rows as usize);
        warps * self.steps(columns, policy) * self.step_bytes(policy)
    }

    /// The shape for it: the given one as far as its choices fit words, or that for a domain as far as
    /// its rows fill a word and it fits.
    pub fn policy(
        &self,
        given: Option<CudaPolicy>,
        wavefront: &Erased<'_>,
        sms: u32,
        shared: SharedMemory,
    ) -> CudaPolicy {
        let (rows, cell) = (wavefront.extents[0], wavefront.element.cell);
        let within = |policy: CudaPolicy, bits: u32| {
            let rows = policy.rows.min(bits / self.bits);
            CudaPolicy { packed_16x2: false, rows, ..policy }
        };
        match given {
            Some(policy) => within(policy, MOST_BITS),
            None => {
                let policy = within(CudaPolicy::for_domain(rows, cell, sms), WORD_BITS);
                fitted(wavefront, policy, shared)
            }
        }
    }

    /// What became of the policy that was given, if choices don't fit it.
    fn cut(&self, given: Option<CudaPolicy>) -> Option<String> {
        let CudaPolicy { rows, packed_16x2, .. } = given?;
        let most = MOST_BITS / self.bits;
        let fewer = format!("{most} rows a lane, not {rows}: their choices have {MOST_BITS} bits");
        let single = "one cell a register, not two: choices are recorded from unpacked cells";
        let all = [(rows > most).then_some(fewer), packed_16x2.then(|| single.into())];
        let all: Vec<_> = all.into_iter().flatten().collect();
        (!all.is_empty())
            .then(|| format!("directions by another policy than given: {}", all.join("; ")))
    }

    /// Whether it may fault: strips tell choices of cells outside the domain, too.
    pub fn faults(&self) -> bool {
        faults(self.define)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrences::affine_local;

    const H200: SharedMemory = SharedMemory::of_block(227 << 10);

    #[test]
    fn words_are_as_wide_as_their_rows() {
        let recording = Recording::plain(2);
        let shape = |rows| CudaPolicy { rows, ..CudaPolicy::for_domain(100_000, 4, 132) };
        let words = [1, 4, 5, 8, 9, 16, 17, 32].map(|rows| recording.word(&shape(rows)));
        assert_eq!(words, [1, 1, 2, 2, 4, 4, 8, 8]);
        // 15 rows of 2 bits in 4 bytes, and the lag of 31 lanes: 2.13 bits a cell.
        let policy = CudaPolicy { columns: 2, chunk: 32, ..shape(15) };
        let bytes = recording.bytes([960_000, 1_000_000], &policy) as f64;
        let bits = 8.0 * bytes / 960e9;
        assert!((2.133..2.14).contains(&bits), "{bits}");
        let (affine, letters) = (Recording { bits: 4, ..recording }, [0u8; 12_800]);
        let wavefront = Wavefront::of(affine_local(2, -3, -5, -1)).rows(&letters).columns(&letters);
        let rows = |given| affine.policy(given, &wavefront.erased(), 1, H200).rows;
        assert_eq!(rows(None), 8);
        assert_eq!(rows(Some(shape(20))), 16);
        // What was asked for and is not possible is reported.
        let note = |given| affine.cut(given).unwrap_or_default();
        assert!(note(Some(shape(20))).contains("16 rows a lane, not 20"));
        let packed_16x2 = CudaPolicy { packed_16x2: true, ..shape(16) };
        assert!(note(Some(packed_16x2)).contains("one cell a register"));
        assert_eq!([None, Some(shape(16))].map(note), [""; 2]);
    }
}
