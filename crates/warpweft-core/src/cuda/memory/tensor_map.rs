//! Descriptions of tiled arrays for the copy engine of Hopper and later (TMA).

use cudarc::driver::sys;
use cudarc::driver::sys::{
    CUtensorMapDataType as Type, CUtensorMapFloatOOBfill, CUtensorMapInterleave,
    CUtensorMapL2promotion, CUtensorMapSwizzle,
};

use super::buffer::Buffer;
use crate::error::{Error, Result};

/// What a tiled array's elements are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// One byte.
    U8,
    /// 32-bit integers.
    I32,
    /// 32-bit floats.
    F32,
    /// 64-bit floats.
    F64,
}

impl Element {
    fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::I32 | Self::F32 => 4,
            Self::F64 => 8,
        }
    }
}

/// How a tile lies in shared memory, so that columns spread over the banks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// Row by row.
    #[default]
    None,
    /// 16-byte chunks exchanged within 32 bytes.
    Bytes32,
    /// Within 64 bytes.
    Bytes64,
    /// Within 128 bytes.
    Bytes128,
}

/// A tiled array of 1 to 5 axes, fastest first.
#[derive(Clone, Copy, Debug)]
pub struct Tiled<'a> {
    /// What its elements are.
    pub element: Element,
    /// Elements along each axis. Reads beyond them give zero, writes are dropped.
    pub extents: &'a [u64],
    /// Bytes from an element to the next along each axis but the first; multiples of 16.
    pub strides: &'a [u64],
    /// Elements of a tile along each axis, at most 256; a row is a multiple of 16 bytes.
    pub tile: &'a [u32],
    /// How a tile lies in shared memory.
    pub swizzle: Swizzle,
}

/// A tiled array as the copy engine takes it: a `const __grid_constant__ CUtensorMap` parameter.
///
/// A kernel may ask for tiles at any coordinates, but the first, times the element's size, must be
/// a multiple of 16: at x = -3 of floats an H200 stopped with an illegal instruction.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap {
    raw: sys::CUtensorMap,
}

impl TensorMap {
    /// The tiled array that starts at byte `offset` of `buffer`, a multiple of 16.
    ///
    /// # Errors
    /// [`Error::Spec`] when it leaves the buffer or breaks a rule of the engine; the driver's on
    /// devices without one (before compute capability 9.0).
    pub fn tiled(buffer: &Buffer, offset: usize, tiled: &Tiled) -> Result<Self> {
        let end = tiled.check()?;
        let start = buffer.span(offset, end as usize)?;
        let ones = [1u32; 5];
        let element = match tiled.element {
            Element::U8 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            Element::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
            Element::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            Element::F64 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        };
        let swizzle = match tiled.swizzle {
            Swizzle::None => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            Swizzle::Bytes32 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            Swizzle::Bytes64 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            Swizzle::Bytes128 => CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        buffer.device().bind()?;
        let mut raw = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: the slices have the lengths that the rank implies (checked above), and the map
        // is written to a value of its own type.
        let code = unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut raw,
                element,
                tiled.extents.len() as u32,
                start as *mut _,
                tiled.extents.as_ptr(),
                tiled.strides.as_ptr(),
                tiled.tile.as_ptr(),
                ones.as_ptr(),
                CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        buffer.device().check(code, &format!("describing {tiled:?} to the copy engine"))?;
        Ok(Self { raw })
    }

    pub(in crate::cuda) fn bytes(&self) -> &[u8] {
        super::buffer::bytes_of(&self.raw.opaque)
    }
}

impl Tiled<'_> {
    /// Bytes from the first element to one past the last.
    fn check(&self) -> Result<u64> {
        let rank = self.extents.len();
        let size = self.element.bytes();
        let lengths = (1..=5).contains(&rank)
            && self.strides.len() == rank - 1
            && self.tile.len() == rank
            && self.extents.iter().all(|n| (1..=1 << 32).contains(n))
            && self.tile.iter().all(|&n| (1..=256).contains(&n))
            && self.strides.iter().all(|s| s.is_multiple_of(16) && *s < 1 << 40)
            && (u64::from(self.tile[0]) * size).is_multiple_of(16);
        let mut end = lengths.then(|| self.extents[0] * size);
        for (stride, extent) in self.strides.iter().zip(self.extents.iter().skip(1)) {
            end = end.and_then(|end| end.checked_add(stride.checked_mul(extent - 1)?));
        }
        end.ok_or_else(|| {
            Error::spec(
                format!("the copy engine can't take {self:?}"),
                "give 1 to 5 axes, tiles of at most 256 elements an axis and rows of a multiple \
                 of 16 bytes, strides that are multiples of 16",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_the_copy_engine_are_checked_first() {
        let good = Tiled {
            element: Element::F32,
            extents: &[100, 50, 20],
            strides: &[416, 416 * 50],
            tile: &[32, 8, 1],
            swizzle: Swizzle::None,
        };
        assert_eq!(good.check().unwrap(), 400 + 49 * 416 + 19 * 416 * 50);
        assert!(Tiled { strides: &[404, 20_800], ..good }.check().is_err());
        assert!(Tiled { tile: &[30, 8, 1], ..good }.check().is_err());
        assert!(Tiled { tile: &[512, 8, 1], ..good }.check().is_err());
        assert!(Tiled { extents: &[100, 50], ..good }.check().is_err());
        assert!(Tiled { extents: &[], strides: &[], tile: &[], ..good }.check().is_err());
    }
}
