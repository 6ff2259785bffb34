//! Every parser of input files, over files with changed, missing and added bytes: an error or a value, soon, without a
//! panic, in little memory. `WARPWEFT_MUTATIONS=100000 cargo test -p warpweft-apps --test apps mutated` reads so many,
//! and watches the memory.

use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

use warpweft::grid::io::{npy, png};
use warpweft_apps::align;
use warpweft_apps::apsp::read;
use warpweft_lab::conformance::wavefront::Inputs;

type Parser = fn(&Path);

/// Seconds that a file may take.
const SOON: Duration = Duration::from_secs(5);
/// Kilobytes that a file of some hundred bytes may take.
const ROOM: u64 = 64 << 10;

/// Files of every format, with what reads them.
fn files() -> Vec<(&'static str, Vec<u8>, Parser)> {
    let npy = |descr: &str, shape: &str, bytes: usize| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{text:117}\n").bytes());
        file.extend((0..bytes).map(|k| k as u8));
        file
    };
    let png = vec![
        137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 0,
        0, 0, 0, 87, 221, 82, 248, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 96, 248, 15, 132, 0,
        6, 0, 1, 255, 147, 209, 228, 137, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
    ];
    let gzip = vec![
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 51, 80, 48, 84, 48, 230, 50, 84, 48, 80, 48, 226, 2, 0,
        235, 231, 182, 136, 12, 0, 0, 0,
    ];
    let series: Parser = |path| drop(npy::read::<f64, 1>(path));
    let image: Parser = |path| drop(npy::read::<u8, 2>(path));
    let graph: Parser = |path| drop(read(path));
    let mtx = "%%MatrixMarket matrix coordinate integer general\n% x\n3 3 3\n1 2 3\n2 3 4\n3 1 1\n";
    vec![
        ("a series of NPY", npy("<f8", "(9,)", 72), series),
        ("an image of NPY", npy("|u1", "(5, 7)", 35), image),
        ("a PNG", png, |path| drop(png::read(path))),
        ("FASTA", b">a one\nACGTTGCA\nTTAG\n>b\nACGNT\n".to_vec(), |path| drop(align::read(path))),
        ("FASTA in gzip", gzip.clone(), |path| drop(align::read(path))),
        ("edges", b"# edges\n0 1 3\n1 2 4\n2 0 1\n".to_vec(), graph),
        ("edges in gzip", gzip, graph),
        ("Matrix Market", mtx.into(), graph),
        ("DIMACS", b"c x\np sp 3 3\na 1 2 3\na 2 3 4\na 3 1 1\n".to_vec(), graph),
    ]
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

/// The most memory that this process had so far, in kilobytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn mutated_files_are_refused_or_read_soon_in_little_memory() {
    let asked = std::env::var("WARPWEFT_MUTATIONS").ok().and_then(|text| text.parse().ok());
    let count: u64 = asked.unwrap_or(2000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let files = files();
    let mut read = vec![0u64; files.len()];
    for seed in 0..count {
        let mut inputs = Inputs(seed);
        let which = inputs.bits() as usize % files.len();
        let (name, whole, parser) = &files[which];
        let mut bytes = whole.clone();
        mutate(&mut bytes, &mut inputs);
        std::fs::write(&path, &bytes).unwrap();
        let (begin, before) = (Instant::now(), peak());
        let outcome = catch_unwind(|| parser(&path));
        let what = format!("{name}, seed {seed}: {}", bytes.escape_ascii());
        assert!(outcome.is_ok(), "a panic: {what}");
        assert!(begin.elapsed() < SOON, "{:?}: {what}", begin.elapsed());
        // Other tests of this process take memory too, where it was not started for this one.
        assert!(asked.is_none() || peak() - before <= ROOM, "{} kB more: {what}", peak() - before);
        read[which] += 1;
    }
    for ((name, ..), read) in files.iter().zip(read) {
        println!("{read} of {name}");
    }
}
