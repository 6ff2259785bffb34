//! Graphs whose kernels emit into the channels that they consume, and nowhere else: of these a GPU's warps keep the items.

use warpweft::channels::flow::{BufferId, FlowGraph, Out, Shared, channel_kernel};
use warpweft::element::Device;

use super::graphs::draws;
use super::{Results, Subject, counted, reference};

/// A node of a tree: what it is drawn from, and the most levels below it.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Twig {
    bits: u64,
    below: u8,
}

/// Has up to three nodes below it.
#[channel_kernel]
pub fn grow(
    twig: Twig,
    slow: u32,
    left: &mut Out<Twig, 2>,
    right: &mut Out<Twig, 1>,
    sums: &Shared<u64>,
    signs: &Shared<i32>,
    most: &Shared<u32>,
) {
    let mut bits = twig.bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    for k in 0..slow as u64 * (bits & 3) {
        bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ k;
    }
    sums.add((bits % sums.len() as u64) as usize, bits >> 20);
    if bits & 4 == 0 {
        signs.add(0, -3);
    }
    most.max(0, bits as u32);
    if twig.below == 0 {
        return;
    }
    for k in 0..(bits >> 8) & 3 {
        let next = Twig { bits: bits.wrapping_add(k), below: twig.below - 1 };
        if k < 2 {
            left.emit(next);
        } else if k == 2 {
            right.emit(next);
        }
    }
}

/// Emits the trees' roots.
#[channel_kernel]
pub fn plant(seed: u64, roots: &mut Out<Twig, 2>, below: u32, planted: &Shared<u32>) {
    planted.add(0, 1);
    for k in 0..seed % 3 {
        roots.emit(Twig { bits: seed.wrapping_mul(77).wrapping_add(k), below: below as u8 });
    }
}

/// Goes round, some times.
#[channel_kernel]
pub fn circle(at: u64, on: &mut Out<u64, 1>, sums: &Shared<u64>) {
    sums.add(0, at);
    if at & 255 != 0 {
        on.emit((at - 1).wrapping_mul(0x1_0000_0001) & !255 | (at % 256 - 1));
    }
}

/// A forest: trees that one kernel plants and another grows, and items that go round.
pub struct Forest {
    /// The graph.
    pub graph: FlowGraph,
    sums: [BufferId<u64>; 2],
    signs: BufferId<i32>,
    words: [BufferId<u32>; 2],
}

/// A forest with channels, delays and items that `seed` draws; `shape` draws what is part of the text for a GPU.
pub fn forest(shape: u64, seed: u64) -> Forest {
    let (mut draw, mut vary) = (draws(shape.wrapping_add(77)), draws(shape ^ seed << 20));
    let mut graph = FlowGraph::new();
    let levels = 2 + draw(9);
    let planters = graph.channel("planters", 2 + vary(31));
    let twigs = graph.channel_stack("twigs", 3 + vary(30), levels);
    let circles = graph.channel("circles", 1 + vary(32));
    let sums = [graph.buffer(vec![0u64; 1 + vary(5)]), graph.buffer([0u64])];
    let signs = graph.buffer([0i32]);
    let words = [graph.buffer([0u32]), graph.buffer([0u32])];
    let slow = if vary(2) == 0 { 0 } else { vary(40) as u32 };
    graph.connect(planters, plant(twigs, levels as u32 - 1, words[1]));
    graph.connect(twigs, grow(slow, twigs, twigs, sums[0], signs, words[0]));
    graph.connect(circles, circle(circles, sums[1]));
    let (count, salt) = (vary(100) as u64, vary(1 << 16) as u64);
    graph.put(planters, (0..=count).map(|k| k ^ salt << 7));
    graph.put(twigs, [Twig { bits: salt, below: levels as u8 - 1 }]);
    graph.put(circles, (0..vary(60) as u64).map(|k| (k << 8) | ((salt + 9 * k) % 200)));
    Forest { graph, sums, signs, words }
}

impl Forest {
    /// What a run leaves in the buffers.
    pub fn left(&self, results: &Results) -> (Vec<u64>, i32, [u32; 2]) {
        let sums = self.sums.iter().flat_map(|&sums| results.buffer(sums)).collect();
        (sums, results.buffer(self.signs)[0], self.words.map(|words| results.buffer(words)[0]))
    }
}

/// What is wrong with a forest.
pub fn forest_failure(subject: &mut impl Subject, shape: u64, seed: u64) -> Option<String> {
    let forest = forest(shape, seed);
    match (reference(&forest.graph), subject.run(&forest.graph)) {
        (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
        (Ok(expect), Ok((found, _))) => {
            let [expected, left] = [&expect, &found].map(|results| forest.left(results));
            match left == expected {
                true => counted(&found, &expect),
                false => Some(format!("the buffers hold {left:?}, not {expected:?}")),
            }
        }
    }
}
