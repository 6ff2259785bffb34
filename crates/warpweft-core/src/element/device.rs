//! Types and functions that exist in Rust and in CUDA C++, and how the translator learns types.

use std::marker::PhantomData;

use super::Unit;

/// A type with the same layout in Rust and on the device: scalars, arrays and tuples of them, and types with
/// `#[derive(Device)]` or `#[derive(Fields)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a type of device code",
    label = "this value has no form on a device",
    note = "use numbers, `bool`, arrays and tuples of them, or put `#[derive(Device)]` on a struct or an enum without data"
)]
pub trait DeviceType: Copy + 'static {
    /// Whether a value's bytes mean the same in Rust and in C++. Rust may order the members of a tuple
    /// differently; such a tuple may be used inside a body, but not as a parameter, an input or a cell.
    const ALIKE: bool = true;
    /// The C++ name of the type; its definition is added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
    /// A C++ expression for this value, exact to the bit.
    fn cuda_value(&self, unit: &mut Unit) -> String;
    /// Like [`DeviceType::cuda_value`], for a constant that may be indexed: an array gets a definition of its
    /// own.
    fn cuda_const(&self, unit: &mut Unit) -> String {
        self.cuda_value(unit)
    }
}

/// A function with `#[device]`: a type with the function's name implements this trait.
///
/// Rust keeps types and values in two namespaces. So `use other_crate::ring` imports both, and a call
/// `ring(x)` in a translated body finds the translation in whatever crate the function is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be called from device code",
    note = "put `#[device]` on the function, or write the expression here"
)]
pub trait DeviceFn {
    /// The C++ name of this instance; it and all it calls are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// A type that rustc infers: this is how the translator learns types that the source does not spell.
///
/// Macros see tokens, not types, but a literal `0.25` must get the type that rustc infers, e.g. `f32`, and
/// not become a `double`. So the macro emits a second copy of the body that is type-checked and never run, in
/// which the literal is `slot.is(0.25)`. rustc unifies the slot's type with its use, and [`type_of`] names it
/// when the CUDA text is assembled.
#[derive(Debug)]
pub struct Slot<T>(PhantomData<T>);

// Copies are moved into the closures that name types, where they take neither room nor code.
impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Slot<T> {
    /// A slot whose type is not known yet.
    pub const fn new() -> Self {
        Self(PhantomData)
    }
    /// Unifies the slot's type with that of `value`.
    pub fn is(&self, value: T) -> T {
        value
    }
    /// Unifies the slot's type with that of a value, without moving the value.
    pub fn like(&self, _: &T) {}
}

impl<T, const N: usize> Slot<[T; N]> {
    /// Unifies the slot's type with that of an array.
    pub fn array(&self, value: [T; N]) -> [T; N] {
        value
    }
}

/// The C++ name of a slot's type.
pub fn type_of<T: DeviceType>(_: &Slot<T>, unit: &mut Unit) -> String {
    T::cuda(unit)
}

/// The C++ spelling of a constant of a slot's type.
pub fn value_of<T: DeviceType>(_: &Slot<T>, unit: &mut Unit, value: T) -> String {
    value.cuda_value(unit)
}

/// How the translator learns the type of an array that is indexed, through any reference to it.
pub trait Length: Sized {
    /// Unifies the slot's type with that of the array.
    fn length_into(&self, _: &Slot<Self>) {}
}

impl<T, const N: usize> Length for [T; N] {}

/// The length of a slot's array type.
pub fn length<T, const N: usize>(_: &Slot<[T; N]>) -> usize {
    N
}

/// The C++ spelling of the length of a slot's array type.
pub fn length_of<T, const N: usize>(_: &Slot<[T; N]>, unit: &mut Unit) -> String {
    N.cuda_value(unit)
}

/// The C++ name of a slot's function.
pub fn function_of<F: DeviceFn>(_: &Slot<F>, unit: &mut Unit) -> String {
    F::cuda(unit)
}

macro_rules! integers {
    ($($t:ty => $name:literal),*) => {$(
        impl DeviceType for $t {
            fn cuda(_: &mut Unit) -> String { concat!("ww::", $name).into() }
            fn cuda_value(&self, _: &mut Unit) -> String {
                match i32::try_from(*self) {
                    Ok(small) if small != i32::MIN => format!(concat!("ww::", $name, "({})"), small),
                    // Through the unsigned pattern: C++ has no literal for the lowest value.
                    _ => format!(concat!("ww::", $name, "({:#x}ull)"), *self as u64),
                }
            }
        }
    )*};
}
integers!(i8 => "i8", i16 => "i16", i32 => "i32", i64 => "i64", u8 => "u8", u16 => "u16", u32 => "u32",
    u64 => "u64", isize => "isize", usize => "usize");

impl DeviceType for bool {
    fn cuda(_: &mut Unit) -> String {
        "bool".into()
    }
    fn cuda_value(&self, _: &mut Unit) -> String {
        self.to_string()
    }
}

/// A float that few binary digits describe is written in decimal, any other in hexadecimal. C++17 reads both
/// back exactly.
fn exact_float(value: f64, suffix: &str, bits: String) -> String {
    if !value.is_finite() {
        return bits;
    }
    if value.abs() < 1.0e6 && (value * 1024.0).fract() == 0.0 {
        return format!("({value:?}{suffix})");
    }
    let raw = value.to_bits();
    let sign = if raw >> 63 == 1 { "-" } else { "" };
    let (exponent, fraction) = ((raw >> 52 & 0x7ff) as i64, raw & ((1 << 52) - 1));
    match (exponent, fraction) {
        (0, 0) => format!("({sign}0x0p+0{suffix})"),
        (0, _) => format!("({sign}0x0.{fraction:013x}p-1022{suffix})"),
        _ => format!("({sign}0x1.{fraction:013x}p{:+}{suffix})", exponent - 1023),
    }
}

impl DeviceType for f32 {
    fn cuda(_: &mut Unit) -> String {
        "ww::f32".into()
    }
    fn cuda_value(&self, _: &mut Unit) -> String {
        exact_float(f64::from(*self), "f", format!("ww::f32_bits({:#010x}u)", self.to_bits()))
    }
}

impl DeviceType for f64 {
    fn cuda(_: &mut Unit) -> String {
        "ww::f64".into()
    }
    fn cuda_value(&self, _: &mut Unit) -> String {
        exact_float(*self, "", format!("ww::f64_bits({:#018x}ull)", self.to_bits()))
    }
}

impl DeviceType for () {
    fn cuda(_: &mut Unit) -> String {
        "ww::unit".into()
    }
    fn cuda_value(&self, _: &mut Unit) -> String {
        "ww::unit{}".into()
    }
}

impl<T: DeviceType, const N: usize> DeviceType for [T; N] {
    const ALIKE: bool = T::ALIKE;
    fn cuda(unit: &mut Unit) -> String {
        format!("ww::array<{}, {N}>", T::cuda(unit))
    }
    fn cuda_value(&self, unit: &mut Unit) -> String {
        let items: Vec<_> = self.iter().map(|item| item.cuda_value(unit)).collect();
        format!("{}{{{{{}}}}}", Self::cuda(unit), items.join(", "))
    }
    fn cuda_const(&self, unit: &mut Unit) -> String {
        let value = self.cuda_value(unit);
        let ty = Self::cuda(unit);
        unit.define(&format!("const {value}"), "table", |_, name| {
            format!("WW_CONST {ty} {name} = {value};\n")
        })
    }
}

macro_rules! tuples {
    ($($name:ident => ($($t:ident . $i:tt),+)),*) => {$(
        impl<$($t: DeviceType),+> DeviceType for ($($t,)+) {
            const ALIKE: bool = {
                let (mut alike, mut end) = (true, 0usize);
                $(
                    let at = end.next_multiple_of(align_of::<$t>());
                    alike = alike && $t::ALIKE && std::mem::offset_of!(Self, $i) == at;
                    end = at + size_of::<$t>();
                )+
                alike && size_of::<Self>() == end.next_multiple_of(align_of::<Self>())
            };
            fn cuda(unit: &mut Unit) -> String {
                let members = [$($t::cuda(unit)),+];
                format!(concat!("ww::", stringify!($name), "<{}>"), members.join(", "))
            }
            fn cuda_value(&self, unit: &mut Unit) -> String {
                let members = [$(self.$i.cuda_value(unit)),+];
                format!("{}{{{}}}", Self::cuda(unit), members.join(", "))
            }
        }
    )*};
}
tuples!(tuple1 => (A.0), tuple2 => (A.0, B.1), tuple3 => (A.0, B.1, C.2), tuple4 => (A.0, B.1, C.2, D.3));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_in_another_order_than_c_are_told_apart() {
        type Mixed = (u8, u16, u32);
        let offsets = [
            std::mem::offset_of!(Mixed, 0),
            std::mem::offset_of!(Mixed, 1),
            std::mem::offset_of!(Mixed, 2),
        ];
        assert_eq!(Mixed::ALIKE, offsets == [0, 2, 4]);
        assert_eq!(<[Mixed; 2]>::ALIKE, Mixed::ALIKE);
        assert_eq!(<(Mixed,)>::ALIKE, Mixed::ALIKE);
        const { assert!(u8::ALIKE && <(u32,)>::ALIKE && <[bool; 3]>::ALIKE) };
    }

    #[test]
    fn float_literals_keep_every_bit() {
        let mut unit = Unit::new();
        assert_eq!(0.25f32.cuda_value(&mut unit), "(0.25f)");
        assert_eq!(0.1f32.cuda_value(&mut unit), "(0x1.99999a0000000p-4f)");
        assert_eq!((-0.0f64).cuda_value(&mut unit), "(-0.0)");
        assert_eq!(f64::from_bits(1).cuda_value(&mut unit), "(0x0.0000000000001p-1022)");
        assert_eq!(f32::NAN.cuda_value(&mut unit), "ww::f32_bits(0x7fc00000u)");
        assert_eq!((-7i8).cuda_value(&mut unit), "ww::i8(-7)");
        assert_eq!(i32::MIN.cuda_value(&mut unit), "ww::i32(0xffffffff80000000ull)");
        assert_eq!(u64::MAX.cuda_value(&mut unit), "ww::u64(0xffffffffffffffffull)");
    }
}
