//! Values as packed bytes, with inputs worth trying.

use warpweft::element::{Device, DeviceType, Unit, bf16, f16};

use super::random::Random;

/// A value that both worlds read and write alike.
pub trait Flat: DeviceType {
    /// Packed size.
    const BYTES: usize;
    /// Members, of a tuple.
    const MEMBERS: usize = 0;
    /// Appends the value; a NaN becomes the canonical one.
    fn put(&self, bytes: &mut Vec<u8>);
    /// A random value, often at the edge of something.
    fn sample(random: &mut Random) -> Self;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Flat for $t {
            const BYTES: usize = size_of::<$t>();
            fn put(&self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }
            fn sample(random: &mut Random) -> Self {
                match random.below(8) {
                    0 => <$t>::MIN,
                    1 => <$t>::MAX,
                    2 => 0,
                    3 => (0 as $t).wrapping_sub(1),
                    4 | 5 => (random.next() % 9) as $t,
                    6 => (1 as $t).wrapping_shl(random.next() as u32),
                    _ => random.next() as $t,
                }
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! floats {
    ($($t:ty, $bits:ty);*) => {$(
        impl Flat for $t {
            const BYTES: usize = size_of::<$t>();
            fn put(&self, bytes: &mut Vec<u8>) {
                let canonical = if self.is_nan() { <$t>::NAN.abs() } else { *self };
                bytes.extend(canonical.to_bits().to_le_bytes());
            }
            fn sample(random: &mut Random) -> Self {
                const EDGES: &[$t] = &[0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, <$t>::NAN,
                    <$t>::INFINITY, <$t>::NEG_INFINITY, <$t>::MAX, <$t>::MIN, <$t>::MIN_POSITIVE,
                    <$t>::EPSILON, 255.0, 256.0, 2147483648.0, -2147483649.0, 1.0e18, 3.0e38];
                match random.below(4) {
                    0 => EDGES[random.below(EDGES.len())],
                    1 => <$t>::from_bits(random.next() as $bits),
                    2 => random.below(2001) as $t / 8.0 - 125.0,
                    _ => (random.next() as i64 as $t) / 1.0e18,
                }
            }
        }
    )*};
}
floats!(f32, u32; f64, u64);

macro_rules! halves {
    ($($t:ty),*) => {$(
        impl Flat for $t {
            const BYTES: usize = 2;
            fn put(&self, bytes: &mut Vec<u8>) {
                let canonical = if self.is_nan() { <$t>::from_bits(0x7fff) } else { *self };
                bytes.extend(canonical.to_bits().to_le_bytes());
            }
            fn sample(random: &mut Random) -> Self {
                match random.below(3) {
                    0 => <$t>::from_bits(random.next() as u16),
                    1 => <$t>::from_bits((random.next() as u16 & 0x8181) | 0x3c00),
                    _ => <$t>::from_f32(random.below(2001) as f32 / 8.0 - 125.0),
                }
            }
        }
    )*};
}
halves!(f16, bf16);

impl Flat for bool {
    const BYTES: usize = 1;
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push((*self).into());
    }
    fn sample(random: &mut Random) -> Self {
        random.below(2) == 1
    }
}

impl Flat for () {
    const BYTES: usize = 0;
    fn put(&self, _: &mut Vec<u8>) {}
    fn sample(_: &mut Random) -> Self {}
}

macro_rules! tuples {
    ($(($($t:ident . $i:tt),+) $n:literal),*) => {$(
        impl<$($t: Flat),+> Flat for ($($t,)+) {
            const BYTES: usize = 0 $(+ $t::BYTES)+;
            const MEMBERS: usize = $n;
            fn put(&self, bytes: &mut Vec<u8>) {
                $(self.$i.put(bytes);)+
            }
            fn sample(random: &mut Random) -> Self {
                ($($t::sample(random),)+)
            }
        }
    )*};
}
tuples!((A.0) 1, (A.0, B.1) 2, (A.0, B.1, C.2) 3, (A.0, B.1, C.2, D.3) 4);

impl<T: Flat, const N: usize> Flat for [T; N] {
    const BYTES: usize = N * T::BYTES;
    fn put(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|item| item.put(bytes));
    }
    fn sample(random: &mut Random) -> Self {
        std::array::from_fn(|_| T::sample(random))
    }
}

/// A struct with padding.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Point {
    /// One byte, and seven of padding.
    pub tag: u8,
    /// A float.
    pub x: f64,
    /// An array.
    pub weights: [f32; 3],
    /// Whose name is a keyword of C++.
    pub double: i16,
}

impl Flat for Point {
    const BYTES: usize = 1 + 8 + 12 + 2;
    fn put(&self, bytes: &mut Vec<u8>) {
        self.tag.put(bytes);
        self.x.put(bytes);
        self.weights.put(bytes);
        self.double.put(bytes);
    }
    fn sample(random: &mut Random) -> Self {
        Self {
            tag: Flat::sample(random),
            x: Flat::sample(random),
            weights: Flat::sample(random),
            double: Flat::sample(random),
        }
    }
}

/// A tuple struct of a struct, laid out as Rust likes.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
pub struct Cell(pub i32, pub Point, pub bool);

impl Flat for Cell {
    const BYTES: usize = 4 + Point::BYTES + 1;
    fn put(&self, bytes: &mut Vec<u8>) {
        self.0.put(bytes);
        self.1.put(bytes);
        self.2.put(bytes);
    }
    fn sample(random: &mut Random) -> Self {
        Self(Flat::sample(random), Flat::sample(random), Flat::sample(random))
    }
}

/// An enum without data, one value of which is negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Device)]
#[repr(i8)]
pub enum Hue {
    /// -3.
    Red = -3,
    /// 0.
    Green = 0,
    /// 7.
    Blue = 7,
}

impl Flat for Hue {
    const BYTES: usize = 1;
    fn put(&self, bytes: &mut Vec<u8>) {
        (*self as i8).put(bytes);
    }
    fn sample(random: &mut Random) -> Self {
        [Self::Red, Self::Green, Self::Blue][random.below(3)]
    }
}

/// Defines the structs and how C++ reads and writes them.
pub fn structs(unit: &mut Unit, text: &mut String) {
    let (point, cell) = (Point::cuda(unit), Cell::cuda(unit));
    let mut one = |name: &str, members: &[(String, &str)]| {
        let get: String =
            members.iter().map(|(ty, m)| format!("v.{m} = io<{ty}>::get(p); ")).collect();
        let put: String =
            members.iter().map(|(ty, m)| format!("io<{ty}>::put(p, v.{m}); ")).collect();
        text.push_str(&format!(
            "template<> struct io<{name}> {{\n  WW_FN static {name} get(const u8*& p) {{ {name} v; {get}return v; }}\n  WW_FN static void put(u8*& p, const {name}& v) {{ {put}}}\n}};\n"
        ));
    };
    let array = <[f32; 3]>::cuda(unit);
    one(
        &point,
        &[
            ("u8".into(), "tag_"),
            ("f64".into(), "x_"),
            (array, "weights_"),
            ("i16".into(), "double_"),
        ],
    );
    one(&cell, &[("i32".into(), "_0"), (point.clone(), "_1"), ("bool".into(), "_2")]);
    text.insert_str(0, "namespace {\n");
    text.push_str("}  // namespace\n");
}
