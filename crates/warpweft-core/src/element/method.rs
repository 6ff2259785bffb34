//! Which methods and conversions numbers have in Rust, for the type-checked copy of a body.
//!
//! CUDA text has one function for each method on the list, whatever function Rust resolved the name to. So
//! each call goes through [`method`] here, which knows the numbers' own methods and those of [`super::Real`].
//! A method of a user's trait is a compile error, not a different function on the device. Inherent methods
//! come before those of any trait, so a number that has one cannot mean another.

use super::{Scalar, bf16, f16};

/// A number with Rust's own method of the name `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such method in device code",
    label = "not a method of this type's own",
    note = "a method of your own trait or type has no translation: write a free function with `#[device]`; of a reference write `*x`; docs/guide/elements.md lists the methods of numbers, those of a type parameter are `Real`'s"
)]
pub trait Has<M>: Scalar {
    /// The arguments after the receiver, as a tuple.
    type Arguments;
    /// What it returns.
    type Output;
    /// Calls the method. This is not a method itself, so type parameters get no additional method.
    fn __call(value: Self, arguments: Self::Arguments) -> Self::Output;
}

/// `value.m(..)`, where `m` is Rust's own method.
#[inline(always)]
pub fn method<M, T: Has<M>>(_: M, value: T, arguments: T::Arguments) -> T::Output {
    T::__call(value, arguments)
}

/// The methods of [`super::Real`], which are those of type parameters.
pub trait RealMethods:
    Has<name::abs, Arguments = (), Output = Self>
    + Has<name::sqrt, Arguments = (), Output = Self>
    + Has<name::mul_add, Arguments = (Self, Self), Output = Self>
    + Has<name::min, Arguments = (Self,), Output = Self>
    + Has<name::max, Arguments = (Self,), Output = Self>
{
}

impl RealMethods for f32 {}
impl RealMethods for f64 {}

/// A floating-point scalar, `f32` or `f64`. Generic element functions use it as a bound.
pub trait Real:
    Scalar
    + RealMethods
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
    + std::ops::AddAssign
    + std::ops::SubAssign
    + std::ops::MulAssign
    + std::ops::DivAssign
{
    /// A literal of this type: `T::lit(0.25)`. The `f64` is rounded once.
    fn lit(value: f64) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Correctly rounded square root.
    fn sqrt(self) -> Self;
    /// Fused multiply-add, `self * a + b` rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The smaller value; a NaN argument is ignored.
    fn min(self, other: Self) -> Self;
    /// The larger value; a NaN argument is ignored.
    fn max(self, other: Self) -> Self;
}

macro_rules! reals {
    ($($t:ty),*) => {$(
        impl Real for $t {
            #[inline(always)]
            fn lit(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn abs(self) -> Self { self.abs() }
            #[inline(always)]
            fn sqrt(self) -> Self { self.sqrt() }
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self { self.mul_add(a, b) }
            #[inline(always)]
            fn min(self, other: Self) -> Self { self.min(other) }
            #[inline(always)]
            fn max(self, other: Self) -> Self { self.max(other) }
        }
    )*};
}
reals!(f32, f64);

/// A float with `from_bits`.
#[diagnostic::on_unimplemented(
    message = "`from_bits` is not a function of `{Self}` in device code",
    note = "write `f32::from_bits` or `f64::from_bits`"
)]
pub trait FromBits: Scalar {
    /// The unsigned integer of the same size.
    type Bits;
    /// The float with these bits.
    fn of(bits: Self::Bits) -> Self;
}

/// `T::from_bits(bits)`.
#[inline(always)]
pub fn from_bits<T: FromBits>(bits: T::Bits) -> T {
    T::of(bits)
}

/// A two-byte float with `from_f32`.
#[diagnostic::on_unimplemented(
    message = "`from_f32` is not a function of `{Self}` in device code",
    note = "write `T::narrow(x)`, `f16::from_f32(x)` or `bf16::from_f32(x)`"
)]
pub trait FromF32: Scalar {
    /// The nearest to `value`.
    fn of(value: f32) -> Self;
}

/// `T::from_f32(value)`.
#[inline(always)]
pub fn from_f32<T: FromF32>(value: f32) -> T {
    T::of(value)
}

/// A function that is the one which `F` names.
#[diagnostic::on_unimplemented(
    message = "this is a function of your own trait: it has no translation",
    label = "not the conversion of numbers of this name",
    note = "write `x as T`, or a free function with `#[device]`"
)]
pub trait Is<F> {}

impl<F> Is<F> for F {}
// With only one implementation rustc would unify the types and not give the message above.
impl<F> Is<Another<F>> for F {}

/// No function.
#[derive(Debug)]
pub struct Another<F>(std::marker::PhantomData<F>);

/// `found`, if it is `wanted`: every function has a type of its own.
#[inline(always)]
pub fn resolved<F: Is<G>, G>(found: F, _wanted: G) -> F {
    found
}

/// Names of methods, as types.
macro_rules! names {
    ($($name:ident)*) => {
        /// The names that [`method`] is called with.
        #[allow(non_camel_case_types)]
        pub mod name {
            $(
                #[doc = concat!("The name `", stringify!($name), "`.")]
                #[derive(Clone, Copy, Debug)]
                pub struct $name;
            )*
        }
    };
}
names! {
    abs signum min max clamp rem_euclid div_euclid sqrt mul_add floor ceil round round_ties_even trunc
    fract copysign powi recip to_degrees to_radians is_nan is_finite is_infinite is_sign_negative
    is_sign_positive to_bits to_f32 exp exp2 exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan atan2 sinh
    cosh tanh powf cbrt hypot pow wrapping_add wrapping_sub wrapping_mul wrapping_neg wrapping_abs
    wrapping_pow wrapping_shl wrapping_shr wrapping_div wrapping_rem saturating_add saturating_sub
    saturating_mul unsigned_abs abs_diff count_ones count_zeros leading_zeros trailing_zeros
    rotate_left rotate_right swap_bytes reverse_bits is_positive is_negative is_power_of_two
}

/// Methods for a list of types. A path to a method that a type does not have is an error here.
macro_rules! methods {
    ([$($t:ident)*] $methods:tt) => { $(methods!(@ $t $methods);)* };
    (@ $t:ident { $($name:ident($($x:ident: $a:ty),*) -> $out:ty;)* }) => {$(
        impl Has<name::$name> for $t {
            type Arguments = ($($a,)*);
            type Output = $out;
            #[inline(always)]
            fn __call(value: Self, ($($x,)*): Self::Arguments) -> $out {
                <$t>::$name(value, $($x),*)
            }
        }
    )*};
}
methods!([i8 i16 i32 i64 isize u8 u16 u32 u64 usize bool] {
    min(y: Self) -> Self;
    max(y: Self) -> Self;
    clamp(low: Self, high: Self) -> Self;
});
methods!([i8 i16 i32 i64 isize u8 u16 u32 u64 usize] {
    rem_euclid(y: Self) -> Self;
    div_euclid(y: Self) -> Self;
    pow(n: u32) -> Self;
    wrapping_add(y: Self) -> Self;
    wrapping_sub(y: Self) -> Self;
    wrapping_mul(y: Self) -> Self;
    wrapping_neg() -> Self;
    wrapping_pow(n: u32) -> Self;
    wrapping_shl(n: u32) -> Self;
    wrapping_shr(n: u32) -> Self;
    wrapping_div(y: Self) -> Self;
    wrapping_rem(y: Self) -> Self;
    saturating_add(y: Self) -> Self;
    saturating_sub(y: Self) -> Self;
    saturating_mul(y: Self) -> Self;
    count_ones() -> u32;
    count_zeros() -> u32;
    leading_zeros() -> u32;
    trailing_zeros() -> u32;
    rotate_left(n: u32) -> Self;
    rotate_right(n: u32) -> Self;
    swap_bytes() -> Self;
    reverse_bits() -> Self;
});
methods!([i8 i16 i32 i64 isize] {
    abs() -> Self;
    signum() -> Self;
    wrapping_abs() -> Self;
    is_positive() -> bool;
    is_negative() -> bool;
});
methods!([u8 u16 u32 u64 usize] {
    abs_diff(y: Self) -> Self;
    is_power_of_two() -> bool;
});
methods!([f32 f64] {
    abs() -> Self;
    sqrt() -> Self;
    mul_add(a: Self, b: Self) -> Self;
    min(y: Self) -> Self;
    max(y: Self) -> Self;
    signum() -> Self;
    clamp(low: Self, high: Self) -> Self;
    rem_euclid(y: Self) -> Self;
    div_euclid(y: Self) -> Self;
    floor() -> Self;
    ceil() -> Self;
    round() -> Self;
    round_ties_even() -> Self;
    trunc() -> Self;
    fract() -> Self;
    copysign(y: Self) -> Self;
    powi(n: i32) -> Self;
    recip() -> Self;
    to_degrees() -> Self;
    to_radians() -> Self;
    is_nan() -> bool;
    is_finite() -> bool;
    is_infinite() -> bool;
    is_sign_negative() -> bool;
    is_sign_positive() -> bool;
    exp() -> Self;
    exp2() -> Self;
    exp_m1() -> Self;
    ln() -> Self;
    ln_1p() -> Self;
    log2() -> Self;
    log10() -> Self;
    sin() -> Self;
    cos() -> Self;
    tan() -> Self;
    asin() -> Self;
    acos() -> Self;
    atan() -> Self;
    atan2(y: Self) -> Self;
    sinh() -> Self;
    cosh() -> Self;
    tanh() -> Self;
    powf(y: Self) -> Self;
    cbrt() -> Self;
    hypot(y: Self) -> Self;
});

/// Methods whose types differ from integer to integer.
macro_rules! unsigned {
    ($($t:ident => $unsigned:ident),*) => {
        $(methods!([$t] { unsigned_abs() -> $unsigned; abs_diff(y: Self) -> $unsigned; });)*
    };
}
unsigned!(i8 => u8, i16 => u16, i32 => u32, i64 => u64, isize => usize);

/// Methods whose types differ from float to float.
macro_rules! bits {
    ($($t:ident => $bits:ident),*) => {$(
        methods!([$t] { to_bits() -> $bits; });
        impl FromBits for $t {
            type Bits = $bits;
            fn of(bits: $bits) -> Self { <$t>::from_bits(bits) }
        }
    )*};
}
bits!(f32 => u32, f64 => u64);

methods!([f16 bf16] {
    to_bits() -> u16;
    to_f32() -> f32;
    is_nan() -> bool;
    is_finite() -> bool;
    is_infinite() -> bool;
    is_sign_negative() -> bool;
    is_sign_positive() -> bool;
});

impl FromF32 for f16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl FromF32 for bf16 {
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

/// If both this and a user's trait have a method that takes `&self`, the call is ambiguous; `Fields` does
/// this for `to_f64`. For methods that take `self`, the library's own trait makes the call ambiguous.
pub mod by_reference {
    use super::Scalar;

    /// The name `widen`.
    pub trait Widen {
        /// Nothing.
        fn widen(&self) {}
    }
    impl<T: Scalar> Widen for T {}

    /// The name `len`.
    #[expect(clippy::len_without_is_empty, reason = "the name is all it has")]
    pub trait Len {
        /// Nothing.
        fn len(&self) {}
    }
    impl<T, const N: usize> Len for [T; N] {}
}

/// The length of an array; Rust defines it for slices.
#[expect(clippy::len_without_is_empty, reason = "no array of device code is empty")]
pub trait Len {
    /// Number of elements.
    fn len(self) -> usize;
}

impl<T, const N: usize> Len for [T; N] {
    fn len(self) -> usize {
        N
    }
}
