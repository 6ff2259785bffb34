//! `warpweft model titan`: B2R's figures 6 to 11, by its equations (3), (5), (6) and (7) for nodes of Titan.
//!
//! The paper fits the rates of its equations to its own runs and does not print them. Here they come from data sheets,
//! and what no data sheet says is marked as assumed.

use clap::ValueEnum;
use serde::Serialize;
use warpweft::Result;
use warpweft::grid::Axes;
use warpweft::stencil::ghost_model::{
    Geometry, GhostModel, Kernel, Linear, Overlap, Staging, Subdomain,
};

use super::chart::{self, Chart, Curve};
use warpweft_terminal::output::time;

/// Bytes a second of a K20X's memory, by its data sheet.
const MEMORY: f64 = 250e9;
/// Seconds of a launch: assumed.
const LAUNCH: f64 = 10e-6;
/// Bytes a second between a K20X and its host: PCIe 2.0 by sixteen, by its standard 8 GB/s; 6 of them are assumed.
const PCIE: f64 = 6e9;
/// Bytes a second and seconds a message of a node's half of a Gemini router: assumed.
const GEMINI: (f64, f64) = (5e9, 10e-6);
/// Steps of every run of figures 6 to 9; assumed for the others.
const STEPS: f64 = 600.0;
/// Loads that a naive kernel makes for a cell of the game of life in three dimensions, all from memory: assumed, since the paper says
/// only that life spends more time on memory than heat.
const LIFE_LOADS: f64 = 27.0;

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Figure {
    /// Total runtime of heat over R, 27 and 64 nodes.
    #[value(name = "6")]
    Runtime,
    /// Shares of communication and computation over R, life.
    #[value(name = "7")]
    Shares,
    /// Speed-up over R = 1, heat of δ 1 to 4 and life.
    #[value(name = "8")]
    Speedup,
    /// Shares and speed-up, seismic waves.
    #[value(name = "9")]
    Seismic,
    /// Strong scaling of life, 1,440³ cells.
    #[value(name = "10")]
    Strong,
    /// Weak scaling of life, 600³ cells per node.
    #[value(name = "11")]
    Weak,
}

/// What to predict.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft model titan 8                       speed-up over R = 1 for heat and life
  warpweft model titan 10 --plot strong.svg    strong scaling to 1,000 nodes

A node has one K20X. Each synchronisation copies the subdomain to the host and back (equation 6) and sends ghost zones R·δ deep
(equation 5); the GPU computes the whole zone in every step (equation 3). Cells of heat are assumed to have 8 bytes, of life 4, and
of seismic waves nine fields of 4. Rates are those of data sheets, except for life (27 loads of a cell, assumed) and seismic waves
(chosen so that the best R gains 2.8 times, as the paper says).")]
pub struct Arguments {
    /// The number of the figure.
    #[arg(value_enum)]
    figure: Figure,
    /// Draw the curves into this SVG picture.
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<std::path::PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// An application as the equations see it.
#[derive(Clone, Copy, Debug)]
struct Model {
    name: &'static str,
    /// Cells that a step reads beyond its own along each axis.
    delta: usize,
    /// Bytes of a cell that are copied and sent.
    bytes: f64,
    /// Bytes that a step moves in the memory of the GPU for a cell.
    traffic: f64,
}

const fn heat(delta: usize) -> Model {
    Model { name: "heat", delta, bytes: 8.0, traffic: 16.0 }
}
const LIFE: Model = Model { name: "life", delta: 1, bytes: 4.0, traffic: 4.0 * (LIFE_LOADS + 1.0) };
/// Velocities and stresses are sent: nine fields. The traffic is not that of a data sheet: it is chosen so that the best R gains 2.8
/// times, as the paper says (§5.4).
const SEISMIC: Model = Model { name: "seismic", delta: 2, bytes: 36.0, traffic: 980.0 };

/// Seconds a step at one R, of which the three parts are that the paper draws.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Step {
    depth: usize,
    seconds: f64,
    network: f64,
    host_link: f64,
    compute: f64,
}

/// A curve over R.
#[derive(Clone, Debug, Serialize)]
struct OverDepth {
    name: String,
    delta: usize,
    nodes: usize,
    /// Cells of a subdomain.
    subdomain: [usize; 3],
    /// The best R, and its speed-up over R = 1.
    best: usize,
    speedup: f64,
    steps: Vec<Step>,
}

impl Model {
    fn rates(self) -> GhostModel {
        GhostModel {
            compute: Linear { per_unit: self.traffic / MEMORY, fixed: LAUNCH },
            network: Linear { per_unit: 1.0 / GEMINI.0, fixed: GEMINI.1 },
            host_link: Linear { per_unit: 1.0 / PCIE, fixed: LAUNCH },
            kernel: Kernel::Whole,
            staging: Staging::Whole,
            overlap: Overlap::None,
        }
    }

    /// Subdomains of these extents, `nodes` in all, at R = 1 and every further one up to the subdomain's width.
    fn over_depth(self, subdomain: [usize; 3], grid: [usize; 3]) -> OverDepth {
        let cut = |d: usize| [if grid[d] > 1 { self.delta } else { 0 }; 2];
        let part = Subdomain {
            extents: Axes::from(subdomain),
            delta: Axes::from_fn(3, cut),
            cell_bytes: self.bytes,
        };
        let nodes = grid.iter().product();
        let rates = self.rates();
        let narrowest = (0..3).filter(|&d| grid[d] > 1).map(|d| subdomain[d]).min();
        let deepest = narrowest.map_or(1, |cells| cells / self.delta).min(64);
        let steps: Vec<_> = (1..=deepest).map(|depth| step(&rates, &part, depth)).collect();
        let best = steps.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds)).copied();
        let (best, least) = best.map_or((1, f64::NAN), |step| (step.depth, step.seconds));
        let speedup = steps.first().map_or(1.0, |first| first.seconds / least);
        OverDepth {
            name: self.name.into(),
            delta: self.delta,
            nodes,
            subdomain,
            best,
            speedup,
            steps,
        }
    }
}

fn step(rates: &GhostModel, part: &Subdomain, depth: usize) -> Step {
    let seconds = rates.predict(part, depth).seconds;
    let sent = rates.network.seconds(part.halo_bytes(depth), 1.0) / depth as f64;
    let network = if part.halo_bytes(depth) > 0.0 { sent } else { 0.0 };
    let host_link = rates.host_link.seconds(part.staged_bytes(depth), 1.0) / depth as f64;
    Step { depth, seconds, network, host_link, compute: seconds - network - host_link }
}

/// Cubes of nodes, as many along each axis as divide 1,440.
const CUBES: [usize; 8] = [2, 3, 4, 5, 6, 8, 9, 10];

impl Figure {
    fn curves(self) -> Vec<OverDepth> {
        let cubes =
            |model: Model, nodes: usize, all: usize| model.over_depth([all / nodes; 3], [nodes; 3]);
        match self {
            Self::Runtime => {
                let all = [3, 4].iter().flat_map(|&n| (1..=3).map(move |d| (n, heat(d))));
                all.map(|(nodes, model)| cubes(model, nodes, 1200)).collect()
            }
            Self::Shares => vec![cubes(LIFE, 3, 1200), cubes(LIFE, 4, 1200)],
            Self::Speedup => {
                let models = || (1..=4).map(heat).chain([LIFE]);
                let all = [3, 4].iter().flat_map(|&n| models().map(move |model| (n, model)));
                all.map(|(nodes, model)| cubes(model, nodes, 1200)).collect()
            }
            Self::Seismic => vec![SEISMIC.over_depth([600, 200, 600], [5, 1, 5])],
            Self::Strong => CUBES.iter().map(|&nodes| cubes(LIFE, nodes, 1440)).collect(),
            Self::Weak => CUBES.iter().map(|&nodes| cubes(LIFE, nodes, 600 * nodes)).collect(),
        }
    }

    fn number(self) -> usize {
        6 + self as usize
    }
}

impl Arguments {
    /// The report.
    ///
    /// # Errors
    /// The picture can't be written.
    pub fn text(&self) -> Result<String> {
        self.plot.as_deref().map_or(Ok(()), chart::check)?;
        let curves = self.figure.curves();
        if let Some(path) = &self.plot {
            self.chart(&curves).save(path)?;
        }
        if self.json {
            let figure = self.figure.number();
            return Ok(serde_json::json!({ "paper": "B2R", "figure": figure, "curves": curves })
                .to_string());
        }
        let mut text = format!("B2R, figure {}, by its equations\n\n", self.figure.number());
        match self.figure {
            Figure::Strong | Figure::Weak => text.push_str(&over_nodes(&curves)),
            Figure::Shares | Figure::Seismic => {
                curves.iter().for_each(|it| text.push_str(&shares(it)))
            }
            Figure::Runtime | Figure::Speedup => text.push_str(&over_depth(&curves)),
        }
        Ok(text)
    }

    fn chart(&self, curves: &[OverDepth]) -> Chart {
        let scaling = matches!(self.figure, Figure::Strong | Figure::Weak);
        let value = |curve: &OverDepth, step: &Step| match self.figure {
            Figure::Speedup | Figure::Seismic => curve.steps[0].seconds / step.seconds,
            Figure::Shares => 100.0 * (step.network + step.host_link) / step.seconds,
            _ => STEPS * step.seconds,
        };
        let curve = |it: &OverDepth| Curve {
            name: it.title(),
            points: it.steps.iter().map(|step| (step.depth as f64, value(it, step))).collect(),
        };
        let at = |depth: usize| Curve {
            name: format!("R = {depth}"),
            points: curves
                .iter()
                .filter_map(|it| {
                    let step = it.steps.get(depth - 1)?;
                    Some((it.nodes as f64, STEPS * step.seconds))
                })
                .collect(),
        };
        let y = match self.figure {
            Figure::Speedup | Figure::Seismic => "times as fast as R = 1",
            Figure::Shares => "communication, % of a step",
            _ => "seconds of 600 steps",
        };
        Chart {
            title: format!("B2R, figure {}", self.figure.number()),
            x: if scaling { "nodes".into() } else { "R".into() },
            y: y.into(),
            whole: 0.0,
            curves: match scaling {
                true => [1, 2, 5, 10].map(at).into(),
                false => curves.iter().map(curve).collect(),
            },
        }
    }
}

impl OverDepth {
    fn title(&self) -> String {
        format!("{} δ {}, {} nodes", self.name, self.delta, self.nodes)
    }
}

/// Values of R that tables show.
const SHOWN: [usize; 9] = [1, 2, 4, 6, 8, 12, 16, 24, 32];

/// A line a curve: seconds of all steps at R = 1, the best R, and speed-ups at some R.
fn over_depth(curves: &[OverDepth]) -> String {
    let mut text =
        format!("{:<24} {:>9} {:>7} {:>9}  times as fast at R =\n", "", "R = 1", "best R", "then");
    text.push_str(&format!("{:<24} {:>9} {:>7} {:>9} ", "", "", "", ""));
    SHOWN[1..].iter().for_each(|depth| text.push_str(&format!(" {depth:>5}")));
    text.push('\n');
    for curve in curves {
        let first = curve.steps[0].seconds;
        text.push_str(&format!(
            "{:<24} {:>9} {:>7} {:>9} ",
            curve.title(),
            time(STEPS * first),
            curve.best,
            time(STEPS * first / curve.speedup)
        ));
        for &depth in &SHOWN[1..] {
            let speedup = curve.steps.get(depth - 1).map(|step| first / step.seconds);
            let speedup = speedup.map_or("-".into(), |speedup| format!("{speedup:.2}"));
            text.push_str(&format!(" {speedup:>5}"));
        }
        text.push('\n');
    }
    text
}

/// What a step's time is spent on, over R.
fn shares(curve: &OverDepth) -> String {
    let mut text = format!(
        "{}, best R {} ({:.2} times as fast as R = 1)\n{:>4} {:>10} {:>9} {:>14} {:>12} {:>9}\n",
        curve.title(),
        curve.best,
        curve.speedup,
        "R",
        "a step",
        "network",
        "host to device",
        "computation",
        "speed-up"
    );
    for step in SHOWN.iter().filter_map(|depth| curve.steps.get(depth - 1)) {
        let share = |part: f64| format!("{:.0} %", 100.0 * part / step.seconds);
        text.push_str(&format!(
            "{:>4} {:>10} {:>9} {:>14} {:>12} {:>9.2}\n",
            step.depth,
            time(step.seconds),
            share(step.network),
            share(step.host_link),
            share(step.compute),
            curve.steps[0].seconds / step.seconds
        ));
    }
    text.push('\n');
    text
}

/// Seconds of all steps over nodes.
fn over_nodes(curves: &[OverDepth]) -> String {
    let depths = [1, 2, 5, 10, 20];
    let mut text = format!(
        "{:>6} {:>16} {:>7}  seconds of 600 steps at R =\n{:>32}",
        "nodes", "subdomain", "best R", ""
    );
    depths.iter().for_each(|depth| text.push_str(&format!(" {depth:>8}")));
    text.push('\n');
    for curve in curves {
        let [z, y, x] = curve.subdomain;
        let cells = format!("{z}×{y}×{x}");
        text.push_str(&format!("{:>6} {cells:>16} {:>7} ", curve.nodes, curve.best));
        for depth in depths {
            let seconds = curve.steps.get(depth - 1).map(|step| STEPS * step.seconds);
            let seconds = seconds.map_or("-".into(), |seconds| format!("{seconds:.1}"));
            text.push_str(&format!(" {seconds:>8}"));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the paper says of its figures in words.
    #[test]
    fn figures_have_the_properties_that_the_paper_states() {
        let speedups = Figure::Speedup.curves();
        let of = |name: &str, delta: usize, nodes: usize| {
            let found =
                |it: &&OverDepth| (it.name.as_str(), it.delta, it.nodes) == (name, delta, nodes);
            speedups.iter().find(found).unwrap()
        };
        for nodes in [27, 64] {
            // Smaller δ gains more, and life less than heat of the same δ.
            for delta in 1..4 {
                assert!(of("heat", delta, nodes).speedup > of("heat", delta + 1, nodes).speedup);
            }
            assert!(of("life", 1, nodes).speedup < of("heat", 1, nodes).speedup);
            // Each has an optimum: more steps between synchronisations cost more again.
            let heat = of("heat", 1, nodes);
            assert!(heat.best > 1 && heat.best < heat.steps.len(), "{}", heat.best);
        }
        // Larger subdomains gain more.
        assert!(of("heat", 1, 27).speedup > of("heat", 1, 64).speedup);
        // Up to 9 times: the abstract.
        let most = speedups.iter().map(|it| it.speedup).fold(0.0, f64::max);
        assert!((6.0..12.0).contains(&most), "{most}");
        let seismic = &Figure::Seismic.curves()[0];
        assert!((2.6..3.0).contains(&seismic.speedup), "{}", seismic.speedup);
        let strong = Figure::Strong.curves();
        assert!(strong.windows(2).all(|two| two[1].speedup < two[0].speedup));
    }

    #[test]
    fn parts_of_a_step_are_those_of_the_equations() {
        // 600 x 200 x 600 cells, cut along the first and the last axis, two cells a step, 36 bytes a cell.
        let steps = &Figure::Seismic.curves()[0].steps;
        assert_eq!(steps.len(), 64);
        for (step, zone) in [(steps[0], 604.0), (steps[2], 612.0)] {
            let (depth, cells) = (step.depth as f64, zone * 200.0 * zone);
            let staged = (cells + 600.0 * 200.0 * zone) * 36.0;
            let sent = (cells - 600.0 * 200.0 * 600.0) * 36.0;
            let expect = [
                (step.compute, cells * 980.0 / 250e9 + 10e-6),
                (step.host_link, (staged / 6e9 + 10e-6) / depth),
                (step.network, (sent / 5e9 + 10e-6) / depth),
            ];
            for (part, expect) in expect {
                assert!((part / expect - 1.0).abs() < 1e-9, "R = {depth}: {part}, not {expect}");
            }
        }
    }
}
