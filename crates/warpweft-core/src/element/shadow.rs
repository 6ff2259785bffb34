//! What the typed shadow of a body passes its operands through; see [`super::Slot`].
//!
//! These functions do nothing. Their bounds make rustc refuse, on the operand, what the device
//! text could not mean: operators and methods that a user's own type overloads.

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

/// What a conversion of numbers takes.
#[inline(always)]
pub fn convertible<T: Convertible>(value: T) -> T {
    value
}

/// The operand of an operator of numbers.
#[inline(always)]
pub fn scalar<T: Scalar>(value: T) -> T {
    value
}

/// The left operand of a comparison.
#[inline(always)]
pub fn comparable<T: Comparable>(value: T) -> T {
    value
}

/// `value`, of the type of an end of the loop it was taken from.
#[inline(always)]
pub fn like<T>(_: T, value: T) -> T {
    value
}
