//! What a run keeps besides what the wavefront says: every cell's choice, packed into words. Not: the run (`record`).

use std::mem::MaybeUninit;

use super::shared::fitted;
use crate::cuda::tables::OnDevice;
use crate::policy::CudaPolicy;
use crate::recurrence::{Choice, Traced, bytes_of};
use crate::spec::{Erased, Named, faults};
use warpweft_core::cuda::{SharedMemory, Stream};
use warpweft_core::element::TableBytes;
use warpweft_core::error::Result;

/// The most bits of a lane's rows of one column.
const MOST_BITS: u32 = 64;
/// Bits of rows that a word should have: longer ones come from more rows than registers are good for.
const WORD_BITS: u32 = 32;

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
    tables: Vec<(usize, Vec<MaybeUninit<u8>>, usize)>,
    pub align: usize,
}

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
            tables: choice
                .tables()
                .iter()
                .map(|it| (it.offset, it.bytes.to_vec(), it.item))
                .collect(),
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
            .map(|(offset, bytes, item)| TableBytes { offset: *offset, bytes, item: *item })
            .collect();
        OnDevice::new(stream, &self.choice, &tables)
    }

    /// Bytes of a word.
    pub fn word(&self, policy: &CudaPolicy) -> usize {
        (policy.rows * self.bits).next_power_of_two().max(8) as usize / 8
    }

    /// Macro-steps of a warp over so many columns.
    pub fn steps(&self, columns: usize, policy: &CudaPolicy) -> usize {
        let chunk = policy.chunk as usize;
        (columns + policy.lag() as usize).div_ceil(chunk) * (chunk / policy.columns as usize)
    }

    /// Bytes of a macro-step of a warp.
    pub fn step_bytes(&self, policy: &CudaPolicy) -> usize {
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
    pub fn cut(&self, given: Option<CudaPolicy>) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrences::affine_local;
    use crate::spec::Wavefront;

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
