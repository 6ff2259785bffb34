//! The columns of a search in device memory: kept for the next search, as many queries go through one database.

use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Stream};
use warpweft_core::error::Result;
use warpweft_core::grid::{in_parts, over_parts};
use warpweft_core::memory::check_room;

/// Bytes of a database that is kept at most, on the host and on the device.
const MOST: usize = 256 << 20;
/// Bytes that a thread copies or compares.
const SHARE: usize = 4 << 20;
/// Blocks of the kernel that finds symbols.
const BLOCKS: u32 = 264;

/// Sequences of symbols of a byte, behind one another.
pub(in crate::cuda::strips) struct Database {
    /// What is in `columns`, to tell whether another search is over the same.
    symbols: Vec<u8>,
    /// Where each sequence begins.
    pub firsts: Vec<u64>,
    pub columns: Buffer,
    /// The symbols that there are, in order.
    pub alphabet: Vec<u8>,
}

impl Database {
    /// That of `sequences`; `finds` is the kernel `wavefront_symbols`.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn of(sequences: &[&[u8]], stream: &Stream, finds: &Kernel) -> Result<Self> {
        let (firsts, count) = firsts(sequences);
        check_room(count as u64, "search fewer sequences at once")?;
        let mut symbols = vec![0; count];
        in_parts(&mut symbols, SHARE, |first, part| {
            let end = first + part.len();
            for (from, piece) in pieces(sequences, &firsts, first..end) {
                part[from - first..][..piece.len()].copy_from_slice(piece);
            }
        });
        let columns = Buffer::from_slice(stream, &symbols)?;
        let present = Buffer::zeroed(stream, 32)?;
        let mut args = Args::new();
        args.buffer(&columns);
        args.value(columns.bytes() as u64);
        args.buffer(&present);
        // SAFETY: the arguments are those of `wavefront_symbols`, and the buffers outlive the wait in `download`.
        unsafe { stream.launch(finds, Launch::line(BLOCKS, 256), &args)? };
        let mut words = [0u32; 8];
        stream.download(&present, 0, &mut words)?;
        let is = |symbol: &u8| words[usize::from(*symbol) / 32] >> (symbol % 32) & 1 == 1;
        let alphabet = (0..=u8::MAX).filter(is).collect();
        Ok(Self { symbols, firsts, columns, alphabet })
    }

    /// Whether it is that of `sequences`.
    pub fn is_of(&self, sequences: &[&[u8]]) -> bool {
        let (firsts, count) = firsts(sequences);
        let same = |part: std::ops::Range<usize>| {
            pieces(sequences, &firsts, part)
                .all(|(from, piece)| self.symbols[from..from + piece.len()] == *piece)
        };
        count == self.symbols.len()
            && firsts == self.firsts
            && over_parts(count, SHARE, same).into_iter().all(|same| same)
    }

    /// Itself, if it is worth the memory.
    pub fn kept(self) -> Option<Self> {
        (self.symbols.len() <= MOST).then_some(self)
    }
}

/// Where each of `sequences` begins, and how many symbols there are.
fn firsts(sequences: &[&[u8]]) -> (Vec<u64>, usize) {
    let mut count = 0;
    let place = |sequence: &&[u8]| {
        let first = count as u64;
        count += sequence.len();
        first
    };
    let firsts = sequences.iter().map(place).collect();
    (firsts, count)
}

/// Symbols number `range` of all: pieces of `sequences`, and where each is.
fn pieces<'s>(
    sequences: &'s [&'s [u8]],
    firsts: &'s [u64],
    range: std::ops::Range<usize>,
) -> impl Iterator<Item = (usize, &'s [u8])> {
    let begin = firsts.partition_point(|&first| first as usize <= range.start).saturating_sub(1);
    let all = sequences.iter().zip(firsts).skip(begin);
    all.take_while(move |(_, first)| (**first as usize) < range.end).map(
        move |(sequence, first)| {
            let first = *first as usize;
            let [from, to] =
                [range.start.max(first), range.end.min(first + sequence.len()).max(first)];
            (from, &sequence[from.min(to) - first..to - first])
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_database_are_pieces_of_sequences() {
        let sequences: [&[u8]; 6] = [b"AB", b"", b"CDE", b"", b"", b"F"];
        let (firsts, count) = firsts(&sequences);
        assert_eq!((&firsts[..], count), (&[0, 2, 2, 5, 5, 5][..], 6));
        for begin in 0..count {
            for end in begin + 1..=count {
                let mut part = vec![0; end - begin];
                for (from, piece) in pieces(&sequences, &firsts, begin..end) {
                    part[from - begin..][..piece.len()].copy_from_slice(piece);
                }
                assert_eq!(part, b"ABCDEF"[begin..end], "{begin} {end}");
            }
        }
    }
}
