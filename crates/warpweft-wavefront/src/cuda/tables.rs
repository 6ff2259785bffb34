//! Parameters as a device gets them: the slices that they hold are copied there, and their addresses are those of the copies.

use std::mem::MaybeUninit;

use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::element::TableBytes;
use warpweft_core::error::Result;

/// Bytes of a copy at least: of an empty slice one item may be read.
const LEAST: usize = 256;

/// Parameters for one device.
pub(super) struct OnDevice {
    pub parameters: Vec<u8>,
    /// What they point to.
    _copies: Vec<Buffer>,
}

impl OnDevice {
    /// Those of one or several elements, with `tables` in them; a slice that is there several times is copied once.
    ///
    /// # Errors
    /// Too little memory on the device; the driver's.
    pub fn new(stream: &Stream, parameters: &[u8], tables: &[TableBytes<'_>]) -> Result<Self> {
        let mut parameters = parameters.to_vec();
        let mut copies: Vec<(&[MaybeUninit<u8>], Buffer)> = Vec::new();
        for TableBytes { offset, bytes } in tables {
            let same = |copied: &[MaybeUninit<u8>]| std::ptr::eq(copied, *bytes);
            let address = match copies.iter().rev().find(|(copied, _)| same(copied)) {
                Some((_, buffer)) => buffer.address(),
                None => {
                    let buffer = Buffer::new(stream.device(), bytes.len().max(LEAST))?;
                    stream.upload_bytes(&buffer, 0, bytes)?;
                    let address = buffer.address();
                    copies.push((*bytes, buffer));
                    address
                }
            };
            if let Some(to) = parameters.get_mut(*offset..offset + 8) {
                to.copy_from_slice(&address.to_ne_bytes());
            }
        }
        Ok(Self { parameters, _copies: copies.into_iter().map(|(_, buffer)| buffer).collect() })
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
