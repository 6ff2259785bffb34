//! Extensions of pairs: on the cores, one pair a thread.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::json;
use warpweft::Result;
use warpweft::machine::Machine;
use warpweft::report::{Quantity, Report};
use warpweft_apps::align::{Aligned, Scoring, Sequence, extend};

/// The extension of each pair that scores at most `drop` below the best on its way, and what that took.
pub fn extensions(
    pairs: &[(&Sequence, &Sequence)],
    scoring: &Scoring,
    drop: i32,
    threads: Option<usize>,
) -> Result<(Vec<Aligned>, Report)> {
    let cpu = Machine::detect()?.cpu;
    let threads = threads.unwrap_or_else(|| cpu.threads()).min(pairs.len()).max(1);
    let begin = Instant::now();
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(pairs.len()));
    let work = || {
        loop {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some((query, target)) = pairs.get(k) else { break };
            let one = extend(query, target, scoring, drop);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((k, one));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort_by_key(|(k, _)| *k);
    let mut cells = 0;
    let mut all = Vec::with_capacity(found.len());
    for (_, one) in found {
        let (aligned, computed) = one?;
        cells += computed;
        all.push(aligned);
    }
    let seconds = begin.elapsed().as_secs_f64();
    let report = Report {
        pattern: "wavefront",
        devices: vec![cpu.label(threads)],
        seconds,
        setup_seconds: 0.0,
        rate: Quantity { value: cells as f64 / seconds.max(f64::MIN_POSITIVE), unit: "cells/s" },
        bytes: 0,
        roofline: None,
        roofline_fraction: None,
        temporal_depth: None,
        predicted_seconds: None,
        policy: json!({"threads": threads}),
        done: cells,
        first: 0,
        interrupted: false,
        residual: None,
        tolerance: None,
        probes: Vec::new(),
        notes: Vec::new(),
    };
    Ok((all, report))
}
