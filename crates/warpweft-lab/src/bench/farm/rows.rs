//! Rows of distances to a sink, statistics of all vertices, and the cores next to a GPU against the GPU alone.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use warpweft::cpu::Pool;
use warpweft::farm::{Inputs, Policy, Run, Target};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_apps::apsp::{Form, ShortestPaths};

use super::graph::{Case, SOURCES, Wants, any};
use super::{Line, Place};
use warpweft_terminal::output::note;

/// Sources of rows of 32 bits, twice as many of 16, and of the comparison of the cores and a GPU with the GPU alone.
const ROWS: u32 = 65_536;
const BOTH: u32 = 200_000;
/// Lanes of rows: the link is busy while one of them searches.
const LANES: usize = 3;
/// Sources of all that are compared with Dijkstra's algorithm.
const CHECKED: usize = 100;
/// Bytes of a packed row before its distances.
const HEAD: usize = 24;

/// All of them.
pub fn measured(place: &Place<'_>) -> Result<Vec<Line>> {
    let Some(machine) = place.with_one_gpu() else {
        note("no GPU: no rows of distances");
        return Ok(Vec::new());
    };
    let mut lines = vec![statistics(place, &machine)?];
    for bytes in [4, 2] {
        note(&format!("rows of distances of {} bits", 8 * bytes));
        let rates = (0..=place.repeats).map(|_| rows(place, &machine, bytes));
        // The first pays for compiled kernels.
        let rates = rates.collect::<Result<Vec<_>>>()?.split_off(1);
        let what = format!("rows of distances of {} bits, all added up, one GPU", 8 * bytes);
        lines.push(Line::median(what, rates, "sources/s"));
    }
    lines.push(all(place, &machine)?);
    lines.extend(both(place, &machine)?);
    Ok(lines)
}

/// A case of some random sources on GPUs.
fn case<'g>(place: &Place<'g>, seed: u64, count: u32) -> Case<'g> {
    let sources = any(place.graph, seed, count / place.shrink);
    let (form, target, policy) = (Form::Auto, Target::AllGpus, Policy::default());
    Case { graph: place.graph, form, target, policy, sources }
}

fn statistics(place: &Place<'_>, machine: &Machine) -> Result<Line> {
    note("planes with statistics");
    let rates = case(place, 10, SOURCES[0]).repeated(machine, Wants::Statistics, place.repeats)?;
    let rates = rates.into_iter().map(|[rate, _]| rate).collect();
    Ok(Line::median("planes with statistics, random sources, one GPU", rates, "sources/s"))
}

/// Sources a second of rows of distances of so many bytes. The sink adds up each row on all cores, and compares the sum with
/// what the device has counted.
fn rows(place: &Place<'_>, machine: &Machine, bytes: u32) -> Result<f64> {
    let case = case(place, 10, ROWS * 4 / bytes);
    let policy = Policy { lanes: LANES, ..case.policy };
    let pool = Pool::over(&machine.cpu.cores, machine.cpu.threads())?;
    let mut count = 0;
    let mut sink = |tasks: Range<u64>, outputs: &[u8]| {
        let rows = (tasks.end - tasks.start) as usize;
        count += rows;
        let sums = sums(&pool, outputs, rows, bytes)?;
        for (k, (sum, row)) in tasks.zip(sums.iter().zip(outputs.chunks(outputs.len() / rows))) {
            let total =
                row[8..16].iter().rev().fold(0, |total, byte| total << 8 | u64::from(*byte));
            if *sum != total {
                let what = format!("a row of source {k} adds up to {sum}, not to {total}");
                return Err(Error::spec(what, "report this as a bug"));
            }
        }
        Ok(())
    };
    let run = Run { target: case.target, policy: Some(policy), ..Run::default() };
    let (graph, inputs) = (place.graph, Inputs::from(&case.sources));
    let outcome = match bytes {
        2 => Farm::of(ShortestPaths::short_distances(graph))
            .run_packed(inputs, machine, &run, &mut sink)?,
        _ => Farm::of(ShortestPaths::distances(graph))
            .run_packed(inputs, machine, &run, &mut sink)?,
    };
    if count != case.sources.len() {
        let what = format!("{count} of {} rows came", case.sources.len());
        return Err(Error::spec(what, "report this as a bug"));
    }
    Ok(count as f64 / outcome.report.seconds)
}

/// The sum of the distances of each of so many rows that lie one after another.
fn sums(pool: &Pool, outputs: &[u8], rows: usize, bytes: u32) -> Result<Vec<u64>> {
    let sums: Vec<_> = (0..rows).map(|_| AtomicU64::new(0)).collect();
    let each = outputs.len() / rows;
    let parts = pool.len().div_ceil(rows);
    let part = (each - HEAD) / bytes as usize / parts + 1;
    let added = pool.run(|worker| {
        for k in worker.share(rows * parts) {
            let row = &outputs[k / parts * each..][HEAD..each];
            let [from, to] = [k % parts, k % parts + 1];
            let [from, to] = [from, to].map(|at| row.len().min(at * part * bytes as usize));
            sums[k / parts].fetch_add(sum(&row[from..to], bytes), Ordering::Relaxed);
        }
        Ok(())
    });
    added.map_err(|panic| Error::spec(panic.message, "report this as a bug"))?;
    Ok(sums.into_iter().map(AtomicU64::into_inner).collect())
}

/// The sum of distances, without those of vertices that no path leads to.
fn sum(distances: &[u8], bytes: u32) -> u64 {
    if bytes == 4 {
        let distances = distances.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
        return distances.map(|d| if d == u32::MAX { 0 } else { u64::from(d) }).sum();
    }
    // As many as a sum of 32 bits holds.
    let blocks = distances.as_chunks().0.chunks(1 << 16);
    let distances = |block: &[[u8; 2]]| {
        let each = block.iter().map(|bytes| u16::from_le_bytes(*bytes));
        each.map(|d| if d == u16::MAX { 0 } else { u32::from(d) }).sum::<u32>()
    };
    blocks.map(|block| u64::from(distances(block))).sum()
}

fn all(place: &Place<'_>, machine: &Machine) -> Result<Line> {
    note("statistics of all vertices");
    let vertices = place.graph.vertices();
    let case = Case { sources: (0..vertices).collect(), ..case(place, 0, 0) };
    let expected = case.expected(CHECKED);
    let [rate, _] = case.run(machine, Wants::Statistics, &expected)?;
    let what = format!("statistics of all {vertices} vertices, {CHECKED} checked, one GPU");
    Ok(Line::new(what, f64::from(vertices) / rate, "s"))
}

fn both(place: &Place<'_>, machine: &Machine) -> Result<[Line; 3]> {
    note("the cores next to the GPU, and the GPU alone");
    let alone = case(place, 11, BOTH);
    let both = Case { target: Target::Auto, sources: alone.sources.clone(), ..alone };
    // In turns, so that both meet the same machine.
    let expected = alone.expected(3);
    let mut rates = [Vec::new(), Vec::new()];
    for repeat in 0..=place.repeats {
        for (rates, case) in rates.iter_mut().zip([&alone, &both]) {
            // The whole call: with cores the farm begins before the lanes are set up.
            let begin = Instant::now();
            case.run(machine, Wants::Reach, &expected)?;
            if repeat > 0 {
                rates.push(case.sources.len() as f64 / begin.elapsed().as_secs_f64());
            }
        }
    }
    let ratio = |(gpu, auto): (&f64, &f64)| 100.0 * (gpu / auto - 1.0);
    let slower = rates[0].iter().zip(&rates[1]).map(ratio).collect();
    let count = alone.sources.len();
    let [gpu, auto] = rates;
    Ok([
        Line::median(format!("{count} sources, the GPU alone, whole call"), gpu, "sources/s"),
        Line::median(
            format!("{count} sources, cores and GPU (auto), whole call"),
            auto,
            "sources/s",
        ),
        Line::median("auto takes longer by", slower, "%"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_up_whatever_the_number_of_threads() {
        let row = |distances: &[u32], bytes: usize| {
            let words = distances.iter().flat_map(|d| d.to_le_bytes()[..bytes].to_vec());
            [0; HEAD].into_iter().chain(words).collect::<Vec<u8>>()
        };
        let pool = Pool::new(&[0, 0, 0]).unwrap();
        for bytes in [4, 2] {
            let [a, b] =
                [[1, 2, 3, u32::MAX, 7], [u32::MAX, 40_000, 0, 5, 6]].map(|d| row(&d, bytes));
            let both = [a.clone(), b].concat();
            assert_eq!(sums(&pool, &both, 2, bytes as u32).unwrap(), [13, 40_011]);
            assert_eq!(sums(&pool, &a, 1, bytes as u32).unwrap(), [13]);
        }
    }
}
