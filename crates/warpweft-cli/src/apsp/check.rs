//! Repeats some sources with an algorithm that shares no code with the farm's.

use warpweft::farm::Outcome;
use warpweft::report::counted;
use warpweft_apps::apsp::{Graph, certificate, dijkstra};

use super::answer::Found;
use crate::progress::Progress;
use crate::run::check::{Check, no_room};

/// Compares `wanted` of the sources, spread over all, with Dijkstra's algorithm, including distances that are
/// kept. Sources that failed are skipped.
pub fn check(
    graph: &Graph,
    sources: &[u32],
    found: &Found,
    farmed: &Outcome,
    wanted: u64,
) -> Check {
    let count = sources.len();
    let wanted = usize::try_from(wanted).unwrap_or(count).min(count);
    if wanted == 0 {
        return Check::none("--check 0");
    }
    // Distances, and a heap that may hold every edge.
    if let Some(none) = no_room(16 * (u64::from(graph.vertices()) + graph.edge_count() as u64)) {
        return none;
    }
    let _waiting = Progress::waiting("checking");
    let mut error = 0.0f64;
    let mut compared = 0;
    for k in (0..wanted).map(|k| k * count / wanted) {
        let listed = &farmed.failed;
        let failed = listed.binary_search_by_key(&(k as u64), |failed| failed.task).is_ok();
        // Of very many failures the last ones are not listed.
        let unlisted = found.reaches[k].is_none() && farmed.failures > listed.len() as u64;
        if failed || unlisted {
            continue;
        }
        compared += 1;
        let (source, distances) = (sources[k], dijkstra(graph, sources[k]));
        let there = || distances.iter().flatten().copied();
        let expect = [there().count() as u64, there().max().unwrap_or(0), there().sum()];
        let Some(reach) = found.reaches[k] else {
            return Check::failed(format!("source number {k} has no answer"));
        };
        let own = [reach.reached.into(), reach.farthest.into(), reach.total];
        let apart = expect.iter().zip(own).map(|(a, b): (&u64, u64)| a.abs_diff(b) as f64);
        error = apart.fold(error, f64::max);
        if let Some(why) = wrong_harmonic(found, k, &distances) {
            return Check::failed(why);
        }
        if let Some(rows) = &found.distances {
            let width = distances.len();
            let row = &rows.as_slice()[k * width..(k + 1) * width];
            if let Err(why) = certificate(graph, source, row) {
                return Check::failed(format!("the distances are wrong: {why}"));
            }
            let apart = distances
                .iter()
                .zip(row)
                .map(|(a, &b)| a.unwrap_or(u32::MAX.into()).abs_diff(b.into()));
            error = apart.fold(error, |error, apart| error.max(apart as f64));
        }
    }
    let check = Check::made("algorithm of Dijkstra with a binary heap", error, 0.0);
    match compared {
        0 => Check::none("the sources chosen for it failed"),
        _ if compared == count => check,
        _ => check.of(format!("{compared} of {}", counted(count as u64, "source"))),
    }
}

/// What is wrong with the harmonic centrality of source number `k`, by its distances.
fn wrong_harmonic(found: &Found, k: usize, distances: &[Option<u64>]) -> Option<String> {
    let own = found.statistics.as_ref()?.centrality(k)?.harmonic;
    let others = distances.iter().flatten().filter(|distance| **distance > 0);
    let expect: f64 = others.map(|distance| 1.0 / *distance as f64).sum();
    // Both are sums of floating-point numbers, in unlike orders.
    ((own - expect).abs() > 1e-9 * expect)
        .then(|| format!("source number {k} has a harmonic centrality of {own}, expected {expect}"))
}
