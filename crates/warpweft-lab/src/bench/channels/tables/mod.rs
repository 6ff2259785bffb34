//! Tables 4 and 5 of "Fine-grain task aggregation and coordination on GPUs" (Orr et al., ISCA 2014), on the first GPU.

mod lines;
mod shares;

use clap::ValueEnum;
use serde::Serialize;
use warpweft::machine::{Gpu, Machine};
use warpweft::prelude::*;

use crate::bench::Options;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Table {
    /// Lines of code and time next to a kernel without tasks.
    #[value(name = "4")]
    Lines,
    /// Share of time in the user's functions, in the scheduler and without work.
    #[value(name = "5")]
    Shares,
}

impl Table {
    /// As the command calls it.
    pub fn number(self) -> u32 {
        match self {
            Self::Lines => 4,
            Self::Shares => 5,
        }
    }
}

/// The rows of a table.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Rows {
    /// Of table 4.
    Lines(Vec<lines::Row>),
    /// Of table 5.
    Shares(Vec<shares::Row>),
}

/// Measures the rows of `table`.
///
/// # Errors
/// No GPU; as a run; a wrong result.
pub fn measure(table: Table, machine: &Machine, options: &Options) -> Result<Rows> {
    let Some(gpu) = machine.gpus.first() else {
        return Err(Error::spec("--table where there is no GPU", "see `warpweft info`"));
    };
    Ok(match table {
        Table::Lines => Rows::Lines(lines::measure((machine, gpu), options)?),
        Table::Shares => Rows::Shares(shares::measure((machine, gpu), options)?),
    })
}

impl Rows {
    /// A line a row.
    pub fn text(&self) -> String {
        match self {
            Self::Lines(rows) => lines::text(rows),
            Self::Shares(rows) => shares::text(rows),
        }
    }
}

/// The reports of the repeats after a first one that compiles, by their seconds.
fn repeated(options: &Options, mut run: impl FnMut() -> Result<Report>) -> Result<Vec<Report>> {
    run()?;
    let mut reports = (0..options.repeats).map(|_| run()).collect::<Result<Vec<_>>>()?;
    reports.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    Ok(reports)
}

/// The device of all rows.
type On<'m> = (&'m Machine, &'m Gpu);
