//! A stencil over ranks that are processes: what each of them calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use super::super::checkpoint::{self, Opened};
use super::super::cpu::CpuSweeps;
use super::super::cuda::CudaSweeps;
use super::super::fingerprint::fingerprint;
use super::super::identity::short_hash;
use super::super::policy::{CudaPolicy, Policy};
use super::super::ready::{gpu, of_cores, probe};
use super::super::residual::Until;
use super::super::run::{Run, Target};
use super::super::spec::{Spec, Steps};
use super::halo_executor::HaloExecutor;
use super::launch::{Ranks, looks};
use super::rank::RankReport;
use super::routes::Route;
use super::run::{Distribution, Own, Task, Watch, store};
use super::start::{RawStart, from_whole};
use super::swept::Build;
use crate::cluster::{
    Seat, Tag, Transport, agree, agree_on_each, broadcast, gather, gather_fine, seats,
};
use crate::cpu::Pool;
use crate::error::{Error, Result};
use crate::grid::RawVolume;
use crate::machine::Machine;
use crate::report::Report;

/// The message with which a rank's cells come to rank 0.
const RESULT: Tag = Tag(0x6000);

impl<const D: usize> Spec<D> {
    /// Advances `volume` by `steps` steps together with all other ranks of `net`, which call this with
    /// the same arguments: the bits of [`Spec::run_with`]. Afterwards rank 0's volume is the result; the
    /// others' hold theirs where they computed it and the start elsewhere. Rank 0's report is of all.
    ///
    /// Ranks of one host share its cores, or take a GPU each.
    ///
    /// # Errors
    /// As [`Spec::run_over_ranks`]; ranks that disagree on what to compute or from what; another
    /// rank's error. Any error is one on all ranks.
    pub fn run_on_rank(
        &self,
        volume: &mut RawVolume<D>,
        steps: Steps,
        machine: &Machine,
        ranks: &Ranks<D>,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<Report> {
        let begin = Instant::now();
        let outcome = (|| {
            let found = {
                let start = from_whole(volume);
                let extents = volume.extents();
                let whole = Some(fingerprint(volume, [0; D], extents));
                self.on_rank((extents, &start, whole), steps, machine, ranks, run, net)?
            };
            let Found { own, mut report, distribution } = found;
            let partition = &distribution.partition;
            store(volume, partition.region(net.rank()), &own)?;
            if net.rank() > 0 {
                own.into_iter().try_for_each(|(_, bytes)| net.send(0, RESULT, bytes))?;
            } else {
                for rank in 1..net.ranks() {
                    let fields = self.written_fields().into_iter();
                    let theirs = fields.map(|field| Ok((field, net.receive(rank, RESULT)?)));
                    store(volume, partition.region(rank), &theirs.collect::<Result<_>>()?)?;
                }
            }
            report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
            all_done(net)?;
            Ok(report)
        })();
        outcome.inspect_err(|error: &Error| net.abort(&error.to_string()))
    }

    /// As [`Spec::run_on_rank`], out of cells that only their own rank has, and into such: the own
    /// cells of this rank and its first one come back, and no rank ever holds the whole. That ranks mean
    /// the same start can't be seen here; that a resumed run has that of the run it goes on from is.
    ///
    /// # Errors
    /// As [`Spec::run_on_rank`], and whatever `start` fails with.
    pub fn run_share(
        &self,
        (extents, start): ([usize; D], &RawStart<'_, D>),
        steps: Steps,
        machine: &Machine,
        ranks: &Ranks<D>,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<(RawVolume<D>, [usize; D], Report)> {
        let outcome = (|| {
            let begin = Instant::now();
            let found = self.on_rank((extents, start, None), steps, machine, ranks, run, net)?;
            let region = found.distribution.partition.region(net.rank());
            let mut cells = start(region.into())?;
            let whole = cells.extents();
            for (field, bytes) in &found.own {
                cells.set_box(*field, [0; D], whole, bytes)?;
            }
            let mut report = found.report;
            report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
            all_done(net)?;
            Ok((cells, region.low, report))
        })();
        outcome.inspect_err(|error: &Error| net.abort(&error.to_string()))
    }

    /// `whole`: the fingerprint of the start, where every rank has all of it.
    fn on_rank(
        &self,
        (extents, start, whole): ([usize; D], &RawStart<'_, D>, Option<u64>),
        Steps(steps): Steps,
        machine: &Machine,
        ranks: &Ranks<D>,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<Found<D>> {
        let resumes = run.checkpoint.map(|at| (at.every, at.resume));
        let halos = Route::forced().map(|forced| run.halos.or(forced))?;
        let told = |until: Until| {
            let Until { residual, tolerance, every } = until;
            format!("{residual:?} at most {tolerance} after every {every} steps")
        };
        let shown = |grid: [usize; D]| grid.map(|n| n.to_string()).join("x");
        let or = |some: Option<String>, none: &str| some.unwrap_or_else(|| none.into());
        let named = |(every, resume): (u64, bool)| {
            format!("every {every} steps, {}", if resume { "resumed" } else { "begun anew" })
        };
        let probes = &self.points.probes;
        let probes = (!probes.is_empty())
            .then(|| format!("{} ({})", probes.len(), short_hash(&format!("{probes:?}"))));
        let plan = [
            ("a run of", format!("{steps} steps")),
            ("as computation", self.identity(extents)),
            ("as end", or(self.until.map(told), "the last step")),
            ("a number of ranks of", ranks.count.to_string()),
            ("as grid of ranks", or(ranks.grid.map(shown), "none named")),
            ("as depth of ghost zones", or(ranks.depth.map(|n| n.to_string()), "none named")),
            ("halos by", or(halos.map(|by| by.to_string()), "the fastest way")),
            ("checkpoints", or(resumes.map(named), "none")),
            ("as probes", or(probes, "none")),
        ];
        agree_on_each(net, &plan)?;
        if let Some(whole) = whole {
            agree(net, "an initial state with the hash", &format!("{whole:016x}"))?;
        }
        if ranks.count != net.ranks() {
            return Err(Error::spec(
                format!("{} ranks, of which {} are there", ranks.count, net.ranks()),
                "start as many processes as there are to be ranks",
            ));
        }
        let mut distribution = self.distribution(extents, ranks)?;
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let seat = seats(net, host.trim(), &machine.cpu.cores)?;
        let mut saved = match run.checkpoint {
            None => None,
            Some(at) => {
                let hash = match whole {
                    Some(whole) => whole,
                    None => sum_of_all(net, || {
                        let region = distribution.partition.region(net.rank());
                        Ok(fingerprint(&start(region.into())?, region.low, extents))
                    })?,
                };
                Some(checkpoint::open(at, self, (extents, hash, steps), net)?)
            }
        };
        let first = saved.as_ref().map(Opened::first).unwrap_or_default();
        let probed = Mutex::new(self.recorded_before(saved.as_mut()));
        let mut device = self.device_of(&distribution, machine, &seat, run)?;
        if let Some(shared) = shared_gpus(net, host.trim(), device.bus)? {
            device.bandwidth = device.bandwidth.map(|all| all / shared.of_mine as f64);
            device.notes.extend(shared.note());
        }
        distribution.boundary_first = device.boundary_first;
        distribution.begin_at(device.bandwidth, self.step_bytes());
        let begins = |span| match saved.as_ref().and_then(|saved| saved.from.as_ref()) {
            Some(from) => from.cells(span),
            None => start(span),
        };
        let task = Task {
            stencil: self,
            distribution: &distribution,
            start: &begins,
            first,
            steps,
            build: Some(&*device.build),
            saving: saved.as_ref().map(|saved| &saved.saver),
            trace: run.trace.as_deref(),
            judge: None,
            halos,
            probed: &probed,
        };
        task.check(extents)?;
        let cells: usize = extents.iter().product();
        let told = |done: u64| {
            if let Some(progress) = run.progress {
                progress(done, steps);
            }
        };
        let every = looks(cells, net.ranks() * device.looks);
        let watch = Watch { told: &told, stop: run.interrupt, every };
        let (own, mine) = task.rank(net, &watch).map_err(|error| match net.ranks() {
            1 => error,
            _ => perhaps_of_no_run(error),
        })?;
        let (label, policy) = (device.label, device.policy);
        let wrong =
            |error: serde_json::Error| Error::spec(error.to_string(), "report this as a bug");
        let mine_told = serde_json::to_vec(&(mine, &label, device.bandwidth));
        let told = gather(net, mine_told.map_err(wrong)?)?;
        let told: Vec<(RankReport, String, Option<f64>)> = match net.rank() {
            0 => told
                .iter()
                .map(|one| serde_json::from_slice(one))
                .collect::<Result<_, _>>()
                .map_err(wrong)?,
            _ => vec![(mine, label, device.bandwidth)],
        };
        let bandwidth = told.iter().map(|&(_, _, bandwidth)| bandwidth).sum();
        let ranks = told.into_iter().map(|(report, label, _)| (report, label));
        let (mut reports, labels): (Vec<_>, Vec<_>) = ranks.unzip();
        reports[0].residual = mine.residual;
        let mut report = self.reported(&distribution, &reports, first.step, policy, bandwidth);
        report.devices = labels;
        if net.rank() == 0 {
            report.probes = probed.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        report.notes.extend(saved.map(|saved| saved.notes).unwrap_or_default());
        report.notes.extend(device.notes);
        Ok(Found { own, report, distribution })
    }

    /// What this rank computes on, of what its host has.
    fn device_of<'a>(
        &'a self,
        distribution: &Distribution<D>,
        machine: &'a Machine,
        seat: &Seat,
        run: &Run<'a>,
    ) -> Result<Device<'a, D>> {
        let quota = (machine.cpu.threads() / seat.local_ranks).max(1);
        let most = run.threads.unwrap_or(quota).min(seat.cores.len().max(1));
        let cores: Vec<usize> = seat.cores.iter().copied().take(most).collect();
        let region = distribution.partition.region(0);
        let part = std::array::from_fn(|d| region.high[d] - region.low[d]);
        let gpus: Vec<usize> = machine.gpus.iter().map(|gpu| gpu.ordinal).collect();
        if let Some(number) = gpu_of(&gpus, seat, run)? {
            return self.device_on_gpu(part, machine, number, run);
        }
        let policy = match run.policy {
            Some(Policy::Cpu(policy)) => policy,
            Some(policy) => {
                return Err(Error::spec(
                    format!("policy {policy:?} for ranks on the cores"),
                    "give the policy of the cores, or none",
                ));
            }
            None => self.default_on_cores(part, machine, cores.len()),
        };
        let label = machine.cpu.label(cores.len());
        let looks = cores.len();
        let (bandwidth, disturbed) = of_cores(machine);
        let mut notes: Vec<_> = disturbed.into_iter().collect();
        let there = machine.cpu.threads();
        if seat.sharers > there {
            notes.push(format!(
                "{} ranks of this host share {there} core{}: further ranks only take turns",
                seat.sharers,
                if there == 1 { "" } else { "s" }
            ));
        }
        let build = move |stencil: &Spec<D>, volume: &RawVolume<D>, _| {
            let pool = Arc::new(Pool::new(&cores)?);
            let sweeps = CpuSweeps::new(stencil, volume, policy, pool, machine.cpu.simd)?;
            Ok(Box::new(sweeps) as Box<dyn HaloExecutor<D>>)
        };
        Ok(Device {
            build: Box::new(build),
            label,
            policy: Policy::Cpu(policy),
            boundary_first: false,
            looks,
            bandwidth: bandwidth.map(|all| all / seat.sharers as f64),
            notes,
            bus: None,
        })
    }
}

impl<const D: usize> Spec<D> {
    /// GPU `number`, for parts of about these extents.
    fn device_on_gpu<'a>(
        &'a self,
        part: [usize; D],
        machine: &'a Machine,
        number: usize,
        run: &Run<'a>,
    ) -> Result<Device<'a, D>> {
        let gpu = gpu(machine, number)?;
        let device = gpu.device()?;
        let bus = device.bus()?;
        let policy = match run.policy {
            Some(Policy::Cuda(policy)) => policy,
            Some(policy) => {
                return Err(Error::spec(
                    format!("policy {policy:?} for a rank on one GPU"),
                    "give the policy of one GPU, or none",
                ));
            }
            None => CudaPolicy::default_for(self, part, gpu.capability),
        };
        let build = move |stencil: &Spec<D>, volume: &RawVolume<D>, _| {
            let sweeps = CudaSweeps::new(stencil, volume, &policy, &device)?;
            Ok(Box::new(sweeps) as Box<dyn HaloExecutor<D>>)
        };
        let bandwidth = probe(machine).and_then(|probe| probe.gpu(number)?.bandwidth());
        Ok(Device {
            build: Box::new(build),
            label: gpu.label(),
            policy: Policy::Cuda(policy),
            boundary_first: true,
            // A GPU is as fast as a few hundred cores.
            looks: 200,
            bandwidth,
            notes: Vec::new(),
            bus: Some(bus),
        })
    }
}

/// A fault of the element function, with how to find out whether the run itself has it.
fn perhaps_of_no_run(error: Error) -> Error {
    match error {
        Error::Element { place, what } => Error::Element {
            place,
            what: format!(
                "{what} (perhaps in a cell beyond a rank's part, of a state that no run comes by: one process \
                 fails too if not)"
            ),
        },
        error => error,
    }
}

/// Waits until no rank can fail any more, so that an error is one on all.
fn all_done(net: &dyn Transport) -> Result<()> {
    gather(net, Vec::new())?;
    broadcast(net, Vec::new()).map(drop)
}

/// What the ranks' numbers add up to, mod 2^64, on every rank.
fn sum_of_all(net: &dyn Transport, mine: impl FnOnce() -> Result<u64>) -> Result<u64> {
    let all = gather_fine(net, mine().map(|n| n.to_le_bytes().to_vec()))?;
    let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(0, u64::from_le_bytes);
    let sum = all.iter().map(number).fold(0, u64::wrapping_add);
    let told = broadcast(net, sum.to_le_bytes().to_vec())?;
    Ok(number(&told))
}

/// The GPU of a rank: as the run says, otherwise ranks of one host take `gpus` in turn.
fn gpu_of(gpus: &[usize], seat: &Seat, run: &Run<'_>) -> Result<Option<usize>> {
    let turn = |of: &[usize]| (!of.is_empty()).then(|| of[seat.local_rank % of.len()]);
    Ok(match run.target {
        Target::Cpu => None,
        Target::Gpu(number) => Some(number),
        Target::Gpus(list) => turn(&list.numbers().collect::<Vec<_>>()),
        Target::CpuAndGpu(number) => {
            return Err(Error::spec(
                format!("the cores and GPU {number} together, for a rank"),
                "run a rank on each GPU and none on the cores, or one process on both",
            ));
        }
        Target::Auto if matches!(run.policy, Some(Policy::Cpu(_))) => None,
        Target::Auto => turn(gpus),
    })
}

/// How the ranks of one host share its GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SharedGpus {
    /// Ranks of the host on GPUs.
    ranks: usize,
    /// Different GPUs that they are on.
    gpus: usize,
    /// Ranks on this rank's GPU.
    of_mine: usize,
}

impl SharedGpus {
    fn note(&self) -> Option<String> {
        let Self { ranks, gpus, .. } = *self;
        let shared = if gpus == 1 { "one GPU".into() } else { format!("{gpus} GPUs") };
        (ranks > gpus)
            .then(|| format!("{ranks} ranks of this host share {shared}: one a GPU is best"))
    }
}

/// That, for ranks that are on GPUs. By their addresses on the bus: a launcher may let every rank see its
/// own GPU alone, which is number 0 for each.
fn shared_gpus(
    net: &dyn Transport,
    host: &str,
    bus: Option<[i32; 3]>,
) -> Result<Option<SharedGpus>> {
    let mine = bus.map_or_else(String::new, |bus| format!("{host}\n{bus:?}"));
    let all = gather(net, mine.clone().into_bytes())?;
    let all = broadcast(net, all.join(&0))?;
    let all = String::from_utf8_lossy(&all);
    let of_host = |who: &&str| who.rsplit_once('\n').is_some_and(|(of, _)| of == host);
    let here: Vec<&str> = all.split('\0').filter(of_host).collect();
    let gpus = here.iter().collect::<BTreeSet<_>>().len();
    let of_mine = here.iter().filter(|gpu| **gpu == mine).count();
    Ok((of_mine > 0).then_some(SharedGpus { ranks: here.len(), gpus, of_mine }))
}

/// What a run came to on this rank.
struct Found<const D: usize> {
    own: Own,
    report: Report,
    distribution: Distribution<D>,
}

/// What a rank computes on.
struct Device<'a, const D: usize> {
    build: Box<Build<'a, D>>,
    label: String,
    policy: Policy,
    boundary_first: bool,
    /// How many cores it is as fast as, for how often to look for an interrupt.
    looks: usize,
    /// Its share of the bytes a second that its memory moves, if that was measured.
    bandwidth: Option<f64>,
    notes: Vec<String>,
    /// Where it is on the bus of its host, if it is a GPU.
    bus: Option<[i32; 3]>,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::cuda::multi::GpuList;
    use super::*;
    use crate::cluster::{in_process, in_process_all};
    use crate::prelude::*;
    use crate::stencil::Probe;

    #[stencil]
    fn halve(u: Near<f32, 1>) -> f32 {
        0.5 * u[[1]]
    }

    #[test]
    fn ranks_of_a_host_take_gpus_in_turn() {
        let of = |target, policy| -> Vec<Option<usize>> {
            let run = Run { target, policy, ..Run::default() };
            let seat = |local_rank| Seat { local_rank, local_ranks: 5, sharers: 1, cores: vec![0] };
            (0..5).map(|rank| gpu_of(&[0, 1, 3], &seat(rank), &run).unwrap()).collect()
        };
        assert_eq!(of(Target::Auto, None), [0, 1, 3, 0, 1].map(Some));
        let list = GpuList::new(&[3, 1]).unwrap();
        assert_eq!(of(Target::Gpus(list), None), [3, 1, 3, 1, 3].map(Some));
        assert_eq!(of(Target::Gpu(1), None), [Some(1); 5]);
        assert_eq!(of(Target::Cpu, None), [None; 5]);
        let run = Run { target: Target::CpuAndGpu(0), ..Run::default() };
        let seat = Seat { local_rank: 0, local_ranks: 1, sharers: 1, cores: vec![0] };
        assert!(gpu_of(&[0], &seat, &run).unwrap_err().to_string().contains("GPU 0 together"));
    }

    #[test]
    fn gpus_that_ranks_share_are_counted_by_their_address_on_the_bus() {
        // What each rank of two hosts is on, though all call it number 0.
        let gpus = [("a", 1), ("a", 2), ("b", 1), ("a", 3), ("b", 1), ("a", 1), ("c", 0)];
        let found = in_process(gpus.len(), Duration::from_secs(60), |net| {
            let (host, bus) = gpus[net.rank()];
            shared_gpus(net, host, (bus > 0).then_some([0, bus, 0]))
        });
        let shared = |ranks, gpus, of_mine| Some(SharedGpus { ranks, gpus, of_mine });
        let (a, b) = (shared(4, 3, 1), shared(2, 1, 2));
        let twice = shared(4, 3, 2);
        assert_eq!(found.unwrap(), [twice, a, b, a, b, twice, None]);
        let note = |shared: Option<SharedGpus>| shared.unwrap().note().unwrap_or_default();
        assert!(note(a).contains("4 ranks of this host share 3 GPUs"));
        assert!(note(b).contains("2 ranks of this host share one GPU"));
        assert_eq!(note(shared(4, 4, 1)), "");
    }

    #[test]
    fn ranks_whose_probes_differ_are_told_so() {
        let machine = Machine::detect().unwrap();
        let outcome = in_process_all(2, Duration::from_secs(60), |net| {
            let mut stencil = Stencil::of(halve());
            if net.rank() == 0 {
                stencil = stencil.probe(Probe { field: 0, at: vec![[3]], every: 1 });
            }
            let mut volume = Volume::from_fn([8], |[x]| x as f32);
            let run = Run { target: Target::Cpu, ..Run::default() };
            let ranks = Ranks { count: 2, grid: None, depth: None };
            stencil.run_on_rank(&mut volume, Steps(2), &machine, &ranks, &run, net)
        });
        for error in outcome.into_iter().map(Result::unwrap_err) {
            let told = error.to_string();
            assert!(told.contains("rank 1 has as probes none, rank 0 has 1 ("), "{told}");
        }
    }

    #[stencil]
    fn apart(u: Near<i32, 2>) -> i32 {
        if 1000 / (u[[1, 0]] - u[[0, 0]]) > 5000 { 0 } else { u[[0, 0]] }
    }

    #[test]
    fn a_fault_beyond_a_part_is_one_on_all_ranks_and_says_what_it_may_be() {
        let machine = Machine::detect().unwrap();
        let ramp = || Volume::from_fn([12, 8], |[y, x]| (y * 8 + x) as i32);
        let stencil = Stencil::of(apart()).boundary(Boundary::Dirichlet(7777.0));
        let run = Run { target: Target::Cpu, ..Run::default() };
        stencil.run_with(&mut ramp(), Steps(6), &machine, &run).unwrap();
        for depth in [1, 2] {
            let outcome = in_process_all(2, Duration::from_secs(60), |net| {
                let ranks = Ranks { count: 2, grid: Some([2, 1]), depth: Some(depth) };
                let run = Run { target: Target::Cpu, ..Run::default() };
                stencil.run_on_rank(&mut ramp(), Steps(6), &machine, &ranks, &run, net)
            });
            let told: Vec<_> = outcome.into_iter().map(|it| it.unwrap_err().to_string()).collect();
            assert!(told.iter().all(|told| told.contains("that no run comes by")), "{told:?}");
        }
    }
}
