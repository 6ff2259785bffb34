//! A kernel that never ends, although it is told to: the host gives it up after some seconds, with what its channels hold.
//!
//! A program of its own, which starts itself: the GPU is of no use to the process that ran the kernel.

use std::process::{Command, abort};
use std::time::{Duration, Instant};

use warpweft::channels::flow::{self, FlowGraph, Shared, channel_kernel};
use warpweft::prelude::*;
use warpweft::run::Target;

const CHILD: &str = "WARPWEFT_ENDLESS_CHILD";

/// Waits for what nobody writes.
#[channel_kernel]
fn endless(item: u32, words: &Shared<u32>) {
    while words.load(0) < 7 {
        words.max(0, item);
    }
}

/// Says how the run ended, and ends the process whatever its kernel does.
fn child(machine: &Machine) -> ! {
    let mut graph = FlowGraph::new();
    let items = graph.channel("items", 100);
    let words = graph.buffer([0u32]);
    graph.connect(items, endless(words));
    graph.put(items, [1, 2, 3]);
    let deadline = Some(Instant::now() + Duration::from_secs(3));
    let run = flow::Run { target: Target::AnyGpu, deadline, ..flow::Run::default() };
    let said = graph.run_with(machine, &run).map(|_| ()).unwrap_err().to_string();
    println!("SAID {said}");
    abort()
}

#[test]
fn a_kernel_that_does_not_end_is_given_up_with_a_dump() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    if std::env::var_os(CHILD).is_some() {
        child(&machine);
    }
    let begin = Instant::now();
    let mut itself = Command::new(std::env::current_exe().unwrap());
    let output = itself.args(["--nocapture"]).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let expect = [
        "a call still runs",
        "after the run was to end",
        "`items` holds",
        "look for a loop without an end",
    ];
    assert!(expect.iter().all(|part| said.contains(part)), "{said}");
    // The deadline, the grace, compiling.
    assert!(begin.elapsed() < Duration::from_secs(40), "{:?}", begin.elapsed());
}
