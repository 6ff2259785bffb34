//! The knapsack problem by branch and bound: a node takes the next thing or leaves it, unless the best that can still
//! come of it is known already.
//!
//! Nodes are items of a channel-flow graph, a level of the stack for each thing decided. The best value so far is a word
//! that all firings share, so how many nodes there are depends on their order, and the best value does not.

use warpweft::channels::flow::{BufferId, FlowGraph, Out, Shared, channel_kernel};
use warpweft::error::{Error, Result};
use warpweft::prelude::*;

/// A choice: things up to `next` are decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device)]
#[repr(C)]
pub struct Node {
    /// The first thing that is not decided.
    pub next: u32,
    /// The weight that may still be taken.
    pub room: u32,
    /// The value of what is taken.
    pub value: u32,
}

/// Branches, if the things that fit next, and a part of the first that does not, would be worth more than the best so
/// far (Dantzig's bound: things are in the order of value by weight).
#[channel_kernel]
pub fn branch(
    node: Node,
    count: u32,
    nodes: &mut Out<Node, 2>,
    weights: &Shared<u32>,
    values: &Shared<u32>,
    best: &Shared<u32>,
) {
    let mut room = node.room;
    let mut bound = node.value as u64;
    let mut k = node.next;
    while k < count && weights.load(k as usize) <= room {
        room -= weights.load(k as usize);
        bound += values.load(k as usize) as u64;
        k += 1;
    }
    if k == count {
        best.max(0, bound as u32);
        return;
    }
    bound += room as u64 * values.load(k as usize) as u64 / weights.load(k as usize) as u64;
    best.max(0, node.value);
    if bound <= best.load(0) as u64 {
        return;
    }
    let next = node.next as usize;
    let (weight, value) = (weights.load(next), values.load(next));
    nodes.emit(Node { next: node.next + 1, ..node });
    if weight <= node.room {
        nodes.emit(Node {
            next: node.next + 1,
            room: node.room - weight,
            value: node.value + value,
        });
    }
}

/// Things to choose from, and the weight that they may have together.
#[derive(Clone, Debug)]
pub struct Knapsack {
    /// Weight and value of each.
    pub things: Vec<[u32; 2]>,
    /// The weight that may be taken.
    pub room: u32,
}

/// The most things.
pub const MOST: u32 = 200;
/// Nodes that a level of the stack holds.
const CAPACITY: usize = 4096;

impl Knapsack {
    /// `count` things with values near their weights ("weakly correlated", Pisinger, "Where are the hard knapsack
    /// problems?", 2005), half of whose weight fits.
    ///
    /// # Errors
    /// No things, or more than [`MOST`].
    pub fn new(count: u32, seed: u32) -> Result<Self> {
        if !(1..=MOST).contains(&count) {
            return Err(Error::spec(format!("{count} things"), format!("take 1 to {MOST}")));
        }
        let mut state = u64::from(seed) ^ 0x9e37_79b9_7f4a_7c15;
        let mut draw = |from: u32, to: u32| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            from + ((state >> 33) as u32) % (to - from)
        };
        let things: Vec<_> = (0..count)
            .map(|_| {
                let weight = draw(101, 1000);
                [weight, draw(weight - 100, weight + 101)]
            })
            .collect();
        let room = things.iter().map(|[weight, _]| weight).sum::<u32>() / 2;
        Ok(Self { things, room })
    }

    /// The graph, and the buffer of the best value.
    pub fn graph(&self) -> (FlowGraph, BufferId<u32>) {
        let mut things = self.things.clone();
        // The most value by weight first.
        things.sort_by_key(|&[weight, value]| {
            std::cmp::Reverse((u64::from(value) << 32) / u64::from(weight))
        });
        let mut graph = FlowGraph::new();
        let nodes = graph.channel_stack("nodes", CAPACITY, things.len() + 1);
        let weights = graph.buffer(things.iter().map(|thing| thing[0]));
        let values = graph.buffer(things.iter().map(|thing| thing[1]));
        let best = graph.buffer([0u32]);
        graph.connect(nodes, branch(things.len() as u32, nodes, weights, values, best));
        graph.put(nodes, [Node { next: 0, room: self.room, value: 0 }]);
        (graph, best)
    }

    /// The best value by a table over all weights (Bellman).
    pub fn plain(&self) -> u32 {
        let mut best = vec![0u32; self.room as usize + 1];
        for &[weight, value] in &self.things {
            for room in (weight as usize..best.len()).rev() {
                best[room] = best[room].max(best[room - weight as usize] + value);
            }
        }
        best[self.room as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::flow::Run;
    use warpweft::channels::flow::cuda::compile_check;

    #[test]
    fn the_best_value_is_that_of_the_table_whatever_the_threads() {
        let machine = Machine::detect().unwrap();
        for (count, seed) in [(1, 1), (2, 2), (9, 3), (30, 4), (45, 5)] {
            let knapsack = Knapsack::new(count, seed).unwrap();
            let (graph, best) = knapsack.graph();
            for threads in [1, 3] {
                let run = Run { target: Target::Cpu, threads: Some(threads), ..Run::default() };
                let (results, _) = graph.run_with(&machine, &run).unwrap();
                assert_eq!(results.buffer(best), [knapsack.plain()], "{count} things");
            }
        }
        assert!(Knapsack::new(0, 1).is_err() && Knapsack::new(MOST + 1, 1).is_err());
    }

    #[test]
    fn the_kernel_compiles_for_ampere_and_hopper() {
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        let (graph, _) = Knapsack::new(20, 1).unwrap().graph();
        for arch in ["sm_80", "sm_90"] {
            compile_check(&graph, arch).unwrap();
        }
    }
}
