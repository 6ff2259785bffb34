//! Workers that have nothing to do use no processor time: after a run, and while another computes what can't be shared.
//!
//! A program of its own: what other tests compute would count.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::{ChannelsExecutor as _, CpuPolicy};
use warpweft::machine::Machine;
use warpweft::prelude::*;

/// The processor time of this process, in hundredths of a second.
fn ticks() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Computes for long, and spawns nothing.
#[spawning]
fn long(steps: u64) -> u64 {
    let mut x = steps;
    for _ in 0..steps {
        x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1) ^ x >> 29;
    }
    x
}

#[test]
fn who_has_nothing_to_do_sleeps() {
    let machine = Machine::detect().unwrap();
    let mut executor = CpuExecutor::new(&machine, 4, CpuPolicy::default()).unwrap();
    let mut run = |steps| executor.run(&Channels::of(long::call(steps))).unwrap();
    run(1);
    std::thread::sleep(Duration::from_millis(20));
    let before = ticks();
    std::thread::sleep(Duration::from_millis(500));
    let used = ticks() - before;
    assert!(used <= 1, "{used} hundredths of a second of 50");
    let (before, begin) = (ticks(), Instant::now());
    while begin.elapsed() < Duration::from_millis(500) {
        run(30_000_000);
    }
    // One of four computes, which may get less than a whole core.
    let (used, most) = (ticks() - before, begin.elapsed().as_millis() as u64 / 10);
    assert!(used <= most * 3 / 2, "{used} hundredths of a second in {most}");
}
