//! Every stencil application on all GPUs of this machine, as the tuner would use them, over one GPU with its
//! best policy; the tuning counted (`whole_run`).

mod cases;
mod table;
mod whole_run;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use warpweft::element::CellType;
use warpweft::grid::RawVolume;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::cuda::device_bytes;
use warpweft::stencil::{CudaPolicy, GpuList, Policy, Spec, Target, Tuned, Tuning};

use self::cases::{CASES, Case, Problem};
use self::table::table;
use self::whole_run::{Speedups, speedups};
use super::Options;
use super::extents::extents_of;
use super::multi::all_gpus;
use super::record::Record;
use warpweft_terminal::arguments::seconds;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Every application over several GPUs.
#[derive(clap::Args)]
pub struct Apps {
    /// Approximate limit on the search for the best policies of a case, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = seconds)]
    budget: u64,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    shrink: u32,
    /// These applications only, e.g. heat8-3d,life.
    #[arg(long, value_name = "APP[,APP..]", value_delimiter = ',', value_parser = named)]
    only: Vec<&'static str>,
    /// These sizes instead, as dimensions x cells along each, e.g. 2x4096,3x512.
    #[arg(long, value_name = "DxN[,DxN..]", value_delimiter = ',', value_parser = size)]
    sizes: Vec<(usize, usize)>,
    #[command(flatten)]
    options: Options,
}

/// Seconds for a case unless said otherwise.
const BUDGET: u64 = 12;
/// Dimensions and cells along each.
const SIZES: [(usize, usize); 4] = [(2, 16_384), (2, 32_768), (3, 512), (3, 1024)];

/// One application at one size.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    app: &'static str,
    dims: usize,
    size: usize,
    /// What was measured, or why it was not.
    #[serde(serialize_with = "either")]
    outcome: Result<Measured, String>,
}

#[derive(Clone, Debug, Serialize)]
struct Measured {
    /// Cells a second of one GPU's best policy, and of what the tuner chose.
    one: f64,
    several: f64,
    /// GPUs that the tuner chose.
    gpus: usize,
    policy: Policy,
    /// Seconds that the whole search took, and candidates that ran.
    search: f64,
    tried: usize,
    speedups: Speedups,
}

fn either<S: Serializer>(outcome: &Result<Measured, String>, to: S) -> Result<S::Ok, S::Error> {
    match outcome {
        Ok(measured) => measured.serialize(to),
        Err(why) => serde_json::json!({ "left_out": why }).serialize(to),
    }
}

impl Apps {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let mut command = String::from("warpweft bench apps");
        if self.budget != BUDGET {
            command.push_str(&format!(" --budget {}", self.budget));
        }
        if self.shrink != 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        if !self.only.is_empty() {
            command.push_str(&format!(" --only {}", self.only.join(",")));
        }
        if !self.sizes.is_empty() {
            let sizes = self.sizes.iter().map(|(dims, size)| format!("{dims}x{size}"));
            command.push_str(&format!(" --sizes {}", sizes.collect::<Vec<_>>().join(",")));
        }
        command + &self.options.command()
    }

    /// Applications and sizes that were asked for.
    fn cases(&self) -> impl Iterator<Item = (Case, usize)> + '_ {
        let sizes = if self.sizes.is_empty() { &SIZES[..] } else { &self.sizes };
        sizes.iter().flat_map(move |&(dims, size)| {
            let named = |case: &Case| self.only.is_empty() || self.only.contains(&case.name);
            let fit = CASES.into_iter().filter(move |case| case.dims == dims);
            fit.filter(named)
                .map(move |case| (case, size / self.shrink as usize))
                .collect::<Vec<_>>()
        })
    }

    fn measure(&self) -> Result<String> {
        if self.cases().next().is_none() {
            return Err(Error::spec(
                "none of these applications has any of these sizes",
                "name sizes of as many dimensions as an application has",
            ));
        }
        let machine = Machine::detect()?;
        let list = all_gpus("bench apps", &machine)?;
        let probe = limits(&machine)?;
        let mut figures = Vec::new();
        let none: [(); 0] = [];
        let record = |figures: &[Figure]| {
            Record::new("apps", &self.command(), &machine, probe.clone(), &figures, &none)
        };
        for (case, size) in self.cases() {
            note(&format!("{} over {}", case.name, extents_of(case.dims, size)));
            let outcome = match case.problem()? {
                Problem::Flat(spec, state) => {
                    self.case(&spec, &state, [size; 2], list, &machine)?
                }
                Problem::Deep(spec, state) => {
                    self.case(&spec, &state, [size; 3], list, &machine)?
                }
            };
            note(&match &outcome {
                Ok(found) => {
                    let Speedups { steady, whole_run, .. } = found.speedups;
                    let counted = format!("{whole_run:.2} with the search");
                    format!("{} GPUs: {steady:.2} times one, {counted}", found.gpus)
                }
                Err(why) => format!("left out: {why}"),
            });
            figures.push(Figure { app: case.name, dims: case.dims, size, outcome });
            record(&figures).so_far(&self.options)?;
        }
        record(&figures).conclude(&self.options, table(&figures))
    }

    /// One application at one size, unless it doesn't fit.
    fn case<const D: usize>(
        &self,
        spec: &Spec,
        small: &RawVolume,
        extents: [usize; D],
        list: GpuList,
        machine: &Machine,
    ) -> Result<Result<Measured, String>> {
        if let Some(why) = too_large(spec, small.cell_type(), extents, machine)? {
            return Ok(Err(why));
        }
        let volume = small.repeated(extents)?;
        let budget = Duration::from_secs(self.budget);
        let tuning = Tuning { target: Target::Gpus(list), budget, ..Tuning::default() };
        let begin = Instant::now();
        let tuned: Tuned = spec.tune(&volume, machine, &tuning)?;
        let search = begin.elapsed().as_secs_f64();
        tuned.notes.iter().for_each(|what| note(what));
        let Tuned { trials, gpus, policy, rate, measured, tried, .. } = tuned;
        let Some(speedups) = speedups(&trials, gpus.len(), measured.median, search) else {
            return Ok(Err("no policy ran on one GPU within the budget".into()));
        };
        let one = rate / speedups.steady;
        Ok(Ok(Measured { one, several: rate, gpus: gpus.len(), policy, search, tried, speedups }))
    }
}

/// Why `spec` over `extents` fits one GPU or the host's memory not, if so: against one GPU there is nothing to
/// compare with then.
fn too_large<const D: usize>(
    spec: &Spec,
    cell: CellType,
    extents: [usize; D],
    machine: &Machine,
) -> Result<Option<String>> {
    let gigabytes = |bytes: u64| format!("{}B", scaled(bytes as f64));
    if let Some(gpu) = machine.gpus.first() {
        let policy = CudaPolicy::default_for(spec, extents.into(), gpu.capability);
        let (needed, free) = (device_bytes(spec, extents.into(), &policy)?, gpu.memory_free()?);
        if needed > free {
            let (needed, free) = (gigabytes(needed), gigabytes(free));
            return Ok(Some(format!("needs {needed} on one GPU, {free} are free")));
        }
    }
    let cell: usize = cell.fields().iter().map(|field| field.kind.size()).sum();
    let needed = extents.iter().product::<usize>() as u64 * cell as u64;
    let available = machine.cpu.memory.available;
    Ok((needed > available).then(|| {
        format!("needs {} of the host, {} are free", gigabytes(needed), gigabytes(available))
    }))
}

/// An application's name.
fn named(text: &str) -> Result<&'static str, String> {
    let found = CASES.iter().find(|case| case.name == text).map(|case| case.name);
    found.ok_or_else(|| {
        let known: Vec<_> = CASES.iter().map(|case| case.name).collect();
        format!("no application '{text}'; {}", known.join(", "))
    })
}

/// Dimensions and cells along each.
fn size(text: &str) -> Result<(usize, usize), String> {
    let numbers = text
        .split_once('x')
        .and_then(|(dims, size)| Some((dims.parse::<usize>().ok()?, size.parse::<usize>().ok()?)));
    match numbers {
        Some(found @ (2 | 3, 64..=65_536)) => Ok(found),
        _ => Err(format!("no size '{text}'; 2x4096, say, or 3x512: 64 to 65536 cells")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        apps: Apps,
    }

    #[test]
    fn cases_are_those_asked_for() {
        let parse = |line: &str| Line::try_parse_from(line.split_whitespace());
        let all: Vec<_> = parse("apps").unwrap().apps.cases().collect();
        assert_eq!(all.len(), 2 * CASES.len());
        let line = "apps --only life,himeno --sizes 2x16384,3x512 --shrink 4 --budget 3";
        let some = parse(line).unwrap().apps;
        let found: Vec<_> = some.cases().map(|(case, size)| (case.name, size)).collect();
        assert_eq!(found, [("life", 4096), ("himeno", 128)]);
        let command =
            "warpweft bench apps --budget 3 --shrink 4 --only life,himeno --sizes 2x16384,3x512";
        assert_eq!(some.command(), command);
        assert!(
            parse("apps --only chess").is_err_and(|error| error.to_string().contains("heat8-3d"))
        );
        assert!(parse("apps --sizes 4x77").is_err_and(|error| error.to_string().contains("3x512")));
    }

    #[test]
    fn what_does_not_fit_says_how_many_bytes_it_takes() {
        let Problem::Deep(spec, state) = CASES[13].problem().unwrap() else {
            panic!("three dimensions")
        };
        let mut machine = Machine::detect().unwrap();
        machine.gpus.clear();
        machine.cpu.memory.available = 50_000_000_000;
        // Thirteen f32 a cell.
        let why = too_large(&spec, state.cell_type(), [1024; 3], &machine).unwrap().unwrap();
        assert!(why.contains("55.8 GB") && why.contains("50.0 GB"), "{why}");
        assert_eq!(too_large(&spec, state.cell_type(), [512; 3], &machine).unwrap(), None);
    }

    #[test]
    fn a_table_has_all_and_their_means() {
        let measured = |gain: f64| Measured {
            one: 1e9,
            several: gain * 1e9,
            gpus: 4,
            policy: Policy::Cuda(CudaPolicy::default_for(
                &match CASES[0].problem().unwrap() {
                    Problem::Flat(spec, _) => spec,
                    Problem::Deep(..) => panic!("two dimensions"),
                },
                [64; 2].into(),
                (9, 0),
            )),
            search: 10.0,
            tried: 7,
            speedups: Speedups { steady: gain, whole_run: gain / 2.0, strict: gain / 4.0 },
        };
        let figure = |app, outcome| Figure { app, dims: 2, size: 64, outcome };
        let figures = [
            figure("life", Ok(measured(2.0))),
            figure("edge", Ok(measured(8.0))),
            figure("swim", Err("needs 9 B".into())),
        ];
        let text = table(&figures);
        assert!(text.contains("mean of a step: 4.00 geometric, 5.00 arithmetic"), "{text}");
        assert!(text.contains("swim") && text.contains("left out: needs 9 B"), "{text}");
        let json = serde_json::to_value(&figures).unwrap();
        assert_eq!(json[2]["outcome"]["left_out"], "needs 9 B");
        assert_eq!(json[1]["outcome"]["speedups"]["whole_run"], 4.0);
    }
}
