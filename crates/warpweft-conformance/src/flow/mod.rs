//! What every executor of channel-flow graphs must pass: each item is consumed once, with the words and items of the
//! reference, which takes one item after the other.

mod forests;
mod graphs;

pub use forests::{Forest, forest, forest_failure};
pub use graphs::*;

use super::Pick;
use super::channels::Case;
use warpweft::channels::flow::{
    ChannelId, FlowCpuExecutor, FlowGpuExecutor, FlowGraph, Item, Results, reference,
};
use warpweft::error::Result;
use warpweft::report::Report;

/// What runs graphs.
pub trait Subject {
    /// Runs one.
    ///
    /// # Errors
    /// The executor's.
    fn run(&mut self, graph: &FlowGraph) -> Result<(Results, Report)>;
}

impl Subject for FlowCpuExecutor {
    fn run(&mut self, graph: &FlowGraph) -> Result<(Results, Report)> {
        FlowCpuExecutor::run(self, graph)
    }
}

impl Subject for FlowGpuExecutor {
    fn run(&mut self, graph: &FlowGraph) -> Result<(Results, Report)> {
        FlowGpuExecutor::run(self, graph)
    }
}

/// The items of a channel in order: runs give them in any.
fn sorted<T: Item + Ord>(results: &Results, channel: ChannelId<T>) -> Vec<T> {
    let mut items = results.items(channel).to_vec();
    items.sort_unstable();
    items
}

/// What is wrong with the counts, if anything is.
fn counted(found: &Results, expect: &Results) -> Option<String> {
    let both = found.channels().iter().zip(expect.channels());
    let other = both.into_iter().find(|(found, expect)| {
        // The host does not count.
        found.items != expect.items && found.firings > 0
    });
    other.map(|(found, expect)| {
        format!("{} items consumed from `{}`, not {}", found.items, found.name, expect.items)
    })
}

/// What is wrong with a recursion in channels for `capacity` items.
pub fn fib_failure(subject: &mut impl Subject, capacity: usize, n: u32) -> Option<String> {
    let (graph, result) = fib_graph(capacity, n as usize, n);
    let (mut this, mut next) = (0u64, 1u64);
    (0..n).for_each(|_| (this, next) = (next, this + next));
    match subject.run(&graph) {
        Err(error) => Some(error.to_string()),
        Ok((results, report)) => {
            let found = (results.buffer(result)[0], report.done, results.channels()[0].most);
            let right = (found.0, found.1) == (this, 2 * this - 1) && found.2 <= capacity as u64;
            (!right).then(|| format!("sum, items and occupancy {found:?}, not {this}"))
        }
    }
}

/// What is wrong with walkers in a cycle of channels.
pub fn walkers_failure(
    subject: &mut impl Subject,
    capacities: [usize; 2],
    count: u64,
) -> Option<String> {
    let (graph, ended) = walkers(capacities, count);
    let (expect, found) = (reference(&graph), subject.run(&graph));
    match (expect, found) {
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
        (Ok(expect), Ok((found, _))) => match sorted(&found, ended) == sorted(&expect, ended) {
            true => counted(&found, &expect),
            false => Some("other walkers came to the host".into()),
        },
    }
}

/// What is wrong with a random graph.
pub fn random_failure(subject: &mut impl Subject, shape: u64, variant: u64) -> Option<String> {
    let Random { graph, host, sums, words } = random(shape, variant);
    let (expect, found) = (reference(&graph), subject.run(&graph));
    match (expect, found) {
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
        (Ok(expect), Ok((found, _))) => {
            let same = found.buffer(sums) == expect.buffer(sums)
                && found.buffer(words) == expect.buffer(words)
                && sorted(&found, host) == sorted(&expect, host);
            match same {
                true => counted(&found, &expect),
                false => Some("other words or items than the reference's".into()),
            }
        }
    }
}

/// Runs graphs of all kinds on `subject`.
pub fn suite(subject: &mut impl Subject) -> Vec<Case> {
    suite_picked(subject, &mut Pick::all())
}

/// [`suite`] as far as its cases are picked.
pub fn suite_picked(subject: &mut impl Subject, pick: &mut Pick<'_>) -> Vec<Case> {
    let mut cases = Vec::new();
    for capacity in [2, 7, 100, 5000] {
        if pick.take() {
            let failure = fib_failure(subject, capacity, 18);
            cases.push(Case { name: "fib in a stack of channels", failure });
        }
    }
    for capacities in [[1, 1], [1, 9], [500, 20]] {
        if pick.take() {
            let failure = walkers_failure(subject, capacities, 700);
            cases.push(Case { name: "walkers in a cycle of channels", failure });
        }
    }
    for shape in 1..=6 {
        if pick.take() {
            let failure = forest_failure(subject, shape, 1);
            cases.push(Case { name: "trees in a stack of channels", failure });
        }
    }
    for seed in 1..=12 {
        if pick.take() {
            let failure = random_failure(subject, seed, 0);
            cases.push(Case { name: "a random graph", failure });
        }
    }
    cases
}
