//! The problems of a search by twos, as its kernel takes them.

use super::place::largest_first;
use super::text::Item;
use crate::recurrence::bytes_of;
use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::error::Result;

/// Bytes of cells between the launches for the rows of one query.
pub(super) const LINES: usize = 1 << 30;

/// A problem of a search.
#[derive(Clone, Copy)]
pub(super) struct Target {
    /// Its number among the results.
    pub number: u32,
    /// Where its columns begin, and how many there are.
    pub first: u64,
    pub columns: u64,
}

/// Items of one launch.
pub(super) struct Chunk {
    pub first: usize,
    pub count: usize,
    /// Cells of their lines.
    pub lines: usize,
}

/// Items in device memory.
pub(super) struct Items {
    /// Bytes of a cell of a line; 0 for none.
    pub cell: usize,
    pub buffer: Buffer,
    pub chunks: Vec<Chunk>,
}

impl Items {
    /// Those of `targets` by twos, those with the most columns first, in chunks whose lines of cells of `cell` bytes fit the
    /// memory for them.
    ///
    /// # Errors
    /// Too little memory on the device; the driver's.
    pub fn of(targets: &[Target], cell: usize, stream: &Stream) -> Result<Self> {
        let (items, chunks) = items(targets, cell);
        Ok(Self { cell, buffer: Buffer::from_slice(stream, bytes_of(&items))?, chunks })
    }

    /// Cells of the lines of a launch at most.
    pub fn lines(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.lines).max().unwrap_or(0)
    }
}

fn items(targets: &[Target], cell: usize) -> (Vec<Item>, Vec<Chunk>) {
    let columns: Vec<_> = targets.iter().map(|target| target.columns).collect();
    let order = largest_first(&columns);
    let mut items = Vec::with_capacity(order.len().div_ceil(2));
    let mut chunks = vec![Chunk { first: 0, count: 0, lines: 0 }];
    for two in order.chunks(2) {
        let [low, high] = [two[0], two[two.len() - 1]].map(|k| targets[k as usize]);
        let [low, high] = if low.columns < high.columns { [high, low] } else { [low, high] };
        let count = low.columns as usize;
        let last = chunks.len() - 1;
        if chunks[last].count > 0 && (chunks[last].lines + count) * cell > LINES {
            chunks.push(Chunk { first: items.len(), count: 0, lines: 0 });
        }
        let last = chunks.len() - 1;
        let chunk = &mut chunks[last];
        items.push(Item {
            columns_low: low.first,
            columns_high: high.first,
            line: chunk.lines as u64,
            count_low: count as i32,
            count_high: if two.len() < 2 { 0 } else { high.columns as i32 },
            result_low: low.number,
            result_high: high.number,
        });
        chunk.count += 1;
        chunk.lines += count;
    }
    (items, chunks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_pairs_of_problems_of_about_the_same_size() {
        let targets = [3, 9, 1, 9, 5].iter().zip(10..).map(|(&columns, number)| {
            let first = 100 * u64::from(number);
            Target { number, first, columns }
        });
        let targets: Vec<_> = targets.collect();
        let (all, chunks) = items(&targets, 4);
        let counts: Vec<_> = all.iter().map(|item| [item.count_low, item.count_high]).collect();
        assert_eq!(counts, [[9, 9], [5, 3], [1, 0]]);
        let numbers: Vec<_> = all.iter().map(|item| [item.result_low, item.result_high]).collect();
        assert_eq!(numbers, [[11, 13], [14, 10], [12, 12]]);
        assert_eq!(all.iter().map(|item| item.line).collect::<Vec<_>>(), [0, 9, 14]);
        assert_eq!((all[1].columns_low, chunks.len(), chunks[0].lines), (1400, 1, 15));
        // Of cells two of whose lines do not fit together, each launch has one.
        let (all, chunks) = items(&targets, LINES / 5);
        assert_eq!((all.len(), chunks.len()), (3, 3));
        assert!(all.iter().all(|item| item.line == 0));
    }
}
