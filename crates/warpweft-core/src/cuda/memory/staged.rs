//! Copies of large boxes by way of page-locked buffers. Each of several threads takes the next part of the box, copies it
//! between the host's array and a buffer of its own, and lets the link copy it: so the link is busy with some parts while
//! cores are with others. The driver's own copies of pageable memory use one core.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, available_parallelism, scope};

use super::buffer::{Buffer, Pinned};
use super::rows::{End, Extents, Rows};
use crate::cuda::device::{Device, Event, Stream};
use crate::error::Result;

/// Bytes of a page-locked buffer.
const STAGE: usize = 8 << 20;
/// Threads at most, each with a buffer: as many as keep a link of 55 GB/s busy.
const LANES: usize = 8;
/// Bytes from which on threads are worth what they cost.
const LARGE: usize = 64 << 20;

/// Whether copying a box in stages is faster: it is large, and all of a dense array of the host.
pub(super) fn pays(extents: Extents, host: Rows) -> bool {
    let bytes: usize = extents.iter().product();
    bytes >= LARGE && extents[0] <= STAGE && host == Rows::dense(extents)
}

/// A part of a box, as much as a page-locked buffer holds: planes of one block, or rows of one plane.
struct Part {
    /// Of the part.
    extents: Extents,
    /// The part's first byte in the dense array.
    begin: usize,
    /// Its layout on the device.
    device: Rows,
}

impl Part {
    fn bytes(&self) -> usize {
        self.extents.iter().product()
    }

    /// Its layout in a page-locked buffer.
    fn staged(&self) -> Rows {
        Rows::dense(self.extents)
    }
}

/// The parts of a box, in the order of the dense array.
fn parts(extents: Extents, device: Rows) -> Vec<Part> {
    let [row, rows, planes, blocks] = extents;
    let plane = (row * rows).max(1);
    // Planes of a part, and rows of a plane.
    let [many, high] = match STAGE / plane {
        0 => [1, (STAGE / row).max(1)],
        many => [many, rows.max(1)],
    };
    let mut parts = Vec::new();
    for block in 0..blocks {
        for first in (0..planes).step_by(many) {
            for top in (0..rows).step_by(high) {
                let [stride, of_plane, of_block] = device.strides;
                let offset = device.offset + of_block * block + of_plane * first + stride * top;
                parts.push(Part {
                    extents: [row, high.min(rows - top), many.min(planes - first), 1],
                    begin: plane * (block * planes + first) + row * top,
                    device: Rows { offset, ..device },
                });
            }
        }
    }
    parts
}

/// A page-locked buffer, and when the device is done with it.
struct Stage {
    device: Device,
    buffer: Pinned<u8>,
    done: Event,
}

/// Those that no copy is using: locking pages takes longer than copying them.
static SPARE: Mutex<Vec<Stage>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<Stage>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// A spare one, or a new one.
    fn of(device: &Device) -> Result<Self> {
        let known = {
            let mut spare = spare();
            let at = spare.iter().position(|stage| stage.device == *device);
            at.map(|at| spare.swap_remove(at))
        };
        let new = || {
            let (buffer, done) = (Pinned::new(device, STAGE)?, Event::new(device)?);
            Ok(Self { device: *device, buffer, done })
        };
        known.map_or_else(new, Ok)
    }
}

impl Stream {
    /// Copies the box, which lies inside both arrays and is all of the host's.
    pub(super) fn upload_staged(
        &self,
        extents: Extents,
        to: (&Buffer, Rows),
        from: (&[u8], Rows),
    ) -> Result<()> {
        let parts = parts(extents, to.1).into_iter();
        let parts = parts.map(|part| (&from.0[part.begin..part.begin + part.bytes()], part));
        self.in_lanes(parts, |stage, (bytes, part)| {
            stage.buffer[..bytes.len()].copy_from_slice(bytes);
            let ends = (End::Device(to.0.address()), End::Host(stage.buffer.as_mut_ptr()));
            // SAFETY: the part lies in the box and fits the buffer, which `in_lanes` keeps until the copy is done.
            unsafe { self.copy_box(part.extents, (ends.0, part.device), (ends.1, part.staged())) }?;
            self.record(&stage.done)?;
            stage.done.synchronize()
        })
    }

    /// As [`Stream::upload_staged`], the other way.
    pub(super) fn download_staged(
        &self,
        extents: Extents,
        from: (&Buffer, Rows),
        to: (&mut [u8], Rows),
    ) -> Result<()> {
        let mut rest = to.0;
        let mut taken = Vec::new();
        for part in parts(extents, from.1) {
            let (bytes, after) = std::mem::take(&mut rest).split_at_mut(part.bytes());
            rest = after;
            taken.push((bytes, part));
        }
        self.in_lanes(taken.into_iter(), |stage, (bytes, part)| {
            let ends = (End::Host(stage.buffer.as_mut_ptr()), End::Device(from.0.address()));
            // SAFETY: as above.
            unsafe { self.copy_box(part.extents, (ends.0, part.staged()), (ends.1, part.device)) }?;
            self.record(&stage.done)?;
            stage.done.synchronize()?;
            bytes.copy_from_slice(&stage.buffer[..bytes.len()]);
            Ok(())
        })
    }

    /// Calls `bring` for all parts, on several threads with a buffer each.
    fn in_lanes<P: Send>(
        &self,
        parts: impl ExactSizeIterator<Item = P> + Send,
        bring: impl Fn(&mut Stage, P) -> Result<()> + Sync,
    ) -> Result<()> {
        let lanes = available_parallelism().map_or(1, usize::from).min(LANES).min(parts.len());
        let (parts, failed, refused) = (Mutex::new(parts), Mutex::new(None), Mutex::new(None));
        let next = || match locked(&failed).is_some() {
            true => None,
            false => locked(&parts).next(),
        };
        let lane = || {
            let mut stage = match Stage::of(self.device()) {
                Ok(stage) => stage,
                Err(error) => {
                    locked(&refused).get_or_insert(error);
                    return;
                }
            };
            while let Some(part) = next() {
                if let Err(error) = bring(&mut stage, part) {
                    // The device may still be copying to or from the buffer.
                    let _ = self.synchronize();
                    locked(&failed).get_or_insert(error);
                    return;
                }
            }
            spare().push(stage);
        };
        scope(|scope| {
            for _ in 1..lanes {
                if Builder::new().name("copies".into()).spawn_scoped(scope, lane).is_err() {
                    break;
                }
            }
            lane();
        });
        // A lane without a buffer is an error only if no other brought its parts.
        let (failed, refused, left) =
            (locked(&failed).take(), locked(&refused).take(), locked(&parts).len());
        match failed.or(refused.filter(|_| left > 0)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_make_up_the_box_and_each_fits_a_buffer() {
        let extents = [4096, 1000, 30, 3];
        let device = Rows { offset: 64, strides: [4128, 4128 * 1004, 4128 * 1004 * 32] };
        let mut begin = 0;
        for part in parts(extents, device) {
            assert_eq!(part.begin, begin);
            let plane = begin / (4096 * 1000);
            assert_eq!(part.begin % (4096 * 1000), 0, "planes are whole where they fit");
            let expect = 64 + device.strides[1] * (plane % 30) + device.strides[2] * (plane / 30);
            assert_eq!(part.device.offset, expect);
            assert!(part.bytes() <= STAGE);
            begin += part.bytes();
        }
        assert_eq!(begin, extents.iter().product::<usize>());
        assert!(pays(extents, Rows::dense(extents)) && !pays(extents, device));
        assert!(!pays([100, 100, 100, 1], Rows::dense([100, 100, 100, 1])));
        let flat = [STAGE + 1, 200, 2, 1];
        assert!(!pays(flat, Rows::dense(flat)), "a row is larger than a buffer");
        // Planes that no buffer holds are split by rows.
        let large = [1 << 20, 20, 3, 1];
        let device = Rows { offset: 0, strides: [1 << 21, 21 << 21, 63 << 21] };
        let found = parts(large, device);
        assert_eq!(
            found.iter().map(Part::bytes).collect::<Vec<_>>(),
            [8 << 20, 8 << 20, 4 << 20].repeat(3)
        );
        assert_eq!(found[4].device.offset, (21 << 21) + (8 << 21));
        assert_eq!(found[4].begin, (20 << 20) + (8 << 20));
    }

    #[test]
    fn large_boxes_come_back_as_they_were_sent() {
        let Ok(device) = Device::open(0) else { return println!("skipped: no GPU") };
        let stream = Stream::new(&device).unwrap();
        let extents = [1000, 1000, 37, 2];
        let device_rows = Rows { offset: 128, strides: [1024, 1024 * 1001, 1024 * 1001 * 38] };
        let buffer = Buffer::new(&device, 1024 * 1001 * 38 * 2 + 128).unwrap();
        let sent: Vec<u8> = (0..extents.iter().product()).map(|n: usize| (n % 251) as u8).collect();
        let dense = Rows::dense(extents);
        assert!(pays(extents, dense));
        stream.upload_box(extents, (&buffer, device_rows), (&sent, dense)).unwrap();
        let mut back = vec![0; sent.len()];
        stream.download_box(extents, (&buffer, device_rows), (&mut back, dense)).unwrap();
        assert!(back == sent);
    }
}
