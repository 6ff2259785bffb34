//! What is outside the subset is an error on its span that says what to write instead.
#![allow(unexpected_cfgs)]

#[cfg(rejected)]
#[path = "ui_by_line/types.rs"]
mod types;

/// Whether the sources and cargo are here: test programs may be carried elsewhere.
fn can_build() -> bool {
    let cargo = std::process::Command::new("cargo").arg("--version").output();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").exists();
    let able = here && cargo.is_ok_and(|output| output.status.success());
    if !able {
        println!("skipped: neither sources nor cargo here");
    }
    able
}

#[test]
fn each_rejection_says_what_to_write_instead() {
    if !can_build() {
        return;
    }
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}

/// Beside these messages rustc lists types of the library, which come and go: the lines that matter
/// are compared, not all of them.
#[test]
fn a_type_without_a_form_on_a_device_is_named() {
    if !can_build() {
        return;
    }
    let output = std::process::Command::new(std::env::var("CARGO").unwrap_or("cargo".into()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["rustc", "--quiet", "--package", "warpweft", "--test", "translation_rejects"])
        .args(["--profile", "test", "--", "--cfg", "rejected"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for line in [
        "error[E0277]: `types::Plain` is not a type of device code",
        "fn takes(p: Plain) -> f32 {",
        "let p = Plain { x: a };",
        "error[E0277]: `&str` is not a type of device code",
        "NAMES.len()",
        "this value has no form on a device",
        "put `#[derive(Device)]` on a `#[repr(C)]` struct or an enum without data",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}
