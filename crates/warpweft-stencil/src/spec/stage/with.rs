//! Element functions some of whose parameters are numbers of a session.

use super::super::reduction::scalar::SessionScalar;

/// An element function with parameters that a session computes: what `advance::with(alpha)` makes, for
/// [`Session::apply`](crate::Session::apply).
#[derive(Clone)]
pub struct With<E> {
    pub(crate) element: E,
    pub(crate) taken: Vec<Taken<E>>,
}

/// A parameter that is a number of a session.
#[doc(hidden)]
#[derive(Clone)]
pub struct Taken<E> {
    /// The parameter's name in C++.
    pub(crate) member: &'static str,
    pub(crate) number: SessionScalar,
    set: Set<E>,
}

#[derive(Clone)]
enum Set<E> {
    F32(fn(&mut E, f32)),
    F64(fn(&mut E, f64)),
}

impl<E> Taken<E> {
    /// Gives the parameter its value.
    pub(crate) fn set(&self, element: &mut E, value: f64) {
        match self.set {
            Set::F32(set) => set(element, value as f32),
            Set::F64(set) => set(element, value),
        }
    }
}

impl<E> With<E> {
    /// Of an element whose parameters `taken` have no values yet.
    #[doc(hidden)]
    pub fn new(element: E, taken: Vec<Taken<E>>) -> Self {
        Self { element, taken }
    }
}

/// What a parameter of type `T` may be given as, where a session computes: a value, or for `f32` and `f64` a
/// [`SessionScalar`], converted as `as f32` does.
pub trait Parameter<T> {
    /// The value; of a number of a session any, with a note of it in `taken`.
    #[doc(hidden)]
    fn take<E>(self, member: &'static str, set: fn(&mut E, T), taken: &mut Vec<Taken<E>>) -> T;
}

impl<T> Parameter<T> for T {
    fn take<E>(self, _: &'static str, _: fn(&mut E, T), _: &mut Vec<Taken<E>>) -> T {
        self
    }
}

macro_rules! numbers {
    ($($kind:ident $t:ty),*) => {$(
        impl Parameter<$t> for SessionScalar {
            fn take<E>(
                self,
                member: &'static str,
                set: fn(&mut E, $t),
                taken: &mut Vec<Taken<E>>,
            ) -> $t {
                taken.push(Taken { member, number: self, set: Set::$kind(set) });
                0.0
            }
        }

        impl Parameter<$t> for &SessionScalar {
            fn take<E>(
                self,
                member: &'static str,
                set: fn(&mut E, $t),
                taken: &mut Vec<Taken<E>>,
            ) -> $t {
                self.clone().take(member, set, taken)
            }
        }
    )*};
}
numbers!(F32 f32, F64 f64);
