//! Programs by the host's compiler, which run kernels thread for thread (kernels/host.cuh).

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program `name` in `folder` that `source` is compiled to; `None` without a C++ compiler.
pub(in crate::cuda) fn compiled(folder: &Path, name: &str, source: &str) -> Option<PathBuf> {
    let (cpp, program) = (folder.join(format!("{name}.cpp")), folder.join(name));
    std::fs::write(&cpp, source).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let compiled = Command::new(compiler)
        .args(["-std=c++17", "-O0", "-ffp-contract=off", "-w", "-pthread", "-o"])
        .args([&program, &cpp])
        .output()
        .ok()?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    Some(program)
}
