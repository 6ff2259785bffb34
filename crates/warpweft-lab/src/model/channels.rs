//! `warpweft model channels`: a recursion through a stack of channels (figure 6 of Orr et al.), simulated firing by firing.
//!
//! The simulation has the rules of the real scheduler. A warp serves the deepest level that has a
//! whole batch, else the deepest that has any item. Before a firing takes items, it reserves room
//! for all items that these may emit; if there is not enough room it takes fewer. The simulation
//! shows how time depends on width and batch, which cost memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::Write;

use serde::Serialize;
use warpweft::{Error, Result};

/// A recursion that runs through channels, and what runs it.
#[derive(clap::Args)]
pub struct Arguments {
    /// Index of the Fibonacci number whose calls are the items.
    #[arg(long, value_name = "N", default_value = "30")]
    fib: u32,
    /// Warps, or threads of cores.
    #[arg(long, value_name = "N", default_value = "1056")]
    warps: usize,
    /// The most items that a firing takes.
    #[arg(long, value_name = "N", default_value = "32")]
    batch: usize,
    /// Microseconds of a firing, however many items it takes: mostly waits for memory. One H200
    /// needed 8.
    #[arg(long, value_name = "US", default_value = "8")]
    fixed: f64,
    /// Additional nanoseconds for each item: 0 on a GPU, whose lanes work in parallel.
    #[arg(long, value_name = "NS", default_value = "0")]
    each: f64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Widths that are tried.
const WIDTHS: [usize; 8] = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1 << 20];
/// A width is enough, and a batch as good, if it takes at most so many times as long as the best.
const ENOUGH: f64 = 1.05;
/// Items that a call emits at most.
const BOUND: usize = 2;

/// What runs the graph.
#[derive(Clone, Copy)]
struct Machine {
    warps: usize,
    batch: usize,
    /// Seconds of a firing, and more for each item.
    fixed: f64,
    each: f64,
}

/// What a simulated run came to.
#[derive(Clone, Debug, Serialize)]
struct Simulated {
    width: usize,
    batch: usize,
    seconds: f64,
    items: u64,
    firings: u64,
    /// Mean items of a firing.
    lanes: f64,
    /// Mean items that are being worked on.
    in_flight: f64,
    /// Mean part of the warps that fire.
    busy: f64,
    /// Part of the time of warps for which there were items and no room for what they emit.
    blocked: f64,
    /// Most items that a level held, as a part of its width.
    fullest: f64,
    /// Most items that each level held.
    levels: Vec<usize>,
}

/// A run that goes on.
struct Run {
    machine: Machine,
    /// The items of each level, by what they are of.
    queues: Vec<VecDeque<u32>>,
    credits: Vec<usize>,
    /// When firings end, in nanoseconds, with their number, which tells equal ends apart.
    ends: BinaryHeap<Reverse<(u64, u64)>>,
    /// The items of firings by their numbers modulo the warps: level and items.
    firing: Vec<(usize, Vec<u32>)>,
    free: Vec<usize>,
    now: u64,
    items: u64,
    firings: u64,
    most: Vec<usize>,
    /// Sums over time, in nanoseconds: items at work, warps at work, warps without room.
    sums: [f64; 3],
    at_work: usize,
}

impl Run {
    fn new(root: u32, width: usize, machine: Machine) -> Self {
        let levels = root as usize + 1;
        let mut queues = vec![VecDeque::new(); levels];
        queues[0].push_back(root);
        let mut credits = vec![width; levels];
        credits[0] -= 1;
        Self {
            machine,
            queues,
            credits,
            ends: BinaryHeap::new(),
            firing: vec![(0, Vec::new()); machine.warps],
            free: (0..machine.warps).collect(),
            now: 0,
            items: 0,
            firings: 0,
            most: vec![0; levels],
            sums: [0.0; 3],
            at_work: 0,
        }
    }

    /// The deepest level that can fire with at least so many items, and how many.
    fn ready(&self, least: usize) -> Option<(usize, usize)> {
        (0..self.queues.len()).rev().find_map(|level| {
            let items = self.queues[level].len();
            let room = self.credits.get(level + 1).map_or(items, |credits| credits / BOUND);
            let most = items.min(self.machine.batch).min(room);
            (items >= least && most > 0).then_some((level, most))
        })
    }

    /// Starts what can be started.
    fn start(&mut self) {
        while let Some(&warp) = self.free.last() {
            let found = self.ready(self.machine.batch).or_else(|| self.ready(1));
            let Some((level, count)) = found else { return };
            self.free.pop();
            let taken: Vec<_> = self.queues[level].drain(..count).collect();
            self.credits[level] += count;
            if let Some(credits) = self.credits.get_mut(level + 1) {
                *credits -= BOUND * count;
            }
            // Some firings take longer than others: by a quarter at most.
            let odd = self.firings.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
            let factor = 0.75 + 0.5 * odd as f64 / 255.0;
            let seconds = (self.machine.fixed + self.machine.each * count as f64) * factor;
            self.ends.push(Reverse((self.now + (seconds * 1e9).max(1.0) as u64, warp as u64)));
            self.firing[warp] = (level, taken);
            self.firings += 1;
            self.items += count as u64;
            self.at_work += count;
        }
    }

    /// Ends the firing that ends next. False: there is none.
    fn end(&mut self) -> bool {
        let Some(Reverse((at, warp))) = self.ends.pop() else { return false };
        let passed = (at - self.now) as f64;
        let waiting =
            if self.queues.iter().any(|queue| !queue.is_empty()) { self.free.len() } else { 0 };
        let busy = self.machine.warps - self.free.len();
        let now = [self.at_work, busy, waiting].map(|count| count as f64 * passed);
        self.sums.iter_mut().zip(now).for_each(|(sum, now)| *sum += now);
        self.now = at;
        let (level, taken) = std::mem::take(&mut self.firing[warp as usize]);
        self.free.push(warp as usize);
        self.at_work -= taken.len();
        let Some(credits) = self.credits.get_mut(level + 1) else { return true };
        *credits += BOUND * taken.len();
        let next = &mut self.queues[level + 1];
        for n in taken.into_iter().filter(|&n| n > 2) {
            next.extend([n - 1, n - 2]);
            *credits -= 2;
        }
        self.most[level + 1] = self.most[level + 1].max(next.len());
        true
    }
}

/// The calls of fib(`root`) through channels of `width` items a level.
fn simulate(root: u32, width: usize, machine: Machine) -> Simulated {
    let mut run = Run::new(root, width, machine);
    run.start();
    while run.end() {
        run.start();
    }
    let time = (run.now as f64).max(1.0);
    let [in_flight, busy, blocked] = run.sums.map(|sum| sum / time);
    let most = run.most.iter().copied().max().unwrap_or(0);
    Simulated {
        width,
        batch: machine.batch,
        seconds: time * 1e-9,
        items: run.items,
        firings: run.firings,
        lanes: run.items as f64 / run.firings.max(1) as f64,
        in_flight,
        busy: busy / machine.warps as f64,
        blocked: blocked / machine.warps as f64,
        fullest: most as f64 / width as f64,
        levels: run.most,
    }
}

/// The least of `all`, which grow, that takes about as little time as the best.
fn enough(all: &[Simulated]) -> &Simulated {
    let best = all.iter().map(|one| one.seconds).fold(f64::INFINITY, f64::min);
    all.iter().find(|one| one.seconds <= ENOUGH * best).unwrap_or(&all[0])
}

impl Arguments {
    fn machine(&self) -> Result<Machine> {
        let Self { fib, warps, batch, fixed, each, .. } = *self;
        let bad = |what: String, hint: &str| Err(Error::spec(what, hint));
        if !(3..=36).contains(&fib) {
            return bad(format!("the calls of fib({fib})"), "take 3 to 36");
        }
        if !(1..=1 << 16).contains(&warps) || !(1..=1 << 12).contains(&batch) {
            let what = format!("{warps} warps that take {batch} items");
            return bad(what, "take 1 to 65536 warps and 1 to 4096 items");
        }
        let times = [fixed, each];
        if !times.iter().all(|time| (0.0..=1e6).contains(time)) || fixed + each <= 0.0 {
            let what = format!("firings of {fixed} us and {each} ns an item");
            return bad(what, "take 0 to 1000000, not both 0");
        }
        Ok(Machine { warps, batch, fixed: fixed * 1e-6, each: each * 1e-9 })
    }

    /// The table, or the object.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn text(&self) -> Result<String> {
        let machine = self.machine()?;
        let widths: Vec<_> =
            WIDTHS.iter().map(|&width| simulate(self.fib, width, machine)).collect();
        let width = enough(&widths).width;
        let batches =
            [1, 4, 8, 16, 32, 64, 128, 256].into_iter().filter(|&batch| batch <= self.batch);
        let batches: Vec<_> =
            batches.map(|batch| simulate(self.fib, width, Machine { batch, ..machine })).collect();
        let batch = enough(&batches).batch;
        if self.json {
            let object = serde_json::json!({
                "fib": self.fib, "warps": self.warps, "fixed_seconds": machine.fixed,
                "each_seconds": machine.each, "widths": widths, "batches": batches,
                "proposed": {"width": width, "batch": batch},
            });
            return Ok(object.to_string());
        }
        let Self { fib, warps, fixed, each, .. } = self;
        let mut text = format!(
            "fib({fib}) as items of a stack of channels, {warps} warps, firings of {fixed} us and {each} ns an item\n   \
             width  batch        time  items/firing  in flight  busy  no room  fullest level\n"
        );
        for one in widths.iter().chain(&batches) {
            let Simulated {
                width, batch, seconds, lanes, in_flight, busy, blocked, fullest, ..
            } = one;
            // Writing to a string can't fail.
            let _ = writeln!(
                text,
                "{width:>8} {batch:>6} {:>8.3} ms {lanes:>13.1} {in_flight:>10.0} {:>4.0}% {:>7.0}% {:>13.0}%",
                seconds * 1e3,
                busy * 100.0,
                blocked * 100.0,
                fullest * 100.0
            );
        }
        let chosen = enough(&widths);
        let levels: Vec<_> = chosen.levels.iter().map(usize::to_string).collect();
        let _ =
            writeln!(text, "most items of each level at a width of {width}: {}", levels.join(" "));
        let _ = writeln!(
            text,
            "proposed: {width} items a level and batches of {batch}; {} warps times {batch} items are {} in flight",
            warps,
            warps * batch
        );
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Machine = Machine { warps: 1, batch: 1, fixed: 1e-6, each: 0.0 };

    #[test]
    fn every_call_is_an_item_once_whatever_the_width() {
        // Calls of fib(n) that end at n <= 2: 2 F(n) - 1.
        for width in [2, 3, 7, 64, 4096] {
            for (warps, batch) in [(1, 1), (5, 3), (64, 32)] {
                let run = simulate(16, width, Machine { warps, batch, ..ONE });
                assert_eq!(run.items, 2 * 987 - 1, "{width} {warps} {batch}");
                assert!(run.levels.iter().all(|&most| most <= width) && run.fullest <= 1.0);
                assert!(run.lanes <= batch as f64 && run.in_flight <= (warps * batch) as f64);
                assert!(run.busy <= 1.0 && run.blocked <= 1.0);
            }
        }
    }

    #[test]
    fn one_warp_of_one_item_takes_as_long_as_all_firings() {
        let run = simulate(14, 64, ONE);
        assert_eq!((run.items, run.firings), (753, 753));
        assert!((run.seconds / 753e-6 - 1.0).abs() < 0.05, "{}", run.seconds);
        assert_eq!((run.busy, run.blocked), (1.0, 0.0));
        // Depth first: a level holds the two calls of one.
        assert_eq!(run.levels.iter().max(), Some(&2));
    }

    #[test]
    fn narrow_channels_hold_warps_up() {
        let machine = Machine { warps: 64, batch: 32, ..ONE };
        let [narrow, wide] = [64, 65_536].map(|width| simulate(22, width, machine));
        assert!(narrow.seconds > 5.0 * wide.seconds && narrow.blocked > 0.1, "{narrow:?} {wide:?}");
        assert!(wide.blocked < 0.1 && wide.lanes > narrow.lanes);
        assert_eq!(enough(&[narrow, wide]).width, 65_536);
    }
}
