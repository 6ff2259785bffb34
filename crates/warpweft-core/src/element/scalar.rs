//! The numeric types an element function may compute with.

use half::{bf16, f16};

use super::DeviceType;

/// The kind of a scalar. Layouts, files and kernels use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScalarKind {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// `isize`, eight bytes.
    Isize,
    /// `usize`, eight bytes.
    Usize,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `f16`, IEEE 754 binary16, stored only.
    F16,
    /// `bf16`, the upper half of an `f32`, stored only.
    Bf16,
}

impl ScalarKind {
    /// Size in bytes; the alignment is the same.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::Isize | Self::Usize | Self::F64 => 8,
        }
    }

    /// Its name in Rust, which is also its name in `namespace ww` on the device.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Isize => "isize",
            Self::Usize => "usize",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
        }
    }

    /// The value of one scalar's bytes as `f64`, converted as `as` does; 0 if the number of bytes is wrong.
    pub fn to_f64(self, bytes: &[u8]) -> f64 {
        macro_rules! number {
            ($t:ty) => {
                bytes.try_into().map_or(0.0, |bytes| <$t>::from_ne_bytes(bytes) as f64)
            };
        }
        macro_rules! bits {
            ($t:ty) => {
                bytes.try_into().map_or(0.0, |bytes| Scalar::to_f64(<$t>::from_ne_bytes(bytes)))
            };
        }
        match self {
            Self::Bool | Self::U8 => number!(u8),
            Self::I8 => number!(i8),
            Self::I16 => number!(i16),
            Self::I32 => number!(i32),
            Self::I64 => number!(i64),
            Self::U16 => number!(u16),
            Self::U32 => number!(u32),
            Self::U64 => number!(u64),
            Self::Isize => number!(isize),
            Self::Usize => number!(usize),
            Self::F32 => number!(f32),
            Self::F64 => number!(f64),
            Self::F16 => bits!(f16),
            Self::Bf16 => bits!(bf16),
        }
    }

    /// Whether `bytes` are valid values of this kind. Only `bool` has invalid ones.
    pub fn allows(self, bytes: &[u8]) -> bool {
        self != Self::Bool || bytes.iter().all(|&byte| byte < 2)
    }
}

/// A number or `bool` that a cell can hold.
///
/// # Safety
/// `KIND.size()` must be the size and alignment of `Self`. Every bit pattern that a kernel writes for that
/// kind must be a valid `Self` (`bool`: only 0 and 1 are written).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a number of device code",
    label = "arithmetic and methods need a number here",
    note = "the numbers are `i8` to `i64`, `u8` to `u64`, `isize`, `usize`, `f32`, `f64` and `bool`; write `*x` to read through a reference, and the members of a struct one by one"
)]
pub unsafe trait Scalar:
    DeviceType + Send + Sync + PartialEq + PartialOrd + Default + std::fmt::Debug + std::fmt::Display
{
    /// Which scalar this is.
    const KIND: ScalarKind;
    /// The nearest value of this type, saturating, as `as` converts.
    fn from_f64(value: f64) -> Self;
    /// The value as `f64`, as `as` converts.
    fn to_f64(self) -> f64;
    /// The value as `i128`, as `as` converts: every integer exactly.
    fn to_i128(self) -> i128;
}

macro_rules! scalars {
    ($($t:ty => $kind:ident),*) => {$(
        // SAFETY: KIND names the same primitive; kernels write only values of that C++ type.
        unsafe impl Scalar for $t {
            const KIND: ScalarKind = ScalarKind::$kind;
            fn from_f64(value: f64) -> Self { value as $t }
            fn to_f64(self) -> f64 { self as f64 }
            #[inline(always)]
            fn to_i128(self) -> i128 { self as i128 }
        }
    )*};
}
scalars!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    isize => Isize, usize => Usize, f32 => F32, f64 => F64);

// SAFETY: as above; a C++ `bool` store writes 0 or 1.
unsafe impl Scalar for bool {
    const KIND: ScalarKind = ScalarKind::Bool;
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline(always)]
    fn to_i128(self) -> i128 {
        i128::from(self)
    }
}
