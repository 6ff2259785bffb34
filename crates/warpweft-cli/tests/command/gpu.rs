//! What only a machine with a GPU can show. Skipped, with the reason, where there is none; failed
//! where `WARPWEFT_NEED_GPU` is 1.

use std::path::{Path, PathBuf};

use warpweft::cuda::{Buffer, Device};

use crate::{Ran, bare, warpweft};

/// Whether there is a GPU that runs can use.
pub fn there_is_one() -> bool {
    let ran = warpweft("run life --size 8 --steps 1 --device gpu");
    if ran.status == Some(0) {
        return true;
    }
    assert_ne!(std::env::var("WARPWEFT_NEED_GPU").as_deref(), Ok("1"), "{}", ran.err);
    println!("skipped: {}", ran.err.trim());
    false
}

/// The files under `folder` that end in `ending`.
fn ending_in(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    let paths = entries.map(|entry| entry.expect("readable").path());
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn damaged_kernels_are_compiled_anew_and_said_once() {
    if !there_is_one() {
        return;
    }
    let cache = tempfile::tempdir().expect("a temporary directory");
    let line = ["run", "heat", "--device", "gpu", "--size", "40", "--steps", "9", "--json"];
    let ran = || Ran::of(bare().args(line).env("WARPWEFT_CACHE", cache.path()));
    let result = ran().json()["result"].clone();
    let kernels = ending_in(&cache.path().join("cubin"), "cubin");
    assert!(!kernels.is_empty());
    for kernel in &kernels {
        let mut bytes = std::fs::read(kernel).expect("just written");
        bytes.truncate(bytes.len() / 2);
        std::fs::write(kernel, bytes).expect("a small file");
    }
    let second = ran();
    // A run loads one kernel or a few, and says it of each that it wants.
    let said = second.err.matches("was damaged; compiled anew").count();
    assert!((1..=kernels.len()).contains(&said), "{}", second.err);
    assert_eq!(second.json()["result"], result);
    let third = ran();
    assert!(!third.err.contains("damaged"), "{}", third.err);
}

#[test]
fn too_little_device_memory_is_said_with_what_is_needed_and_there() {
    if !there_is_one() {
        return;
    }
    const GIB: u64 = 1 << 30;
    let device = Device::open(0).expect("there is one");
    let (free, _) = device.memory().expect("it answers");
    // Other tests run next to this one, so some gigabytes stay free.
    let ballast = free.saturating_sub(6 * GIB) as usize;
    let held = Buffer::new(&device, ballast).expect("it was free");
    // Two arrays of 4 GB.
    let line = "run heat --dims 1 --size 1000000000 --steps 1 --device gpu";
    let host = warpweft::memory::available_memory().unwrap_or(0);
    if host < 8 * GIB {
        return println!("skipped: needs 8 GiB of host memory, {host} bytes are there");
    }
    let ran = warpweft(line);
    drop(held);
    ran.fails(1, &["memory: 8000", "bytes needed", "available", "run on the CPU"]);
}
