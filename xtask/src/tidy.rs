//! `cargo xtask tidy`: the architecture's invariants, each a pure function over one file's text.
//!
//! What the compiler and clippy check is not repeated here. The data are in [`rules`], reading
//! Rust well enough to ignore comments and strings in [`source`].

mod circles;
mod layers;
mod limits;
mod rules;
mod sizes;
mod source;
mod words;

use std::path::Path;
use std::process::Command;

use limits::Counts;
use source::Source;

/// Checks every file of the working tree that git does not ignore; returns whether all hold.
pub fn run(root: &Path) -> Result<bool, String> {
    let files = files(root)?;
    // Files deleted but not yet committed, and binary files, have no text to check.
    let texts: Vec<_> = files
        .iter()
        .filter_map(|path| Some((path, std::fs::read_to_string(root.join(path)).ok()?)))
        .collect();
    let tests: Vec<_> =
        texts.iter().flat_map(|(path, text)| source::test_modules(path, text)).collect();
    let mut found = Vec::new();
    let (mut counts, mut product) = (Counts::default(), Vec::new());
    let words = words::words();
    for (path, text) in &texts {
        let test = tests.contains(path) || path.contains("/tests/");
        found.extend(check(path, text, test));
        counts.long_files.extend(sizes::file(path, text));
        counts.words.extend(words::uses(&words, path, text));
        if path.ends_with(".rs") {
            let source = Source::read(text);
            counts.long_functions.extend(sizes::functions(path, &source));
            if !test {
                counts.upward.extend(layers::upward(path, &source));
                counts.const_generics.extend(sizes::const_generics(path, &source));
                product.push((path.as_str(), source));
            }
        }
    }
    counts.circles = circles::circles(&product);
    let present: Vec<_> = texts.iter().map(|(path, _)| path.to_string()).collect();
    let cases = |path: &String| !rules::is_test_case(path);
    counts.full_folders =
        sizes::folders(&present.iter().filter(|path| cases(path)).cloned().collect::<Vec<_>>());
    found.extend(rules::stale_unsafe_files(&present));
    found.extend(limits::exceeded(&counts));
    for violation in &found {
        println!("tidy: {violation}");
    }
    println!("{} files, {} violations; {counts}", files.len(), found.len());
    Ok(found.is_empty())
}

/// Every violation in one file; `test` when it is compiled for tests alone.
fn check(path: &str, text: &str, test: bool) -> Vec<String> {
    let mut found = rules::places(path, text);
    if path.ends_with(".rs") && !rules::is_test_case(path) {
        let source = Source::read(text);
        found.extend(rules::header(path, text));
        if !test {
            found.extend(rules::prints(path, &source));
        }
        found.extend(rules::unsafety(path, &source));
    }
    found
}

/// Paths of tracked and of new, not ignored files.
fn files(root: &Path) -> Result<Vec<String>, String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("listing files needs git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts that `text` at `path` has exactly the violations that contain `expect`, in order.
    fn violations(path: &str, text: &str, expect: &[&str]) {
        let found = check(path, text, false);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, expect) in found.iter().zip(expect) {
            assert!(found.contains(expect), "{found:?} should contain {expect:?}");
        }
    }

    #[test]
    fn only_the_command_prints() {
        let text = "//! A.\nfn f() { println!(\"x\"); }\n#[cfg(test)]\nmod tests { fn g() { dbg!(1); } }\n";
        violations("crates/warpweft-apps/src/stencils/heat.rs", text, &[":2: println!"]);
        violations("crates/warpweft-cli/src/report.rs", text, &[]);
        violations(
            "crates/warpweft-core/src/report.rs",
            "//! A.\nconst A: &str = \"print!()\";\n",
            &[],
        );
    }

    #[test]
    fn modules_for_tests_alone_may_print() {
        let parent = "//! A.\nmod a;\n#[cfg(test)]\nmod host;\n#[cfg(test)]\nmod tests {}\n";
        let found = source::test_modules("crates/warpweft-core/src/cpu/mod.rs", parent);
        assert_eq!(found, ["crates/warpweft-core/src/cpu/host.rs"]);
        let found = source::test_modules("crates/warpweft-core/src/cpu/pool.rs", parent);
        assert_eq!(found, ["crates/warpweft-core/src/cpu/pool/host.rs"]);
        assert!(check(&found[0], "//! A.\nfn f() { println!(); }\n", true).is_empty());
    }

    #[test]
    fn unsafe_code_stands_in_named_files_and_says_why_it_is_safe() {
        let bare = "//! A.\nfn f() { unsafe { g() } }\n";
        violations("crates/warpweft-core/src/grid/extent.rs", bare, &["unsafe-files.txt"]);
        let named = "crates/warpweft-core/src/grid/volume.rs";
        violations(named, bare, &["SAFETY"]);
        let reason =
            "//! A.\n// SAFETY: g has no requirements.\n#[inline]\nunsafe impl A for B {}\n";
        violations(named, reason, &[]);
        let spread = "//! A.\nfn f() {\n    // SAFETY: as above.\n    let a = g(1)\n        .map(|_| unsafe { h() });\n}\n";
        violations(named, spread, &[]);
        let stale =
            "//! A.\nfn f() {\n    // SAFETY: of another one.\n    g();\n    unsafe { h() };\n}\n";
        violations(named, stale, &["SAFETY"]);
        violations(named, "//! A.\nunsafe fn f() {}\nfn g(f: unsafe fn()) {}\n", &[]);
        let elsewhere = "crates/warpweft-core/src/grid/extent.rs";
        for bare in [
            "unsafe fn f() {}",
            "unsafe trait T {}",
            "unsafe extern \"C\" {}",
            "#[unsafe(no_mangle)]",
        ] {
            violations(elsewhere, &format!("//! A.\n{bare}\n"), &["unsafe-files.txt"]);
        }
        violations(elsewhere, "//! A.\n#![deny(unsafe_code)]\nlet unsafe_files = 1;\n", &[]);
    }

    #[test]
    fn modules_say_what_they_are() {
        violations("crates/warpweft-core/src/grid/mod.rs", "mod volume;\n", &["//!"]);
        violations("crates/warpweft-macros/tests/ui/bad.rs", "fn main() {}\n", &[]);
    }

    #[test]
    fn no_file_names_a_machine() {
        let home = ["/ho", "me/ann/x"].concat();
        violations("README.md", &format!("see {home}\n"), &[":1: names a place"]);
        violations("README.md", "see https://example.org/home/ann\n", &[]);
    }
}
