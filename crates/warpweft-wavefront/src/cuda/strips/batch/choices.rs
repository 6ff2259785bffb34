//! Choices that warps record of many problems: where they lie, and on the host.

use super::MOST_ROWS;
use super::text::Problem;
use crate::cuda::strips::record::Recording;
use crate::spec::Erased;
use warpweft_core::cuda::{Buffer, Device, Pinned, Stream};
use warpweft_core::error::Result;

/// The most rows that a lane owns, of cells of so many bytes: their choices fit a word.
pub(super) fn most_rows(cell: usize, recording: Option<&Recording>) -> u32 {
    let most = (MOST_ROWS as usize * 4 / cell.max(4)).max(1) as u32;
    recording.map_or(most, |recording| most.min(32 / recording.bits))
}

/// Bytes of a word of choices of a lane's rows.
pub(super) fn word_bytes(rows: u32, recording: &Recording) -> usize {
    (rows * recording.bits).next_power_of_two().max(8) as usize / 8
}

/// Words of choices of a problem.
pub(super) fn words_of(wavefront: &Erased<'_>, rows: u32) -> usize {
    let [m, n] = wavefront.extents;
    m.div_ceil(32 * rows as usize) * (n + 31) * 32
}

/// Bytes of choices of a problem at most, whatever rows a lane will own.
pub(super) fn recorded_bytes(wavefront: &Erased<'_>, recording: &Recording) -> usize {
    let most = most_rows(wavefront.element.cell, Some(recording));
    let bytes = |rows| words_of(wavefront, rows) * word_bytes(rows, recording);
    (1..=most).map(bytes).max().unwrap_or(0)
}

/// Says where each problem's words begin; how many there are.
pub(super) fn place_words(
    problems: &mut [Problem],
    wavefronts: &[&Erased<'_>],
    rows: u32,
) -> usize {
    let mut words = 0;
    for (problem, wavefront) in problems.iter_mut().zip(wavefronts) {
        problem.directions = words as u64;
        words += words_of(wavefront, rows);
    }
    words
}

/// The choices of all problems, on the host.
pub(super) struct Recorded<'r> {
    pub recording: &'r Recording,
    /// Rows of a lane.
    rows: usize,
    /// Where each problem's words begin.
    firsts: Vec<usize>,
    words: Pinned<u8>,
}

impl<'r> Recorded<'r> {
    /// Nothing yet.
    pub fn new(recording: &'r Recording, device: &Device) -> Result<Self> {
        Ok(Self { recording, rows: 1, firsts: Vec::new(), words: Pinned::new(device, 0)? })
    }

    /// Takes the words of `problems`, whose lanes own `rows` rows, from the device.
    pub fn fetch(
        &mut self,
        rows: u32,
        problems: &[Problem],
        stream: &Stream,
        words: &Buffer,
    ) -> Result<()> {
        self.rows = rows as usize;
        self.firsts = problems.iter().map(|problem| problem.directions as usize).collect();
        self.words = Pinned::new(stream.device(), words.bytes())?;
        stream.download(words, 0, &mut self.words)
    }

    /// The choice of cell `[i, j]` of problem `k`, which has `columns` columns.
    pub fn at(&self, k: usize, columns: usize, i: usize, j: usize) -> u8 {
        let (strip, r) = (i / self.rows, i % self.rows);
        let (pass, lane) = (strip / 32, strip % 32);
        let bytes = word_bytes(self.rows as u32, self.recording);
        let at = self.firsts[k] + (pass * (columns + 31) + j + lane) * 32 + lane;
        let mut word = [0; 4];
        word[..bytes].copy_from_slice(&self.words[at * bytes..(at + 1) * bytes]);
        let bits = self.recording.bits as usize;
        ((u32::from_le_bytes(word) >> (r * bits)) & ((1 << bits) - 1)) as u8
    }
}
