//! The options that every application on a grid has.

use std::num::NonZero;
use std::path::PathBuf;

use warpweft::grid::{Axes, across};
use warpweft::{Error, Result};

use super::check::choice::Checking;
use crate::arguments::{Grid, PolicyChoice, Size, UntilChoice, at_least_one, whole};

/// Grid, steps, files and report.
#[derive(clap::Args)]
pub struct Options {
    #[command(flatten)]
    pub grid: Grid,
    /// Number of steps.
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    pub steps: Option<u64>,
    /// Number of ranks. Each has a subdomain of the volume, and its own cores or, with --device gpus, a GPU.
    /// With several processes, a multiple of their number [default: 1; under mpirun one per GPU, at least one
    /// per process].
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZero<usize>>)]
    pub ranks: Option<NonZero<usize>>,
    /// Number of subdomains along each axis, slowest first; their product is the number of ranks [default: the grid that
    /// exchanges the fewest cells].
    #[arg(long, value_name = "NxNxN")]
    pub rank_grid: Option<Size>,
    /// Steps between two halo exchanges of several ranks [default: found by a search during the run].
    #[arg(long, value_name = "R", value_parser = at_least_one::<NonZero<usize>>)]
    pub depth: Option<NonZero<usize>>,
    /// Save the state in this folder at intervals, so that a failed run can be resumed.
    #[arg(long, value_name = "DIR")]
    pub checkpoint: Option<PathBuf>,
    /// Steps between two checkpoints.
    #[arg(long, value_name = "N", requires = "checkpoint", default_value = "1000",
          value_parser = at_least_one::<NonZero<u64>>)]
    pub checkpoint_every: NonZero<u64>,
    /// Continue from the newest checkpoint; --steps includes the steps done before.
    #[arg(long, requires = "checkpoint")]
    pub resume: bool,
    /// The policy: all tuning parameters as --json prints them, including ranks [default: the tuned policy, else one from a
    /// model].
    #[arg(long, value_name = "JSON")]
    pub policy: Option<PolicyChoice>,
    /// Initial state from a file: .npy, or .png for two dimensions (greys from 0 to 1 for heat, alive above
    /// 127 for life, 0 to 255 otherwise). If cells have several fields, it replaces the field that files and plots
    /// show.
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Save the result: .npy, .vti (ParaView) or .png (the middle plane; for heat, life and edge in the greys
    /// that --input reads, else in colours from the least to the greatest value). If cells have several
    /// fields, .vti has all, the other formats the one that the report names. May be repeated.
    #[arg(long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
    /// Draw the middle plane with axes and a colour bar [default file: APP.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    pub plot: Option<Option<PathBuf>>,
    /// Save a timeline that Perfetto (ui.perfetto.dev) opens.
    #[arg(long, value_name = "FILE.json")]
    pub trace: Option<PathBuf>,
    /// Start from random cells with this seed.
    #[arg(long, value_name = "N", conflicts_with = "input", value_parser = whole::<u64>)]
    pub seed: Option<u64>,
    /// Stop when the largest change in a step is at most this; sum:X and squares:X add up the changes of all
    /// cells.
    #[arg(long, value_name = "[NORM:]X")]
    pub until: Option<UntilChoice>,
    /// Check --until only after every N steps; the steps in between run faster [default: 1].
    #[arg(long, value_name = "N", requires = "until", value_parser = at_least_one::<NonZero<u64>>)]
    pub check_every: Option<NonZero<u64>>,
    #[command(flatten)]
    pub checking: Checking,
    /// Print one JSON object instead of the report.
    #[arg(long)]
    pub json: bool,
}

impl Options {
    /// Whether the options give the number of ranks.
    pub fn tells_ranks(&self) -> bool {
        let policy = matches!(self.policy, Some(PolicyChoice::Ranks(_)));
        policy || self.ranks.is_some() || self.rank_grid.is_some()
    }

    /// The extents: those of the input (`shape`), of `--size`, or the default.
    ///
    /// # Errors
    /// Input and `--size` differ, or their number of axes is not that of `default`.
    pub fn extents(&self, shape: Option<&[usize]>, default: Axes<usize>) -> Result<Axes<usize>> {
        let dims = default.rank();
        let Some(shape) = shape else { return self.grid.extents(default) };
        let size = self.grid.size.as_ref().map(|size| size.extents(dims)).transpose()?;
        let given = Axes::from_slice(shape).filter(|shape| shape.rank() == dims);
        let extents = given.ok_or_else(|| {
            let path = self.input.clone().unwrap_or_default();
            let what = format!("has {} axes, but this application needs {dims}", shape.len());
            let hint = format!("reshape it to {dims} axes, or run another application");
            Error::file(path, what, hint)
        })?;
        match size {
            Some(size) if size != extents => Err(Error::spec(
                format!("--size is {}, but --input has {}", across(&size), across(&extents)),
                "leave --size out",
            )),
            _ => Ok(extents),
        }
    }
}
