//! The two commands that take a grid application: `run` and `tune`.

use warpweft::grid::Axes;
use warpweft::prelude::*;

use super::fields::{Begun, Case};
use crate::arguments::{Grid, Precision};
use crate::run::files;
use crate::run::job;
use crate::run::options::Options;
use crate::run::outcome::Outcome;

/// A command with its options, as the applications see it: `run` or `tune`.
pub trait AppCommand: clap::Args {
    /// What the command returns.
    type Outcome;
    /// The options of the grid: extents, faces and device.
    fn grid(&self) -> &Grid;
    /// The extents that were given, or `default`.
    ///
    /// # Errors
    /// The number of extents is not that of `default`, or the input file has other extents or can't be read.
    fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>>;
    /// The width of floats: that of `--dtype`, else that of the input file, else `default`.
    ///
    /// # Errors
    /// The input file has another width or can't be read.
    fn precision(&self, given: Option<Precision>, default: Precision) -> Result<Precision>;
    /// Whether the initial state is not the application's own, e.g. read from a file.
    fn begins_otherwise(&self) -> bool {
        false
    }
    /// Runs the command on `case`.
    ///
    /// # Errors
    /// Those of a run or of a search.
    fn execute(&self, case: &Case<'_>) -> Result<Self::Outcome>;
}

impl AppCommand for Options {
    type Outcome = Option<Outcome>;
    fn grid(&self) -> &Grid {
        &self.grid
    }
    fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>> {
        files::extents(self, default)
    }
    fn precision(&self, given: Option<Precision>, default: Precision) -> Result<Precision> {
        files::precision(self, given, default)
    }
    fn begins_otherwise(&self) -> bool {
        self.input.is_some() || self.seed.is_some()
    }
    fn execute(&self, case: &Case<'_>) -> Result<Option<Outcome>> {
        job::run(&Begun { case, options: self }, self, self.steps.unwrap_or(case.steps))
    }
}
