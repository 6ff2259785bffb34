//! What is told of a run over ranks that its user may want to do otherwise.

use crate::drive::rank_report::RankReport;
use crate::spec::Spec;
use warpweft_core::report::counted;

/// The share of the time that residuals over all ranks may take before it is said how to take less.
const WORTH_A_NOTE: f64 = 0.1;

impl Spec {
    /// That swaps were due after fewer steps than `asked` for, with what ended them.
    pub(crate) fn cut_short(
        &self,
        asked: usize,
        report: &RankReport,
        steps: u64,
    ) -> Option<String> {
        let taken = report.depth as u64;
        if report.interrupted || taken >= asked as u64 || steps == 0 {
            return None;
        }
        let why = match self.until {
            _ if taken == steps => "there are no more".into(),
            Some(until) if until.every == taken => {
                format!("the residual is due after every {}", counted(taken, "step"))
            }
            _ => "a state was to be saved, or a residual due".into(),
        };
        Some(format!(
            "the requested depth of {asked} was used for {taken} steps only: {why}; --depth {taken} has less redundant work"
        ))
    }

    /// That comparing with [`crate::Stencil::until`] took much of all ranks' time.
    pub(crate) fn reducing(&self, reports: &[RankReport], seconds: f64) -> Option<String> {
        let every = self.until?.every;
        let spent: f64 = reports.iter().map(|report| report.reducing).sum();
        let share = spent / (seconds * reports.len() as f64).max(1e-9);
        (reports.len() > 1 && share > WORTH_A_NOTE).then(|| {
            format!(
                "{:.0} % of the time went into residuals over all ranks after every {}: ask more seldom \
                 (`until_every`, --check-every)",
                100.0 * share,
                if every == 1 { "step".into() } else { counted(every, "step") }
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::drive::{RankReport, Ranks};
    use crate::prelude::*;
    use crate::{Checkpoint, CpuPolicy, CudaPolicy, Policy, Probe, Residual, Run, Target};
    use warpweft_core::report::Report;

    #[stencil]
    fn mean(u: Near<f32, 2>) -> f32 {
        0.5 * (u[[-1, 0]] + u[[1, 0]])
    }

    fn report(stencil: &Stencil<f32, 2>, depth: usize, steps: u64, saves: Option<u64>) -> Report {
        let machine = Machine::detect().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = saves.map(|every| Checkpoint {
            directory: folder.path().join("saved"),
            every,
            resume: false,
        });
        let policy = CpuPolicy::default_for(stencil, [100, 8].into(), 1, 1 << 20);
        let policy = Some(Policy::Cpu(CpuPolicy { temporal_depth: 4, ..policy }));
        let target = Target::Cpu;
        let run = Run { target, policy, checkpoint: checkpoint.as_ref(), ..Run::default() };
        let ranks = Ranks { count: 2, grid: None, depth: Some(depth) };
        let mut volume = Volume::from_fn([100, 8], |[y, x]| ((3 * y + x) % 7) as f32);
        stencil
            .run_with(
                &mut volume,
                Steps(steps),
                &machine,
                &Run { settings: run.settings.over(ranks), ..run.clone() },
            )
            .unwrap()
    }

    #[test]
    fn a_depth_that_was_asked_for_and_not_taken_is_told_with_what_kept_it_from_being() {
        let advice = |report: Report| {
            let notes: Vec<_> = report
                .notes
                .into_iter()
                .filter(|what| what.contains("the requested depth"))
                .collect();
            notes.join("; ")
        };
        let saved = advice(report(&Stencil::of(mean()), 20, 60, Some(3)));
        assert!(saved.contains("the requested depth of 20 was used for 3 steps only"), "{saved}");
        assert!(saved.contains("a state was to be saved"), "{saved}");
        let checked = Stencil::of(mean()).until_every(Residual::Max, 0.0, 10);
        let checked = advice(report(&checked, 20, 60, None));
        assert!(checked.contains("the residual is due after every 10 steps"), "{checked}");
        let few = advice(report(&Stencil::of(mean()), 20, 6, None));
        assert!(few.contains("used for 6 steps only: there are no more"), "{few}");
        assert_eq!(advice(report(&Stencil::of(mean()), 20, 60, None)), "");
    }

    #[test]
    fn much_time_in_residuals_is_told_and_little_is_not() {
        let of = |reducing: f64| RankReport { seconds: 1.0, reducing, ..RankReport::default() };
        let checked = Stencil::of(mean()).until_every(Residual::Max, 0.0, 1);
        let told = checked.reducing(&[of(0.2), of(0.4)], 1.0).unwrap();
        assert!(told.starts_with("30 % of the time") && told.contains("every step"), "{told}");
        assert_eq!(checked.reducing(&[of(0.05), of(0.1)], 1.0), None);
        assert_eq!(Stencil::of(mean()).reducing(&[of(0.2), of(0.4)], 1.0), None);
    }

    #[test]
    fn no_threads_and_no_parts_are_refused() {
        let machine = Machine::detect().unwrap();
        let mut volume = Volume::from_fn([20, 8], |[y, _]| y as f32);
        let run = Run { target: Target::Cpu, threads: Some(0), ..Run::default() };
        let stencil = Stencil::of(mean());
        let two = Ranks { count: 2, grid: None, depth: None };
        let alone = stencil.run_with(&mut volume, Steps(1), &machine, &run).unwrap_err();
        let spread = stencil
            .run_with(
                &mut volume,
                Steps(1),
                &machine,
                &Run { settings: run.settings.over(two), ..run.clone() },
            )
            .unwrap_err();
        for error in [alone, spread] {
            assert!(error.to_string().starts_with("0 threads"), "{error}");
        }
        let grid = Ranks { grid: Some([0, 4].into()), ..two };
        let run = Run { target: Target::Cpu, ..Run::default() };
        let error = stencil.run_with(
            &mut volume,
            Steps(1),
            &machine,
            &Run { settings: run.settings.over(grid), ..run.clone() },
        );
        let told = error.unwrap_err().to_string();
        assert!(told.contains("a grid of 0 x 4; help: write 1 for axes"), "{told}");
    }

    #[test]
    fn devices_and_policies_that_ranks_of_a_process_have_not_are_refused_in_words() {
        let machine = Machine::detect().unwrap();
        let stencil = Stencil::of(mean());
        let two = Ranks { count: 2, grid: None, depth: None };
        let refusal = |run: Run<'_>| {
            let mut volume = Volume::from_fn([20, 8], |[y, _]| y as f32);
            let error = stencil.run_with(
                &mut volume,
                Steps(1),
                &machine,
                &Run { settings: run.settings.over(two), ..run.clone() },
            );
            error.unwrap_err().to_string()
        };
        let told = refusal(Run { target: Target::CpuAndGpu(0), ..Run::default() });
        assert!(told.starts_with("2 ranks can't run on the cores and GPU 0 together;"), "{told}");
        if machine.gpus.is_empty() {
            let told = refusal(Run { target: Target::Gpu(1), ..Run::default() });
            assert!(told.contains("GPU 1: this machine has 0 GPUs"), "{told}");
        }
        let policy = Some(Policy::Cuda(CudaPolicy::default_for(&stencil, [20, 8].into(), (9, 0))));
        let told = refusal(Run { policy, ..Run::default() });
        assert!(told.starts_with("a policy of one GPU for ranks on the cores;"), "{told}");
    }

    #[test]
    fn checks_and_checkpoints_end_a_swaps_steps() {
        let plain = Stencil::of(mean());
        let longest = |stencil: &Stencil<f32, 2>| {
            [(16, None), (16, Some(3)), (2, Some(3))]
                .map(|(depth, saves)| stencil.longest_swap(depth, saves))
        };
        assert_eq!(longest(&plain), [16, 3, 2]);
        assert_eq!(longest(&plain.until_every(Residual::Max, 0.0, 10)), [10, 3, 2]);
    }

    #[test]
    fn passes_are_those_that_were_done() {
        let passes = |stencil: &Stencil<f32, 2>, saves| {
            let report = report(stencil, 20, 60, saves);
            assert_eq!(report.bytes % (800 * 8), 0);
            (report.bytes / (800 * 8), report.temporal_depth)
        };
        let plain = Stencil::of(mean());
        assert_eq!(
            passes(&plain, None),
            (15, Some(4.0)),
            "20 steps between halo exchanges, 4 in a time block"
        );
        assert_eq!(passes(&plain, Some(3)), (20, Some(3.0)), "a checkpoint every 3");
        let probed = plain.clone().probe(Probe { field: 0, at: vec![[3, 3]], every: 2 });
        assert_eq!(passes(&probed, None), (30, Some(2.0)), "a probe every 2");
        let checked = plain.until_every(Residual::Max, 0.0, 5);
        assert_eq!(passes(&checked, None), (24, Some(2.5)), "4 steps, and the one that is checked");
    }
}
