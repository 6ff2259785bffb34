//! Numbers that a session computes next to its cells: what its reductions give, and arithmetic on them. Not here: the
//! kernel that computes them on a GPU (`cuda::launch::scalars`).

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpweft_core::error::{Error, Result};

/// Numbers that the sessions of a device may hold at once, each.
pub(crate) const CAPACITY: usize = 4096;

/// A number of a [`Session`](crate::Session): what a reduction gives, e.g.
/// [`Session::queue_dot`](crate::Session::queue_dot), or arithmetic on such numbers.
///
/// It lies in the memory of the session's device. On a GPU, reductions, `+ - * /`, negation and
/// [`sqrt`](SessionScalar::sqrt) are queued with the steps, and element functions take the results as parameters:
/// `session.apply(advance::with(alpha))`. So the host does not wait until it reads a number by
/// [`Session::value`](crate::Session::value). On cores, everything is computed immediately. The results have the same bits as
/// `f64` arithmetic on the host.
///
/// On a GPU, a session holds at most 4,096 numbers at a time; dropping one frees its place immediately.
///
/// ```
/// use warpweft::prelude::*;
///
/// #[stencil]
/// fn scale(u: Near<f64, 1>, by: f64) -> f64 {
///     by * u[[0]]
/// }
///
/// let mut line = Volume::from_fn([100], |[x]| (x % 7) as f64);
/// let machine = Machine::detect()?;
/// let mut on = Stencil::of(scale(1.0)).on(&mut line, &machine)?;
/// let norm = on.queue_norm(0)?;
/// on.apply(scale::with(1.0 / norm))?;
/// assert!((on.norm(0)? - 1.0).abs() < 1e-15);
/// # Ok::<(), warpweft::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SessionScalar(Held);

#[derive(Clone, Debug)]
enum Held {
    Value(f64),
    Device(Arc<Slot>),
    /// Why there is none.
    Refused([&'static str; 2]),
}

/// The place of one number on a device.
#[derive(Debug)]
struct Slot {
    bank: Arc<Bank>,
    number: u32,
}

impl Drop for Slot {
    fn drop(&mut self) {
        // What is queued so far uses the place before what is queued later.
        self.bank.state().free.push(self.number);
    }
}

/// The places for numbers on one device, and what is yet to be computed there.
#[derive(Debug)]
pub struct Bank {
    /// The address of the first number.
    base: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<Operation>,
    /// Places that may be taken.
    free: Vec<u32>,
    /// Places that were ever taken.
    taken: u32,
    /// The numbers, once their device has none any more.
    kept: Option<Vec<f64>>,
}

/// What is computed: the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// The sum in an accumulator.
    Sum,
    /// The least number in an accumulator.
    Least,
    /// The greatest.
    Greatest,
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Root,
}

/// One operation, as the kernel has it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Operation {
    pub code: Code,
    /// The place of the result.
    pub to: u32,
    /// The places of the operands, or the accumulator and how many copies of it follow; [`Operation::VALUE`] of an operand
    /// among `values`.
    pub from: [u32; 2],
    pub values: [f64; 2],
}

impl Operation {
    /// Says that an operand is a value.
    pub const VALUE: u32 = u32::MAX;

    /// As the kernel has it.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        let words = [self.code as u32, self.to, self.from[0], self.from[1]];
        let values = self.values.into_iter().flat_map(f64::to_ne_bytes);
        words.into_iter().flat_map(u32::to_ne_bytes).chain(values)
    }
}

impl Code {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Negate => -a,
            Self::Root => a.sqrt(),
            Self::Sum | Self::Least | Self::Greatest => f64::NAN,
        }
    }
}

impl Bank {
    /// For numbers from this address on.
    pub fn new(base: u64) -> Arc<Self> {
        Arc::new(Self { base, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many operations are pending.
    pub fn pending(&self) -> usize {
        self.state().pending.len()
    }

    /// What is pending, for the device to compute now.
    pub fn take_pending(&self) -> Vec<Operation> {
        std::mem::take(&mut self.state().pending)
    }

    /// Ends it: its numbers were these.
    pub fn end(&self, numbers: Vec<f64>) {
        self.state().kept = Some(numbers);
    }

    /// Places that were ever taken.
    pub fn taken(&self) -> usize {
        self.state().taken as usize
    }

    /// A number that operation `code` computes.
    pub fn queue(self: &Arc<Self>, code: Code, from: [u32; 2], values: [f64; 2]) -> SessionScalar {
        let mut state = self.state();
        let place = state.free.pop().or_else(|| {
            let next = state.taken;
            state.taken = (next + 1).min(CAPACITY as u32);
            (next < CAPACITY as u32).then_some(next)
        });
        let Some(to) = place else {
            return SessionScalar(Held::Refused([
                "the session holds more than 4096 `SessionScalar`s",
                "drop those that are no longer used, or keep the `f64` of `Session::value` instead",
            ]));
        };
        state.pending.push(Operation { code, to, from, values });
        drop(state);
        SessionScalar(Held::Device(Arc::new(Slot { bank: self.clone(), number: to })))
    }
}

impl SessionScalar {
    /// A number that is known.
    pub(crate) fn of(value: f64) -> Self {
        Self(Held::Value(value))
    }

    /// The square root; NaN of a negative number.
    #[must_use]
    pub fn sqrt(&self) -> Self {
        made(Code::Root, self, &Self::of(0.0))
    }

    /// Its value, where the host knows it.
    ///
    /// # Errors
    /// A number that there is not.
    pub(crate) fn known(&self) -> Result<Option<f64>> {
        match &self.0 {
            Held::Value(value) => Ok(Some(*value)),
            Held::Refused([what, hint]) => Err(Error::spec(*what, *hint)),
            Held::Device(slot) => {
                let state = slot.bank.state();
                let kept = |kept: &Vec<f64>| kept.get(slot.number as usize).copied();
                Ok(state.kept.as_ref().and_then(kept))
            }
        }
    }

    /// Its place among the numbers of `bank`.
    ///
    /// # Errors
    /// A number of another session.
    pub(crate) fn place(&self, bank: Option<&Arc<Bank>>) -> Result<usize> {
        match &self.0 {
            Held::Device(slot) if bank.is_some_and(|bank| Arc::ptr_eq(bank, &slot.bank)) => {
                Ok(slot.number as usize)
            }
            _ => Err(Error::spec(
                "a `SessionScalar` of another session",
                "read it there with `Session::value`, and pass the `f64`",
            )),
        }
    }

    /// Its address on the device, if it is there.
    pub(crate) fn address(&self) -> u64 {
        match &self.0 {
            Held::Device(slot) => slot.bank.base + 8 * u64::from(slot.number),
            _ => 0,
        }
    }

    /// As an operand; an error's reason if there is none.
    fn operand(&self) -> std::result::Result<Operand<'_>, [&'static str; 2]> {
        match (&self.0, self.known()) {
            (Held::Refused(why), _) => Err(*why),
            (_, Ok(Some(value))) => Ok(Operand::Value(value)),
            (Held::Device(slot), _) => Ok(Operand::Place(slot)),
            (Held::Value(value), _) => Ok(Operand::Value(*value)),
        }
    }
}

enum Operand<'s> {
    Value(f64),
    Place(&'s Arc<Slot>),
}

impl Operand<'_> {
    fn parts(&self) -> (u32, f64) {
        match self {
            Self::Value(value) => (Operation::VALUE, *value),
            Self::Place(slot) => (slot.number, 0.0),
        }
    }
}

/// What an operation makes of two numbers: queued where one of them is on a device.
fn made(code: Code, a: &SessionScalar, b: &SessionScalar) -> SessionScalar {
    let (a, b) = match (a.operand(), b.operand()) {
        (Ok(a), Ok(b)) => (a, b),
        (Err(why), _) | (_, Err(why)) => return SessionScalar(Held::Refused(why)),
    };
    let bank = match (&a, &b) {
        (Operand::Value(a), Operand::Value(b)) => return SessionScalar::of(code.of(*a, *b)),
        (Operand::Place(a), Operand::Place(b)) if !Arc::ptr_eq(&a.bank, &b.bank) => {
            return SessionScalar(Held::Refused([
                "arithmetic on `SessionScalar`s of two sessions",
                "read one of them with `Session::value`",
            ]));
        }
        (Operand::Place(slot), _) | (_, Operand::Place(slot)) => &slot.bank,
    };
    let [(from_a, value_a), (from_b, value_b)] = [a.parts(), b.parts()];
    bank.queue(code, [from_a, from_b], [value_a, value_b])
}

impl From<f64> for SessionScalar {
    /// A number that the host knows.
    fn from(value: f64) -> Self {
        Self::of(value)
    }
}

impl Neg for SessionScalar {
    type Output = Self;
    fn neg(self) -> Self {
        made(Code::Negate, &self, &Self::of(0.0))
    }
}

impl Neg for &SessionScalar {
    type Output = SessionScalar;
    fn neg(self) -> SessionScalar {
        made(Code::Negate, self, &SessionScalar::of(0.0))
    }
}

macro_rules! arithmetic {
    ($($name:ident $method:ident $code:ident;)*) => {$(
        arithmetic!($name $method $code: SessionScalar, SessionScalar, |a, b| (&a, &b));
        arithmetic!($name $method $code: &SessionScalar, SessionScalar, |a, b| (a, &b));
        arithmetic!($name $method $code: SessionScalar, &SessionScalar, |a, b| (&a, b));
        arithmetic!($name $method $code: &SessionScalar, &SessionScalar, |a, b| (a, b));
        arithmetic!($name $method $code: SessionScalar, f64, |a, b| (&a, &SessionScalar::of(b)));
        arithmetic!($name $method $code: &SessionScalar, f64, |a, b| (a, &SessionScalar::of(b)));
        arithmetic!($name $method $code: f64, SessionScalar, |a, b| (&SessionScalar::of(a), &b));
        arithmetic!($name $method $code: f64, &SessionScalar, |a, b| (&SessionScalar::of(a), b));
    )*};
    ($name:ident $method:ident $code:ident: $left:ty, $right:ty, |$a:ident, $b:ident| ($first:expr, $second:expr)) => {
        impl $name<$right> for $left {
            type Output = SessionScalar;
            fn $method(self, other: $right) -> SessionScalar {
                let ($a, $b) = (self, other);
                made(Code::$code, $first, $second)
            }
        }
    };
}
arithmetic! {
    Add add Add;
    Sub sub Subtract;
    Mul mul Multiply;
    Div div Divide;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_on_known_numbers_is_done_at_once() {
        let [three, four] = [3.0, 4.0].map(SessionScalar::from);
        let made = (&three * &three + &four * &four).sqrt() / 2.0 - 1.0 / -(&four);
        assert_eq!(made.known().unwrap(), Some(2.75));
    }

    #[test]
    fn numbers_on_a_device_are_queued_in_order_and_make_room_when_dropped() {
        let bank = Bank::new(4096);
        let sum = bank.queue(Code::Sum, [3, 0], [0.0; 2]);
        let half = 1.0 / (&sum + &sum);
        let codes = |pending: Vec<Operation>| -> Vec<_> {
            pending.iter().map(|it| (it.code, it.to, it.from)).collect()
        };
        assert_eq!(bank.pending(), 3);
        let all = codes(bank.take_pending());
        let value = Operation::VALUE;
        assert_eq!(
            all,
            [(Code::Sum, 0, [3, 0]), (Code::Add, 1, [0, 0]), (Code::Divide, 2, [value, 1])]
        );
        assert_eq!(
            (sum.address(), half.address(), half.place(Some(&bank)).unwrap()),
            (4096, 4112, 2)
        );
        // The place of the sum of both is free, and taken again.
        let root = half.sqrt();
        assert_eq!(root.address(), 4096 + 8);
        let mut falling = -&sum;
        for _ in 0..2 * CAPACITY {
            falling = &falling * 0.5;
        }
        falling.known().unwrap();
        drop(falling);
        let held: Vec<_> = (3..CAPACITY).map(|_| -&sum).collect();
        let error = (&sum + 1.0).known().unwrap_err().to_string();
        assert!(error.contains("more than 4096 `SessionScalar`s"), "{error}");
        drop(held);
        (&sum + 1.0).known().unwrap();
        // What its device knew outlives it.
        bank.end(vec![2.0, 0.5, 0.25]);
        assert_eq!((&sum * &half).known().unwrap(), Some(0.5));
    }

    #[test]
    fn numbers_of_two_sessions_do_not_mix() {
        let number = |bank: &Arc<Bank>| bank.queue(Code::Sum, [0, 0], [0.0; 2]);
        let (one, other) = (Bank::new(0), Bank::new(0));
        let error = (number(&one) + number(&other)).known().unwrap_err().to_string();
        assert!(error.contains("help: read one of them with `Session::value`"), "{error}");
        let error = number(&one).place(Some(&other)).unwrap_err().to_string();
        assert!(error.contains("a `SessionScalar` of another session"), "{error}");
    }
}
