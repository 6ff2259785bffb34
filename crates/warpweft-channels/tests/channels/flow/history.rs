//! Histories of the device queue: which operations on it began and ended when, and whether a queue that does one operation after
//! another could have done the same.
//!
//! The conditions are those of Henzinger, Sezgin and Vafeiadis, "Aspect-oriented linearizability proofs" (CONCUR 2013), for
//! queues of different values: each value that comes out went in before, none comes out twice, and values come out in the order in which
//! they went in. That nothing is found in an empty queue is not asked for: the queue's counts may say "empty" while others try.

use std::process::Command;

use warpweft::cuda::{Args, Buffer, Device, Launch, Module, Options, Stream, compile, compiler};
use warpweft::element::Unit;

use crate::translation_support::host;

/// When an item's operations began and ended, in and out.
type Notes = [u32; 4];

/// Why no queue that does one operation after another has this history.
fn refuted(history: &[Notes]) -> Option<String> {
    for (item, &[begun_in, ended_in, begun_out, ended_out]) in history.iter().enumerate() {
        if begun_in == 0 || begun_out == 0 {
            return Some(format!("item {item} never came out"));
        }
        if begun_in >= ended_in || begun_out >= ended_out || ended_out < begun_in {
            return Some(format!("item {item} came out before it went in: {:?}", history[item]));
        }
    }
    // Of the items that were in before another began to go in, the latest to begin to come out must not begin after that one is out.
    let (mut by_begin, mut by_end): (Vec<_>, Vec<_>) = (history.to_vec(), history.to_vec());
    by_begin.sort_unstable_by_key(|notes| notes[0]);
    by_end.sort_unstable_by_key(|notes| notes[1]);
    let (mut earlier, mut latest) = (by_end.into_iter().peekable(), [0; 4]);
    for notes in by_begin {
        while let Some(before) = earlier.next_if(|before| before[1] < notes[0]) {
            latest = if before[2] > latest[2] { before } else { latest };
        }
        if latest[2] > notes[3] {
            return Some(format!("{notes:?} overtook {latest:?}"));
        }
    }
    None
}

#[test]
fn histories_of_no_queue_are_refuted() {
    assert_eq!(refuted(&[[1, 2, 3, 4], [5, 6, 7, 8]]), None);
    // Both go in and come out at the same time.
    assert_eq!(refuted(&[[1, 4, 5, 9], [2, 3, 6, 7]]), None);
    assert!(refuted(&[[1, 2, 7, 8], [3, 4, 5, 6]]).unwrap().contains("overtook"));
    assert!(refuted(&[[5, 6, 1, 2]]).unwrap().contains("before"));
    assert!(refuted(&[[1, 2, 0, 0]]).unwrap().contains("never"));
}

/// The kernel for a queue of so many elements, and its names for a type without NVRTC's headers.
fn kernel(shift: u32, warps: u32, queue: &str) -> String {
    let prelude = Unit::new().source();
    format!(
        "{prelude}\n#define WW_PADDED 0\n#define WW_WARPS {warps}\n#define WW_SHIFT {shift}\n{queue}\n{}",
        include_str!("history.cuh")
    )
}

const QUEUE: &str = include_str!("../../../src/flow/cuda/queue.cuh");

#[test]
fn histories_of_played_warps_are_those_of_a_queue() {
    let compiler = match host::compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = host::scratch("played history");
    std::fs::create_dir_all(&folder).unwrap();
    let included = |line: &&str| !line.starts_with("#include") && !line.starts_with("#pragma once");
    let queue: String = QUEUE.lines().filter(included).map(|line| format!("{line}\n")).collect();
    let (source, binary) = (folder.join("history.cpp"), folder.join("history"));
    let text =
        [include_str!("../warps.cuh"), &kernel(5, 4, &queue), include_str!("history_main.cuh")];
    std::fs::write(&source, text.concat()).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=c++17", "-O1", "-w", "-U_FORTIFY_SOURCE"]);
    let output = command.arg(&source).arg("-o").arg(&binary).output().unwrap();
    let log: String = String::from_utf8_lossy(&output.stderr).chars().take(6000).collect();
    assert!(output.status.success(), "{log}");
    let output = Command::new(&binary).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    for line in said.lines() {
        let words: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let history: Vec<Notes> =
            words.chunks_exact(4).map(|notes| notes.try_into().unwrap()).collect();
        assert_eq!(history.len(), 4 * 60);
        assert_eq!(refuted(&history), None);
    }
    assert_eq!(said.lines().count(), 8);
}

#[test]
fn histories_on_a_gpu_are_those_of_a_queue() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    for (shift, blocks, each) in [(5, 2, 1000), (8, 20, 300), (12, 60, 200)] {
        // From the first position, and from shortly before positions begin anew.
        for (seed, start) in [(1, 0), (2, 0), (3, HALF - 40), (4, HALF - 1)] {
            let history = on_gpu(&device, (shift, 4), (blocks, each), (seed, start));
            assert_eq!(
                refuted(&history),
                None,
                "2^{shift} elements, {blocks} blocks, from {start}"
            );
        }
    }
}

#[test]
fn histories_compile_for_ampere_and_hopper() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile(&kernel(8, 4, QUEUE), "history", arch, &options()).unwrap();
    }
}

fn options() -> Options {
    Options::including(&[("words.cuh", include_str!("../../../src/cuda/words.cuh"))])
}

/// Positions are those modulo this, as in `queue.cuh`.
const HALF: u32 = 1 << 31;
/// Words between two that different warps add to, as in `queue.cuh`.
const APART: usize = 1056;

/// The notes of a run of so many blocks of warps, each of which puts in `each` items, in a queue whose next position is `start`.
fn on_gpu(
    device: &Device,
    (shift, warps): (u32, u32),
    (blocks, each): (u32, u32),
    (seed, start): (u32, u32),
) -> Vec<Notes> {
    let stream = Stream::new(device).unwrap();
    let arch = device.arch().unwrap();
    let cubin = compile(&kernel(shift, warps, QUEUE), "history", &arch, &options()).unwrap();
    let kernel = Module::load(device, &cubin).unwrap().kernel("history").unwrap();
    let count = blocks * warps * each;
    let elements = 1usize << shift;
    let words = |count: usize| Buffer::zeroed(&stream, 4 * count).unwrap();
    let (control, states, items) = (words(2 * APART), words(elements), words(4 * elements));
    stream.upload(&control, 0, &[start]).unwrap();
    stream.upload(&control, 4 * APART, &[start]).unwrap();
    let mut available = vec![0u32; elements];
    for position in (0..elements as u32).map(|k| start.wrapping_add(k)) {
        available[position as usize % elements] = 2 * (position >> shift);
    }
    stream.upload(&states, 0, &available).unwrap();
    let (shared, notes) = (words(128), words(4 * count as usize));
    stream.upload(&shared, 4 * 32, &[elements as u32]).unwrap();
    stream.upload(&shared, 4 * 64, &[count]).unwrap();
    let mut args = Args::new();
    let addresses = [&control, &states, &items, &shared, &notes].map(|buffer| buffer.address());
    let mut bytes: Vec<u8> = addresses.iter().flat_map(|address| address.to_ne_bytes()).collect();
    bytes.extend([each, seed].iter().flat_map(|word| word.to_ne_bytes()));
    args.blob(&bytes, 8);
    // SAFETY: the argument is the struct that `history` takes, and every buffer is as large as its comments say.
    unsafe { stream.launch(&kernel, Launch::line(blocks, 32 * warps), &args).unwrap() };
    stream.synchronize().unwrap();
    let mut left = [0u32; 64];
    stream.download(&shared, 4 * 64, &mut left).unwrap();
    assert_eq!((left[0], left[32]), (0, 0), "items left, and items that are wrong or came twice");
    let mut found = vec![0u32; 4 * count as usize];
    stream.download(&notes, 0, &mut found).unwrap();
    found.chunks_exact(4).map(|notes| notes.try_into().unwrap()).collect()
}
