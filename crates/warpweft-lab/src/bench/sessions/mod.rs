//! `warpweft bench sessions`: what sessions cost and reach: short calls, solvers, a lattice gas, waves that are looked at
//! and saved while they run.

mod calls;
mod commands;
mod cycle;
mod gradients;
mod lattice;
mod plain;
mod shot;

use std::process::ExitCode;
use std::time::Instant;

use clap::ValueEnum;
use serde::Serialize;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::stencil::{Run, Target};
use warpweft::tune::median;

use super::Options;
use super::record::Record;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Cores that a case of the cores runs on.
const CORES: usize = 2;

/// Sessions on two cores and on the first GPU.
#[derive(clap::Args)]
pub struct Sessions {
    /// These cases only.
    #[arg(long, value_name = "CASE[,CASE..]", value_delimiter = ',', value_enum)]
    only: Vec<Part>,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4))]
    shrink: u32,
    #[command(flatten)]
    options: Options,
}

/// A group of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Calls of one step.
    Calls,
    /// The first program of the README, next to a plain loop.
    Until,
    /// Conjugate gradients.
    Gradients,
    /// V-cycles of a multigrid method.
    Cycle,
    /// Lattice Boltzmann, D3Q19.
    Lattice,
    /// Elastic waves with slices and checkpoints.
    Shot,
    /// Whole commands, from start to end.
    Commands,
}

/// What was measured, and what it is compared with.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    case: String,
    device: String,
    value: f64,
    unit: &'static str,
    /// The least and the greatest of its measurements.
    range: [f64; 2],
    /// A ratio, and what it is of.
    ratio: Option<(f64, &'static str)>,
}

impl Figure {
    /// The median of these measurements.
    fn median(case: String, device: &str, mut values: Vec<f64>, unit: &'static str) -> Self {
        values.sort_by(f64::total_cmp);
        let range = [values[0], values[values.len() - 1]];
        let value = median(&values);
        Self { case, device: device.into(), value, unit, range, ratio: None }
    }

    fn over(self, ratio: f64, of: &'static str) -> Self {
        Self { ratio: Some((ratio, of)), ..self }
    }

    fn text(&self) -> String {
        let number = |value: f64| match self.unit {
            "cells/s" | "steps/s" => scaled(value),
            _ => format!("{value:.4} "),
        };
        let [least, most] = self.range.map(number);
        let Self { case, device, value, unit, .. } = self;
        let mut row = format!("  {case:<52} {device:<12} {}{unit}", number(*value));
        row.push_str(&format!(" ({}to {})", least, most.trim_end()));
        if let Some((ratio, of)) = self.ratio {
            row.push_str(&format!(", {ratio:.2} {of}"));
        }
        row.push('\n');
        row
    }
}

/// What all cases need.
struct Place<'a> {
    machine: &'a Machine,
    probe: &'a Probe,
    repeats: u32,
    shrink: usize,
}

/// A device that cases run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Cores,
    Gpu,
}

impl On {
    fn name(self) -> &'static str {
        match self {
            On::Cores => "two cores",
            On::Gpu => "one GPU",
        }
    }
}

impl Place<'_> {
    /// The devices that there are.
    fn devices(&self) -> Vec<On> {
        let gpu = (!self.machine.gpus.is_empty()).then_some(On::Gpu);
        std::iter::once(On::Cores).chain(gpu).collect()
    }

    fn run(&self, on: On) -> Run<'static> {
        match on {
            On::Cores => {
                let threads = Some(CORES.min(self.machine.cpu.threads()));
                Run { target: Target::Cpu, threads, ..Run::default() }
            }
            On::Gpu => Run { target: Target::Gpu(0), ..Run::default() },
        }
    }

    /// Seconds that memory takes for so many bytes.
    fn traffic(&self, on: On, bytes: f64) -> Option<f64> {
        let bandwidth = match on {
            On::Cores => self.probe.cpu.copy,
            On::Gpu => self.probe.gpu(0).and_then(|gpu| gpu.bandwidth()),
        };
        bandwidth.map(|bandwidth| bytes / bandwidth)
    }

    /// The seconds of each of the repeats of `work`.
    fn repeated(&self, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
        (0..self.repeats)
            .map(|_| {
                let begin = Instant::now();
                work()?;
                Ok(begin.elapsed().as_secs_f64())
            })
            .collect()
    }
}

impl Sessions {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft bench sessions");
        if !self.only.is_empty() {
            let parts: Vec<_> =
                self.only.iter().map(|part| format!("{part:?}").to_lowercase()).collect();
            command.push_str(&format!(" --only {}", parts.join(",")));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        if machine.gpus.is_empty() {
            note("no GPU: its cases are left out");
        }
        let (repeats, shrink) = (self.options.repeats, self.shrink as usize);
        let place = Place { machine: &machine, probe: &probe, repeats, shrink };
        let mut figures = Vec::new();
        for &part in Part::value_variants() {
            if !self.only.is_empty() && !self.only.contains(&part) {
                continue;
            }
            note(&format!("{part:?}").to_lowercase());
            figures.extend(match part {
                Part::Calls => calls::measured(&place)?,
                Part::Until => calls::until(&place)?,
                Part::Gradients => gradients::measured(&place)?,
                Part::Cycle => cycle::measured(&place)?,
                Part::Lattice => lattice::measured(&place)?,
                Part::Shot => shot::measured(&place)?,
                Part::Commands => commands::measured(&place)?,
            });
        }
        let text: String = figures.iter().map(Figure::text).collect();
        let none: [(); 0] = [];
        let record =
            Record::new("sessions", &self.command(), &machine, probe.clone(), &figures, &none);
        record.conclude(&self.options, text)
    }
}
