//! Providing NVIDIA's run-time compiler for tests, which needs neither a GPU nor a driver.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler and the headers it needs, as Python wheels.
const WHEELS: [&str; 3] =
    ["nvidia-cuda-nvrtc==13.0.*", "nvidia-cuda-runtime==13.0.*", "nvidia-cuda-cccl==13.0.*"];

/// Installs NVRTC into `target/nvrtc` when the machine has none; says what was done.
///
/// Failing is no error: tests that need it skip themselves with a reason.
pub fn provide(root: &Path) {
    let target = root.join("target/nvrtc");
    if let Some(found) = find(&target) {
        println!("found in {}", found.display());
        return;
    }
    let pip = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
        .args(["--root-user-action", "ignore", "--target"])
        .arg(&target)
        .args(WHEELS)
        .status();
    match pip {
        Ok(status) if status.success() => println!("installed into {}", target.display()),
        Ok(status) => println!("skipped: pip could not install it ({status})"),
        Err(error) => println!("skipped: python3 with pip is needed to install it ({error})"),
    }
}

/// The variable that names a library to the product.
pub const NAMES: &str = "WARPWEFT_NVRTC";

/// The variable that says how much the compiler optimises, and its value for tests, unless it is set: where no GPU runs the
/// kernels, it is enough that they compile. `/dev/dxg` is a GPU under WSL 2.
pub fn effort() -> (&'static str, OsString) {
    const NAME: &str = "WARPWEFT_COMPILE";
    let runs = ["/dev/nvidiactl", "/dev/dxg"].iter().any(|device| Path::new(device).exists());
    let usual = || if runs { "full" } else { "quick" }.into();
    (NAME, std::env::var_os(NAME).unwrap_or_else(usual))
}

/// The directory of the library that [`provide`] installed, for tests of `package`, unless the variable names one.
/// Named, it is used even if others own the checkout; the product itself loads nothing that others may have put there.
pub fn own(package: &Path) -> Option<PathBuf> {
    let mut folders = package.ancestors().map(|above| above.join("target/nvrtc/nvidia/cu13/lib"));
    folders.find(|folder| std::env::var_os(NAMES).is_none() && has_nvrtc(folder))
}

/// A directory with libnvrtc that the product finds too.
fn find(target: &Path) -> Option<PathBuf> {
    let named = [NAMES, "CUDA_HOME", "CUDA_PATH"].iter().filter_map(std::env::var_os);
    let roots = named.map(PathBuf::from).chain(["/usr/local/cuda".into(), target.to_path_buf()]);
    roots
        .flat_map(|root| {
            ["", "lib", "lib64", "nvidia/cu13/lib"].map(|directory| root.join(directory))
        })
        .find(|directory| has_nvrtc(directory))
}

fn has_nvrtc(directory: &Path) -> bool {
    std::fs::read_dir(directory).is_ok_and(|entries| {
        entries
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("libnvrtc.so"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_counts_only_with_the_library_in_it() {
        let directory = std::env::temp_dir().join(format!("xtask-nvrtc-{}", std::process::id()));
        let lib = directory.join("nvidia/cu13/lib");
        std::fs::create_dir_all(&lib).expect("a temporary directory");
        assert!(!has_nvrtc(&lib));
        std::fs::write(lib.join("libnvrtc.so.13"), b"").expect("a temporary file");
        assert!(has_nvrtc(&lib));
        std::fs::remove_dir_all(&directory).expect("the directory made above");
    }
}
