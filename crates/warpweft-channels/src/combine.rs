//! What becomes of a spawned call's value: stored, or combined with what is there in a way that knows no order.

/// How a value goes to its place.
///
/// Integers only: sums of floats depend on the order in which calls end, which no two runs share.
pub trait Combine<R> {
    /// The new content of the place: `before`, its old content, combined with `value`.
    fn combine(before: R, value: R) -> R;
}

/// `place = spawn!(..)`.
#[derive(Clone, Copy, Debug)]
pub struct Store;
/// `place += spawn!(..)`, wrapping.
#[derive(Clone, Copy, Debug)]
pub struct Add;
/// `place |= spawn!(..)`.
#[derive(Clone, Copy, Debug)]
pub struct Or;
/// `place ^= spawn!(..)`.
#[derive(Clone, Copy, Debug)]
pub struct Xor;

/// An integer of 32 or 64 bits, which GPUs combine in one step.
#[diagnostic::on_unimplemented(
    message = "the values of calls are not combined in a `{Self}`",
    note = "combine them in integers of 32 or 64 bits; give every float a variable of its own and add after `sync!()`"
)]
pub trait Wrapping: Copy {
    /// The sum modulo 2 to the number of bits.
    fn sum(self, other: Self) -> Self;
    /// Bits that either has.
    fn or(self, other: Self) -> Self;
    /// Bits that one has.
    fn xor(self, other: Self) -> Self;
}

macro_rules! wrapping {
    ($($t:ty),*) => {$(
        impl Wrapping for $t {
            #[inline(always)]
            fn sum(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}
wrapping!(i32, u32, i64, u64, isize, usize);

impl<R> Combine<R> for Store {
    #[inline(always)]
    fn combine(_: R, value: R) -> R {
        value
    }
}

macro_rules! combines {
    ($($how:ident by $method:ident),*) => {$(
        impl<R: Wrapping> Combine<R> for $how {
            #[inline(always)]
            fn combine(before: R, value: R) -> R {
                before.$method(value)
            }
        }
    )*};
}
combines!(Add by sum, Or by or, Xor by xor);
