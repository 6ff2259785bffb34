//! Every parser of files and every kept state, with changed, missing and added bytes: an error or a value, soon, without
//! a panic, in little memory, and never other results. `WARPWEFT_MUTATIONS=100000 cargo test -p warpweft-apps --test
//! apps mutated` tries so many, and watches the memory; `WARPWEFT_MUTATIONS_FROM` is the first seed.

mod inputs;
mod settings;
mod states;

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use warpweft_conformance::wavefront::Inputs;

/// Seconds that a file may take.
const SOON: Duration = Duration::from_secs(5);
/// Kilobytes that a file of some hundred bytes may take.
const ROOM: u64 = 64 << 10;

/// Files of a kind in a folder of their own, of which one is changed, and what reads them.
struct Kind {
    name: &'static str,
    /// Names in the folder, and contents.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// Reads the folder; panics where it finds what it must not.
    reads: fn(&Path),
    /// How often it is tried, relative to others: states are slow, since they are brought to the disk.
    weight: u64,
    /// Makes checksums right again that only keep accidents away.
    repairs: Option<fn(&mut [u8])>,
}

impl Kind {
    /// A single file.
    fn of(name: &'static str, file: &str, bytes: impl Into<Vec<u8>>, reads: fn(&Path)) -> Self {
        let files = vec![(file.into(), bytes.into())];
        Self { name, files, reads, weight: 16, repairs: None }
    }
}

/// One to three changes.
fn mutate(bytes: &mut Vec<u8>, inputs: &mut Inputs) {
    for _ in 0..1 + inputs.bits() % 3 {
        let at = inputs.bits() as usize % bytes.len().max(1);
        let end = (at + 1 + inputs.bits() as usize % 20).min(bytes.len());
        match inputs.bits() % 6 {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << (inputs.bits() % 8),
            2 => bytes.truncate(at),
            3 => drop(bytes.splice(at..at, (0..end.saturating_sub(at)).map(|k| (k * 37) as u8))),
            4 => drop(bytes.drain(at..end)),
            _ => {
                let words: [&[u8]; 8] =
                    [b"999999999999", b"-1", b"4294967295", b"nan", b"1e308", b"0", b"(", b"\n"];
                let word = words[inputs.bits() as usize % words.len()];
                drop(bytes.splice(at..at, word.iter().copied()));
            }
        }
    }
}

/// Puts the files of `kind` into `folder`, one of them changed; how.
fn plant(kind: &Kind, folder: &Path, inputs: &mut Inputs) -> String {
    let _ = fs::remove_dir_all(folder);
    let changed = inputs.bits() as usize % kind.files.len();
    let mut what = String::new();
    for (number, (name, whole)) in kind.files.iter().enumerate() {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("a folder");
        let mut bytes = whole.clone();
        if number == changed {
            mutate(&mut bytes, inputs);
            if let Some(repairs) = kind.repairs.filter(|_| inputs.bits().is_multiple_of(2)) {
                repairs(&mut bytes);
            }
            what = format!("{}: {}", name.display(), bytes.escape_ascii());
        }
        fs::write(path, bytes).expect("a small file");
    }
    // Another file than there should be, or none.
    let path = folder.join(&kind.files[changed].0);
    match inputs.bits() % 64 {
        0 => {
            fs::remove_file(&path).expect("just written");
            format!("{} is missing", path.display())
        }
        1 if cfg!(unix) && Path::new("/dev/zero").exists() => {
            fs::remove_file(&path).expect("just written");
            #[cfg(unix)]
            std::os::unix::fs::symlink("/dev/zero", &path).expect("a link");
            format!("{} is /dev/zero", path.display())
        }
        _ => what,
    }
}

/// The most memory that this process had so far, in kilobytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn mutated_files_are_refused_or_read_soon_in_little_memory() {
    let asked = number("WARPWEFT_MUTATIONS");
    let first = number("WARPWEFT_MUTATIONS_FROM").unwrap_or(0);
    let folder = tempfile::tempdir().unwrap();
    let kinds: Vec<_> =
        [inputs::kinds(), settings::kinds(), states::kinds()].into_iter().flatten().collect();
    let all: u64 = kinds.iter().map(|kind| kind.weight).sum();
    let mut tried = vec![0u64; kinds.len()];
    for seed in first..first + asked.unwrap_or(2000) {
        let mut inputs = Inputs(seed);
        let mut place = inputs.bits() % all;
        let which = kinds.iter().position(|kind| match place.checked_sub(kind.weight) {
            None => true,
            Some(rest) => {
                place = rest;
                false
            }
        });
        let which = which.expect("below the sum of all");
        let kind = &kinds[which];
        let at = folder.path().join("case");
        let what = format!("{}, seed {seed}: {}", kind.name, plant(kind, &at, &mut inputs));
        let (begin, before) = (Instant::now(), peak());
        let outcome = catch_unwind(|| (kind.reads)(&at));
        assert!(outcome.is_ok(), "a panic: {what}");
        assert!(begin.elapsed() < SOON, "{:?}: {what}", begin.elapsed());
        // Other tests of this process take memory too, where it was not started for this one.
        assert!(asked.is_none() || peak() - before <= ROOM, "{} kB more: {what}", peak() - before);
        tried[which] += 1;
    }
    for (kind, tried) in kinds.iter().zip(tried) {
        println!("{tried} of {}", kind.name);
    }
}
