//! Functions that `#[task]` was put on, with slices that all tasks read and arrays as outputs.

use warpweft::cuda::{Device as Gpu, compiler};
use warpweft::farm::{OnFailure, Policy, Run, Target, TaskFunction, compile_check};
use warpweft::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
struct Edge {
    to: u32,
    length: f64,
}

/// Number, least and sum of the lengths of a vertex's edges, times `scale`, and where the last one ends.
#[task]
fn edges_of(vertex: u32, first: &[u32], edges: &[Edge], scale: f64) -> [f64; 4] {
    let mut found = [0.0, 1.0e300, 0.0, -1.0];
    for k in first[vertex as usize]..first[vertex as usize + 1] {
        let length = scale * length_of(edges, k as usize);
        found =
            [found[0] + 1.0, found[1].min(length), found[2] + length, edges[k as usize].to as f64];
    }
    found
}

#[device]
fn length_of(edges: &[Edge], k: usize) -> f64 {
    edges[k].length
}

/// Where `key` is in a sorted slice, and whether it is there.
#[task]
fn place_of(key: u32, sorted: &[u32]) -> [u32; 2] {
    let place = lower_bound(sorted, key);
    let there = place < sorted.len() && sorted[place] == key;
    [place as u32, there as u32 + 2 * (lower_bound(&[3, 5, 8], key) as u32)]
}

#[device]
fn lower_bound(sorted: &[u32], key: u32) -> usize {
    let mut low = 0usize;
    let mut high = sorted.len();
    while low < high {
        let middle = (low + high) / 2;
        if sorted[middle] < key {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Reads outside of the slice where `k` is its length or more.
#[task]
fn item<T: Real + Packed>(k: u32, rows: &[[T; 2]]) -> [T; 2] {
    [rows[k as usize][1], rows[k as usize][0]]
}

/// A graph in which vertex `v` has `v % 5` edges.
fn graph(vertices: u32) -> (Vec<u32>, Vec<Edge>) {
    let (mut first, mut edges) = (vec![0], Vec::new());
    for v in 0..vertices {
        let edge = |k: u32| Edge { to: (v * 7 + k) % vertices, length: f64::from(v * 3 + k) / 8.0 };
        edges.extend((0..v % 5).map(edge));
        first.push(edges.len() as u32);
    }
    (first, edges)
}

type Found<O> = (Vec<Option<O>>, Vec<(u64, String)>);

fn found<T>(task: T, inputs: std::ops::Range<u32>, target: Target) -> Found<T::Output>
where
    T: Task<Input = u32, Output: Clone>,
{
    let policy = Policy { lanes: 3, ..Policy::default() };
    let run = Run { target, policy: Some(policy), ..Run::default() };
    let machine = Machine::detect().unwrap();
    let farm = Farm::of(task).on_failure(OnFailure::Skip);
    let inputs: Vec<u32> = inputs.collect();
    let (outputs, outcome) = farm.run_with(&inputs, &machine, &run).unwrap();
    assert!(outcome.shares.iter().all(|share| share.lost.is_none()), "{:?}", outcome.shares);
    let failed = outcome.failed.into_iter().map(|failed| (failed.task, failed.what)).collect();
    (outputs, failed)
}

/// Panics are failures of their tasks; what the standard library prints of them is left out.
fn quietly(body: impl FnOnce()) {
    std::panic::set_hook(Box::new(|_| {}));
    body();
    let _ = std::panic::take_hook();
}

fn checked(target: Target) {
    let (first, edges) = graph(5000);
    let (all, failed) = found(edges_of(&first, &edges, 2.0), 0..5000, target);
    assert!(failed.is_empty(), "{failed:?}");
    for (v, found) in (0u32..).zip(all) {
        let count = v % 5;
        let lengths: Vec<_> = (0..count).map(|k| f64::from(v * 3 + k) / 4.0).collect();
        let least = lengths.first().copied().unwrap_or(1.0e300);
        let to = if count > 0 { f64::from((v * 7 + count - 1) % 5000) } else { -1.0 };
        assert_eq!(found, Some([f64::from(count), least, lengths.iter().sum(), to]), "{v}");
    }
    let sorted: Vec<u32> = (0..1000).map(|k| 3 * k).collect();
    let (places, _) = found(place_of(&sorted), 0..3100, target);
    for (key, found) in (0u32..).zip(places) {
        let small = [3, 5, 8].iter().filter(|&&item| item < key).count() as u32;
        let there = u32::from(key % 3 == 0 && key < 3000);
        assert_eq!(found, Some([key.div_ceil(3).min(1000), there + 2 * small]), "{key}");
    }
    assert_eq!(found(place_of(&[]), 7..8, target).0, [Some([0, 4])]);
    let rows: Vec<_> = (0..40).map(|k| [k as f32, -0.5 * k as f32]).collect();
    for rows in [&rows[..], &rows[..1], &[]] {
        quietly(|| {
            let (items, failed) = found(item(rows), 0..60, target);
            let expect: Vec<_> = (0..60).map(|k| rows.get(k).map(|row| [row[1], row[0]])).collect();
            assert_eq!(items, expect);
            let count = rows.len();
            let told = |k: usize| {
                let what = "it panicked: index out of bounds: the len is";
                (k as u64, format!("{what} {count} but the index is {k}"))
            };
            assert_eq!(failed, (count..60).map(told).collect::<Vec<_>>());
        });
    }
}

#[test]
fn tasks_read_slices_and_return_arrays() {
    checked(Target::Cpu);
    let (first, edges) = graph(10);
    assert_eq!(edges_of::task(4, &first, &edges, 1.0)[0], 4.0);
}

fn compiles<E: TaskFunction>(_: &E) {
    for arch in ["sm_80", "sm_90"] {
        compile_check::<E>(arch).unwrap_or_else(|error| panic!("{} for {arch}: {error}", E::NAME));
    }
}

#[test]
fn tasks_with_slices_compile_for_devices() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let (first, edges) = graph(10);
    compiles(&edges_of(&first, &edges, 1.0));
    compiles(&place_of(&first));
    compiles(&item::<f64>(&[]));
}

#[test]
fn on_gpus_slices_are_those_of_cores() {
    if !Gpu::count().is_ok_and(|count| count > 0) {
        return println!("skipped: no GPU");
    }
    checked(Target::AllGpus);
    checked(Target::Auto);
}
