//! Figure 6 of "Fine-grain task aggregation and coordination on GPUs" (Orr et al., ISCA 2014): Fibonacci numbers by a
//! kernel that feeds itself through a channel.
//!
//! `cargo run --release --package warpweft --example fibonacci 40`

use warpweft::channels::flow::{FlowGraph, Out, Shared, channel_kernel};
use warpweft::prelude::*;
use warpweft::report::Report;

/// Consumes a number: the first two add one to the result, another emits two smaller ones.
#[channel_kernel]
fn fib(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
    if n <= 2 {
        result.add(0, 1);
    } else {
        calls.emit(n - 1);
        calls.emit(n - 2);
    }
}

/// The number of this index.
pub fn fibonacci(n: u32, machine: &Machine) -> Result<(u64, Report)> {
    let mut graph = FlowGraph::new();
    let calls = graph.channel_stack("calls", 4096, n.max(2) as usize);
    let result = graph.buffer([0u64]);
    graph.connect(calls, fib(calls, result));
    graph.put(calls, [n]);
    let (results, report) = graph.run(machine)?;
    Ok((results.buffer(result)[0], report))
}

fn main() -> Result<()> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(30);
    let (number, report) = fibonacci(n, &Machine::detect()?)?;
    println!("fib({n}) = {number}\n{report}");
    Ok(())
}
