//! `warpweft tune`: the fastest policy of a problem, found by search and kept for later runs.

mod wavefronts;

use std::collections::BTreeMap;
use std::iter::repeat_with;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use warpweft::element::ScalarKind;
use warpweft::grid::{Axes, RawVolume, check_extents};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::report::counted;
use warpweft::stencil::{Run, Spec, Tuned, Tuning};
use warpweft_apps::heat;
use warpweft_apps::soup::SplitMix;
use warpweft_apps::{life, life3d};

use crate::arguments::{Conduction, Grid, Precision, as_size, by_default, conduction, seconds};
use crate::device::need_memory;
use crate::output::{complain, fail, note, say, scaled};
use crate::progress::Progress;
use crate::run::apps::command::AppCommand;
use crate::run::apps::edge::Edge;
use crate::run::apps::fields::Case;
use crate::run::apps::himeno::Himeno;
use crate::run::apps::hyperthermia::Hyperthermia;
use crate::run::apps::life::{DEEP, FLAT};
use crate::run::apps::seismic::Seismic;
use crate::run::apps::swim::Swim;
use crate::run::apps::tricubic::Tricubic;
use crate::run::check::cells::replace;
use crate::run::job::cell_bytes;

/// Find and keep the fastest policy.
#[derive(clap::Args)]
pub struct Tune {
    #[command(subcommand)]
    app: App,
}

#[derive(Subcommand)]
enum App {
    /// Tune heat conduction.
    #[command(mut_arg("size", |arg| by_default(arg, conduction::SIZES)))]
    #[command(mut_arg("dims", |arg| by_default(arg, "what --size has, else 3")))]
    #[command(mut_arg("dtype", |arg| by_default(arg, "f32")))]
    #[command(after_help = "Examples:
  warpweft tune heat
  warpweft tune heat --size 768 --order 8 --device gpu --budget 60")]
    Heat(Heat),
    /// Tune Conway's Game of Life.
    #[command(mut_arg("size", |arg| by_default(arg, as_size(&FLAT))))]
    #[command(after_help = "Example:
  warpweft tune life --size 16384 --device gpu")]
    Life(Game),
    /// Tune Life in three dimensions.
    #[command(mut_arg("size", |arg| by_default(arg, as_size(&DEEP))))]
    #[command(after_help = "Example:
  warpweft tune life3d --size 256")]
    Life3d(Game),
    /// Tune an image rebuilt from its edges.
    #[command(after_help = "Example:
  warpweft tune edge --size 4096 --device gpu")]
    Edge(Edge<Game>),
    /// Tune temperatures of heated tissue.
    #[command(after_help = "Example:
  warpweft tune hyperthermia --size 256 --device gpu")]
    Hyperthermia(Hyperthermia<Game>),
    /// Tune the Himeno benchmark.
    #[command(after_help = "Example:
  warpweft tune himeno --class L --device gpu")]
    Himeno(Himeno<Game>),
    /// Tune shallow water.
    #[command(after_help = "Example:
  warpweft tune swim --size 4096 --device gpu")]
    Swim(Swim<Game>),
    /// Tune dye in a flow.
    #[command(after_help = "Example:
  warpweft tune tricubic --size 256 --device gpu")]
    Tricubic(Tricubic<Game>),
    /// Tune elastic waves.
    #[command(after_help = "Example:
  warpweft tune seismic --size 400 --device gpu --budget 60")]
    Seismic(Seismic<Game>),
    /// Tune shortest paths on GPUs: the number of lanes and of threads per block.
    #[command(after_help = "Example:
  warpweft tune apsp random:1049088")]
    Apsp(crate::apsp::Tune),
    /// Tune a farm of a function: lanes and blocks, from the table of kernels.
    Farm(crate::farms::tune::Tune),
    /// Tune how lanes or threads share the calls of a spawning function.
    Channels(crate::channels::Tune),
    /// Tune the score of an alignment: the shape of tiles on the cores or of strips on a GPU.
    #[command(
        after_help = "Takes the sequences and the scores of `warpweft align`, the first record of each file.

Example:
  warpweft tune align query.fa target.fa --gap-open -5 --gap-extend -2 --device gpu"
    )]
    Align(wavefronts::TuneAlign),
    /// Tune the time warping of two series.
    #[command(after_help = "Example:
  warpweft tune dtw a.npy b.npy --budget 30")]
    Dtw(wavefronts::TuneDtw),
    /// Say why there is nothing to tune.
    #[command(hide = true)]
    Laplace(Untuned),
}

#[derive(clap::Args)]
struct Untuned {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    any: Vec<std::ffi::OsString>,
}

#[derive(clap::Args)]
struct Heat {
    #[command(flatten)]
    conduction: Conduction,
    #[command(flatten)]
    game: Game,
}

#[derive(clap::Args)]
struct Game {
    #[command(flatten)]
    grid: Grid,
    /// Approximate limit on the time of the search, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = seconds)]
    budget: u64,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Tune {
    /// Searches, stores the result and reports.
    pub fn execute(&self) -> ExitCode {
        let text = match &self.app {
            App::Apsp(apsp) => return apsp.execute(),
            App::Farm(farm) => return farm.execute(),
            App::Channels(channels) => return channels.execute(),
            App::Align(align) => align.execute(),
            App::Dtw(dtw) => dtw.execute(),
            App::Heat(heat) => {
                let size = heat.game.grid.size.as_ref().and_then(|size| size.dims());
                heat.tune(size)
            }
            App::Life(game) => game.alone("life", life::stencil().into_spec(), FLAT.into()),
            App::Life3d(game) => game.alone("life3d", life3d::stencil().into_spec(), DEEP.into()),
            App::Edge(edge) => edge.execute(),
            App::Hyperthermia(hyperthermia) => hyperthermia.execute(),
            App::Himeno(himeno) => himeno.execute(),
            App::Swim(swim) => swim.execute(),
            App::Tricubic(tricubic) => tricubic.execute(),
            App::Seismic(seismic) => seismic.execute(),
            App::Laplace(_) => Err(Error::spec(
                "no policies of laplace to search: its tiles follow from the size and the device",
                "use `warpweft run laplace`; its report says which tiles it used",
            )),
        };
        match text {
            Ok(Told { text, failure }) => match (say(&text), failure) {
                (said, None) => said,
                (_, Some(failure)) => {
                    complain(&format!("the policy is not kept: {failure}"));
                    ExitCode::FAILURE
                }
            },
            Err(error) => fail(&error),
        }
    }
}

/// The result of a search as text or as JSON, and the error of storing it, if any.
struct Told {
    text: String,
    failure: Option<String>,
}

impl Heat {
    /// Tunes heat in the number of dimensions that `--dims` and `--size` give.
    fn tune(&self, size: Option<usize>) -> Result<Told> {
        let (dims, float) = self.conduction.dims_and_float(size, None, None)?;
        let Conduction { order, rate, .. } = self.conduction;
        let (kind, game) = (float.kind(), &self.game);
        match dims {
            1 => game.alone("heat", heat::spec::<1>(kind, order, rate)?, conduction::LINE.into()),
            2 => game.alone("heat", heat::spec::<2>(kind, order, rate)?, conduction::PLANE.into()),
            _ => game.alone("heat", heat::spec::<3>(kind, order, rate)?, conduction::SPACE.into()),
        }
    }
}

impl AppCommand for Game {
    type Outcome = Told;
    fn grid(&self) -> &Grid {
        &self.grid
    }
    fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>> {
        self.grid.extents(default)
    }
    fn precision(&self, asked: Option<Precision>, default: Precision) -> Result<Precision> {
        Ok(asked.unwrap_or(default))
    }
    fn execute(&self, case: &Case<'_>) -> Result<Told> {
        self.tune(case.app, case.stencil.clone(), case.extents, &|faces| case.rough(faces))
    }
}

impl Game {
    /// Tunes a scalar stencil on random cells.
    fn alone(&self, app: &str, stencil: Spec, default: Axes<usize>) -> Result<Told> {
        let extents = self.grid.extents(default)?;
        let cell = stencil.cell;
        // Cells of a game are 0 or 1, so integer noise is too.
        let game = cell.kind(0) == ScalarKind::U8;
        self.tune(app, stencil, extents, &|_| {
            let mut noise = SplitMix::new(1);
            let next = || noise.next_unit();
            let mut volume = RawVolume::zeroed(cell, extents)?;
            match game {
                true => replace(&mut volume, 0, &mut repeat_with(next).map(f64::round)),
                false => replace(&mut volume, 0, &mut repeat_with(next)),
            }
            Ok(volume)
        })
    }

    fn tune(
        &self,
        app: &str,
        stencil: Spec,
        extents: Axes<usize>,
        start: &dyn Fn(&Axes<[Boundary; 2]>) -> Result<RawVolume>,
    ) -> Result<Told> {
        let cells = check_extents(extents)?;
        let faces = self.grid.boundary.faces(stencil.rank())?;
        let stencil = stencil.faces(faces);
        stencil.check(extents)?;
        let machine = Machine::detect()?;
        let tuning = Tuning {
            target: self.grid.device,
            threads: self.grid.threads.map(Into::into),
            budget: Duration::from_secs(self.budget),
            folder: None,
        };
        let run = Run { target: tuning.target, ..Run::default() };
        let copies = if run.devices(&machine)?.gpus.is_empty() { 3 } else { 1 };
        need_memory(extents.rank(), cells, copies * cell_bytes(stencil.cell), &machine)?;
        let volume = start(&faces)?;
        let progress = Progress::waiting("tuning");
        progress.tell(format!("of about {}", counted(self.budget, "second")));
        let tuned = stencil.tune(&volume, &machine, &tuning)?;
        progress.clear();
        tuned.notes.iter().for_each(|what| note(what));
        Ok(Told { text: self.shown(app, &extents, &tuned), failure: tuned.failure })
    }

    fn shown(&self, app: &str, extents: &[usize], tuned: &Tuned) -> String {
        if self.json {
            let object = json!({
                "app": app, "extents": extents, "policy": tuned.policy,
                "rate": {"value": tuned.rate, "unit": "cells/s"},
                "untuned": {"value": tuned.untuned, "unit": "cells/s"},
                "measured": tuned.measured, "tried": tuned.tried, "refused": tuned.refused,
                "complete": tuned.complete, "gpus": tuned.gpus, "kept": tuned.kept,
            });
            return object.to_string();
        }
        let policy = serde_json::to_string(&tuned.policy).unwrap_or_default();
        let mut reasons = BTreeMap::new();
        for refused in &tuned.refused {
            *reasons.entry(&refused.reason).or_insert(0) += 1;
        }
        let told = |(reason, count)| format!("  refused  {count}: {reason}\n");
        let refused: String = reasons.into_iter().map(told).collect();
        let end = if tuned.complete { "the search ended" } else { "the budget was spent" };
        let kept = match tuned.kept {
            true => "kept for runs of this size and these boundaries on this machine",
            false => "not kept: later runs use it only if you give it with --policy",
        };
        format!(
            "{app}: {}cells/s, {:.2} times the {}cells/s of the untuned policy\n  \
             tried    {} until {end}\n{refused}  policy   {policy}\n  \
             {kept}",
            scaled(tuned.rate),
            tuned.rate / tuned.untuned,
            scaled(tuned.untuned),
            match tuned.tried {
                1 => "1 policy".to_string(),
                tried => format!("{tried} policies"),
            },
        )
    }
}
