//! Several ranks of one process, each a thread with a device of its own: how many, and what they come to.

use crate::drive::ranks::count::Ranks;
use crate::drive::ranks::network::{Asked, Found, of_all};
use crate::drive::ranks::watched::watched;
use crate::drive::task::store;
use crate::policy::Policy;
use crate::run::Run;
use crate::spec::Spec;
use warpweft_core::cluster::{MAX_RANKS_PER_PROCESS, Transport, placement};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::machine::Machine;
use warpweft_core::report::Report;
use warpweft_core::run::Target;

/// What one rank of several does, by its end of the network.
pub(crate) type One<'a> = dyn Fn(&dyn Transport) -> Result<Found> + Sync + 'a;

/// The total number of ranks of all processes of `net`, if each process has one rank for each of its GPUs. Counted are the
/// GPUs that `run` names, or all that a process sees. Processes of a host that see the same GPUs share them evenly. All
/// processes get the same number of ranks, that of the process with the fewest GPUs, at most 16. It is one rank per process
/// if there are fewer GPUs than processes, or if `run` targets the cores or one GPU. All processes must call this, and all
/// get the same number.
///
/// # Errors
/// As [`Transport::receive`]; the driver's, which is one on all processes.
pub fn a_gpu_each(net: &dyn Transport, machine: &Machine, run: &Run<'_>) -> Result<usize> {
    let mine = own_gpus(net, machine, run);
    let mine = mine.inspect_err(|error| net.abort(&error.to_string()))?;
    Ok(net.ranks() * of_all(net, mine.clamp(1, MAX_RANKS_PER_PROCESS), usize::min)?)
}

/// GPUs of this process, of those that it shares with others.
fn own_gpus(net: &dyn Transport, machine: &Machine, run: &Run<'_>) -> Result<usize> {
    let named = |number: usize| match (run.target, run.policy) {
        (Target::Gpus(list), _) => list.numbers().any(|it| it == number),
        (Target::AllGpus, _) => true,
        (Target::AnyGpu, _) => net.ranks() > 1,
        (Target::Auto, policy) => !matches!(policy, Some(Policy::Cpu(_))),
        _ => false,
    };
    let mut buses = Vec::new();
    for gpu in machine.gpus.iter().filter(|gpu| named(gpu.ordinal)) {
        let [domain, bus, device] = gpu.device()?.bus()?.map(|n| n as usize);
        buses.push(domain << 16 | bus << 8 | device);
    }
    buses.sort_unstable();
    let placement = placement(net, &buses)?;
    Ok(if buses.len() < placement.sharers { 0 } else { placement.cores.len() })
}

impl Spec {
    /// As many ranks for so many processes, at most `most`, as parts can be cut for; one a process in any case.
    pub fn ranks_that_fit(&self, extents: Axes<usize>, processes: usize, most: usize) -> usize {
        let fits = |count: &usize| {
            self.distribution(extents, &Ranks { count: *count, grid: None, depth: None }).is_ok()
        };
        let mut counts = (1..=most / processes.max(1)).rev().map(|each| each * processes);
        counts.find(fits).unwrap_or(processes)
    }

    /// What the `each` ranks of this process come to, which `over` runs in threads of theirs.
    pub(crate) fn by_threads(
        &self,
        asked: &Asked<'_>,
        run: &Run<'_>,
        each: usize,
        over: impl FnOnce(&One<'_>) -> Result<Vec<Found>> + Send,
    ) -> Result<Vec<Found>> {
        let Run { target, policy, threads, interrupt, deadline, checkpoint, settings, .. } = *run;
        let trace = &run.trace;
        // Of this process.
        let threads = threads.map(|threads| (threads / each).max(usize::from(threads > 0)));
        watched(run, (None, asked.steps.0), |report_progress| {
            over(&|net| {
                let progress = |done, _| report_progress(done);
                let run = Run {
                    target,
                    policy,
                    threads,
                    progress: Some(&progress),
                    interrupt,
                    trace: trace.clone(),
                    checkpoint,
                    settings,
                    deadline,
                    net: None,
                };
                self.on_rank(asked, &run, net)
            })
        })
    }

    /// Puts what the ranks from `first` on came to into the whole volume, and hands it on; the report of the first.
    pub(crate) fn stored(
        &self,
        volume: &mut RawVolume,
        first: usize,
        found: Vec<Found>,
        on: impl Fn(Vec<u8>) -> Result<()>,
    ) -> Result<Report> {
        let mut report = None;
        for (rank, Found { own, report: told, distribution }) in (first..).zip(found) {
            store(volume, distribution.partition.region(rank), &own)?;
            own.into_iter().try_for_each(|(_, bytes)| on(bytes))?;
            report.get_or_insert(told);
        }
        report.ok_or_else(|| Error::spec("no ranks", "use at least 1"))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;
    use crate::prelude::*;
    use warpweft_core::cluster::{in_process, in_process_all};

    #[stencil]
    fn halve(u: Near<f32, 2>) -> f32 {
        0.5 * u[[0, 1]] + 0.25 * u[[-1, 0]]
    }

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn ranks_of_several_a_process_come_to_what_one_does() {
        let machine = Machine::detect().unwrap();
        let (stencil, steps) = (Stencil::of(halve()), Steps(9));
        let start = Volume::from_fn([13, 11], |[y, x]| (y * 11 + x) as f32);
        let on_cores = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
        let mut expect = start.clone();
        stencil.run_with(&mut expect, steps, &machine, &on_cores).unwrap();
        for (processes, grid) in [(1, [3, 1]), (2, [2, 3]), (3, [3, 2]), (2, [1, 2])] {
            let found = in_process(processes, SOON, |net| {
                let told = Cell::new(0);
                let progress = |done, of| {
                    assert!(net.rank() == 0 && done <= of && done >= told.get());
                    told.set(done);
                };
                let run = Run { progress: Some(&progress), target: Target::Cpu, ..Run::default() };
                let ranks =
                    Ranks { count: grid[0] * grid[1], grid: Some(grid.into()), depth: None };
                let mut volume = start.clone();
                let report = stencil.run_with(
                    &mut volume,
                    steps,
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )?;
                Ok((volume, report))
            });
            let (volume, report) = found.unwrap().swap_remove(0);
            assert!(volume.as_slice() == expect.as_slice(), "{processes} processes, {grid:?}");
            assert_eq!(report.policy["ranks"], grid[0] * grid[1]);
            assert_eq!((report.devices.len(), report.done), (grid[0] * grid[1], 9));
        }
    }

    #[test]
    fn ranks_that_processes_cannot_share_evenly_are_refused_on_all() {
        let machine = Machine::detect().unwrap();
        for counts in [[3, 3], [0, 0], [2, 4]] {
            let all = in_process_all(2, SOON, |net| {
                let mut volume = Volume::from_fn([8, 8], |[y, x]| (y + x) as f32);
                let ranks = Ranks { count: counts[net.rank()], grid: None, depth: None };
                let run = Run { target: Target::Cpu, ..Run::default() };
                let stencil = Stencil::of(halve());
                stencil.run_with(
                    &mut volume,
                    Steps(2),
                    &machine,
                    &Run { settings: run.settings.over(ranks), net: Some(net), ..run.clone() },
                )
            });
            for error in all.into_iter().map(|outcome| outcome.unwrap_err().to_string()) {
                let told = match counts {
                    [2, 4] => "a number of ranks of 4, rank 0 has 2".into(),
                    [count, _] => {
                        format!("{count} ranks can't be divided evenly among 2 processes")
                    }
                };
                assert!(error.contains(&told), "{error}");
            }
        }
    }

    #[test]
    fn no_more_ranks_are_counted_than_parts_can_be_cut_for() {
        let stencil = Stencil::of(halve());
        let fit = |most| stencil.ranks_that_fit([7, 1].into(), 2, most);
        assert_eq!([2, 3, 5, 6, 8, 200].map(fit), [2, 2, 4, 6, 6, 6]);
        assert_eq!(stencil.ranks_that_fit([1, 1].into(), 2, 8), 2);
    }

    #[test]
    fn processes_without_gpus_of_their_own_have_a_rank_each() {
        let mut machine = Machine::detect().unwrap();
        machine.gpus.clear();
        for target in [Target::Auto, Target::Cpu] {
            let run = || Run { target, ..Run::default() };
            let counts = in_process(3, SOON, |net| a_gpu_each(net, &machine, &run()));
            assert_eq!(counts.unwrap(), [3; 3]);
        }
    }
}
