//! Ranks with a GPU each, of MPI, next to threads of one process with all GPUs: by every route that halos can take, in
//! single steps and as tuning found best, and what messages of their size cost.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use warpweft::cluster::{Shared, Tag, Transport, broadcast};
use warpweft::cuda::{Device, Pinned};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::drive::{Ranks, Route};
use warpweft::stencil::{CudaKernel, CudaPolicy, GpuList, Policy, Run, Target, Tuning};
use warpweft::trace::Trace;

use super::Options;
use super::multi::{filled, space_stencil};
use super::record::Record;
use warpweft_terminal::arguments::seconds;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say};
use warpweft_terminal::{place, world};

/// Heat conduction over ranks.
#[derive(clap::Args)]
pub struct Ranked {
    /// Cells along each side of every GPU's cube.
    #[arg(long, value_name = "CELLS", value_delimiter = ',', default_values_t = [512, 1024])]
    sizes: Vec<usize>,
    /// Approximate limit, in seconds, on the search for the best policy of a size on one GPU; every rank uses that policy.
    #[arg(long, value_name = "SECONDS", default_value_t = BUDGET, value_parser = seconds)]
    budget: u64,
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
/// Seconds for a search unless said otherwise.
const BUDGET: u64 = 24;
/// Seconds that a measured run should last, and cells a second that a GPU does in single steps, about; where
/// it was tuned at most.
const RUN: f64 = 0.6;
const CELLS_A_SECOND: [f64; 2] = [4.5e11, 1.2e12];
/// Exchanges of which the fastest counts.
const EXCHANGES: usize = 20;

/// One size, one way.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    /// Cells along each side of a GPU's cube.
    size: usize,
    gpus: usize,
    /// "its threads" for ranks of one process, or how halos travelled between processes.
    halos_by: String,
    /// Whether by a policy that tuning found; by single steps otherwise.
    tuned: bool,
    policy: Policy,
    /// Steps between two halo exchanges of ranks.
    depth: Option<usize>,
    /// Of those exchanges, the share whose messages were on their way while steps were computed.
    overlapped: Option<f64>,
    microseconds_a_step: f64,
    /// Of the rate of one process with as many GPUs that is tuned as well, or takes single steps as well.
    over_one_process: f64,
    /// Of the rate of the faster of the two.
    over_best: f64,
    /// Microseconds a step of a run of as many steps that searched the depth meanwhile.
    searching: Option<f64>,
    /// Microseconds a step that rank 0's host spends in steps, in halo exchanges, and in both waiting for messages.
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
                "start it with `mpirun -n N`, with 2 ranks or more and at most one per GPU",
            ));
        };
        let messages = messages(net, &machine.gpus[net.rank()].device()?)?;
        let mut figures = Vec::new();
        for &size in &self.sizes {
            // Others have the GPUs to themselves meanwhile.
            let alone = match net.rank() {
                0 => Some(self.one_process(size, &machine, net.ranks())?),
                _ => None,
            };
            let taken = alone.as_ref().map(|both| both.each_ref().map(|it| it.microseconds_a_step));
            let taken = shared(net, taken)?;
            let best = taken[0].min(taken[1]);
            let mut alone = alone.into_iter().flatten();
            for tuned in [false, true] {
                let beside = taken[usize::from(tuned)];
                figures.extend(alone.next().map(|of| Figure { over_best: best / beside, ..of }));
                let aware = net.takes_remote().then_some(Route::CudaAware);
                for route in [Route::Ipc, Route::Staged].into_iter().chain(aware) {
                    note_on_rank_0(net, &format!("{size}^3 a GPU by {route}, {}", how(tuned)));
                    figures.push(by(route, (size, tuned), &machine, net, [beside, best])?);
                }
            }
        }
        if net.rank() > 0 {
            return Ok(String::new());
        }
        let sizes: Vec<_> = self.sizes.iter().map(usize::to_string).collect();
        let budget = if self.budget == BUDGET {
            String::new()
        } else {
            format!(" --budget {}", self.budget)
        };
        let command = format!(
            "mpirun -n {} warpweft bench ranks --sizes {}{budget}{}",
            net.ranks(),
            sizes.join(","),
            self.options.command()
        );
        let probe = limits(&machine)?;
        let peers = serde_json::json!({ "network": world::network(), "messages": messages });
        let name = if net.ranks() == 2 { "ranks-two" } else { "ranks" };
        let record = Record::new(name, &command, &machine, probe, &figures, &peers);
        record.conclude(&self.options, table(&figures, &messages))
    }

    /// One process with so many GPUs, a thread each, in single steps and as tuning finds best for one GPU with
    /// the cube of a rank, which ranks look up.
    fn one_process(&self, size: usize, machine: &Machine, gpus: usize) -> Result<[Figure; 2]> {
        let budget = Duration::from_secs(self.budget);
        note(&format!("{size}^3 a GPU: one GPU is tuned"));
        let tuning = |target| Tuning { target, budget, ..Tuning::default() };
        let one = tuning(Target::Gpu(machine.gpus[0].ordinal));
        let cube = filled([size; 3])?;
        let found = space_stencil().tune(&cube, machine, &one)?;
        drop(cube);
        found.notes.iter().chain(&found.failure).for_each(|what| note(what));
        let figure = |tuned| {
            note(&format!("{size}^3 a GPU by threads, {}", how(tuned)));
            by_threads((size, tuned), machine, gpus)
        };
        Ok([figure(false)?, figure(true)?])
    }
}

fn how(tuned: bool) -> &'static str {
    if tuned { "tuned" } else { "in single steps" }
}

/// Prints a note on rank 0.
fn note_on_rank_0(net: &dyn Transport, what: &str) {
    if net.rank() == 0 {
        note(what);
    }
}

/// Rank 0's microseconds a step, on every rank.
fn shared(net: &dyn Transport, mine: Option<[f64; 2]>) -> Result<[f64; 2]> {
    let wrong = |error: serde_json::Error| Error::spec(error.to_string(), "report this as a bug");
    let bytes = broadcast(net, serde_json::to_vec(&mine).map_err(wrong)?)?;
    serde_json::from_slice(&bytes).map_err(wrong)
}

fn steps_of(size: usize, tuned: bool) -> u64 {
    let rate = CELLS_A_SECOND[usize::from(tuned)];
    ((RUN * rate / size.pow(3) as f64) as u64).max(32).next_multiple_of(32)
}

/// By ranks that are processes.
fn by(
    route: Route,
    (size, tuned): (usize, bool),
    machine: &Machine,
    net: &dyn Transport,
    against: [f64; 2],
) -> Result<Figure> {
    ranked((size, tuned), net.ranks(), against, |ranks, steps, run| {
        let run = Run { settings: run.settings.halos_by(route), ..run };
        let mut volume = filled([size * ranks.count, size, size])?;
        space_stencil().run_with(
            &mut volume,
            steps,
            machine,
            &Run { settings: run.settings.over(*ranks), net: Some(net), ..run.clone() },
        )
    })
}

/// The same by ranks that are threads of this process, one a GPU.
fn by_threads((size, tuned): (usize, bool), machine: &Machine, count: usize) -> Result<Figure> {
    let numbers: Vec<_> = machine.gpus[..count].iter().map(|gpu| gpu.ordinal).collect();
    let target = Target::Gpus(GpuList::new(&numbers)?);
    let figure = ranked((size, tuned), count, [f64::NAN; 2], |ranks, steps, run| {
        let mut volume = filled([size * count, size, size])?;
        let run = Run { target, ..run };
        space_stencil().run_with(
            &mut volume,
            steps,
            machine,
            &Run { settings: run.settings.over(*ranks), ..run.clone() },
        )
    })?;
    Ok(Figure { halos_by: "its threads".into(), over_one_process: 1.0, ..figure })
}

/// What `count` ranks take as `run` runs them: in single steps swapped after each, or tuned ones at the depth that
/// a search came to in a run before; against what one process takes and the best that one takes.
fn ranked(
    (size, tuned): (usize, bool),
    count: usize,
    [beside, best]: [f64; 2],
    run: impl Fn(&Ranks, Steps, Run<'_>) -> Result<Report>,
) -> Result<Figure> {
    let steps = steps_of(size, tuned);
    let a_step = |seconds: f64| 1e6 * seconds / steps as f64;
    let trace = Arc::new(Trace::new());
    let run = |depth: Option<usize>, trace: Option<Arc<Trace>>| {
        let policy = (!tuned).then_some(Policy::Cuda(DIRECT));
        let ranks = Ranks { count, grid: Some([count, 1, 1].into()), depth };
        run(&ranks, Steps(steps), Run { policy, trace, ..Run::default() })
    };
    let depth_of = |report: &Report| report.policy["depth"].as_u64().map(|depth| depth as usize);
    let (depth, searching) = if tuned {
        let searched = run(None, None)?;
        // All ranks know the depth that they came to.
        (depth_of(&searched), Some(a_step(searched.seconds)))
    } else {
        (Some(1), None)
    };
    let report = run(depth, Some(trace.clone()))?;
    let spans = trace.spans();
    let spent = |kind: &str| {
        let of_kind =
            spans.iter().filter(|span| span.lane == "rank 0" && span.name.starts_with(kind));
        a_step(of_kind.map(|span| span.duration.as_secs_f64()).sum())
    };
    let waiting = report.policy["waiting"].as_f64().unwrap_or(0.0) * report.seconds;
    let counted = |what: &str| report.policy[what].as_f64();
    let wrong = |error: serde_json::Error| Error::spec(error.to_string(), "report this as a bug");
    Ok(Figure {
        size,
        gpus: count,
        halos_by: report.policy["halos_by"].as_str().unwrap_or_default().into(),
        tuned: report.policy["tuned"] == true,
        policy: serde_json::from_value(report.policy["rank"].clone()).map_err(wrong)?,
        depth: depth_of(&report),
        overlapped: counted("overlapped_exchanges")
            .zip(counted("halo_exchanges"))
            .map(|(overlapped, all)| overlapped / all.max(1.0)),
        microseconds_a_step: a_step(report.seconds),
        over_one_process: beside / a_step(report.seconds),
        over_best: best / a_step(report.seconds),
        searching,
        host: Some([spent("steps"), spent("halo exchange"), a_step(waiting)]),
    })
}

/// Every rank to the next and the one before at once, as in a halo exchange of slabs.
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
        "cube a GPU  GPUs  halos by     policy        R overlap us a step  of one process alike  of the best one  host: in steps, in halo exchanges, waiting (us)\n",
    );
    for figure in figures {
        let host = figure.host.map_or(String::new(), |[steps, exchanges, waiting]| {
            format!("{steps:.0}, {exchanges:.0}, {waiting:.0}")
        });
        text.push_str(&format!(
            "{:>8}^3  {:>4}  {:<12} {:<12} {:>2} {:>6} {:>10.1} {:>20.1}% {:>15.1}%  {host}\n",
            figure.size,
            figure.gpus,
            figure.halos_by,
            if figure.tuned { "tuned" } else { "single steps" },
            figure.depth.map_or_else(|| "-".into(), |depth| depth.to_string()),
            figure.overlapped.map_or_else(|| "-".into(), |share| format!("{:.0}%", 100.0 * share)),
            figure.microseconds_a_step,
            100.0 * figure.over_one_process,
            100.0 * figure.over_best,
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
        let figure = |route: &str, tuned, microseconds_a_step: f64, host| Figure {
            size: 512,
            gpus: 4,
            halos_by: route.into(),
            tuned,
            policy: Policy::Cuda(DIRECT),
            depth: tuned.then_some(6),
            overlapped: tuned.then_some(0.9),
            microseconds_a_step,
            over_one_process: if tuned { 140.0 } else { 285.0 } / microseconds_a_step,
            over_best: 140.0 / microseconds_a_step,
            searching: None,
            host,
        };
        let figures = [
            figure("its threads", false, 285.0, None),
            figure("ipc", false, 300.0, Some([9.0, 4.0, 1.0])),
            figure("ipc", true, 140.0, None),
        ];
        let text = table(&figures, &[]);
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[1].contains("285.0") && lines[1].contains("100.0%"), "{text}");
        assert!(lines[2].contains("95.0%") && lines[2].contains("46.7%"), "{text}");
        assert!(lines[2].ends_with("9, 4, 1") && lines[2].contains("single steps"), "{text}");
        assert!(lines[3].contains("tuned         6    90%      140.0"), "{text}");
        // Runs last long enough to be timed, however small the cube.
        assert!(steps_of(1024, false) >= 200 && steps_of(512, true) > 7 * steps_of(1024, true));
    }
}
