//! What is likely two ideas: long files, long functions, full folders.

use std::collections::BTreeMap;

use super::source::Source;

/// A file's lines.
const FILE: usize = 450;
/// A function's lines.
const FUNCTION: usize = 60;
/// A folder's source files.
const FOLDER: usize = 13;

/// A file that is too long.
pub fn file(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (path.ends_with(".rs") && lines > FILE)
        .then(|| format!("{path}: {lines} lines, more than {FILE}"))
}

/// Folders with too many source files.
pub fn folders(paths: &[String]) -> Vec<String> {
    let mut counts = BTreeMap::<&str, usize>::new();
    let sources = [".rs", ".cu", ".cuh"];
    for path in paths.iter().filter(|path| sources.iter().any(|source| path.ends_with(source))) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let full = counts.into_iter().filter(|&(_, count)| count > FOLDER);
    full.map(|(folder, count)| format!("{folder}: {count} source files, more than {FOLDER}"))
        .collect()
}

/// Functions that are too long, those of tests too.
pub fn functions(path: &str, source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    // Functions whose body is open: name, first line, how deep braces were before it.
    let mut open: Vec<(String, usize, usize)> = Vec::new();
    let mut begun: Option<(String, usize)> = None;
    let (mut depth, mut brackets) = (0, 0);
    let lines = source.lines.iter().map(|line| line.code.as_str());
    for (number, code) in (1..).zip(lines) {
        let code = ["'{'", "'}'", "'('", "')'", "'['", "']'", "';'"]
            .into_iter()
            .fold(code.to_string(), |code, letter| code.replace(letter, ""));
        for (at, c) in code.char_indices() {
            match c {
                'f' => {
                    if let Some(name) = name_of_function(&code, at) {
                        begun = Some((name.into(), number));
                        brackets = 0;
                    }
                }
                '(' | '[' => brackets += 1,
                ')' | ']' => brackets -= 1,
                // A type such as `[u8; 2]` is no end.
                ';' if brackets == 0 => begun = None,
                '{' => {
                    if let Some((name, first)) = begun.take() {
                        open.push((name, first, depth));
                    }
                    depth += 1;
                }
                '}' => {
                    depth = depth.saturating_sub(1);
                    if let Some((name, first, _)) = open.pop_if(|(_, _, before)| *before == depth) {
                        let lines = number + 1 - first;
                        if lines > FUNCTION {
                            found.push(format!(
                                "{path}:{first}: {name} has {lines} lines, more than {FUNCTION}"
                            ));
                        }
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Const parameters of the stencil's crate, each of which multiplies what is compiled.
pub fn const_generics(path: &str, source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for (number, code) in source.code().filter(|_| path.starts_with("crates/warpweft-stencil/src/"))
    {
        for (at, word) in code.match_indices("const ") {
            let rest = &code[at + word.len()..];
            let Some(end) = rest.find([',', '>', '=', ';', '<', '(']) else { continue };
            let Some((name, _)) = rest[..end].split_once(": ") else { continue };
            let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
            if is_name && rest[end..].starts_with([',', '>']) {
                found.push(format!("{path}:{number}: const parameter {name}"));
            }
        }
    }
    found
}

/// The name after the word `fn` at `at`, if it stands there.
fn name_of_function(code: &str, at: usize) -> Option<&str> {
    let after = code[at..].strip_prefix("fn ")?;
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    if code[..at].ends_with(inside) {
        return None;
    }
    let end = after.find(|c: char| !inside(c)).unwrap_or(after.len());
    (end > 0).then(|| &after[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_function_that_is_long_is_named() {
        let body = "    g(\"}\", '}');\n".repeat(60);
        let long = format!(
            "trait T {{\n    fn none(&self);\n}}\nfn short() {{}}\nfn long<const N: usize>(f: fn(u8)) -> [u8; 2] {{\n{body}}}\n"
        );
        let found = functions("a.rs", &Source::read(&long));
        assert_eq!(found, ["a.rs:5: long has 62 lines, more than 60"]);
        let inner = format!("fn outer() {{\n    fn inner() {{\n{body}    }}\n}}\n");
        assert_eq!(functions("a.rs", &Source::read(&inner)).len(), 2);
        let tests = format!("#[cfg(test)]\nmod tests {{\nfn long() {{\n{body}}}\n}}\n");
        assert_eq!(functions("a.rs", &Source::read(&tests)).len(), 1);
    }

    #[test]
    fn const_parameters_are_no_constants() {
        let text = "const N: usize = 1;\nconst fn f<const D: usize>(a: [*const u8; D]) {}\nimpl<T, const D: usize,\n> X {}\n";
        let counted = |path| const_generics(path, &Source::read(text)).len();
        assert_eq!(counted("crates/warpweft-stencil/src/a.rs"), 2);
        assert_eq!(counted("crates/warpweft-core/src/a.rs"), 0);
    }

    #[test]
    fn a_folders_sources_are_counted_without_those_of_its_folders() {
        let mut paths: Vec<String> = (0..13).map(|n| format!("a/b/{n}.rs")).collect();
        paths.push("a/b/c/0.rs".into());
        paths.push("a/b/README.md".into());
        assert!(folders(&paths).is_empty());
        paths.push("a/b/kernel.cuh".into());
        assert_eq!(folders(&paths), ["a/b: 14 source files, more than 13"]);
    }
}
