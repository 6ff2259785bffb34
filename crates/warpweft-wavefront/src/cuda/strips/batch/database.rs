//! The columns of a search in device memory: kept for the next search, as many queries go through one database.

use super::items::{Items, Target};
use crate::spec::ErasedPairs;
use warpweft_core::cuda::{Args, Buffer, Kernel, Launch, Pinned, Stream};
use warpweft_core::error::Result;
use warpweft_core::grid::{in_parts, over_parts};
use warpweft_core::memory::check_room;

/// Bytes of a database that is kept at most, on the host and on the device.
const MOST: usize = 256 << 20;
/// Bytes of lines that are kept at most.
const MOST_LINES: usize = 512 << 20;
/// Bytes that a thread copies or compares.
const SHARE: usize = 4 << 20;
/// Blocks of the kernel that finds symbols.
const BLOCKS: u32 = 264;

/// A kernel of searches: what defines the element and its cell, and the rows of a lane.
pub(in crate::cuda::strips) type SearchKey = ([usize; 2], Option<u32>);

/// Sequences of symbols of a byte, behind one another.
pub(in crate::cuda::strips) struct Database {
    of: Of,
    /// Where each sequence begins.
    pub firsts: Vec<u64>,
    pub columns: Buffer,
    /// The symbols that there are, in order.
    pub alphabet: Vec<u8>,
    /// The numbers of 256 symbols, then the symbols by number.
    pub symbols: Buffer,
    /// A score a problem of the last search, there and here.
    pub found: Buffer,
    pub scores: Pinned<i32>,
    /// All sequences by twos, for lines of one or another cell.
    whole: Vec<Items>,
    lines: Option<Buffer>,
}

/// What tells whether another search is over the same sequences.
enum Of {
    /// The database's number.
    Number(u64),
    /// All symbols.
    Symbols(Vec<u8>),
}

impl Database {
    /// That of the columns of `pairs`; `finds` is the kernel `wavefront_symbols`.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn of(pairs: &dyn ErasedPairs, stream: &Stream, finds: &Kernel) -> Result<Self> {
        let sequences = &bytes_of_all(pairs)[..];
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
        let alphabet = alphabet(&columns, stream, finds)?;
        let mut table = [0u8; 512];
        for (number, &symbol) in (0..=u8::MAX).zip(&alphabet) {
            table[usize::from(symbol)] = number;
            table[256 + usize::from(number)] = symbol;
        }
        Ok(Self {
            of: match pairs.database() {
                Some(database) => Of::Number(database.number),
                None => Of::Symbols(symbols),
            },
            firsts,
            columns,
            alphabet,
            symbols: Buffer::from_slice(stream, &table)?,
            found: Buffer::new(stream.device(), 4 * pairs.len())?,
            scores: Pinned::new(stream.device(), pairs.len())?,
            whole: Vec::new(),
            lines: None,
        })
    }

    /// Itself with room for a score of each of `pairs`, if it is that of their columns.
    ///
    /// # Errors
    /// As [`Database::of`].
    pub fn again(mut self, pairs: &dyn ErasedPairs, stream: &Stream) -> Result<Option<Self>> {
        let same = match (&self.of, pairs.database()) {
            (Of::Number(number), Some(database)) => *number == database.number,
            (Of::Symbols(symbols), None) => self.holds(symbols, &bytes_of_all(pairs)),
            _ => false,
        };
        if same && self.scores.len() != pairs.len() {
            self.found = Buffer::new(stream.device(), 4 * pairs.len())?;
            self.scores = Pinned::new(stream.device(), pairs.len())?;
        }
        Ok(same.then_some(self))
    }

    /// Whether its `symbols` are those of `sequences`.
    fn holds(&self, symbols: &[u8], sequences: &[&[u8]]) -> bool {
        let (firsts, count) = firsts(sequences);
        let same = |part: std::ops::Range<usize>| {
            pieces(sequences, &firsts, part)
                .all(|(from, piece)| symbols[from..from + piece.len()] == *piece)
        };
        count == symbols.len()
            && firsts == self.firsts
            && over_parts(count, SHARE, same).into_iter().all(|same| same)
    }

    /// Itself, if it is worth the memory.
    pub fn kept(mut self) -> Option<Self> {
        self.lines = self.lines.filter(|lines| lines.bytes() <= MOST_LINES);
        (self.columns.bytes() <= MOST).then_some(self)
    }

    /// Makes the items of all sequences, which are the columns of `pairs` that have their numbers, with lines of cells of
    /// `cell` bytes, unless they are there; where there is memory for the lines.
    ///
    /// # Errors
    /// Too little memory on the device; the driver's.
    pub fn prepare(
        &mut self,
        pairs: &dyn ErasedPairs,
        cell: usize,
        stream: &Stream,
    ) -> Result<u64> {
        if self.whole(cell).is_none() {
            let targets = self.firsts.iter().zip(0u32..).map(|(&first, number)| Target {
                number,
                first,
                columns: pairs.columns(number as usize).1 as u64,
            });
            let targets: Vec<_> = targets.collect();
            self.whole.push(Items::of(&targets, cell, stream)?);
        }
        let bytes = self.whole(cell).map_or(0, |items| items.lines() * cell);
        if bytes > self.lines.as_ref().map_or(0, Buffer::bytes) {
            // There need not be memory for both.
            self.lines = None;
            self.lines = Some(Buffer::new(stream.device(), bytes)?);
        }
        Ok(self.lines.as_ref().map_or(0, Buffer::address))
    }

    /// The items of all sequences for lines of such cells, if they were made.
    pub(super) fn whole(&self, cell: usize) -> Option<&Items> {
        self.whole.iter().find(|items| items.cell == cell)
    }
}

/// The columns of `pairs`.
fn bytes_of_all(pairs: &dyn ErasedPairs) -> Vec<&[u8]> {
    (0..pairs.counts()[1]).map(|sequence| pairs.columns(sequence).0).collect()
}

/// The symbols that there are in `columns`, in order.
fn alphabet(columns: &Buffer, stream: &Stream, finds: &Kernel) -> Result<Vec<u8>> {
    let present = Buffer::zeroed(stream, 32)?;
    let mut args = Args::new();
    args.buffer(columns);
    args.value(columns.bytes() as u64);
    args.buffer(&present);
    // SAFETY: the arguments are those of `wavefront_symbols`, and the buffers outlive the wait in `download`.
    unsafe { stream.launch(finds, Launch::line(BLOCKS, 256), &args)? };
    let mut words = [0u32; 8];
    stream.download(&present, 0, &mut words)?;
    let is = |symbol: &u8| words[usize::from(*symbol) / 32] >> (symbol % 32) & 1 == 1;
    Ok((0..=u8::MAX).filter(is).collect())
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
