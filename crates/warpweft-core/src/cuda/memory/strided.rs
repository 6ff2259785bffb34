//! Copies of boxes between a dense array on the host and a padded one on the device.

use cudarc::driver::sys;
use cudarc::driver::sys::{CUDA_MEMCPY3D as Copy3, CUmemorytype as Kind};

use super::buffer::Buffer;
use super::rows::{End, Extents, Rows};
use super::staged;
use crate::cuda::device::Stream;
use crate::error::Result;

impl Stream {
    /// Copies the box from the host's layout to the device's, after all queued work, and waits.
    ///
    /// # Errors
    /// [`crate::Error::Spec`] when the box leaves either array; the driver's.
    pub fn upload_box(
        &self,
        extents: Extents,
        to: (&Buffer, Rows),
        from: (&[u8], Rows),
    ) -> Result<()> {
        to.1.check(extents, to.0.bytes(), "the device")?;
        from.1.check(extents, from.0.len(), "the host")?;
        let ends = (End::Device(to.0.address()), End::Host(from.0.as_ptr().cast_mut()));
        if staged::pays(extents, from.1) {
            return self.upload_staged(extents, to, from);
        }
        // SAFETY: both boxes are in bounds, and the host's array is only read.
        unsafe { self.copy_box(extents, (ends.0, to.1), (ends.1, from.1)) }?;
        self.synchronize()
    }

    /// Copies the box from the device's layout to the host's, after all queued work, and waits.
    ///
    /// # Errors
    /// As [`Stream::upload_box`].
    pub fn download_box(
        &self,
        extents: Extents,
        from: (&Buffer, Rows),
        to: (&mut [u8], Rows),
    ) -> Result<()> {
        from.1.check(extents, from.0.bytes(), "the device")?;
        to.1.check(extents, to.0.len(), "the host")?;
        let ends = (End::Host(to.0.as_mut_ptr()), End::Device(from.0.address()));
        if staged::pays(extents, to.1) {
            return self.download_staged(extents, from, to);
        }
        // SAFETY: both boxes are in bounds, and the host's array is borrowed exclusively.
        unsafe { self.copy_box(extents, (ends.0, to.1), (ends.1, from.1)) }?;
        self.synchronize()
    }

    /// Queues the copy of a box.
    ///
    /// # Safety
    /// Both boxes must be in bounds until the stream is done with them, the destination's to be written.
    pub(super) unsafe fn copy_box(
        &self,
        extents: Extents,
        to: (End, Rows),
        from: (End, Rows),
    ) -> Result<()> {
        let [row, rows, planes, blocks] = extents;
        if extents.contains(&0) {
            return Ok(());
        }
        self.device().bind()?;
        // A plane that is no whole number of rows away takes a copy of its own.
        let whole = (to.1.height(extents), from.1.height(extents));
        let (depth, heights) = match whole {
            (Some(to), Some(from)) => (planes, (to, from)),
            _ => (1, (rows, rows)),
        };
        for block in 0..blocks {
            for plane in (0..planes).step_by(depth) {
                let mut copy = empty();
                (copy.WidthInBytes, copy.Height, copy.Depth) = (row, rows, depth);
                (copy.dstPitch, copy.dstHeight) = (to.1.pitch(extents), heights.0);
                (copy.srcPitch, copy.srcHeight) = (from.1.pitch(extents), heights.1);
                match (to.0, to.1.at(plane, block)) {
                    (End::Device(base), offset) => {
                        copy.dstMemoryType = Kind::CU_MEMORYTYPE_DEVICE;
                        copy.dstDevice = base + offset as u64;
                    }
                    (End::Host(base), offset) => {
                        copy.dstHost = base.wrapping_add(offset).cast();
                    }
                }
                match (from.0, from.1.at(plane, block)) {
                    (End::Device(base), offset) => {
                        copy.srcMemoryType = Kind::CU_MEMORYTYPE_DEVICE;
                        copy.srcDevice = base + offset as u64;
                    }
                    (End::Host(base), offset) => {
                        copy.srcHost = base.wrapping_add(offset).cast_const().cast();
                    }
                }
                // SAFETY: the caller vouches for both boxes.
                let code = unsafe { sys::cuMemcpy3DAsync_v2(&copy, self.raw()) };
                self.device().check(code, "copying a box")?;
            }
        }
        Ok(())
    }
}

/// A copy of nothing from host to host.
fn empty() -> Copy3 {
    Copy3 {
        srcXInBytes: 0,
        srcY: 0,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: Kind::CU_MEMORYTYPE_HOST,
        srcHost: std::ptr::null(),
        srcDevice: 0,
        srcArray: std::ptr::null_mut(),
        reserved0: std::ptr::null_mut(),
        srcPitch: 0,
        srcHeight: 0,
        dstXInBytes: 0,
        dstY: 0,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: Kind::CU_MEMORYTYPE_HOST,
        dstHost: std::ptr::null_mut(),
        dstDevice: 0,
        dstArray: std::ptr::null_mut(),
        reserved1: std::ptr::null_mut(),
        dstPitch: 0,
        dstHeight: 0,
        WidthInBytes: 0,
        Height: 0,
        Depth: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_must_lie_inside_and_its_rows_apart() {
        let extents = [8, 3, 2, 1];
        let rows = Rows { offset: 4, strides: [16, 64, 0] };
        assert_eq!(rows.end(extents), Some(4 + 8 + 2 * 16 + 64));
        assert!(rows.check(extents, 108, "the host").is_ok());
        assert!(rows.check(extents, 107, "the host").is_err());
        let overlapping = Rows { offset: 0, strides: [4, 64, 0] };
        assert!(overlapping.check(extents, 1000, "the host").is_err());
        let huge = Rows { offset: 0, strides: [16, usize::MAX, 0] };
        assert!(huge.check([8, 1, 3, 1], 1000, "the host").is_err());
        assert_eq!(Rows::dense(extents).end(extents), Some(48));
    }

    #[test]
    fn planes_a_whole_number_of_rows_apart_go_in_one_copy() {
        let extents = [8, 3, 2, 1];
        assert_eq!(Rows { offset: 0, strides: [16, 64, 0] }.height(extents), Some(4));
        assert_eq!(Rows { offset: 0, strides: [16, 72, 0] }.height(extents), None);
        assert_eq!(Rows { offset: 0, strides: [16, 32, 0] }.height(extents), None);
    }
}
