//! Bytes of values whose type the compiler knows only where it is used: those of numbers, strings and [`Packed`] types.

use std::any::Any;

use warpweft_core::element::Packed;

/// Appends the bytes of a number or a string; whether it is one.
pub fn append_known(value: &dyn Any, to: &mut Vec<u8>) -> bool {
    macro_rules! any_of {
        ($($t:ty),*) => {
            $(if let Some(value) = value.downcast_ref::<$t>() {
                value.pack(to);
                return true;
            })*
        };
    }
    any_of!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64, bool, String);
    if let Some(value) = value.downcast_ref::<usize>() {
        (*value as u64).pack(to);
        return true;
    }
    let Some(value) = value.downcast_ref::<&'static str>() else { return false };
    (value.len() as u64).pack(to);
    to.extend(value.as_bytes());
    true
}

/// For `#[task]`: appends the bytes of what it holds, where these are known. The method that needs no further reference is found first,
/// and it is there where the value is [`Packed`].
#[doc(hidden)]
pub struct Value<'a, V: ?Sized>(pub &'a V);

#[doc(hidden)]
pub trait TellPacked {
    fn tell(&self, to: &mut Vec<u8>);
}

impl<V: Packed> TellPacked for Value<'_, V> {
    fn tell(&self, to: &mut Vec<u8>) {
        self.0.pack(to);
    }
}

impl<V: Packed> TellPacked for Value<'_, [V]> {
    fn tell(&self, to: &mut Vec<u8>) {
        // Two slices after one another are told from two others with the same items.
        (self.0.len() as u64).pack(to);
        self.0.iter().for_each(|item| item.pack(to));
    }
}

#[doc(hidden)]
pub trait TellNothing {
    fn tell(&self, to: &mut Vec<u8>);
}

impl<V: ?Sized> TellNothing for &Value<'_, V> {
    fn tell(&self, _to: &mut Vec<u8>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_known_types_tell_their_bytes() {
        let bytes = |value: &dyn Any| {
            let mut to = Vec::new();
            (append_known(value, &mut to), to)
        };
        assert_eq!(bytes(&7u16), (true, vec![7, 0]));
        assert_ne!(bytes(&0.1f64), bytes(&0.2f64));
        assert_ne!(bytes(&"a"), bytes(&"b"));
        assert!(!bytes(&std::time::Duration::ZERO).0);
        let mut to = Vec::new();
        Value(&3u32).tell(&mut to);
        // Found by one more reference.
        (&Value(&std::time::Duration::ZERO)).tell(&mut to);
        Value(&[1u8, 2][..]).tell(&mut to);
        assert_eq!(to, [3, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
    }
}
