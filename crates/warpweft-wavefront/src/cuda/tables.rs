//! Parameters as a device gets them: the slices that they hold are copied there, and their addresses are those of the copies.

use std::collections::HashMap;
use std::mem::MaybeUninit;

use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::element::TableBytes;
use warpweft_core::error::Result;
use warpweft_core::memory::room;

/// Bytes between the beginnings of copies.
const APART: usize = 256;

/// Parameters for one device.
pub(super) struct OnDevice {
    pub parameters: Vec<u8>,
    /// What they point to.
    _copies: Option<Buffer>,
}

impl OnDevice {
    /// Those of one or several elements, with `tables` in them; a slice that is there several times is copied once.
    ///
    /// # Errors
    /// Too little memory on the device or the host; the driver's.
    pub fn new(stream: &Stream, parameters: &[u8], tables: &[TableBytes<'_>]) -> Result<Self> {
        let mut parameters = parameters.to_vec();
        if tables.is_empty() {
            return Ok(Self { parameters, _copies: None });
        }
        let Layout { firsts, copied, bytes } = Layout::of(tables);
        let mut all = room(bytes, "give smaller slices")?;
        for table in copied.iter().map(|&k| &tables[k]) {
            all.extend_from_slice(table.bytes);
            all.resize(all.len() - table.bytes.len() + taken(table), MaybeUninit::new(0));
        }
        let copies = Buffer::new(stream.device(), bytes)?;
        stream.upload_bytes(&copies, 0, &all)?;
        for (TableBytes { offset, .. }, first) in tables.iter().zip(firsts) {
            if let Some(to) = parameters.get_mut(*offset..offset + 8) {
                to.copy_from_slice(&(copies.address() + first as u64).to_ne_bytes());
            }
        }
        Ok(Self { parameters, _copies: Some(copies) })
    }
}

/// Bytes that a copy takes: of an empty slice one item may be read.
fn taken(table: &TableBytes<'_>) -> usize {
    table.bytes.len().max(table.item).max(1).next_multiple_of(APART)
}

/// Where copies of slices lie in one buffer.
struct Layout {
    /// Where that of each slice begins.
    firsts: Vec<usize>,
    /// The slices that are copied, each once.
    copied: Vec<usize>,
    bytes: usize,
}

impl Layout {
    fn of(tables: &[TableBytes<'_>]) -> Self {
        let (mut known, mut copied, mut bytes) = (HashMap::new(), Vec::new(), 0);
        let place = |(k, table): (usize, &TableBytes<'_>)| {
            let same = (table.bytes.as_ptr(), table.bytes.len(), table.item);
            *known.entry(same).or_insert_with(|| {
                let first = bytes;
                copied.push(k);
                bytes += taken(table);
                first
            })
        };
        let firsts = tables.iter().enumerate().map(place).collect();
        Self { firsts, copied, bytes }
    }
}

/// Tables of several elements of `size` bytes each that lie behind one another, those of the first first.
pub(super) fn behind<'t>(
    each: impl Iterator<Item = &'t [TableBytes<'t>]>,
    size: usize,
) -> Vec<TableBytes<'t>> {
    let of_one = |(k, tables): (usize, &'t [TableBytes<'t>])| {
        tables.iter().map(move |table| TableBytes { offset: k * size + table.offset, ..*table })
    };
    each.enumerate().flat_map(of_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_hold_an_item_and_slices_are_copied_once() {
        let bytes = [MaybeUninit::new(0); 600];
        let of = |bytes, item| TableBytes { offset: 0, bytes, item };
        let tables = [of(&bytes[..], 1), of(&[], 32_768), of(&bytes, 1), of(&bytes[..10], 1)];
        let Layout { firsts, copied, bytes } = Layout::of(&tables);
        assert_eq!((&firsts[..], &copied[..]), (&[0, 768, 0, 768 + 32_768][..], &[0, 1, 3][..]));
        assert_eq!(bytes, 768 + 32_768 + 256);
    }

    /// With a comparison of each with each: 10,000 times as many.
    #[test]
    fn many_slices_are_laid_out_in_one_pass() {
        let bytes = [MaybeUninit::new(0); 300_000];
        let tables = bytes.chunks(3).map(|bytes| TableBytes { offset: 0, bytes, item: 3 });
        let layout = Layout::of(&tables.collect::<Vec<_>>());
        assert_eq!((layout.copied.len(), layout.bytes), (100_000, 256 * 100_000));
    }
}
