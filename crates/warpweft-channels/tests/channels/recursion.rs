//! Serial helpers that call themselves: on cores, in C++ on the host, and on a GPU, where calls deeper than its stack are an error.
// Parameters that calls hand on, and a `let` before the tail, are what is translated here.
#![allow(clippy::only_used_in_recursion, clippy::let_and_return)]

use warpweft::channels::cpu::CpuExecutor;
use warpweft::channels::cuda::{CudaExecutor, LevelsExecutor, compile_check};
use warpweft::channels::flow::cuda::FlowGpuExecutor;
use warpweft::channels::flow::{FlowGpuPolicy, FlowGraph, Shared, channel_kernel};
use warpweft::channels::{
    Channels, ChannelsExecutor, CpuPolicy, LevelsPolicy, Spawning, StacksPolicy,
};
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::prelude::*;

use crate::tasks::{call, played};

/// A serial helper that calls itself below the size at which calls are spawned.
#[device]
fn serial<T: Scalar>(n: u32, one: T) -> u64 {
    if n < 2 { u64::from(n) } else { serial(n - 1, one) + serial::<T>(n - 2, one) }
}

/// Calls wait.
#[spawning]
fn coarse(n: u32) -> u64 {
    if n < 12 {
        return serial(n, 1u8);
    }
    let a = spawn!(coarse(n - 1));
    let b = spawn!(coarse(n - 2));
    sync!();
    let sum = a + b;
    sum
}

/// Nodes of a tree, in a circle of two functions with arrays.
#[device]
fn even(n: u32, some: [u32; 3]) -> u32 {
    let mut sum = some[(n % 3) as usize] & 3;
    if n > 0 {
        sum += odd(n - 1, [some[1], some[2], n]);
    }
    sum
}

#[device]
fn odd(n: u32, some: [u32; 3]) -> u32 {
    if n == 0 {
        return 1;
    }
    even(n - 1, [some[2], some[0], n]) + even(n / 2, some)
}

/// A sum, whose calls end with such a circle.
#[spawning]
fn circles(n: u32) -> u32 {
    let mut sum = even(n + 3, [n, 5, 7]);
    for k in 0..n {
        sum += spawn!(circles(k));
    }
    sync!();
    sum
}

/// As deep as is said.
#[device]
fn descend(n: u32, odd: u32) -> u32 {
    if n == 0 { odd } else { descend(n - 1, odd.rotate_left(n)) ^ n }
}

#[spawning]
fn deep(n: u32) -> u32 {
    if n == 0 {
        return descend(0, 1);
    }
    let below = spawn!(deep(0));
    sync!();
    descend(n, below) ^ below
}

/// Deeper than any stack, twice at each level: only if calls end early does this end.
#[device]
fn endless(n: u32) -> u32 {
    if n == 0x7fff_ffff { 0 } else { endless(n + 1) + endless(n ^ 1) }
}

#[spawning]
fn hopeless(n: u32) -> u32 {
    if n == 0 { 1 } else { endless(n) }
}

/// Large frames.
#[device]
fn heavy(n: u32, seed: u32) -> u32 {
    let mut some = [seed; 128];
    for k in 0..128u32 {
        some[(k.wrapping_mul(seed | 1) % 128) as usize] ^= k + n;
    }
    let below = if n == 0 { seed } else { heavy(n - 1, some[(seed % 128) as usize]) };
    some[(below % 128) as usize] ^ below
}

#[spawning]
fn heavier(n: u32) -> u32 {
    heavy(n, n + 7)
}

#[channel_kernel]
fn diving(n: u32, sum: &Shared<u64>) {
    sum.add(0, descend(n, 1) as u64);
}

fn cores() -> CpuExecutor {
    CpuExecutor::new(&Machine::detect().unwrap(), 3, CpuPolicy::default()).unwrap()
}

/// The value of a call on cores and on a GPU, if there is one, is that of the plain function.
fn alike<C: Spawning<Output: PartialEq + std::fmt::Debug>>(gpu: Option<&Device>, call: C) {
    let (values, _) = cores().run(&Channels::of(call)).unwrap();
    assert_eq!(values, [call.plain()], "{} on cores", C::NAME);
    let Some(device) = gpu else { return };
    let mut executor = CudaExecutor::new(device, StacksPolicy::default()).unwrap();
    let (values, _) = executor.run(&Channels::of(call)).unwrap();
    assert_eq!(values, [call.plain()], "{} on a GPU", C::NAME);
}

fn device() -> Option<Device> {
    Device::open(0).map_err(|error| println!("on cores only: {error}")).ok()
}

#[test]
fn helpers_that_call_themselves_give_what_plain_calls_give() {
    let device = device();
    let device = device.as_ref();
    alike(device, coarse::call(20));
    alike(device, circles::call(9));
    for n in [1, 100, 250] {
        alike(device, deep::call(n));
    }
    alike(device, heavier::call(30));
    let Some(device) = device else { return };
    let mut levels = LevelsExecutor::new(device, LevelsPolicy::default()).unwrap();
    let (values, _) = levels.run(&Channels::all((0..9).map(circles::call))).unwrap();
    assert_eq!(values, (0..9).map(circles).collect::<Vec<_>>());
}

#[test]
fn helpers_that_call_themselves_on_warps_that_the_host_plays() {
    let calls: Vec<_> = [14u32, 3, 16].map(|n| call!(coarse(n))).into();
    played(&calls, None, false, 2);
    let calls: Vec<_> = [5u32, 2].map(|n| call!(circles(n))).into();
    played(&calls, Some(1), false, 2);
}

#[test]
fn kernels_with_helpers_that_call_themselves_compile() {
    if let Err(error) = warpweft::cuda::compiler() {
        return println!("skipped: {error}");
    }
    compile_check::<coarse>("sm_90").unwrap();
    compile_check::<circles>("sm_80").unwrap();
    compile_check::<heavier>("sm_90").unwrap();
}

#[test]
fn calls_deeper_than_the_stack_of_a_gpu_are_an_error() {
    let Some(device) = device() else { return };
    let mut executor = CudaExecutor::new(&device, StacksPolicy::default()).unwrap();
    let said = [
        executor.run(&Channels::of(deep::call(300))).unwrap_err().to_string(),
        executor.run(&Channels::of(hopeless::call(1))).unwrap_err().to_string(),
        executor.run(&Channels::of(heavier::call(200))).unwrap_err().to_string(),
    ];
    for (said, name) in said.iter().zip(["`descend`", "`endless`", "`heavy`"]) {
        assert!(said.contains(name) && said.contains("deeper than the stack"), "{said}");
    }
    // A graph names the kernel and the item. The GPU lives on.
    let mut graph = FlowGraph::new();
    let numbers = graph.channel("numbers", 64);
    let sum = graph.buffer([0u64]);
    graph.connect(numbers, diving(sum));
    graph.put(numbers, [5, 400]);
    let mut flow = FlowGpuExecutor::new(&device, FlowGpuPolicy::default()).unwrap();
    let said = flow.run(&graph).err().unwrap().to_string();
    assert!(said.contains("`diving` for the item 400") && said.contains("`descend`"), "{said}");
    alike(Some(&device), deep::call(250));
}
