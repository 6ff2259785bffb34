//! Putting C++ text together from what the macros left open.

/// What tells `T` from every other type, even of the same path in another block.
pub fn key<T: 'static>() -> String {
    format!("{} {:?}", std::any::type_name::<T>(), std::any::TypeId::of::<T>())
}

/// `pieces` with the numbered `holes` after them, then `rest`.
pub fn weave(pieces: &[(&str, usize)], rest: &str, holes: &[String]) -> String {
    let mut text = String::new();
    for (piece, hole) in pieces {
        text.push_str(piece);
        text.push_str(holes.get(*hole).map_or("", String::as_str));
    }
    text.push_str(rest);
    text
}

/// A C++ struct of `members`, each a type, a name and its offset in Rust, with the layout asserted.
pub fn struct_text(name: &str, size: usize, members: &[(String, &str, usize)]) -> String {
    let mut text = format!("struct {name} {{\n");
    for (ty, member, _) in members {
        text.push_str(&format!("  {ty} {member};\n"));
    }
    text.push_str(&format!("}};\nstatic_assert(sizeof({name}) == {size}, \"size of {name}\");\n"));
    for (_, member, offset) in members {
        text.push_str(&format!(
            "static_assert(WW_OFFSET({name}, {member}) == {offset}, \"{name}.{member}\");\n"
        ));
    }
    text
}

/// A C++ enum over the integer `repr`.
pub fn enum_text(name: &str, repr: &str, variants: &[(&str, i128)]) -> String {
    let variants: Vec<_> = variants
        .iter()
        .map(|(variant, value)| format!("{variant} = ww::{repr}({:#x}ull)", *value as u64))
        .collect();
    format!("enum class {name} : ww::{repr} {{ {} }};\n", variants.join(", "))
}
