//! `warpweft run paths`: a picture by a path tracer with a channel for each material.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use warpweft::channels::flow::{ChannelCounts, Run};
use warpweft::grid::io::png;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::trace::Trace;
use warpweft_apps::paths::Paths as Spec;

use crate::arguments::{Size, as_size, threads};
use crate::channels::options::seconds;
use crate::interrupt;
use crate::run::check::choice::Checking;
use crate::run::check::{Check, scattered};
use crate::run::files::{self, Format, Saved, Saving};
use crate::run::outcome::{Answer, Outcome};

/// Rays that the plain loop follows for the check: about a second.
const CHECKED: u64 = 100_000;

/// A path tracer: rays that hit the same material wait in one channel and are shaded together.
#[derive(clap::Args)]
#[command(
    after_help = "The check compares some pixels (all with --check full) bit for bit with a plain loop over their rays.

Examples:
  warpweft run paths --samples 64 --plot paths.png
  warpweft run paths --size 1080x1920 --samples 512 --device gpu --plot
  warpweft run paths --furnace            tests that energy is conserved: the mean is 1"
)]
pub struct Paths {
    /// Rows and columns of pixels.
    #[arg(long, value_name = "N|HxW", default_value = "270x480")]
    size: Size,
    /// Rays per pixel.
    #[arg(long, value_name = "N", default_value = "16")]
    samples: u32,
    /// Largest number of surfaces that a ray meets.
    #[arg(long, value_name = "N", default_value = "24")]
    bounces: u32,
    /// Capacity of a channel in items.
    #[arg(long, value_name = "N", default_value = "65536")]
    capacity: usize,
    /// Test energy conservation (a white furnace): all light has the value 1 and no surface absorbs any, so every pixel is
    /// 1 unless one of its rays exceeds the limit of surfaces.
    #[arg(long)]
    furnace: bool,
    /// Where to run: cpu, gpu, gpu:N, or auto.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    threads: Option<NonZero<usize>>,
    /// End the run with an error after this many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Write the picture [default file: paths.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
    /// Record a timeline of firings, which Perfetto opens.
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    checking: Checking,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    json: bool,
}

impl Paths {
    /// Computes, checks and saves.
    pub fn run(&self) -> Result<Outcome> {
        let extents = self.size.extents(2)?.array::<2>();
        let side = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
        let spec = Spec {
            size: [side(extents[1]), side(extents[0])],
            samples: self.samples,
            bounces: self.bounces,
            capacity: self.capacity,
            furnace: self.furnace,
        };
        let plot = self.plot.as_ref().map(|path| path.clone().unwrap_or("paths.png".into()));
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        files::found_writable(plot.iter().chain(&self.trace))?;
        let (graph, picture) = spec.graph()?;
        let trace = self.trace.as_ref().map(|_| Arc::new(Trace::new()));
        interrupt::listen();
        let run = Run {
            target: self.target(),
            threads: self.threads.map(NonZero::get),
            interrupt: Some(interrupt::flag()),
            deadline: self.deadline.map(|seconds| Instant::now() + seconds),
            trace: trace.clone(),
            ..Run::default()
        };
        let (results, report) = graph.run_with(&Machine::detect()?, &run)?;
        let words = results.buffer(picture);
        let mut saving = Saving::default();
        if let Some(path) = &plot {
            saving.add(path, || png::write(path, &spec.picture(&words)?));
        }
        if let (Some(path), Some(trace)) = (&self.trace, trace) {
            saving.add(path, move || trace.save(path));
        }
        let saved = saving.save(Saved::default());
        Ok(Outcome {
            app: "paths",
            title: format!("{} pixels of {} rays", as_size(&extents), self.samples),
            settings: vec![
                ("size", json!(as_size(&extents))),
                ("samples", json!(self.samples)),
                ("bounces", json!(self.bounces)),
                ("capacity", json!(self.capacity)),
                ("furnace", json!(self.furnace)),
            ],
            check: self
                .checking
                .unless_none(|| checked(&spec, &words, self.checking.most(CHECKED))),
            answer: self.answer(spec.mean(&words), results.channels()),
            report,
            lines: Vec::new(),
            saved,
            json: self.json,
            interrupted: None,
        })
    }
}

impl Paths {
    fn target(&self) -> Target {
        match self.device {
            // Threads are threads on cores.
            Target::Auto if self.threads.is_some() => Target::Cpu,
            target => target,
        }
    }

    /// The mean light; in JSON what was counted at each channel too, of which the report has a note otherwise.
    fn answer(&self, mean: f64, channels: &[ChannelCounts]) -> Answer {
        let counted = self.json.then(|| ("channels", json!(channels)));
        [("mean", json!(mean))].into_iter().chain(counted).collect()
    }
}

/// Whether pixels all over the picture have the light that a plain loop finds.
fn checked(spec: &Spec, words: &[u32], most: u64) -> Check {
    let pixels = words.len() / 3;
    let count = (most / u64::from(spec.samples)).clamp(1, pixels as u64) as usize;
    let worst = scattered(pixels as u64).take(count).map(|pixel| {
        let plain = spec.plain(pixel as u32);
        let found = &words[3 * pixel as usize..][..3];
        plain.iter().zip(found).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
    });
    let worst = worst.max().unwrap_or(0);
    let check = Check::made("plain loop over rays", f64::from(worst), 0.0);
    if count == pixels { check } else { check.of(format!("{count} of {pixels} pixels")) }
}
