//! `warpweft model farm`: TuCCompi's experiments (Table 3, Figures 14 to 16), simulated with the scheduler of real farms.
//!
//! The paper gives its machines and no speed of any. Here a core's speed is its clock times a factor for its generation, and
//! a GPU's a multiple of the fastest core's, which is an option: what follows for schedules depends on little else.

use std::fmt::Write;
use std::ops::Range;

use warpweft::Result;
use warpweft::farm::{Grain, Place, Policy, Schedule, Simulated, Worker, simulate};

/// TuCCompi's clusters with its policies, and one of 10,000 workers.
#[derive(clap::Args)]
pub struct Arguments {
    /// Number of tasks.
    #[arg(long, value_name = "N", default_value = "32408")]
    tasks: u64,
    /// How many times as fast as a core of Pegaso its GTX 480 is.
    #[arg(long, value_name = "R", default_value = "25")]
    gpu: f64,
    /// The part of a GPU's time that tuned blocks and concurrent kernels save: the paper measured up to 0.12.
    #[arg(long, value_name = "PART", default_value = "0.12")]
    gain: f64,
}

/// A machine of Table 3: name, cores, GHz times work per cycle relative to a Core 2, GPUs as multiples of a GTX 480.
struct Node(&'static str, usize, f64, &'static [f64]);

/// The first ten are Small HC, all are Big HC. A GPU takes one of its node's cores; cards before Fermi are slow.
const NODES: [Node; 19] = [
    Node("Pegaso", 8, 3.2 * 1.5, &[1.0, 0.9]),
    Node("Nodoyuna", 4, 2.33, &[]),
    Node("Trasgo", 4, 2.4, &[]),
    Node("Apolo", 4, 2.4, &[]),
    Node("Geopar", 16, 1.6, &[]),
    Node("Patan", 2, 2.33, &[]),
    Node("Atc01", 2, 1.86, &[0.1]),
    Node("Atc02", 2, 1.86, &[]),
    Node("Atc03", 2, 2.0 * 0.8, &[0.02]),
    Node("Atc09", 4, 2.33, &[]),
    Node("Titan01", 4, 2.0 * 1.6, &[]),
    Node("Titan02", 4, 2.0 * 1.6, &[]),
    Node("Titan03", 16, 2.4 * 1.5, &[]),
    Node("Titan04", 16, 2.4 * 1.5, &[]),
    Node("Titan05", 24, 2.0 * 1.6, &[]),
    Node("Atc05", 16, 2.53 * 1.5, &[]),
    Node("Atc06", 4, 2.53 * 1.5, &[]),
    Node("Atc07", 24, 3.07 * 1.5, &[]),
    Node("Atc08", 24, 2.0 * 1.6, &[]),
];

/// Tasks a second of the fastest core.
const CORE: f64 = 0.2;
/// Kernels at the same time on a GPU since Fermi.
const KERNELS: u64 = 4;

/// Workers, and tasks a second of each.
struct Cluster {
    workers: Vec<Worker>,
    speeds: Vec<f64>,
}

impl Cluster {
    /// Of these nodes, with the cores or without.
    fn of(nodes: &[Node], cores: bool, gpus: usize, options: &Arguments, tuned: bool) -> Self {
        let (mut workers, mut speeds) = (Vec::new(), Vec::new());
        let fastest = NODES[0].2;
        for (node, Node(_, count, clock, cards)) in nodes.iter().enumerate() {
            let cards = &cards[..cards.len().min(gpus)];
            let left = if cores { count - cards.len() } else { 0 };
            workers.extend(Worker::cores(node, left));
            speeds.extend(std::iter::repeat_n(CORE * clock / fastest, left));
            for (gpu, card) in cards.iter().enumerate() {
                workers.push(Worker { node, place: Place::Lane { gpu, lane: 0 } });
                let gain = if tuned && *card > 0.5 { 1.0 / (1.0 - options.gain) } else { 1.0 };
                speeds.push(CORE * options.gpu * card * gain);
            }
        }
        Self { workers, speeds }
    }

    /// Ten thousand workers: a hundred nodes of 98 cores and two GPUs.
    fn large(options: &Arguments) -> Self {
        let (mut workers, mut speeds) = (Vec::new(), Vec::new());
        for node in 0..100 {
            workers.extend(Worker::cores(node, 98));
            speeds.extend((0..98).map(|core| CORE * (0.7 + 0.3 * f64::from(core % 4) / 3.0)));
            for gpu in 0..2 {
                workers.push(Worker { node, place: Place::Lane { gpu, lane: 0 } });
                speeds.push(CORE * options.gpu);
            }
        }
        Self { workers, speeds }
    }

    fn play(&self, tasks: u64, schedule: Schedule, kernels: u64) -> Result<Simulated> {
        let grain = |worker: usize| match self.workers[worker].place {
            Place::Lane { .. } => Grain { of: kernels, most: u64::MAX },
            _ => Grain::ANY,
        };
        // Tasks differ by some percent, alike on all workers.
        let odd = |k: u64| 0.95 + 0.1 * ((k.wrapping_mul(0x9e37_79b9) >> 7 & 255) as f64 / 255.0);
        let time =
            |worker: usize, range: Range<u64>| range.map(odd).sum::<f64>() / self.speeds[worker];
        let policy = Policy { schedule, seconds: 60.0, ..Policy::default() };
        simulate(tasks, &self.workers, &grain, &policy, &time)
    }

    /// What all workers together would take.
    fn ideal(&self, tasks: u64) -> f64 {
        tasks as f64 / self.speeds.iter().sum::<f64>()
    }
}

const SCHEDULES: [(&str, Schedule); 3] =
    [("EQ1", Schedule::Eq1), ("EQ2", Schedule::Eq2), ("MS", Schedule::MasterWorker)];

impl Arguments {
    /// The tables.
    ///
    /// # Errors
    /// None that are known.
    pub fn text(&self) -> Result<String> {
        let mut text = String::new();
        self.scenarios(&mut text)?;
        self.nodes(&mut text)?;
        self.tuning(&mut text)?;
        self.many(&mut text)?;
        Ok(text)
    }

    /// Figure 14: seconds by scenario and policy.
    fn scenarios(&self, to: &mut String) -> Result<()> {
        let tasks = self.tasks;
        line(
            to,
            format!(
                "{tasks} tasks, simulated seconds (idle time in percent), tuned, {KERNELS} kernels a GPU"
            ),
        );
        line(
            to,
            format!(
                "{:<12}{:>8}{:>18}{:>18}{:>18}{:>12}",
                "scenario", "workers", "EQ1", "EQ2", "MS", "ideal"
            ),
        );
        let of = |nodes, cores, gpus| Cluster::of(&NODES[..nodes], cores, gpus, self, true);
        let all = [
            ("one GPU", of(1, false, 1)),
            ("two GPUs", of(1, false, 2)),
            ("Pegaso", of(1, true, 2)),
            ("Small HC", of(10, true, 2)),
            ("Big HC", of(19, true, 2)),
        ];
        for (name, cluster) in &all {
            let mut row = format!("{name:<12}{:>8}", cluster.workers.len());
            for (_, schedule) in SCHEDULES {
                let played = cluster.play(tasks, schedule, KERNELS)?;
                let cell = format!("{:.1} ({:.2})", played.seconds, 100.0 * played.overhead());
                // Writing to a string can't fail.
                let _ = write!(row, "{cell:>18}");
            }
            line(to, format!("{row}{:>12.1}", cluster.ideal(tasks)));
        }
        Ok(())
    }

    /// Figure 15: tasks a node of Big HC.
    fn nodes(&self, to: &mut String) -> Result<()> {
        let cluster = Cluster::of(&NODES, true, 2, self, true);
        let mut by_schedule = Vec::new();
        for (_, schedule) in SCHEDULES {
            let played = cluster.play(self.tasks, schedule, KERNELS)?;
            let mut tasks = [0; NODES.len()];
            played.shares.iter().for_each(|share| tasks[share.worker.node] += share.tasks);
            by_schedule.push(tasks);
        }
        line(to, format!("\n{:<12}{:>10}{:>10}{:>10}", "node", "EQ1", "EQ2", "MS"));
        for (node, Node(name, ..)) in NODES.iter().enumerate() {
            let [eq1, eq2, ms] = [0, 1, 2].map(|k| by_schedule[k][node]);
            line(to, format!("{name:<12}{eq1:>10}{eq2:>10}{ms:>10}"));
        }
        Ok(())
    }

    /// Figure 16: one GPU with and without the tuning layer and concurrent kernels.
    fn tuning(&self, to: &mut String) -> Result<()> {
        line(
            to,
            format!("\n{:<12}{:>14}{:>14}{:>10}", "tasks", "recommended", "tuned + MK", "saved"),
        );
        for tasks in [1024, 2048, 4096, 8102, 16_204, 32_408] {
            let time = |tuned, kernels| {
                let cluster = Cluster::of(&NODES[..1], false, 1, self, tuned);
                Ok(cluster.play(tasks, Schedule::MasterWorker, kernels)?.seconds)
            };
            let (plain, tuned): (f64, f64) = (time(false, 1)?, time(true, KERNELS)?);
            let saved = 100.0 * (1.0 - tuned / plain);
            line(to, format!("{tasks:<12}{plain:>14.1}{tuned:>14.1}{saved:>9.1}%"));
        }
        Ok(())
    }

    /// Ten thousand workers.
    fn many(&self, to: &mut String) -> Result<()> {
        let (cluster, tasks) = (Cluster::large(self), 30 * self.tasks);
        line(to, format!("\n{} workers, {tasks} tasks", cluster.workers.len()));
        for (name, schedule) in SCHEDULES {
            let played = cluster.play(tasks, schedule, KERNELS)?;
            let over = 100.0 * (played.seconds / cluster.ideal(tasks) - 1.0);
            line(to, format!("{name:<12}{:>10.1} s, {over:.1}% over the ideal", played.seconds));
        }
        Ok(())
    }
}

fn line(to: &mut String, text: String) {
    to.push_str(&text);
    to.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 has 180 cores, of which four have a GPU to drive; Small HC has 48.
    #[test]
    fn clusters_are_those_of_table_3() {
        let cores = |nodes: &[Node]| nodes.iter().map(|node| node.1).sum::<usize>();
        assert_eq!((cores(&NODES[..10]), cores(&NODES)), (48, 180));
        let options = Arguments { tasks: 1024, gpu: 25.0, gain: 0.12 };
        let cluster = Cluster::of(&NODES, true, 2, &options, true);
        assert_eq!((cluster.workers.len(), cluster.speeds.len()), (180, 180));
    }

    /// The paper's order: more machines are faster, the master-worker policy is the fastest and within its 1 % of overhead
    /// plus the end, and tuning saves what it saves of one GPU.
    #[test]
    fn figures_have_the_order_of_the_papers() {
        let options = Arguments { tasks: 8102, gpu: 25.0, gain: 0.12 };
        let mut before = f64::INFINITY;
        for (nodes, cores, gpus) in
            [(1, false, 1), (1, false, 2), (1, true, 2), (10, true, 2), (19, true, 2)]
        {
            let cluster = Cluster::of(&NODES[..nodes], cores, gpus, &options, true);
            let seconds = |schedule| cluster.play(8102, schedule, KERNELS).unwrap().seconds;
            let [eq1, eq2, ms] = SCHEDULES.map(|(_, schedule)| seconds(schedule));
            assert!(ms < before && ms <= 1.001 * eq1.min(eq2), "{nodes} nodes: {eq1} {eq2} {ms}");
            assert!(ms < 1.06 * cluster.ideal(8102), "{ms} {}", cluster.ideal(8102));
            before = ms;
        }
    }
}
