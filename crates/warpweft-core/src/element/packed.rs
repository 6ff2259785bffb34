//! Values as bytes that outlive the program: little endian, the same on every machine, checked when read.
//!
//! This is not the layout in memory, which [`DeviceType`](super::DeviceType) defines. Nothing here is unsafe.

use std::cell::RefCell;

use half::{bf16, f16};

#[doc(inline)]
pub use warpweft_macros::Packed;

/// A value that can be written as bytes and read back.
///
/// Numbers, `bool`, `()`, `String`, and of what is packed arrays, tuples, `Vec` and `Option`;
/// `#[derive(Packed)]` adds structs of them, and of themselves, as trees are. Of values without bytes a `Vec` holds
/// 1,048,576 at most, or it can't be read back.
///
/// ```
/// use warpweft::element::Packed;
///
/// #[derive(Packed, Debug, PartialEq)]
/// struct Found { at: u64, score: Option<f32>, name: String }
///
/// let found = Found { at: 7, score: Some(0.5), name: "x".into() };
/// let mut bytes = Vec::new();
/// found.pack(&mut bytes);
/// assert_eq!(Found::unpack(&mut &bytes[..]), Some(found));
/// assert_eq!(Found::unpack(&mut &bytes[1..]), None);
/// assert_eq!(Found::form(), "{at:u64,score:f32?,name:text}");
/// ```
pub trait Packed: Sized {
    /// A description of the bytes in words. Types with different forms can't read each other's bytes.
    fn form() -> String;
    /// Appends the value to `to`.
    fn pack(&self, to: &mut Vec<u8>);
    /// Takes one value off the front of `from`. Returns `None` if there is none; the rest of `from` is then
    /// unusable.
    fn unpack(from: &mut &[u8]) -> Option<Self>;
}

thread_local! {
    /// The structs whose forms are being computed, outermost first.
    static WITHIN: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// The form of the struct `T`, from the forms of its members. Where it contains itself: `^` and the number of
/// structs in between.
#[doc(hidden)]
pub fn struct_form<T>(members: impl FnOnce() -> Vec<(&'static str, String)>) -> String {
    struct PopName;
    impl Drop for PopName {
        fn drop(&mut self) {
            WITHIN.with_borrow_mut(Vec::pop);
        }
    }
    let name = std::any::type_name::<T>();
    if let Some(between) = WITHIN.with_borrow(|all| all.iter().rev().position(|of| *of == name)) {
        return format!("^{between}");
    }
    WITHIN.with_borrow_mut(|all| all.push(name));
    let _pop_name = PopName;
    let members = members().into_iter().map(|(name, form)| format!("{name}:{form}"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

macro_rules! numbers {
    ($($t:ident),*) => {$(
        impl Packed for $t {
            fn form() -> String {
                stringify!($t).into()
            }
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            #[inline]
            fn unpack(from: &mut &[u8]) -> Option<Self> {
                let (bytes, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*bytes))
            }
        }
    )*};
}
numbers!(i8, i16, i32, i64, i128, u8, u16, u32, u64, u128, f32, f64, f16, bf16);

/// Eight bytes on every machine.
macro_rules! sizes {
    ($($t:ident as $wide:ident),*) => {$(
        impl Packed for $t {
            fn form() -> String {
                stringify!($t).into()
            }
            #[inline]
            fn pack(&self, to: &mut Vec<u8>) {
                (*self as $wide).pack(to);
            }
            #[inline]
            fn unpack(from: &mut &[u8]) -> Option<Self> {
                $wide::unpack(from)?.try_into().ok()
            }
        }
    )*};
}
sizes!(usize as u64, isize as i64);

impl Packed for bool {
    fn form() -> String {
        "bool".into()
    }
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match u8::unpack(from)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Packed for String {
    fn form() -> String {
        "text".into()
    }
    fn pack(&self, to: &mut Vec<u8>) {
        self.len().pack(to);
        to.extend_from_slice(self.as_bytes());
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        Self::from_utf8(Vec::unpack(from)?).ok()
    }
}

impl<T: Packed> Packed for Vec<T> {
    fn form() -> String {
        format!("[{}]", T::form())
    }
    fn pack(&self, to: &mut Vec<u8>) {
        self.len().pack(to);
        self.iter().for_each(|value| value.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let length = usize::unpack(from)?;
        // A damaged length must not request more memory than the bytes that are there.
        let mut values = Self::with_capacity(length.min(from.len() / size_of::<T>().max(1)));
        for _ in 0..length {
            // Values without bytes never run out: a damaged length would loop almost forever.
            if from.is_empty() && values.len() > 1 << 20 {
                return None;
            }
            values.push(T::unpack(from)?);
        }
        Some(values)
    }
}

impl<T: Packed> Packed for Option<T> {
    fn form() -> String {
        format!("{}?", T::form())
    }
    fn pack(&self, to: &mut Vec<u8>) {
        self.is_some().pack(to);
        self.iter().for_each(|value| value.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        match bool::unpack(from)? {
            true => T::unpack(from).map(Some),
            false => Some(None),
        }
    }
}

impl<T: Packed, const N: usize> Packed for [T; N] {
    fn form() -> String {
        format!("[{};{N}]", T::form())
    }
    fn pack(&self, to: &mut Vec<u8>) {
        self.iter().for_each(|value| value.pack(to));
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        let mut values = Vec::with_capacity(N);
        for _ in 0..N {
            values.push(T::unpack(from)?);
        }
        values.try_into().ok()
    }
}

macro_rules! tuples {
    ($($($name:ident $index:tt)*;)*) => {$(
        impl<$($name: Packed),*> Packed for ($($name,)*) {
            fn form() -> String {
                let parts: Vec<String> = vec![$($name::form()),*];
                format!("({})", parts.join(","))
            }
            fn pack(&self, _to: &mut Vec<u8>) {
                $(self.$index.pack(_to);)*
            }
            fn unpack(_from: &mut &[u8]) -> Option<Self> {
                Some(($($name::unpack(_from)?,)*))
            }
        }
    )*};
}
tuples! {
    ;
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Packed, Clone, Debug, PartialEq)]
    struct Nested<T> {
        pairs: Vec<(T, bool)>,
        name: Option<String>,
        three: [i16; 3],
    }

    #[derive(Packed, Debug, PartialEq)]
    struct Unit;

    #[derive(Packed, Debug, PartialEq)]
    struct Pair(u8, f64);

    fn bytes(value: &impl Packed) -> Vec<u8> {
        let mut bytes = Vec::new();
        value.pack(&mut bytes);
        bytes
    }

    #[test]
    fn the_bytes_are_those_that_every_machine_writes() {
        assert_eq!(bytes(&(0x0102_u16, -1_i32, true)), [2, 1, 255, 255, 255, 255, 1]);
        assert_eq!(bytes(&vec![7_u8, 9]), [2, 0, 0, 0, 0, 0, 0, 0, 7, 9]);
        assert_eq!(bytes(&Some(1.0_f32)), [1, 0, 0, 128, 63]);
        assert_eq!(bytes(&"é".to_string()), [2, 0, 0, 0, 0, 0, 0, 0, 0xc3, 0xa9]);
    }

    #[test]
    fn what_was_packed_is_unpacked_and_nothing_shorter_is() {
        let value = Nested {
            pairs: vec![(3u64, true), (5, false)],
            name: Some("x".into()),
            three: [1, -2, 3],
        };
        let whole = bytes(&value);
        let mut rest = &whole[..];
        assert_eq!(Nested::unpack(&mut rest), Some(value));
        assert!(rest.is_empty());
        for end in 0..whole.len() {
            assert_eq!(Nested::<u64>::unpack(&mut &whole[..end]), None, "{end} bytes");
        }
        assert_eq!(Unit::unpack(&mut &[][..]), Some(Unit));
        assert_eq!(Pair::unpack(&mut &bytes(&Pair(3, -0.5))[..]), Some(Pair(3, -0.5)));
    }

    #[test]
    fn bytes_that_are_no_value_are_none() {
        assert_eq!(bool::unpack(&mut &[2u8][..]), None);
        assert_eq!(String::unpack(&mut &[1, 0, 0, 0, 0, 0, 0, 0, 0xff][..]), None);
        assert_eq!(Vec::<u64>::unpack(&mut &[255u8; 40][..]), None);
        assert_eq!(Vec::<()>::unpack(&mut &[255u8; 8][..]), None);
    }

    #[derive(Packed, Clone, Debug, PartialEq)]
    struct Tree<T> {
        of: T,
        below: Vec<Tree<T>>,
    }

    #[derive(Packed)]
    struct House {
        _rooms: Vec<Room>,
    }

    #[derive(Packed)]
    struct Room {
        _doors: (Vec<Room>, Vec<House>),
    }

    #[test]
    fn structs_of_themselves_have_a_form_and_are_read_back() {
        assert_eq!(Tree::<u8>::form(), "{of:u8,below:[^0]}");
        assert_eq!(Tree::<Tree<u8>>::form(), "{of:{of:u8,below:[^0]},below:[^0]}");
        assert_eq!(House::form(), "{_rooms:[{_doors:([^0],[^1])}]}");
        let leaf = |of| Tree { of, below: vec![] };
        let tree = Tree { of: 1u8, below: vec![leaf(2), Tree { of: 3, below: vec![leaf(4)] }] };
        assert_eq!(Tree::unpack(&mut &bytes(&tree)[..]), Some(tree));
    }

    #[test]
    fn forms_tell_types_apart() {
        assert_eq!(Nested::<u64>::form(), "{pairs:[(u64,bool)],name:text?,three:[i16;3]}");
        assert_eq!((Unit::form(), Pair::form()), ("{}".into(), "{0:u8,1:f64}".into()));
        assert_eq!(<((), (u8,))>::form(), "((),(u8))");
    }
}
