//! The direction of imports inside the core: a module uses only what lies below it. Between crates Cargo sees to it.

use super::source::Source;

/// The core's modules, from the lowest; those of one row may use one another.
const LAYERS: [&[&str]; 11] = [
    &["error", "report"],
    &["element"],
    &["memory"],
    &["grid"],
    &["trace"],
    &["cpu"],
    &["cuda"],
    &["machine"],
    &["cluster"],
    &["tune"],
    &["run"],
];

const CORE: &str = "crates/warpweft-core/src/";

/// Uses of a module above the one that the file at `path` belongs to.
pub fn upward(path: &str, source: &Source) -> Vec<String> {
    let Some(inner) = path.strip_prefix(CORE) else { return Vec::new() };
    let module = inner.split('/').next().unwrap_or(inner).trim_end_matches(".rs");
    let depth = inner.matches('/').count() + usize::from(!inner.ends_with("/mod.rs"));
    let Some(own) = layer(module) else { return Vec::new() };
    let root = format!("{}::", ["super"].repeat(depth).join("::"));
    let mut found = Vec::new();
    for (number, code) in source.code() {
        for name in paths_from(code, "crate::").chain(paths_from(code, &root)) {
            if layer(name).is_some_and(|used| used > own) {
                found.push(format!(
                    "{path}:{number}: {module} may not use {name}, which is above it"
                ));
            }
        }
    }
    found
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

/// The first names of paths that begin with `start`, groups `crate::{a, b}` included.
fn paths_from<'a>(code: &'a str, start: &str) -> impl Iterator<Item = &'a str> {
    let inside =
        |at: usize| code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let starts: Vec<_> = code.match_indices(start).map(|(at, _)| at).collect();
    let length = start.len();
    starts.into_iter().filter(move |&at| !inside(at)).flat_map(move |at| {
        let after = &code[at + length..];
        let group = after.strip_prefix('{');
        let count = if group.is_some() { usize::MAX } else { 1 };
        let names = group.unwrap_or(after).split(',').take(count);
        names.map(|name| {
            let name = name.trim();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
            &name[..end.unwrap_or(name.len())]
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_uses_what_is_below_it() {
        let upward =
            |path: &str, text: &str| upward(&format!("{CORE}{path}"), &Source::read(text)).len();
        assert_eq!(
            upward("cpu/pool.rs", "use crate::error::Error;\nuse crate::{grid, memory};\n"),
            0
        );
        assert_eq!(upward("cpu/pool.rs", "use crate::{error::Error, machine::Machine};\n"), 1);
        assert_eq!(upward("cpu/pool.rs", "fn f() { crate::cuda::compiler(); }\n"), 1);
        assert_eq!(upward("cpu/pool.rs", "// crate::cuda\nuse super::super::cuda;\n"), 1);
        assert_eq!(
            upward(
                "cpu/pool.rs",
                "use super::cuda;\n#[cfg(test)]\nmod tests { use crate::run; }\n"
            ),
            0
        );
        assert_eq!(upward("cpu/mod.rs", "use super::cuda;\n"), 1);
        assert_eq!(upward("error.rs", "use super::cuda;\n"), 1);
        assert_eq!(upward("machine/mod.rs", "use crate::cuda::Device;\n"), 0);
    }
}
