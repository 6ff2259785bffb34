//! Copies of large boxes by way of two page-locked buffers: all cores copy between the host's array and one of them
//! while the link is busy with the other. The driver's own copies of pageable memory use one core.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::buffer::{Buffer, Pinned};
use super::rows::{End, Extents, Rows};
use crate::cuda::device::{Device, Event, Stream};
use crate::error::Result;
use crate::grid::in_parts;

/// Bytes of a page-locked buffer.
const STAGE: usize = 32 << 20;
/// Bytes that a thread copies at least.
const SHARE: usize = 1 << 20;

/// Whether copying a box in stages is faster: it is large, and all of a dense array of the host.
pub(super) fn pays(extents: Extents, host: Rows) -> bool {
    let bytes: usize = extents.iter().product();
    bytes >= 2 * STAGE && plane(extents) <= STAGE && host == Rows::dense(extents)
}

fn plane(extents: Extents) -> usize {
    extents[0] * extents[1]
}

/// A part of a box: planes of one block, as many as a page-locked buffer holds.
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
fn parts(extents: Extents, device: Rows) -> impl Iterator<Item = Part> {
    let [row, rows, planes, blocks] = extents;
    let most = (STAGE / plane(extents).max(1)).max(1);
    (0..blocks).flat_map(move |block| {
        (0..planes).step_by(most).map(move |first| {
            let few = most.min(planes - first);
            let offset = device.offset + device.strides[1] * first + device.strides[2] * block;
            Part {
                extents: [row, rows, few, 1],
                begin: plane(extents) * (block * planes + first),
                device: Rows { offset, ..device },
            }
        })
    })
}

/// Two page-locked buffers, and when the device is done with each.
struct Stages {
    device: Device,
    buffers: [Pinned<u8>; 2],
    done: [Event; 2],
}

/// Those that no copy is using: locking pages takes longer than copying them.
static SPARE: Mutex<Vec<Stages>> = Mutex::new(Vec::new());

fn spare() -> MutexGuard<'static, Vec<Stages>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stages {
    /// Spare ones, or new ones.
    fn of(device: &Device) -> Result<Self> {
        let known = {
            let mut spare = spare();
            let at = spare.iter().position(|stages| stages.device == *device);
            at.map(|at| spare.swap_remove(at))
        };
        known.map_or_else(
            || {
                let buffer = || Pinned::new(device, STAGE);
                let event = || Event::new(device);
                Ok(Self {
                    device: *device,
                    buffers: [buffer()?, buffer()?],
                    done: [event()?, event()?],
                })
            },
            Ok,
        )
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
        let mut stages = Stages::of(self.device())?;
        let queued = parts(extents, to.1).enumerate().try_for_each(|(n, part)| {
            let (stage, done) = (&mut stages.buffers[n % 2], &stages.done[n % 2]);
            if n > 1 {
                done.synchronize()?;
            }
            let bytes = &from.0[part.begin..part.begin + part.bytes()];
            in_parts(&mut stage[..part.bytes()], SHARE, |first, to| {
                to.copy_from_slice(&bytes[first..first + to.len()]);
            });
            let ends = (End::Device(to.0.address()), End::Host(stage.as_mut_ptr()));
            // SAFETY: the part lies in the box and fits the buffer, which is written or dropped only after `done`.
            unsafe { self.copy_box(part.extents, (ends.0, part.device), (ends.1, part.staged())) }?;
            self.record(done)
        });
        self.synchronize()?;
        spare().push(stages);
        queued
    }

    /// As [`Stream::upload_staged`], the other way.
    pub(super) fn download_staged(
        &self,
        extents: Extents,
        from: (&Buffer, Rows),
        to: (&mut [u8], Rows),
    ) -> Result<()> {
        let mut stages = Stages::of(self.device())?;
        let mut last: Option<(usize, Part)> = None;
        let rest = parts(extents, from.1).enumerate().map(Some).chain([None]);
        let copied = rest.into_iter().try_for_each(|part| {
            if let Some((n, part)) = &part {
                let stage = &mut stages.buffers[n % 2];
                let ends = (End::Host(stage.as_mut_ptr()), End::Device(from.0.address()));
                // SAFETY: the part lies in the box and fits the buffer, which is read or dropped only after `done`.
                unsafe {
                    self.copy_box(part.extents, (ends.0, part.staged()), (ends.1, part.device))
                }?;
                self.record(&stages.done[n % 2])?;
            }
            if let Some((n, part)) = std::mem::replace(&mut last, part) {
                stages.done[n % 2].synchronize()?;
                let bytes = &stages.buffers[n % 2][..part.bytes()];
                let to = &mut to.0[part.begin..part.begin + part.bytes()];
                in_parts(to, SHARE, |first, to| {
                    to.copy_from_slice(&bytes[first..first + to.len()]);
                });
            }
            Ok(())
        });
        self.synchronize()?;
        spare().push(stages);
        copied
    }
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
            let expect = 64 + device.strides[1] * (plane % 30) + device.strides[2] * (plane / 30);
            assert_eq!(part.device.offset, expect);
            assert!(part.bytes() <= STAGE);
            begin += part.bytes();
        }
        assert_eq!(begin, extents.iter().product::<usize>());
        assert!(pays(extents, Rows::dense(extents)) && !pays(extents, device));
        assert!(!pays([100, 100, 100, 1], Rows::dense([100, 100, 100, 1])));
        let flat = [STAGE, 2, 2, 1];
        assert!(!pays(flat, Rows::dense(flat)), "a plane is larger than a buffer");
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
