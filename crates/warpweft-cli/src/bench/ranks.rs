//! Ranks of MPI with a GPU each, beside one process with all of them: single steps by every way that
//! halos can take, and what messages of their size cost.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use warpweft::cluster::{Shared, Tag, Transport, broadcast};
use warpweft::cuda::{Device, Pinned};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::distribute::{Ranks, Route};
use warpweft::stencil::{
    CudaKernel, CudaPolicy, Exchange, MultiCudaPolicy, MultiCudaSweeps, Policy, Region, Run, Span,
    Sweep, SweepExecutor,
};
use warpweft::trace::Trace;

use super::Options;
use super::multi::{filled, space_stencil};
use super::record::Record;
use crate::device::limits;
use crate::output::{fail, note, say};
use crate::{place, world};

/// Heat conduction over ranks.
#[derive(clap::Args)]
pub struct Ranked {
    /// Cells along each side of every GPU's cube.
    #[arg(long, value_name = "CELLS", value_delimiter = ',', default_values_t = [512, 1024])]
    sizes: Vec<usize>,
    #[command(flatten)]
    options: Options,
}

/// One step a launch, as fast as an H200 does it: what both sides of the comparison run.
const DIRECT: CudaPolicy = CudaPolicy {
    kernel: CudaKernel::Direct,
    cells: [4, 2, 4],
    warps: 8,
    min_blocks: 2,
    chunk: 0,
    prefetch: 0,
    temporal_depth: 1,
    phases: 0,
    contraction: true,
};
/// Seconds that a measured run should last, and cells a second that a GPU does.
const RUN: f64 = 0.6;
const CELLS_A_SECOND: f64 = 4.5e11;
/// Exchanges of which the fastest counts.
const EXCHANGES: usize = 20;

/// One size, one way.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    /// Cells along each side of a GPU's cube.
    size: usize,
    gpus: usize,
    /// "one process", or how halos travelled between ranks.
    way: String,
    microseconds_a_step: f64,
    /// Of the rate of one process with as many GPUs.
    over_one_process: f64,
    /// Microseconds a step that rank 0's host spends in steps, in swaps, and in both waiting for messages.
    host: Option<[f64; 3]>,
}

/// What it takes to exchange messages with both neighbours on a ring at once.
#[derive(Clone, Debug, Serialize)]
struct Messages {
    memory: &'static str,
    bytes: usize,
    microseconds: f64,
    /// What one rank receives.
    gigabytes_a_second: f64,
}

impl Ranked {
    /// Measures on all ranks; rank 0 prints.
    pub fn execute(&self) -> ExitCode {
        if let Err(error) = world::join() {
            return fail(&error);
        }
        match self.measure() {
            Ok(text) if place::speaks() => world::leave(say(&text)),
            Ok(_) => world::leave(ExitCode::SUCCESS),
            Err(error) => world::fail(&error),
        }
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let Some(net) = world::net().filter(|net| net.ranks() <= machine.gpus.len()) else {
            return Err(Error::spec(
                format!("`bench ranks` on {} GPUs", machine.gpus.len()),
                "start it by `mpirun -n N`, for 2 ranks or more and at most one a GPU",
            ));
        };
        let messages = messages(net, &machine.gpus[net.rank()].device()?)?;
        let mut figures = Vec::new();
        for &size in &self.sizes {
            // Others have the GPUs to themselves meanwhile.
            let alone = match net.rank() {
                0 => one_process(size, &machine, net.ranks())?,
                _ => 0.0,
            };
            let alone = broadcast(net, alone.to_le_bytes().to_vec())?;
            let alone = f64::from_le_bytes(alone.try_into().unwrap_or_default());
            figures.push(Figure {
                size,
                gpus: net.ranks(),
                way: "one process".into(),
                microseconds_a_step: alone,
                over_one_process: 1.0,
                host: None,
            });
            let aware = net.takes_remote().then_some(Route::CudaAware);
            for route in [Route::Ipc, Route::Staged].into_iter().chain(aware) {
                if net.rank() == 0 {
                    note(&format!("{size}^3 a GPU by {route}"));
                }
                figures.push(by(route, size, &machine, net, alone)?);
            }
        }
        if net.rank() > 0 {
            return Ok(String::new());
        }
        let sizes: Vec<_> = self.sizes.iter().map(usize::to_string).collect();
        let command = format!(
            "mpirun -n {} warpweft bench ranks --sizes {}{}",
            net.ranks(),
            sizes.join(","),
            self.options.command()
        );
        let probe = limits(&machine)?;
        let peers = serde_json::json!({ "network": world::network(), "messages": messages });
        let record = Record::new("ranks", &command, &machine, probe, &figures, &peers);
        record.conclude(&self.options, table(&figures, &messages))
    }
}

fn steps_of(size: usize) -> u64 {
    ((RUN * CELLS_A_SECOND / size.pow(3) as f64) as u64).max(32).next_multiple_of(32)
}

/// Microseconds a step of one process with so many GPUs.
fn one_process(size: usize, machine: &Machine, gpus: usize) -> Result<f64> {
    note(&format!("{size}^3 a GPU by one process"));
    let devices = machine.gpus[..gpus].iter().map(|gpu| gpu.device());
    let devices = devices.collect::<Result<Vec<_>>>()?;
    let volume = filled([size * gpus, size, size])?;
    let policy = MultiCudaPolicy::new(DIRECT, Exchange::Flags);
    let mut executor = MultiCudaSweeps::new(&space_stencil(), &volume, &policy, &devices)?;
    let region = Region { low: [0; 3], high: volume.extents() };
    let sweep =
        Sweep { first_step: 0, steps: steps_of(size), region, following: 0, keep_change: false };
    let mut best = f64::INFINITY;
    // The first prepares graphs and wakes the devices.
    for _ in 0..3 {
        let start = Instant::now();
        executor.sweep(&sweep)?;
        executor.finish()?;
        best = best.min(1e6 * start.elapsed().as_secs_f64() / sweep.steps as f64);
    }
    Ok(best)
}

/// The same by ranks.
fn by(
    route: Route,
    size: usize,
    machine: &Machine,
    net: &dyn Transport,
    alone: f64,
) -> Result<Figure> {
    let trace = Arc::new(Trace::new());
    let run = Run {
        policy: Some(Policy::Cuda(DIRECT)),
        trace: Some(trace.clone()),
        halos: Some(route),
        ..Run::default()
    };
    let count = net.ranks();
    let ranks = Ranks { count, grid: Some([count, 1, 1]), depth: Some(1) };
    let start = |span: Span<3>| filled(span.extents());
    let from = ([size * count, size, size], &start as &_);
    let steps = steps_of(size);
    let (_, _, report) =
        space_stencil().run_share(from, Steps(steps), machine, &ranks, &run, net)?;
    let a_step = |seconds: f64| 1e6 * seconds / steps as f64;
    let spans = trace.spans();
    let spent = |kind: &str| {
        let of_kind = spans.iter().filter(|span| span.name.starts_with(kind));
        a_step(of_kind.map(|span| span.duration.as_secs_f64()).sum())
    };
    let waiting = report.policy["waiting"].as_f64().unwrap_or(0.0) * report.seconds;
    Ok(Figure {
        size,
        gpus: count,
        way: report.policy["halos_by"].as_str().unwrap_or_default().into(),
        microseconds_a_step: a_step(report.seconds),
        over_one_process: alone / a_step(report.seconds),
        host: Some([spent("steps"), spent("swap"), a_step(waiting)]),
    })
}

/// Every rank to the next and the one before at once, as in a swap of slabs.
fn messages(net: &dyn Transport, device: &Device) -> Result<Vec<Messages>> {
    let (rank, ranks) = (net.rank(), net.ranks());
    let (up, down) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let mut found = Vec::new();
    for (bytes, memory) in [1 << 20, 4 << 20].into_iter().flat_map(|n| [(n, "heap"), (n, "pinned")])
    {
        let area = || -> Result<Shared> {
            Ok(match memory {
                "heap" => Arc::new(vec![1u8; bytes]),
                _ => Arc::new(Pinned::<u8>::new(device, bytes)?),
            })
        };
        let sent = [area()?, area()?];
        let (mut heap, mut pinned) = (vec![0u8; bytes], Pinned::<u8>::new(device, bytes)?);
        let to: &mut [u8] = if memory == "heap" { &mut heap } else { &mut pinned };
        let mut best = f64::INFINITY;
        for _ in 0..EXCHANGES {
            let start = Instant::now();
            net.send_shared(up, Tag(1), sent[0].clone())?;
            net.send_shared(down, Tag(0), sent[1].clone())?;
            net.receive_into(up, Tag(0), to)?;
            net.receive_into(down, Tag(1), to)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        found.push(Messages {
            memory,
            bytes,
            microseconds: 1e6 * best,
            gigabytes_a_second: 2e-9 * bytes as f64 / best,
        });
    }
    Ok(found)
}

fn table(figures: &[Figure], messages: &[Messages]) -> String {
    let mut text = String::from(
        "cube a GPU  GPUs  halos by     us a step  of one process  host: in steps, in swaps, waiting (us)\n",
    );
    for figure in figures {
        let host = figure.host.map_or(String::new(), |[steps, swaps, waiting]| {
            format!("{steps:.0}, {swaps:.0}, {waiting:.0}")
        });
        text.push_str(&format!(
            "{:>8}^3  {:>4}  {:<12} {:>9.1}  {:>13.1}%  {host}\n",
            figure.size,
            figure.gpus,
            figure.way,
            figure.microseconds_a_step,
            100.0 * figure.over_one_process,
        ));
    }
    for it in messages {
        text.push_str(&format!(
            "two messages of {} KiB each way, {} memory: {:.0} us, {:.1} GB/s into a rank\n",
            it.bytes >> 10,
            it.memory,
            it.microseconds,
            it.gigabytes_a_second
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_what_of_one_process_ranks_reach() {
        let figure = |way: &str, microseconds_a_step: f64, host| Figure {
            size: 512,
            gpus: 4,
            way: way.into(),
            microseconds_a_step,
            over_one_process: 285.0 / microseconds_a_step,
            host,
        };
        let figures =
            [figure("one process", 285.0, None), figure("ipc", 300.0, Some([9.0, 4.0, 1.0]))];
        let text = table(&figures, &[]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].contains("285.0") && lines[1].contains("100.0%"), "{text}");
        assert!(lines[2].contains("95.0%") && lines[2].ends_with("9, 4, 1"), "{text}");
        // Runs last long enough to be timed, however small the cube.
        assert!(steps_of(1024) >= 200 && steps_of(512) > 7 * steps_of(1024));
    }
}
