//! What an element function is: scalars, fields, neighbourhoods and their CUDA text.
//!
//! Nothing here needs a machine: this module allocates no device memory, starts no threads and knows no
//! pattern. The attribute macros generate implementations of its traits, and rustc supplies the types: see
//! [`Slot`].

mod cell_type;
mod device;
mod fields;
#[doc(hidden)]
pub mod method;
mod near;
mod packed;
mod scalar;
mod shadow;
mod stored;
mod text;
mod unit;
mod words;

pub use cell_type::Bits;
pub use cell_type::CellType;
pub use device::{DeviceFn, DeviceType, Slot};
#[doc(hidden)]
pub use device::{Length, function_of, length, length_of, type_of, value_of};
pub use fields::{FieldInfo, FieldName, Fields, Near};
#[doc(hidden)]
pub use fields::{all_fields, ascending, element_of};
pub use half::{bf16, f16};
pub use method::Real;
pub use near::{Bounds, CellPtr, Checked, MAX_FIELDS, ScalarNear, Unchecked};
pub use packed::Packed;
#[doc(hidden)]
pub use packed::struct_form;
pub use scalar::{Scalar, ScalarKind};
pub use shadow::{Comparable, Convertible, comparable, convertible, like, scalar};
pub use stored::Stored;
#[doc(hidden)]
pub use text::{
    Holes, Value, define_load, define_store, define_struct, enum_text, index_site_text, key,
    site_text, struct_value, texts,
};
pub use unit::{Site, Unit};
pub use words::{Counter, Shared, Table, TableBytes, Word};
#[doc(hidden)]
pub use words::{DeviceSlice, LentSlice, define_shared};

#[doc(inline)]
pub use warpweft_macros::{Device, Fields, boundary, device, reduction, stencil};
