//! What is done with an application on a grid: it is run, or tuned.

use warpweft::grid::Axes;
use warpweft::prelude::*;

use super::fields::{Begun, Case};
use crate::arguments::{Grid, Precision};
use crate::run::files;
use crate::run::job;
use crate::run::options::Options;
use crate::run::outcome::Outcome;

/// The options of a command that does something with an application, and thereby what it does.
pub trait Course: clap::Args {
    /// What comes of it.
    type Outcome;
    /// Extents as far as they were said, faces and device.
    fn grid(&self) -> &Grid;
    /// The extents, `default` where none were said.
    ///
    /// # Errors
    /// Another number of extents than `default`'s; an input that can't be read, or of others.
    fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>>;
    /// How wide floats are: as asked for, else `default`.
    ///
    /// # Errors
    /// An input that can't be read, or of other floats.
    fn precision(&self, asked: Option<Precision>, default: Precision) -> Result<Precision>;
    /// Whether the shown field begins with something else than the application has there.
    fn begins_otherwise(&self) -> bool {
        false
    }
    /// Does it.
    ///
    /// # Errors
    /// Its own.
    fn take(&self, case: &Case<'_>) -> Result<Self::Outcome>;
}

impl Course for Options {
    type Outcome = Option<Outcome>;
    fn grid(&self) -> &Grid {
        &self.grid
    }
    fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>> {
        files::extents(self, default)
    }
    fn precision(&self, asked: Option<Precision>, default: Precision) -> Result<Precision> {
        files::precision(self, asked, default)
    }
    fn begins_otherwise(&self) -> bool {
        self.input.is_some() || self.seed.is_some()
    }
    fn take(&self, case: &Case<'_>) -> Result<Option<Outcome>> {
        job::run(&Begun { case, options: self }, self, self.steps.unwrap_or(case.steps))
    }
}
