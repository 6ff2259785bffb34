//! A stencil over ranks that are processes: what each of them calls.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::checkpoint::{self, Opened};
use crate::drive::cut::distribution::Distribution;
use crate::drive::rank_report::RankReport;
use crate::drive::ranks::count::{DEADLINE, Ranks, each_of, shown};
use crate::drive::ranks::notes::joined;
use crate::drive::start::Start;
use crate::drive::task::{Own, Task, Watch, store};
use crate::exchange::Route;
use crate::run::Run;
use crate::spec::fingerprint::{digest, fingerprint};
use crate::spec::identity::short_hash;
use crate::spec::residual::Until;
use crate::spec::{Spec, Steps};
use warpweft_core::cluster::{
    Tag, Transport, agree, agree_on_each, broadcast, gather, host_name, in_process, placement,
    thread_group,
};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;

/// The message with which a rank's cells come to rank 0.
const RESULT: Tag = Tag(0x6000);

impl Spec {
    /// Advances `volume` by `steps` steps together with all other ranks of `net`, which call this with
    /// the same arguments: the bits of [`Spec::run_with`]. Afterwards rank 0's volume is the result; the
    /// other ranks' volumes hold the result in their own subdomain, and the initial state elsewhere. Rank 0's report is of all.
    ///
    /// Ranks of one host share its cores, or take a GPU each. Of as many ranks as `net` has each process is
    /// one; of two or more times as many each has that many, as threads ([`crate::drive::a_gpu_each`]).
    ///
    /// # Errors
    /// As [`Spec::run_over_threads`]; more than 16 ranks a process; ranks that disagree on what to compute or from
    /// what; another rank's error. Any error is one on all ranks.
    pub(crate) fn run_over_net(
        &self,
        volume: &mut RawVolume,
        steps: Steps,
        machine: &Machine,
        ranks: &Ranks,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<Report> {
        let dims = volume.rank();
        let begin = Instant::now();
        let outcome = (|| {
            let each = each_of(ranks.count, net)?;
            let found = {
                // A checkpoint keeps it; ranks alone compare what is faster to compute.
                let hash = Some(match run.checkpoint {
                    Some(_) => fingerprint(volume, Axes::filled(dims, 0), volume.extents()),
                    None => digest(volume),
                });
                let asked = Asked { volume, hash, steps, machine, ranks };
                match (each, net.ranks()) {
                    (1, _) => vec![self.on_rank(&asked, run, net)?],
                    (_, 1) => {
                        self.by_threads(&asked, run, each, |one| in_process(each, DEADLINE, one))?
                    }
                    _ => self.by_threads(&asked, run, each, |one| thread_group(net, each, one))?,
                }
            };
            let partition = found[0].distribution.partition.clone();
            let mut report =
                self.stored(volume, net.rank() * each, found, |bytes| match net.rank() {
                    0 => Ok(()),
                    _ => net.send(0, RESULT, bytes),
                })?;
            if net.rank() == 0 {
                for rank in each..ranks.count {
                    let fields = self.written_fields().into_iter();
                    let theirs = fields.map(|field| Ok((field, net.receive(rank / each, RESULT)?)));
                    store(volume, partition.region(rank), &theirs.collect::<Result<_>>()?)?;
                }
            }
            report.setup_seconds = begin.elapsed().as_secs_f64() - report.seconds;
            all_done(net)?;
            Ok(report)
        })();
        outcome.inspect_err(|error: &Error| net.abort(&error.to_string()))
    }

    /// What one rank, of as many as `net` has, does.
    pub(crate) fn on_rank(
        &self,
        asked: &Asked<'_>,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<Found> {
        let &Asked { volume, steps: Steps(steps), machine, ranks, .. } = asked;
        let extents = volume.extents();
        let halos = Route::forced().map(|forced| run.settings.halos.or(forced))?;
        self.agree_on_run(asked, run, halos, net)?;
        let mut distribution = self.distribution(extents, ranks)?;
        let placement = placement(net, &machine.cpu.cores)?;
        let mut saved = self.opened_together(asked, run, net)?;
        let first = saved.as_ref().map(Opened::first).unwrap_or_default();
        let probed = Mutex::new(self.recorded_before(saved.as_mut()));
        let mut device = self.device_of(&distribution, machine, &placement, (run, steps))?;
        check_route(halos, device.bus)?;
        device.share_with(net, &host_name())?;
        distribution.boundary_first = device.boundary_first;
        distribution.fused_steps = of_all(net, device.fused_steps, usize::max)?;
        self.deepen(&mut distribution);
        distribution.begin_at(device.bandwidth, self.step_bytes());
        let task = Task {
            stencil: self,
            distribution: &distribution,
            start: Start::of(volume, saved.as_ref().and_then(|saved| saved.from.as_ref())),
            first,
            steps,
            build: &*device.build,
            saving: saved.as_ref().map(|saved| &saved.saver),
            trace: run.trace.as_deref(),
            rebalance: None,
            fused_steps: device.policy.fused_steps(self.rank()),
            halos,
            probed: &probed,
        };
        task.check(extents)?;
        let report_progress = |done| run.progress.iter().for_each(|progress| progress(done, steps));
        if net.rank() == 0 {
            report_progress(first.step);
        }
        let watch = Watch { progress: &report_progress, stop: run.stop() };
        let (own, mine) = task.rank(net, &watch)?;
        let (reports, told) = gathered(net, mine, (device.label, device.bandwidth, device.notes))?;
        let bandwidth = told.iter().map(|&(_, bandwidth, _)| bandwidth).sum();
        let (policy, depth) = (device.policy, ranks.depth);
        let mut report =
            self.reported(&distribution, &reports, first.step, policy, bandwidth, depth);
        report.policy["tuned"] = device.tuned.into();
        if net.rank() == 0 {
            report.probes = probed.into_inner().unwrap_or_else(PoisonError::into_inner);
        }
        report.notes.extend(saved.map(|saved| saved.notes).unwrap_or_default());
        name_devices(&mut report, told);
        Ok(Found { own, report, distribution })
    }

    /// Whether all ranks were called to do the same.
    fn agree_on_run(
        &self,
        asked: &Asked<'_>,
        run: &Run<'_>,
        halos: Option<Route>,
        net: &dyn Transport,
    ) -> Result<()> {
        let &Asked { volume, hash, steps: Steps(steps), ranks, .. } = asked;
        let resumes = run.checkpoint.map(|at| (at.every, at.resume));
        let or = |some: Option<String>, none: &str| some.unwrap_or_else(|| none.into());
        let named = |(every, resume): (u64, bool)| {
            format!("every {every} steps, {}", if resume { "resumed" } else { "begun anew" })
        };
        let plan = [
            ("a run of", format!("{steps} steps")),
            ("a number of ranks of", ranks.count.to_string()),
            ("as grid of ranks", or(ranks.grid.map(|grid| shown(&grid)), "none named")),
            ("as depth of ghost zones", or(ranks.depth.map(|n| n.to_string()), "none named")),
            ("halos by", or(halos.map(|by| by.to_string()), "the fastest way")),
            ("checkpoints", or(resumes.map(named), "none")),
        ];
        agree_on_each(net, &[&plan[..], &self.common(volume.extents(), run)].concat())?;
        if let Some(hash) = hash {
            agree(net, "an initial state with the hash", &format!("{hash:016x}"))?;
        }
        if ranks.count != net.ranks() {
            return Err(Error::spec(
                format!(
                    "{} ranks were requested, but the network has {}",
                    ranks.count,
                    net.ranks()
                ),
                "start one process per rank",
            ));
        }
        Ok(())
    }

    /// What all ranks of a run or a session must have alike, with names.
    pub(in crate::drive) fn common(
        &self,
        extents: Axes<usize>,
        run: &Run<'_>,
    ) -> [(&'static str, String); 4] {
        let until = self.until.map(|Until { residual, tolerance, every }| {
            format!("{residual:?} at most {tolerance} after every {every} steps")
        });
        let probes = &self.points.probes;
        let probes = match probes.len() {
            0 => "none".into(),
            count => format!("{count} ({})", short_hash(&format!("{probes:?}"))),
        };
        let stop = if run.stop().can_stop() { "heeded" } else { "not heeded" };
        [
            ("as computation", self.identity(extents)),
            ("as end", until.unwrap_or_else(|| "the last step".into())),
            ("as probes", probes),
            ("interrupts", stop.into()),
        ]
    }

    /// The checkpoint of all ranks, if they are to have one.
    fn opened_together(
        &self,
        asked: &Asked<'_>,
        run: &Run<'_>,
        net: &dyn Transport,
    ) -> Result<Option<Opened>> {
        let Some(at) = run.checkpoint else { return Ok(None) };
        let &Asked { volume, hash, steps: Steps(steps), .. } = asked;
        let extents = volume.extents();
        let all = || fingerprint(volume, Axes::filled(self.rank(), 0), extents);
        let hash = hash.unwrap_or_else(all);
        checkpoint::open(at, self, (extents, hash, steps), net).map(Some)
    }
}

/// Whether a route of GPUs is only asked of a rank with one.
fn check_route(halos: Option<Route>, gpu: Option<impl Sized>) -> Result<()> {
    match (halos.filter(|&by| by != Route::Host), gpu) {
        (Some(by), None) => Err(Error::spec(
            format!("the halo route {by} was requested, but the ranks run on cores"),
            "unset WARPWEFT_HALOS (`Settings::halos`): it has a meaning for GPUs only",
        )),
        _ => Ok(()),
    }
}

/// A device's label, the bytes a second that its memory moves, and notes.
type DeviceFacts = (String, Option<f64>, Vec<String>);

/// Names the devices of all ranks in `report`, and their notes.
fn name_devices(report: &mut Report, told: Vec<DeviceFacts>) {
    let (labels, notes): (Vec<_>, Vec<_>) =
        told.into_iter().map(|(label, _, notes)| (label, notes)).unzip();
    report.devices = labels;
    report.notes.extend(joined(&notes));
}

/// What all ranks did and say of their devices, on rank 0; on the others their own.
fn gathered(
    net: &dyn Transport,
    mine: RankReport,
    device: DeviceFacts,
) -> Result<(Vec<RankReport>, Vec<DeviceFacts>)> {
    let wrong = |error: serde_json::Error| Error::spec(error.to_string(), "report this as a bug");
    let all = gather(net, serde_json::to_vec(&(mine, &device)).map_err(wrong)?)?;
    if net.rank() > 0 {
        return Ok((vec![mine], vec![device]));
    }
    let read = |one: &Vec<u8>| serde_json::from_slice::<(RankReport, DeviceFacts)>(one);
    let all: Vec<_> = all.iter().map(read).collect::<Result<_, _>>().map_err(wrong)?;
    let (mut reports, told): (Vec<_>, _) = all.into_iter().unzip();
    // Text has no infinite numbers.
    reports[0].residual = mine.residual;
    Ok((reports, told))
}

/// Waits until no rank can fail any more, so that an error is one on all.
fn all_done(net: &dyn Transport) -> Result<()> {
    gather(net, Vec::new())?;
    broadcast(net, Vec::new()).map(drop)
}

/// The ranks' numbers put into one, on every rank: the longest time block, say, into which hosts that were tuned apart
/// fit theirs.
pub(crate) fn of_all(
    net: &dyn Transport,
    mine: usize,
    pick: fn(usize, usize) -> usize,
) -> Result<usize> {
    let all = gather(net, mine.to_le_bytes().to_vec())?;
    let number = |bytes: &Vec<u8>| bytes.as_slice().try_into().map_or(1, usize::from_le_bytes);
    let picked = all.iter().map(number).reduce(pick).unwrap_or(mine);
    Ok(number(&broadcast(net, picked.to_le_bytes().to_vec())?))
}

/// What all ranks are asked to do alike.
pub(crate) struct Asked<'a> {
    /// The start, which every rank has all of.
    pub volume: &'a RawVolume,
    /// Its fingerprint, where ranks might differ in it.
    pub hash: Option<u64>,
    pub steps: Steps,
    pub machine: &'a Machine,
    pub ranks: &'a Ranks,
}

/// What a run came to on one rank.
pub(crate) struct Found {
    pub own: Own,
    pub report: Report,
    pub distribution: Distribution,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Probe;
    use crate::Settings;
    use crate::prelude::*;
    use warpweft_core::cluster::in_process_all;

    #[stencil]
    fn halve(u: Near<f32, 1>) -> f32 {
        0.5 * u[[1]]
    }

    #[test]
    fn what_a_rank_has_to_say_is_in_the_report_of_the_first() {
        let machine = Machine::detect().unwrap();
        if machine.cpu.cores.len() < 2 {
            return println!("skipped: one core");
        }
        let found = in_process(3, Duration::from_secs(60), |net| {
            let mut machine = machine.clone();
            // All but the first are bound to the same core.
            machine.cpu.cores.truncate(if net.rank() == 0 { 2 } else { 1 });
            let mut volume = Volume::from_fn([16], |[x]| x as f32);
            let run = Run { target: Target::Cpu, ..Run::default() };
            let ranks = Ranks { count: 3, grid: None, depth: Some(1) };
            let stencil = Stencil::of(halve());
            stencil.run_with(
                &mut volume,
                Steps(2),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
            )
        });
        let notes = &found.unwrap()[0].notes;
        let shared = "ranks 1, 2: 2 ranks of this host share 1 core:";
        let said = notes.iter().filter(|note| note.contains("share 1 core"));
        assert!(
            said.clone().count() == 1 && said.clone().all(|note| note.starts_with(shared)),
            "{notes:?}"
        );
    }

    #[test]
    fn a_route_of_gpus_is_refused_between_cores() {
        let machine = Machine::detect().unwrap();
        for by in [Route::Ipc, Route::CudaAware, Route::Staged] {
            let outcome = in_process_all(2, Duration::from_secs(60), |net| {
                let mut volume = Volume::from_fn([8], |[x]| x as f32);
                let run = Run {
                    target: Target::Cpu,
                    settings: Settings::default().halos_by(by),
                    ..Run::default()
                };
                let ranks = Ranks { count: 2, grid: None, depth: None };
                Stencil::of(halve()).run_with(
                    &mut volume,
                    Steps(2),
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )
            });
            for error in outcome.into_iter().map(Result::unwrap_err) {
                let told = error.to_string();
                assert!(
                    told.contains(&format!(
                        "the halo route {by} was requested, but the ranks run on cores"
                    )),
                    "{told}"
                );
            }
        }
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
            stencil.run_with(
                &mut volume,
                Steps(2),
                &machine,
                &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
            )
        });
        for error in outcome.into_iter().map(Result::unwrap_err) {
            let told = error.to_string();
            assert!(told.contains("rank 1 has as probes none, rank 0 has 1 ("), "{told}");
        }
    }

    #[test]
    fn all_ranks_know_the_most_fused_steps_and_the_fewest_gpus_of_any() {
        let numbers = [2, 3, 4, 1, 2];
        for (pick, expect) in [(usize::max as fn(usize, usize) -> usize, 4), (usize::min, 1)] {
            let told = in_process_all(5, Duration::from_secs(60), |net| {
                of_all(net, numbers[net.rank()], pick)
            });
            assert!(told.into_iter().all(|number| number.unwrap() == expect));
        }
    }
}
