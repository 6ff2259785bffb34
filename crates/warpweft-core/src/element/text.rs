//! Assembles C++ text from the pieces that the macros emit.
//!
//! What is generic calls what is not: users' crates compile the former once for each of their types.

use super::{DeviceType, Site, Table, Unit};

/// A text that identifies `T`, even among types with the same path in other blocks.
pub fn key<T: 'static>() -> String {
    identified(std::any::type_name::<T>(), std::any::TypeId::of::<T>())
}

fn identified(name: &str, id: std::any::TypeId) -> String {
    format!("{name} {id:?}")
}

/// The texts of a function's holes, in order. Code that hands them in one by one is a third of what a list of them
/// would be, whose every step says how to drop those before it.
#[derive(Debug)]
pub struct Holes(Vec<String>);

impl Holes {
    /// None yet, with room for so many.
    pub fn room(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Adds the next one.
    #[inline(never)]
    pub fn put(&mut self, text: String) {
        self.0.push(text);
    }

    /// `pieces`, each followed by the hole with its number, then `rest`.
    pub fn weave(&self, pieces: &[(&str, usize)], rest: &str) -> String {
        let mut text = String::new();
        for (piece, hole) in pieces {
            text.push_str(piece);
            text.push_str(self.0.get(*hole).map_or("", String::as_str));
        }
        text.push_str(rest);
        text
    }
}

/// The number, as C++ has it, of a fault `what` that line `line` of `file` may raise.
#[inline(never)]
pub fn site_text(unit: &mut Unit, file: &'static str, line: u32, what: &'static str) -> String {
    format!("{}u", unit.site(Site { file: file.into(), line, what }))
}

/// The same of an index, which can't fault where it is known to be `inside`.
#[inline(never)]
pub fn index_site_text(unit: &mut Unit, inside: bool, file: &'static str, line: u32) -> String {
    match inside {
        true => "0u".into(),
        false => site_text(unit, file, line, "index out of bounds"),
    }
}

/// A member of a struct: its C++ name, its offset in Rust, and a function that names its type.
pub type StructMember<'a> = (&'a str, usize, fn(&mut Unit) -> String);

/// The C++ name of the struct `T`, defined on first use as `name`. Its members are in the order in which Rust
/// laid them out, which may differ from the source, and C++ asserts that layout.
pub fn define_struct<T: 'static>(unit: &mut Unit, name: &str, members: &[StructMember]) -> String {
    define_laid_out(unit, &key::<T>(), name, size_of::<T>(), members)
}

fn define_laid_out(
    unit: &mut Unit,
    key: &str,
    name: &str,
    size: usize,
    members: &[StructMember],
) -> String {
    let mut members = members.to_vec();
    members.sort_by_key(|(_, offset, _)| *offset);
    unit.define(key, name, |unit, name| {
        let [mut data, mut checks] = [const { String::new() }; 2];
        for (member, offset, ty) in members {
            data.push_str(&format!("  {} {member};\n", ty(unit)));
            checks.push_str(&format!(
                "static_assert(WW_OFFSET({name}, {member}) == {offset}, \"{name}.{member}\");\n"
            ));
        }
        format!(
            "struct {name} {{\n{data}}};\nstatic_assert(sizeof({name}) == {size}, \"size of {name}\");\n{checks}"
        )
    })
}

/// A value of any device type: a member of a struct expression.
pub trait Value {
    /// As [`DeviceType::cuda_value`].
    fn text(&self, unit: &mut Unit) -> String;
}

impl<T: DeviceType> Value for T {
    fn text(&self, unit: &mut Unit) -> String {
        self.cuda_value(unit)
    }
}

impl<T: DeviceType> Value for Table<T> {
    fn text(&self, unit: &mut Unit) -> String {
        let items: Vec<_> = self.iter().map(|item| item.cuda_value(unit)).collect();
        format!("table of {}[{}]", T::cuda(unit), items.join(", "))
    }
}

/// A C++ expression for a struct `T` of `members`, each with its offset in Rust.
pub fn struct_value<T: DeviceType>(unit: &mut Unit, members: &[(usize, &dyn Value)]) -> String {
    struct_expression(unit, T::cuda, members)
}

fn struct_expression(
    unit: &mut Unit,
    ty: fn(&mut Unit) -> String,
    members: &[(usize, &dyn Value)],
) -> String {
    let mut members = members.to_vec();
    members.sort_by_key(|(offset, _)| *offset);
    let values: Vec<_> = members.iter().map(|(_, value)| value.text(unit)).collect();
    format!("{}{{{}}}", ty(unit), values.join(", "))
}

/// C++ expressions for `values`, with commas between them.
pub fn texts(unit: &mut Unit, values: &[&dyn Value]) -> String {
    let texts: Vec<_> = values.iter().map(|value| value.text(unit)).collect();
    texts.join(", ")
}

/// C++ that builds a cell `T` from its fields at `offset`. `members` are in the order of field numbers.
pub fn define_load<T: DeviceType>(unit: &mut Unit, members: &[&str], offset: &str) -> String {
    let cell = T::cuda(unit);
    load_of(unit, &cell, &key::<T>(), members, offset)
}

fn load_of(unit: &mut Unit, cell: &str, key: &str, members: &[&str], offset: &str) -> String {
    let name = unit.define(&format!("load {key}"), "load", |_, name| {
        let each = members.iter().enumerate();
        let each: String = each
            .map(|(field, member)| format!("  cell.{member} = now.template at<{field}, O...>();\n"))
            .collect();
        format!(
            "template<int... O, class Now> WW_FN {cell} {name}(const Now& now) {{\n  {cell} cell;\n{each}  return cell;\n}}\n"
        )
    });
    format!("{name}<{offset}>(now)")
}

/// The C++ text before and after a cell expression `T` that makes it the new cell of a stencil: a call of a
/// function that assigns each of the `members`, in the order of field numbers.
pub fn define_store<T: DeviceType>(unit: &mut Unit, members: &[&str]) -> [String; 2] {
    let cell = T::cuda(unit);
    store_of(unit, &cell, &key::<T>(), members)
}

fn store_of(unit: &mut Unit, cell: &str, key: &str, members: &[&str]) -> [String; 2] {
    let name = unit.define(&format!("store {key}"), "store", |_, name| {
        let each = members.iter().enumerate();
        let each: String = each
            .map(|(field, member)| format!("  next.template ref<{field}>() = cell.{member};\n"))
            .collect();
        format!(
            "template<class Next> WW_FN void {name}(Next& next, const {cell}& cell) {{\n{each}}}\n"
        )
    });
    [format!("{name}(next, "), ");".into()]
}

/// A C++ enum over the integer `repr`.
pub fn enum_text(name: &str, repr: &str, variants: &[(&str, i128)]) -> String {
    let variants: Vec<_> = variants
        .iter()
        .map(|(variant, value)| format!("{variant} = ww::{repr}({:#x}ull)", *value as u64))
        .collect();
    format!("enum class {name} : ww::{repr} {{ {} }};\n", variants.join(", "))
}
