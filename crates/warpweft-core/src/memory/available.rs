//! How much memory the host has, and how much of it this process can use, read from the system's files.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Limits;

/// Host memory in bytes, including limits of control groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// All memory.
    pub total: u64,
    /// Memory that can be used without swapping.
    pub available: u64,
}

/// Bytes of host memory that this process can use without swapping, if known: the minimum of what the machine
/// and what control groups have left.
pub fn available_memory() -> Option<u64> {
    available_in(Path::new("/"))
}

pub(crate) fn available_in(root: &Path) -> Option<u64> {
    let memory = memory(root, &Limits::read(root));
    (memory.total > 0).then_some(memory.available)
}

/// Reserve within the shell's limits for small allocations.
const ASIDE: u64 = 8 << 20;

/// Bytes that the shell's limits (`ulimit -v`, `ulimit -d`) leave this process for large arrays.
fn shell_limits_left(root: &Path) -> u64 {
    let [limits, status] =
        ["limits", "status"].map(|file| read(&root.join("proc/self").join(file)));
    let (Some(limits), Some(status)) = (limits, status) else { return u64::MAX };
    let left = |(limit, used): (&str, &str)| -> Option<u64> {
        let line = limits.lines().find_map(|line| line.strip_prefix(limit))?;
        // The first of the two numbers is in force; "unlimited" is not a number.
        let most: u64 = line.split_whitespace().next()?.parse().ok()?;
        let used: u64 = value(&status, used)?.strip_suffix("kB")?.trim().parse().ok()?;
        Some(most.saturating_sub(used * 1024 + ASIDE))
    };
    let both = [("Max address space", "VmSize"), ("Max data size", "VmData")];
    both.into_iter().filter_map(left).min().unwrap_or(u64::MAX)
}

/// The host's memory, read from the files below `root`.
pub(crate) fn memory(root: &Path, limits: &Limits) -> Memory {
    let info = read(&root.join("proc/meminfo")).unwrap_or_default();
    let bytes = |key: &str| {
        let kib: u64 = value(&info, key)?.strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    };
    let left = limits.memory_left.unwrap_or(u64::MAX).min(shell_limits_left(root));
    let total = bytes("MemTotal").unwrap_or(0);
    let available = bytes("MemAvailable").or_else(|| bytes("MemFree")).unwrap_or(total);
    Memory { total: total.min(limits.memory.unwrap_or(u64::MAX)), available: available.min(left) }
}

pub(crate) fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// The value of `key: value` in a file of such lines.
pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path: PathBuf = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_limits_of_a_shell_leave_less() {
        let of = |space: &str, data: &str| {
            let limits = format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max data size             {data}            unlimited            bytes     \n\
                 Max address space         {space}            unlimited            bytes     \n"
            );
            let root = host(&[
                ("proc/meminfo", "MemTotal:  100000 kB\nMemAvailable:  80000 kB\n"),
                ("proc/self/limits", &limits),
                ("proc/self/status", "VmPeak:\t  900 kB\nVmSize:\t  300 kB\nVmData:\t  50 kB\n"),
            ]);
            available_in(root.path())
        };
        let kib = |number: u64| (number << 10).to_string();
        assert_eq!(of("unlimited", "unlimited"), Some(80_000 << 10));
        assert_eq!(of(&kib(20_300), "unlimited"), Some((20_000 << 10) - ASIDE));
        assert_eq!(of(&kib(20_300), &kib(10_050)), Some((10_000 << 10) - ASIDE));
        assert_eq!(of(&kib(400), "unlimited"), Some(0));
    }
}
