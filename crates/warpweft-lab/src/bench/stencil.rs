//! The stencil pattern's bench: heat conduction at the sizes that others publish.

use std::process::ExitCode;

use serde::Serialize;
use warpweft::cuda::Cache;
use warpweft::machine::{Machine, Probe};
use warpweft::prelude::*;
use warpweft::report::{Quantity, Report};
use warpweft::stencil::cuda::compile_check_in;
use warpweft::stencil::{CudaPolicy, Policy, Run, Target};
use warpweft::tune::median;
use warpweft_apps::heat::{self, Conducts};
use warpweft_apps::soup::SplitMix;

use super::Options;
use super::extents::extents_of;
use super::peers::{self, Peer};
use super::record::Record;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Heat conduction at several sizes.
#[derive(clap::Args)]
pub struct Stencils {
    /// Only the cores, only the GPU, or both together next to the GPU alone.
    #[arg(long, value_enum)]
    only: Option<On>,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=16))]
    shrink: u32,
    #[command(flatten)]
    options: Options,
}

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Cpu,
    Gpu,
}

/// What a case runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
enum On {
    Cpu,
    Gpu,
    Both,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Serialize)]
struct Case {
    on: On,
    dims: usize,
    size: usize,
    order: usize,
    dtype: &'static str,
    steps: u64,
}

const fn case(on: On, dims: usize, size: usize, order: usize, dtype: &'static str) -> Case {
    Case { on, dims, size, order, dtype, steps: 100 }
}

const CASES: [Case; 9] = [
    case(On::Cpu, 3, 256, 2, "f32"),
    case(On::Cpu, 3, 256, 4, "f32"),
    case(On::Cpu, 3, 256, 8, "f32"),
    case(On::Gpu, 3, 768, 2, "f32"),
    case(On::Gpu, 3, 768, 2, "f64"),
    case(On::Gpu, 3, 768, 8, "f32"),
    case(On::Gpu, 2, 16384, 2, "f32"),
    case(On::Both, 3, 768, 2, "f32"),
    case(On::Both, 3, 768, 8, "f32"),
];

/// What came of it.
#[derive(Debug, Serialize)]
struct Figure {
    #[serde(flatten)]
    case: Case,
    device: String,
    /// The median of the repeats.
    rate: Quantity,
    /// The slowest and the fastest repeat.
    range: [f64; 2],
    /// What memory allows at one step a pass, from the probe.
    roofline: Option<f64>,
    policy: serde_json::Value,
    /// Of the step's kernels, on a GPU.
    compile: Option<Compile>,
}

/// Seconds until the machine code of a step is there.
#[derive(Clone, Copy, Debug, Serialize)]
struct Compile {
    /// By the compiler, which is loaded: the median of five.
    cold: f64,
    /// From the cache: the median of five.
    cached: f64,
}

impl Stencils {
    /// The command that measures this again.
    fn command(&self) -> String {
        let mut command = String::from("warpweft bench stencil");
        if let Some(only) = self.only {
            command.push_str(match only {
                On::Cpu => " --only cpu",
                On::Gpu => " --only gpu",
                On::Both => " --only both",
            });
        }
        if self.shrink > 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        command + &self.options.command()
    }

    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        let folder = self.options.peers.as_path();
        if !folder.exists() {
            note(&format!("no peers: {} is not there", folder.display()));
        }
        let mut figures = Vec::new();
        let mut peers = Vec::new();
        for on in [On::Cpu, On::Gpu, On::Both] {
            let wanted = match self.only {
                Some(On::Both) => on != On::Cpu,
                Some(only) => on == only,
                None => on != On::Both,
            };
            if !wanted {
                continue;
            }
            if on != On::Cpu && machine.gpus.is_empty() {
                if self.only.is_some() {
                    return Err(Error::spec(
                        "stencils on a GPU where there is none",
                        "see `warpweft info`",
                    ));
                }
                note("no GPU: its cases are left out");
                continue;
            }
            let wanted =
                |case: &Case| self.only != Some(On::Both) || (case.dims, case.dtype) == (3, "f32");
            for case in CASES.iter().filter(|case| case.on == on && wanted(case)) {
                let case = Case { size: case.size / self.shrink as usize, ..*case };
                figures.push(figure(case, &machine, &probe, self.options.repeats)?);
                // In the same minutes: shared machines change from hour to hour.
                if on == On::Cpu {
                    let threads = machine.cpu.threads();
                    let Case { size, steps, order, .. } = case;
                    peers.extend(peers::on_cores(folder, size, steps, order, threads)?);
                }
            }
            if on == On::Gpu && self.shrink == 1 && self.only != Some(On::Both) {
                peers.extend(peers::on_gpu(folder)?);
            }
        }
        let record = Record::new("stencil", &self.command(), &machine, probe, &figures, &peers);
        record.conclude(&self.options, table(&figures, &peers))
    }
}

fn figure(case: Case, machine: &Machine, probe: &Probe, repeats: u32) -> Result<Figure> {
    match (case.dims, case.dtype) {
        (2, "f32") => typed::<f32, 2>(case, machine, probe, repeats),
        (3, "f64") => typed::<f64, 3>(case, machine, probe, repeats),
        _ => typed::<f32, 3>(case, machine, probe, repeats),
    }
}

fn typed<T: Conducts<D>, const D: usize>(
    case: Case,
    machine: &Machine,
    probe: &Probe,
    repeats: u32,
) -> Result<Figure> {
    let rate = 0.5 * heat::stable_rate(case.order, D)?;
    let stencil = heat::stencil::<T, D>(case.order, rate)?.boundary(Boundary::Dirichlet(0.0));
    let mut noise = SplitMix::new(1);
    let mut volume = Volume::try_from_fn([case.size; D], |_| T::from_f64(noise.next_unit()))?;
    let target = match case.on {
        On::Cpu => Target::Cpu,
        On::Gpu => Target::Gpu(0),
        On::Both => Target::CpuAndGpu(0),
    };
    let run = Run { target, ..Run::default() };
    let mut again = || stencil.run_with(&mut volume, Steps(case.steps), machine, &run);
    // The first run pays for what later ones find ready: compiled kernels, touched pages.
    let first: Report = again()?;
    let mut rates = Vec::new();
    for _ in 0..repeats {
        rates.push(again()?.rate.value);
    }
    rates.sort_by(f64::total_cmp);
    let bandwidth = match case.on {
        On::Cpu => probe.cpu.copy,
        On::Gpu => probe.gpu(0).and_then(|gpu| gpu.bandwidth()),
        On::Both => None,
    };
    let compile = match serde_json::from_value(first.policy.clone()) {
        Ok(Policy::Cuda(policy)) => {
            Some(compile_times(&stencil, volume.extents(), &policy, &machine.gpus[0].arch())?)
        }
        _ => None,
    };
    Ok(Figure {
        case,
        device: first.devices.join(", "),
        rate: Quantity { value: median(&rates), unit: "cells/s" },
        range: [rates[0], rates[rates.len() - 1]],
        roofline: bandwidth.map(|bandwidth| bandwidth / stencil.step_bytes() as f64),
        policy: first.policy,
        compile,
    })
}

/// What the compiler and the cache take for `stencil`, both after a first time.
fn compile_times<T: Conducts<D>, const D: usize>(
    stencil: &Stencil<T, D>,
    extents: [usize; D],
    policy: &CudaPolicy,
    arch: &str,
) -> Result<Compile> {
    let taken = |cache: &Cache| {
        let mut seconds = Vec::new();
        for _ in 0..6 {
            seconds.push(compile_check_in(cache, stencil, extents.into(), policy, arch)?.seconds);
        }
        seconds.remove(0);
        Ok(median(&seconds))
    };
    Ok(Compile { cold: taken(&Cache::none())?, cached: taken(Cache::user())? })
}

/// The best peer that did the same work.
fn best_peer<'a>(case: &Case, peers: &'a [Peer]) -> Option<&'a Peer> {
    let same = |peer: &&Peer| {
        peer.dims == case.dims
            && peer.size == case.size
            && peer.dtype == case.dtype
            && peer.order == case.order
            && peer.cells_per_second.is_some()
    };
    let rate = |peer: &Peer| peer.cells_per_second.unwrap_or(0.0);
    peers.iter().filter(same).max_by(|a, b| rate(a).total_cmp(&rate(b)))
}

fn table(figures: &[Figure], peers: &[Peer]) -> String {
    let mut text = String::new();
    let mut device = "";
    for figure in figures {
        if figure.device != device {
            device = &figure.device;
            text.push_str(&format!("{device}\n"));
        }
        let case = &figure.case;
        let extents = extents_of(case.dims, case.size);
        let mut row = format!(
            "  {:<18} {} order {}  {}{}",
            extents,
            case.dtype,
            case.order,
            scaled(figure.rate.value),
            figure.rate.unit
        );
        row.push_str(&format!(" ({} to {})", scaled(figure.range[0]), scaled(figure.range[1])));
        if let Some(roofline) = figure.roofline {
            row.push_str(&format!(
                ", {:.2} of the roofline of one step a pass",
                figure.rate.value / roofline
            ));
        }
        match best_peer(case, peers) {
            Some(Peer { peer, cells_per_second: Some(theirs), .. }) => row.push_str(&format!(
                ", {:.2} times {peer} ({})",
                figure.rate.value / theirs,
                scaled(*theirs).trim_end()
            )),
            _ => row.push_str(", no peer"),
        }
        if let Some(Compile { cold, cached }) = figure.compile {
            let (cold, cached) = (1e3 * cold, 1e3 * cached);
            row.push_str(&format!(", compiled in {cold:.0} ms, found in {cached:.2} ms"));
        }
        text.push_str(&row);
        text.push('\n');
    }
    for peer in peers.iter().filter(|peer| peer.error.is_some()) {
        let why = peer.error.as_deref().unwrap_or_default();
        text.push_str(&format!("  {} did not run: {why}\n", peer.peer));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(name: &str, order: usize, rate: Option<f64>) -> Peer {
        let text =
            format!(r#"{{"peer":"{name}","dims":3,"size":256,"dtype":"f32","order":{order}}}"#);
        let mut peer: Peer = serde_json::from_str(&text).unwrap();
        peer.cells_per_second = rate;
        peer
    }

    #[test]
    fn the_best_peer_is_the_fastest_that_did_the_same() {
        let peers = [
            peer("slow", 2, Some(1e9)),
            peer("fast", 2, Some(2e9)),
            peer("broken", 2, None),
            peer("other", 8, Some(9e9)),
        ];
        assert_eq!(best_peer(&CASES[0], &peers).map(|peer| peer.peer.as_str()), Some("fast"));
        assert!(best_peer(&CASES[1], &peers).is_none());
    }
}
