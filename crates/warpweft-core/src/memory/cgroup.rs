//! Limits of control groups (containers, batch systems) on this process: versions 1 and 2.

use std::fs;
use std::path::Path;

/// Limits, `None` where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Limits {
    /// CPU time, in cores.
    pub cores: Option<f64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of memory not used yet.
    pub memory_left: Option<u64>,
}

/// Version 1 expresses "no limit" by a number above this.
const NONE: u64 = 1 << 60;

impl Limits {
    /// Reads the files below `root`: those of the process's group and of all groups above it.
    pub fn read(root: &Path) -> Self {
        let mut limits = Self::default();
        let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':');
            let (_, Some(kinds), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let mount = if kinds.is_empty() { "" } else { kinds };
            // Inside a container the path may be the host's; then only the mount itself exists.
            let top = root.join("sys/fs/cgroup").join(mount);
            let group = top.join(path.trim_start_matches('/'));
            for folder in group.ancestors().take_while(|folder| folder.starts_with(&top)) {
                match kinds {
                    "" => limits.version_2(folder),
                    _ => limits.version_1(folder),
                }
            }
        }
        limits
    }

    fn version_2(&mut self, folder: &Path) {
        if let Some(text) = text(folder, "cpu.max")
            && let Some((quota, period)) = text.split_once(' ')
            && let (Ok(quota), Ok(period)) = (quota.parse::<f64>(), period.parse::<f64>())
        {
            self.cores_at_most(quota / period);
        }
        let cached = ["inactive_file", "active_file"];
        self.memory_at_most(folder, ["memory.max", "memory.current"], cached);
    }

    fn version_1(&mut self, folder: &Path) {
        let quota = number(folder, "cpu.cfs_quota_us");
        if let (Some(quota), Some(period)) = (quota, number(folder, "cpu.cfs_period_us")) {
            self.cores_at_most(quota as f64 / period as f64);
        }
        let cached = ["total_inactive_file", "total_active_file"];
        self.memory_at_most(folder, ["memory.limit_in_bytes", "memory.usage_in_bytes"], cached);
    }

    fn cores_at_most(&mut self, cores: f64) {
        if cores > 0.0 && cores.is_finite() {
            self.cores = Some(self.cores.map_or(cores, |least| least.min(cores)));
        }
    }

    fn memory_at_most(&mut self, folder: &Path, [limit, usage]: [&str; 2], cached: [&str; 2]) {
        let Some(limit) = number(folder, limit).filter(|&limit| limit < NONE) else { return };
        // Cached files count as used but can be evicted.
        let stat = text(folder, "memory.stat").unwrap_or_default();
        let bytes = |name: &str| -> Option<u64> {
            stat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
        };
        let cached = cached.into_iter().filter_map(bytes).fold(0, u64::saturating_add);
        let used = number(folder, usage).unwrap_or(0).saturating_sub(cached);
        let left = limit.saturating_sub(used);
        self.memory = Some(self.memory.map_or(limit, |least| least.min(limit)));
        self.memory_left = Some(self.memory_left.map_or(left, |least| least.min(left)));
    }
}

fn text(folder: &Path, name: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(name)).ok()?.trim().to_owned())
}

/// The number in a file; `None` for "max" and -1.
fn number(folder: &Path, name: &str) -> Option<u64> {
    text(folder, name)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_has_a_mount_for_each_kind_and_a_number_for_no_limit() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/host/only\n0::/\n");
        write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n");
        write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "400\n");
        write(
            "sys/fs/cgroup/memory/a/memory.stat",
            "total_inactive_file 60\ntotal_active_file 40\n",
        );
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
        write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
        let limits = Limits::read(root.path());
        assert_eq!(limits, Limits { cores: None, memory: Some(1000), memory_left: Some(700) });
    }
}
