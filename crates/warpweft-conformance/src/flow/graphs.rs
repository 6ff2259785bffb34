//! Graphs of every kind: recursions, cycles of channels, random ones.

use warpweft::channels::flow::{BufferId, ChannelId, FlowGraph, Out, Shared, channel_kernel};
use warpweft::element::Device;

/// Leaves of the recursion of Fibonacci numbers (Orr et al., figure 6).
#[channel_kernel]
pub fn fib(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
    if n <= 2 {
        result.add(0, 1);
    } else {
        calls.emit(n - 1);
        calls.emit(n - 2);
    }
}

/// The graph that adds up `fib(n)`: one channel, or a stack of them.
pub fn fib_graph(capacity: usize, levels: usize, n: u32) -> (FlowGraph, BufferId<u64>) {
    let mut graph = FlowGraph::new();
    let calls = match levels {
        1 => graph.channel("calls", capacity),
        levels => graph.channel_stack("calls", capacity, levels),
    };
    let result = graph.buffer([0u64]);
    graph.connect(calls, fib(calls, result));
    graph.put(calls, [n]);
    (graph, result)
}

/// A point that moves until it has no steps left.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct Walker {
    /// Where it is.
    pub place: u64,
    /// Steps that are left.
    pub steps: u16,
    /// Whose it is.
    pub tag: u8,
}

/// Walks on, or turns to the other channel of the cycle, or ends.
#[channel_kernel(total = 1)]
pub fn walk(
    walker: Walker,
    stride: u64,
    on: &mut Out<Walker, 1>,
    turned: &mut Out<Walker, 1>,
    ended: &mut Out<(u64, u64), 1>,
    visits: &Shared<i64>,
) {
    visits.add(0, 1);
    visits.max(1, walker.steps as i64);
    if walker.steps == 0 {
        ended.emit((walker.place, walker.tag as u64));
        return;
    }
    let place = walker.place.wrapping_mul(6364136223846793005).wrapping_add(stride);
    let next = Walker { place, steps: walker.steps - 1, ..walker };
    if (place >> 33) & 1 == 0 {
        on.emit(next);
    } else {
        turned.emit(next);
    }
}

/// Two channels in a cycle and one to the host.
pub fn walkers(capacities: [usize; 2], count: u64) -> (FlowGraph, ChannelId<(u64, u64)>) {
    let mut graph = FlowGraph::new();
    let [a, b] = [graph.channel("a", capacities[0]), graph.channel("b", capacities[1])];
    let ended = graph.channel("ended", 1);
    let visits = graph.buffer([0i64, i64::MIN]);
    graph.connect(a, walk(3, a, b, ended, visits));
    graph.connect(b, walk(5, b, a, ended, visits));
    graph.put(a, (0..count).map(|k| Walker { place: k, steps: (k % 50) as u16, tag: k as u8 }));
    (graph, ended)
}

/// How a random graph's kernels go on: by the item's own bits, and by a rule of four numbers.
#[channel_kernel]
pub fn scatter(
    item: u64,
    rule: u64,
    near: &mut Out<u64, 3>,
    far: &mut Out<u64, 2>,
    host: &mut Out<u64, 1>,
    sums: &Shared<u64>,
    words: &Shared<u32>,
) {
    let depth = item & 15;
    let mut bits = item.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    // Some items take longer than others.
    let mut slow = item;
    for k in 0..((rule >> 12) & 255) * (bits & 3) {
        slow = slow.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ k;
    }
    sums.add((bits % sums.len() as u64) as usize, slow);
    words.min(0, bits as u32);
    if words.compare_exchange(1, 0, 7) != 0 {
        words.exchange(2, 9);
    }
    if depth >= (rule & 15) {
        host.emit(item);
        return;
    }
    for k in 0..(bits >> 8) % (((rule >> 4) & 15) + 1) {
        near.emit((bits.wrapping_add(k) & !15) | (depth + 1));
    }
    for k in 0..(bits >> 16) % (((rule >> 8) & 15) + 1) {
        far.emit((bits.rotate_left(9).wrapping_add(k) & !15) | (depth + 1));
    }
}

/// A random graph, its buffers, and the channel that the host consumes.
pub struct Random {
    /// The graph.
    pub graph: FlowGraph,
    /// What the host consumes.
    pub host: ChannelId<u64>,
    /// Sums of items.
    pub sums: BufferId<u64>,
    /// A least word, and two that are exchanged.
    pub words: BufferId<u32>,
}

/// Numbers below another from a seed.
pub(super) fn draws(seed: u64) -> impl FnMut(usize) -> usize {
    let mut seed = seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1;
    move |below| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    }
}

/// The depth at which items go to the host, the most items that go near and far, and how slow the slowest are.
fn rule(draw: &mut impl FnMut(usize) -> usize) -> u64 {
    let (most, near, far) = (4 + draw(6), draw(4), draw(3));
    let slow = if draw(2) == 0 { 0 } else { draw(256) };
    (most | near << 4 | far << 8 | slow << 12) as u64
}

/// A graph of 1 to 6 channels, from each of which a kernel leads to two later ones, or, in a stack, back to itself.
///
/// The channels and where kernels lead are those of `shape`, and so is the text for a GPU. Capacities, delays, how many items go
/// where, and the first items are drawn from `variant`.
pub fn random(shape: u64, variant: u64) -> Random {
    let (mut draw, mut vary) = (draws(shape), draws(shape ^ variant << 20));
    let count = 1 + shape as usize % 6;
    let mut graph = FlowGraph::new();
    let mut channels: Vec<(ChannelId<u64>, bool)> = Vec::new();
    for k in 0..count {
        // Above 32 items memory, and with it the text, is another.
        let capacity = if draw(4) == 0 { 33 + vary(32) } else { 5 + vary(28) };
        let (name, is_stack) = (format!("channel {k}"), draw(2) == 0);
        channels.push(match is_stack {
            true => (graph.channel_stack(&name, capacity, 17), true),
            false => (graph.channel(&name, capacity), false),
        });
    }
    let host = graph.channel("host", 1);
    let sums = graph.buffer(vec![0u64; 1 + vary(9)]);
    let words = graph.buffer([u32::MAX, 0, 0]);
    for (k, &(channel, is_stack)) in channels.iter().enumerate() {
        // Back to itself from a stack only: others could fill up.
        let mut target = || match is_stack && draw(2) == 0 {
            true => channel,
            false => channels.get(k + 1 + draw(count - k)).map_or(host, |later| later.0),
        };
        let (near, far) = (target(), target());
        graph.connect(channel, scatter(rule(&mut vary), near, far, host, sums, words));
    }
    let (first, salt) = (1 + vary(60) as u64, vary(1 << 16) as u64);
    graph.put(channels[0].0, (0..first).map(|k| (k << 20) ^ (salt << 4)));
    graph.put(channels[vary(count)].0, [77 << 9]);
    Random { graph, host, sums, words }
}
