//! Sources of a test's own, compiled by plain rustc against the library as cargo built it: a second
//! cargo would choose other features of the dependencies and build the library once more.

use std::path::{Path, PathBuf};
use std::process::Command;

/// `rustc` with this crate's folder as its own and the library at hand, or why it can't be had: test
/// programs may be carried to where there is neither compiler nor library.
pub fn rustc() -> Result<Command, String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let runs = Command::new(&program).arg("--version").output();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !here.join("Cargo.toml").exists() || !runs.is_ok_and(|output| output.status.success()) {
        return Err("rustc and this crate's sources are needed".into());
    }
    // There is a compiler and what to compile: without the library nothing would be tested for good.
    let library = library().expect("cargo puts the library beside the test's program");
    let mut command = Command::new(program);
    command.current_dir(here).args(["--edition", "2024", "--color", "never"]);
    command.arg("--extern").arg(format!("warpweft={}", library.display()));
    let folder = library.parent().unwrap_or(here);
    command.arg("-L").arg(format!("dependency={}", folder.display()));
    Ok(command)
}

/// The library that was built last. Builds with other features stand next to it; cargo built the one of
/// this test from today's sources, so that the newest is of today's sources too.
fn library() -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?;
    let files = beside.parent()?.read_dir().ok()?.flatten();
    let libraries = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libwarpweft-") && name.ends_with(".rlib")
    });
    let dated = libraries.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file)));
    dated.max_by_key(|(built, _)| *built).map(|(_, file)| file.path())
}
