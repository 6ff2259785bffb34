//! Cores, caches and memory of the host, read from the system's files.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::cpu::Simd;
use crate::error::{Error, Result};
use crate::memory::{Limits, Memory, memory, read, value};
use crate::report::counted;

/// The host's processors, as far as this process may use them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// The model's name.
    pub model: String,
    /// The cores that this thread may run on, by the system's numbers, in order. Each hardware thread of a
    /// core counts.
    pub cores: Vec<usize>,
    /// Hardware threads of one core.
    pub threads_per_core: usize,
    /// CPU time that a control group grants this process, in cores; `None` without a limit.
    pub quota: Option<f64>,
    /// The NUMA nodes and which of `cores` are on each. Nodes without any are omitted.
    pub nodes: Vec<Node>,
    /// Cache sizes.
    pub caches: Caches,
    /// The widest instruction set.
    pub simd: Simd,
    /// Host memory.
    pub memory: Memory,
}

/// A NUMA node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// Its number.
    pub id: usize,
    /// Its cores that this process may use.
    pub cores: Vec<usize>,
}

/// Cache sizes in bytes; `None` if the system does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caches {
    /// First-level data cache of one core.
    pub l1d: Option<u64>,
    /// Second-level cache of one core.
    pub l2: Option<u64>,
    /// One third-level cache.
    pub l3: Option<u64>,
    /// Number of third-level caches of the usable cores.
    pub l3_count: usize,
    /// Bytes of a cache line.
    pub line: Option<u64>,
}

impl Cpu {
    /// Reads the files below `root`.
    pub(super) fn detect(root: &Path, notes: &mut Vec<String>) -> Result<Self> {
        let cores = cores(root)?;
        let limits = Limits::read(root);
        let quota = limits.cores.filter(|&quota| quota < cores.len() as f64);
        if let Some(quota) = quota {
            notes.push(format!(
                "a control group limits this process to {quota:.1} of its {} cores",
                cores.len()
            ));
        }
        let first = root.join(format!("sys/devices/system/cpu/cpu{}", cores[0]));
        let siblings = read(&first.join("topology/thread_siblings_list"));
        Ok(Self {
            model: model(root),
            threads_per_core: siblings.map_or(1, |list| parse_list(&list).len().max(1)),
            quota,
            nodes: nodes(root, &cores),
            caches: caches(root, &cores),
            simd: Simd::detect(),
            memory: memory(root, &limits),
            cores,
        })
    }

    /// How many threads can run at once: the number of cores, or fewer under a quota, so that none is
    /// suspended while others wait for it; at least one.
    pub fn threads(&self) -> usize {
        let quota = self.quota.map_or(usize::MAX, |quota| quota as usize);
        self.cores.len().min(quota).max(1)
    }

    /// The cores for `threads` workers: the first ones, at most all of them.
    pub fn first(&self, threads: usize) -> &[usize] {
        &self.cores[..threads.clamp(1, self.cores.len())]
    }

    /// The model and the number of its cores that `threads` threads run on, for reports. If there are more
    /// threads than cores, it gives both.
    pub fn label(&self, threads: usize) -> String {
        let there = self.cores.iter().collect::<BTreeSet<_>>().len();
        let cores = threads.min(there);
        let of = format!("{} of {}", counted(cores as u64, "core"), self.model);
        match threads > there {
            true => format!("{threads} threads on {of}"),
            false => of,
        }
    }
}

/// The numbers of a list such as `0-3,8`.
pub(super) fn parse_list(text: &str) -> Vec<usize> {
    let mut numbers = BTreeSet::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.trim().parse::<usize>(), last.trim().parse()) {
            numbers.extend(first..=last);
        }
    }
    numbers.into_iter().collect()
}

/// The calling thread's affinity, which the cpusets of control groups limit too.
fn cores(root: &Path) -> Result<Vec<usize>> {
    let status = read(&root.join("proc/thread-self/status"));
    let listed = status.as_deref().and_then(|status| value(status, "Cpus_allowed_list"));
    let cores = match listed {
        Some(list) => parse_list(list),
        // A system without such files: that many cores, from 0.
        None => (0..std::thread::available_parallelism().map_or(1, usize::from)).collect(),
    };
    if cores.is_empty() {
        return Err(Error::Device {
            stage: "looking for cores".into(),
            device: "this machine".into(),
            what: format!(
                "the list of cores that this process may use is empty or unreadable: {listed:?}"
            ),
            hint: "look at `taskset -p $$` and the control group's cpuset".into(),
        });
    }
    Ok(cores)
}

fn model(root: &Path) -> String {
    let info = read(&root.join("proc/cpuinfo")).unwrap_or_default();
    let name = value(&info, "model name").or_else(|| value(&info, "Model"));
    name.map_or_else(|| format!("{} processor", std::env::consts::ARCH), str::to_owned)
}

fn nodes(root: &Path, cores: &[usize]) -> Vec<Node> {
    let folder = root.join("sys/devices/system/node");
    let online = read(&folder.join("online")).map(|list| parse_list(&list)).unwrap_or_default();
    let mut nodes: Vec<Node> = online
        .into_iter()
        .filter_map(|id| {
            let near = parse_list(&read(&folder.join(format!("node{id}/cpulist")))?);
            let near: Vec<_> = near.into_iter().filter(|core| cores.contains(core)).collect();
            (!near.is_empty()).then_some(Node { id, cores: near })
        })
        .collect();
    if nodes.iter().map(|node| node.cores.len()).sum::<usize>() != cores.len() {
        nodes = vec![Node { id: 0, cores: cores.to_vec() }];
    }
    nodes
}

fn caches(root: &Path, cores: &[usize]) -> Caches {
    let mut caches = Caches::default();
    let folder = |core: usize| root.join(format!("sys/devices/system/cpu/cpu{core}/cache"));
    let each = |core: usize| (0..8).map(move |index| folder(core).join(format!("index{index}")));
    for index in each(cores[0]) {
        let field = |name: &str| read(&index.join(name)).map(|text| text.trim().to_owned());
        let size = field("size").and_then(|size| parse_size(&size));
        match (field("level").as_deref(), field("type").as_deref()) {
            (Some("1"), Some("Data")) => {
                caches.l1d = size;
                caches.line = field("coherency_line_size").and_then(|size| size.parse().ok());
            }
            (Some("2"), Some("Unified")) => caches.l2 = size,
            (Some("3"), Some("Unified")) => caches.l3 = size,
            _ => {}
        }
    }
    let mut groups = BTreeSet::new();
    for index in cores.iter().flat_map(|&core| each(core)) {
        if read(&index.join("level")).is_some_and(|level| level.trim() == "3") {
            groups.extend(read(&index.join("shared_cpu_list")));
        }
    }
    caches.l3_count = groups.len();
    caches
}

/// Bytes of a size such as `32768K`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
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
    fn lists_and_sizes_are_read_as_the_system_writes_them() {
        assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(parse_list("\n"), [0usize; 0]);
        assert_eq!(parse_size("32768K"), Some(32 << 20));
        assert_eq!(parse_size("many"), None);
    }

    #[test]
    fn two_sockets_of_which_the_process_may_use_some_cores() {
        let cache = "sys/devices/system/cpu/cpu2/cache";
        let (l1, l3) = (format!("{cache}/index0"), format!("{cache}/index3"));
        let other = "sys/devices/system/cpu/cpu9/cache/index3";
        let paths = |of: &str, name: &str| format!("{of}/{name}");
        let files = [
            ("proc/thread-self/status".into(), "Name:\tx\nCpus_allowed_list:\t2-3,9\n"),
            ("proc/cpuinfo".into(), "processor\t: 0\nmodel name\t: A Good One\n"),
            ("proc/meminfo".into(), "MemTotal:  1000 kB\nMemAvailable:  800 kB\n"),
            ("sys/devices/system/node/online".into(), "0-2\n"),
            ("sys/devices/system/node/node0/cpulist".into(), "0-7\n"),
            ("sys/devices/system/node/node1/cpulist".into(), "8-15\n"),
            ("sys/devices/system/node/node2/cpulist".into(), "\n"),
            ("sys/devices/system/cpu/cpu2/topology/thread_siblings_list".into(), "2,18\n"),
            (paths(&l1, "level"), "1\n"),
            (paths(&l1, "type"), "Data\n"),
            (paths(&l1, "size"), "48K\n"),
            (paths(&l1, "coherency_line_size"), "64\n"),
            (paths(&l3, "level"), "3\n"),
            (paths(&l3, "type"), "Unified\n"),
            (paths(&l3, "size"), "32M\n"),
            (paths(&l3, "shared_cpu_list"), "0-7\n"),
            (paths(other, "level"), "3\n"),
            (paths(other, "shared_cpu_list"), "8-15\n"),
            // 150 % of one core, and 500 KiB of which 100 are used, 40 of those by cold files.
            ("proc/self/cgroup".into(), "0::/job\n"),
            ("sys/fs/cgroup/cgroup.controllers".into(), "cpu memory\n"),
            ("sys/fs/cgroup/job/cpu.max".into(), "150000 100000\n"),
            ("sys/fs/cgroup/memory.max".into(), "512000\n"),
            ("sys/fs/cgroup/memory.current".into(), "102400\n"),
            ("sys/fs/cgroup/memory.stat".into(), "anon 1\ninactive_file 40960\n"),
            ("sys/fs/cgroup/job/memory.max".into(), "max\n"),
        ];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(p, t): &(String, _)| (&p[..], *t)).collect();
        let root = host(&files);
        let mut notes = Vec::new();
        let cpu = Cpu::detect(root.path(), &mut notes).unwrap();
        assert_eq!(cpu.model, "A Good One");
        assert_eq!(cpu.cores, [2, 3, 9]);
        assert_eq!(cpu.threads_per_core, 2);
        let nodes = [Node { id: 0, cores: vec![2, 3] }, Node { id: 1, cores: vec![9] }];
        assert_eq!(cpu.nodes, nodes);
        let caches = Caches {
            l1d: Some(48 << 10),
            l2: None,
            l3: Some(32 << 20),
            l3_count: 2,
            line: Some(64),
        };
        assert_eq!(cpu.caches, caches);
        assert_eq!((cpu.quota, cpu.threads()), (Some(1.5), 1));
        assert_eq!(cpu.memory, Memory { total: 512_000, available: 512_000 - 102_400 + 40_960 });
        assert_eq!(crate::memory::available_in(root.path()), Some(512_000 - 102_400 + 40_960));
        assert!(notes[0].contains("1.5 of its 3 cores"), "{notes:?}");
    }

    #[test]
    fn a_system_without_such_files_has_cores_nevertheless() {
        let root = host(&[]);
        let cpu = Cpu::detect(root.path(), &mut Vec::new()).unwrap();
        assert!(!cpu.cores.is_empty() && cpu.nodes.len() == 1);
        assert_eq!(cpu.caches, Caches::default());
    }

    #[test]
    fn no_core_at_all_is_an_error() {
        let root = host(&[("proc/thread-self/status", "Cpus_allowed_list:\t\n")]);
        let error = Cpu::detect(root.path(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("taskset"), "{error}");
    }
}
