//! Functions that the type-checked copy of a body calls on its operands; see [`super::Slot`].
//!
//! These functions do nothing. Their bounds make rustc refuse, at the operand, operators and methods that a
//! user's own type overloads and that have no meaning in CUDA text.

use super::{DeviceType, Scalar};

/// A type whose values `==` and `<` compare on a device as in Rust.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be compared in device code",
    note = "compare numbers, truth values, or enums with `#[derive(Device)]`; compare the members of a struct or tuple one by one"
)]
pub trait Comparable: DeviceType {}

impl<T: Scalar> Comparable for T {}

/// A number that `T::from` converts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not converted by `from` in device code",
    note = "`from` converts numbers: write a free function with `#[device]` that has a `match` or computes from the members; `x as T` is an enum's discriminant"
)]
pub trait Convertible: DeviceType {}

impl<T: Scalar> Convertible for T {}

/// The argument of a conversion of numbers.
#[inline(always)]
pub fn convertible<T: Convertible>(value: T) -> T {
    value
}

/// An operand of an arithmetic operator.
#[inline(always)]
pub fn scalar<T: Scalar>(value: T) -> T {
    value
}

/// The left operand of a comparison.
#[inline(always)]
pub fn comparable<T: Comparable>(value: T) -> T {
    value
}

/// `value`, with the type of a bound of its loop.
#[inline(always)]
pub fn like<T>(_: T, value: T) -> T {
    value
}
