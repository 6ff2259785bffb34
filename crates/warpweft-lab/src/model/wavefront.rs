//! `warpweft model wavefront`: PeerWave's figures 3, 9 and 11, predicted and, with a GPU, measured.

use std::path::PathBuf;

use serde::Serialize;
use warpweft::machine::Machine;
use warpweft::wavefront::cuda::tiles::{Extras, Plan};
use warpweft::wavefront::model::{Costs, PaperModel, StripModel, Timeline, idle_ratio, idle_slots};
use warpweft::wavefront::{CudaPolicy, Method, TilePolicy};
use warpweft::{Error, Result};

use super::chart::{self, Chart, Curve};
use crate::waves::{App, Bench};

/// What to predict.
#[derive(clap::Args)]
#[command(
    after_help = "If there is a GPU, the cost of a front (d) and of a tile in addition to its fronts (tau_s) are
measured on a corner of the table at two tile widths. If there is none, give both.

Examples:
  warpweft model wavefront                          the six applications of PeerWave
  warpweft model wavefront --app sw --size 65536 --plot widths.svg
  warpweft model wavefront --front 40 --sync 370 --sms 132      no GPU needed"
)]
pub struct Arguments {
    /// The application [default: all six].
    #[arg(long, value_enum)]
    app: Option<App>,
    /// Rows and columns.
    #[arg(long, default_value_t = 8192, value_parser = clap::value_parser!(u32).range(64..=1_000_000))]
    size: u32,
    /// Rows of a tile.
    #[arg(long, default_value_t = 128)]
    height: u32,
    /// The measured corner of the table: its rows and columns are this fraction of all, 1/N.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "front")]
    corner: u32,
    /// d: nanoseconds per front, instead of a measurement.
    #[arg(long, value_name = "NS", requires = "sync")]
    front: Option<f64>,
    /// tau_s: nanoseconds per tile in addition to its fronts.
    #[arg(long, value_name = "NS", requires = "front")]
    sync: Option<f64>,
    /// P: the number of SMs, if no GPU is measured.
    #[arg(long, default_value_t = 132, value_parser = clap::value_parser!(u32).range(2..))]
    sms: u32,
    /// Draw the times over the tile widths into this SVG file; only for one application (--app).
    #[arg(long, value_name = "FILE", requires = "app")]
    plot: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Tile widths of figure 9.
const WIDTHS: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];
/// Sides of figure 3, in tiles.
const SIDES: [u64; 6] = [66, 132, 264, 528, 1056, 2112];

/// A width's time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Width {
    width: u32,
    predicted: f64,
    /// Equation 3 as printed.
    equation_3: f64,
    measured: Option<f64>,
}

/// A method's idle time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Idle {
    method: usize,
    width: u32,
    measured_seconds: f64,
    /// Of the time measured: corner, intermediate.
    measured: [f64; 2],
    /// .. predicted.
    predicted: [f64; 2],
}

/// A run without a policy, next to all widths at the same height.
#[derive(Clone, Debug, Serialize)]
struct Untuned {
    policy: TilePolicy,
    seconds: f64,
    /// Its measured time over the best.
    over_best: f64,
}

/// One application.
#[derive(Clone, Debug, Serialize)]
struct Figures {
    app: App,
    costs: Costs,
    /// Equation 4.
    equation_4: f64,
    chosen: u32,
    /// The chosen width's measured time over the best measured.
    over_best: Option<f64>,
    untuned: Option<Untuned>,
    widths: Vec<Width>,
    idle: Vec<Idle>,
}

impl Arguments {
    /// The report.
    pub fn text(&self) -> Result<String> {
        self.plot.as_deref().map_or(Ok(()), chart::check)?;
        let machine = Machine::detect()?;
        let given = self
            .front
            .zip(self.sync)
            .map(|(front, sync)| Costs { front: front * 1e-9, sync: sync * 1e-9 });
        if given.is_some_and(|costs| !(costs.front > 0.0 && costs.sync >= 0.0)) {
            return Err(Error::spec("--front or --sync is not positive", "give nanoseconds"));
        }
        let device = machine.gpus.first().map(|gpu| gpu.device()).transpose()?;
        if device.is_none() && given.is_none() {
            return Err(Error::spec(
                "no GPU to measure the costs on",
                "give --front and --sync in nanoseconds, or run on a machine with a GPU",
            ));
        }
        let size = self.size as usize;
        let bench = match given {
            Some(_) => None,
            None => device.as_ref().map(|device| Bench { device, size }),
        };
        let apps = self.app.map_or(App::ALL.to_vec(), |app| vec![app]);
        if let Some(bench) = &bench {
            let policies = Method::ALL.map(|method| TilePolicy {
                method,
                width: self.height,
                ..self.policy(self.height)
            });
            for idle in [false, true] {
                bench.compile(&apps, &policies, Extras { idle, ..Extras::default() })?;
            }
        }
        let figures: Vec<_> = apps
            .iter()
            .map(|&app| self.figures(app, bench.as_ref(), given))
            .collect::<Result<_>>()?;
        if let (Some(path), [figures]) = (&self.plot, figures.as_slice()) {
            chart(figures, size).save(path)?;
        }
        if self.json {
            let slots = SIDES.map(|side| (side, idle_ratio(side, self.sms.into())));
            let all = serde_json::json!({
                "size": size, "height": self.height, "figures": figures, "idle_slots": slots,
            });
            return Ok(all.to_string());
        }
        let mut text = String::new();
        for alike in alike(&figures) {
            text.push_str(&table(&alike, size, self.height));
        }
        text.push_str(&slots(self.sms.into()));
        text.push_str(&strips());
        Ok(text)
    }

    fn policy(&self, width: u32) -> TilePolicy {
        let method = Method::FlagsFlexible;
        TilePolicy { method, height: self.height, width, blocks: 32 }
    }

    /// What a run without a policy takes, and how close to the best width it is.
    fn untuned(app: App, bench: &Bench<'_>) -> Result<Untuned> {
        let policy = bench.untuned(app)?;
        let seconds = bench.widths(app, policy, &[policy.width])?[0].seconds;
        let all = bench.widths(app, policy, &WIDTHS)?;
        let best = all.iter().map(|run| run.seconds).fold(seconds, f64::min);
        Ok(Untuned { policy, seconds, over_best: seconds / best })
    }

    /// How long blocks of each method wait, with tiles of the chosen width.
    fn idle(&self, app: App, bench: &Bench<'_>, costs: &Costs, chosen: u32) -> Result<Vec<Idle>> {
        let idle = Method::ALL.into_iter().map(|method| {
            let width = if method.equal() { self.height } else { chosen };
            let policy = TilePolicy { method, ..self.policy(width) };
            let (run, found) = bench.idle(app, policy)?;
            let Timeline { seconds, corner, intermediate } = costs.predict(&run.plan, run.blocks);
            Ok(Idle {
                method: method.number(),
                width,
                measured_seconds: run.seconds,
                measured: [found.corner, found.intermediate].map(|idle| idle / found.total),
                predicted: [corner, intermediate].map(|idle| idle / seconds),
            })
        });
        idle.collect()
    }

    fn figures(
        &self,
        app: App,
        bench: Option<&Bench<'_>>,
        given: Option<Costs>,
    ) -> Result<Figures> {
        let size = self.size as usize;
        let costs = match (given, bench) {
            (Some(costs), _) => costs,
            (None, Some(bench)) => bench.costs(app, self.policy(32), self.corner as usize)?,
            (None, None) => return Err(Error::spec("no GPU", "give --front and --sync")),
        };
        let measured = match bench {
            Some(bench) => bench.widths(app, self.policy(32), &WIDTHS)?,
            None => Vec::new(),
        };
        let blocks = measured.first().map_or(self.sms as usize, |run| run.blocks);
        let paper = PaperModel {
            processors: blocks as f64,
            columns: size as f64,
            rows: size as f64,
            height: f64::from(self.height),
            front: costs.front,
            sync: costs.sync,
        };
        let mut widths = Vec::new();
        for (n, width) in WIDTHS.into_iter().enumerate() {
            let plan = app.plan(size, self.policy(width))?;
            widths.push(Width {
                width,
                predicted: costs.predict(&plan, blocks).seconds,
                equation_3: paper.seconds(width.into()),
                measured: measured.get(n).map(|run| run.seconds),
            });
        }
        let least =
            |of: &dyn Fn(&Width) -> f64| widths.iter().map(of).fold(f64::INFINITY, f64::min);
        let best = least(&|width| width.predicted);
        let chosen = widths.iter().find(|width| width.predicted == best);
        let fastest = least(&|width| width.measured.unwrap_or(f64::INFINITY));
        let over_best = chosen.and_then(|width| width.measured).map(|seconds| seconds / fastest);
        let chosen = chosen.map_or(0, |width| width.width);
        let idle = match bench {
            Some(bench) => self.idle(app, bench, &costs, chosen)?,
            None => Vec::new(),
        };
        let untuned = bench.map(|bench| Self::untuned(app, bench)).transpose()?;
        let equation_4 = paper.best_width();
        Ok(Figures { app, costs, equation_4, chosen, over_best, untuned, widths, idle })
    }
}

impl App {
    /// The plan of a run, without a GPU.
    fn plan(self, size: usize, policy: TilePolicy) -> Result<Plan> {
        let (earlier, old): (&[[isize; 2]], &[[isize; 2]]) = match self {
            Self::Heat => (&[[-1, 0], [0, -1]], &[[0, 1], [1, 0]]),
            Self::Sor => (&[[-1, 0], [0, -1]], &[[0, 0], [0, 1], [1, 0]]),
            _ => (&[[-1, -1], [-1, 0], [0, -1]], &[]),
        };
        Plan::new([size; 2], self.sweeps(), earlier, old, policy)
    }
}

/// Those with the same numbers together: where costs are given, applications differ in their sweeps alone.
fn alike(figures: &[Figures]) -> Vec<Vec<&Figures>> {
    let mut groups: Vec<Vec<&Figures>> = Vec::new();
    for one in figures {
        let same = |of: &&mut Vec<&Figures>| {
            of[0].app.sweeps() == one.app.sweeps()
                && (&of[0].widths, &of[0].idle) == (&one.widths, &one.idle)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

fn table(alike: &[&Figures], size: usize, height: u32) -> String {
    let Some(&figures) = alike.first() else { return String::new() };
    let Figures { app, costs, equation_4, chosen, over_best, untuned, widths, idle } = figures;
    let names: Vec<_> = alike.iter().map(|figures| figures.app.name()).collect();
    let (sweeps, each) = match app.sweeps() {
        1 => (String::new(), ""),
        sweeps => (format!(", {sweeps} sweeps"), " a sweep"),
    };
    let mut text = format!(
        "{} {size} x {size}{sweeps}, tiles {height} high: d {:.1} ns a front, tau_s {:.0} ns a tile\n",
        names.join(", "),
        costs.front * 1e9,
        costs.sync * 1e9
    );
    text.push_str(&chart(figures, size).text());
    for width in widths {
        let measured =
            width.measured.map_or(String::new(), |s| format!(", measured {:.3} ms", s * 1e3));
        text.push_str(&format!(
            "{:>8}  predicted {:.3} ms{measured}, equation 3 {:.3} ms{each}\n",
            width.width,
            width.predicted * 1e3,
            width.equation_3 * 1e3
        ));
    }
    text.push_str(&format!("width {chosen} chosen (equation 4: {equation_4:.0})"));
    if let Some(ratio) = over_best {
        text.push_str(&format!(", {ratio:.3} of the best measured time"));
    }
    text.push('\n');
    if let Some(Untuned { policy: TilePolicy { height, width, .. }, over_best, .. }) = untuned {
        text.push_str(&format!(
            "without a policy: tiles {height} high, width {width}, {over_best:.3} of the best measured time\n"
        ));
    }
    for Idle { method, width, measured_seconds, measured, predicted } in idle {
        text.push_str(&format!(
            "  method {method}, width {width:>3}: {:.3} ms, idle {:.2} corner {:.2} between \
             (predicted {:.2}, {:.2})\n",
            measured_seconds * 1e3,
            measured[0],
            measured[1],
            predicted[0],
            predicted[1]
        ));
    }
    text.push('\n');
    text
}

/// Figure 9.
fn chart(figures: &Figures, size: usize) -> Chart {
    let curve = |name: &str, of: &dyn Fn(&Width) -> Option<f64>| Curve {
        name: name.into(),
        points: figures
            .widths
            .iter()
            .filter_map(|width| Some((f64::from(width.width), of(width)? * 1e3)))
            .collect(),
    };
    let mut curves = vec![curve("predicted", &|width| Some(width.predicted))];
    let measured = curve("measured", &|width| width.measured);
    if !measured.points.is_empty() {
        curves.push(measured);
    }
    Chart {
        title: format!("{} {size} x {size}", figures.app.name()),
        x: "tile width".into(),
        y: "ms".into(),
        whole: 0.0,
        curves,
    }
}

/// Figure 3.
fn slots(sms: u64) -> String {
    let mut text =
        format!("idle tile slots under barriers on {sms} SMs, square tiles (figure 3)\n");
    for side in SIDES {
        text.push_str(&format!(
            "{side:>8} x {side}: {} slots, {:.2} of the tiles\n",
            idle_slots(side, sms),
            idle_ratio(side, sms)
        ));
    }
    text
}

/// The register strips' critical path, for comparison.
fn strips() -> String {
    let mut text = String::from("register strips: chunks on the critical path, 132 blocks\n");
    for size in [20_000, 100_000, 1_000_000] {
        let policy = CudaPolicy::for_domain(size, 4, 132);
        let chunks = StripModel::critical_chunks(&policy, size, size, 132);
        let columns = chunks * policy.chunk as usize;
        text.push_str(&format!(
            "{size:>8}: {chunks} of {} columns, {columns} in all\n",
            policy.chunk
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn without_a_gpu_given_costs_make_the_figures() {
        let line = ["-", "--front", "36", "--sync", "260", "--app", "sw"];
        let arguments = Line::parse_from(line).arguments;
        let text = arguments.text().unwrap();
        assert!(text.contains("width 64 chosen") || text.contains("width 32 chosen"), "{text}");
        assert!(text.contains("132 x 132: 17292 slots"), "{text}");
        // All six: those of one sweep and those of four have the same costs, and the same chart.
        let arguments = Line::parse_from(&line[..5]).arguments;
        let text = arguments.text().unwrap();
        assert_eq!(text.matches("ms over tile width").count(), 2, "{text}");
        assert!(text.contains("SW, DTW, SAT, INT 8192 x 8192, tiles"), "{text}");
        assert!(text.contains("HEAT2D, SOR 8192 x 8192, 4 sweeps, tiles"), "{text}");
    }
}
