//! One candidate: it is timed, and checked before it may win. Not here: which are tried (`search`).

use std::time::Instant;

use super::super::super::executor::SweepExecutor;
use super::super::super::plan::{Region, Sweep};
use super::super::super::spec::Spec;
use super::Search;
use crate::reference::agreement::agrees;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::RawVolume;
use warpweft_core::tune::{Budget, Measured, Repeats, measure};

/// Seconds that one measured run should last: long next to a time slice, short next to a budget.
const RUN: f64 = 0.03;
/// Steps of a measured run grow by so much at a time at most: what a step takes can only be found out,
/// and on a few cells the hand-over between threads takes thousands of times what the cells do.
const GROWTH: f64 = 32.0;
/// So often at most.
const GROWTHS: usize = 6;
/// Seconds of a run that is followed by longer ones even if the budget is spent, on bringing a large
/// volume in, say: a step by itself takes what its launch does, on several GPUs above all.
const SHORT: f64 = 0.3;
/// What a candidate's runs came to.
pub(super) struct Ran {
    pub measured: Measured,
    pub steps: u64,
    pub seconds: f64,
}

/// A candidate's runs, or why it is refused.
pub(super) type Tried = Result<Ran, String>;

impl Search<'_> {
    /// As [`Search::tried`], and refuses a candidate that fails on a device that lives on: tiles that wait too
    /// long for one another end by themselves, and no more is lost if another executor can be made. Two such
    /// in a row end the search: it is not the candidates that fail.
    pub(super) fn trial<X: SweepExecutor>(
        &mut self,
        how: (u64, bool),
        best: f64,
        budget: Budget,
        make: impl Fn(&RawVolume, bool) -> Result<X>,
    ) -> Result<Tried> {
        match self.tried(how, best, budget, &make) {
            Err(error @ Error::Device { .. }) => {
                if self.failed || make(self.volume, false).is_err() {
                    return Err(error);
                }
                self.failed = true;
                Ok(Err(error.to_string()))
            }
            Ok(Ok(ran)) => {
                self.failed = false;
                Ok(Ok(ran))
            }
            tried => tried,
        }
    }

    /// Measures a candidate in seconds a step; checks it before it may beat `best`, on the whole volume if that
    /// is `small`.
    fn tried<X: SweepExecutor>(
        &mut self,
        (depth, small): (u64, bool),
        best: f64,
        budget: Budget,
        make: &impl Fn(&RawVolume, bool) -> Result<X>,
    ) -> Result<Tried> {
        let mut executor = match make(self.volume, false) {
            Ok(executor) => executor,
            // Too much shared memory or too many ghost cells: not a candidate after all.
            Err(error @ (Error::Spec { .. } | Error::Memory { .. } | Error::Compile { .. })) => {
                return Ok(Err(error.to_string()));
            }
            Err(error) => return Err(error),
        };
        let checked = self.stencil.until.is_some_and(|until| until.every == 1);
        let whole = if checked { 1 } else { depth.max(1) };
        let region = Region::whole(self.volume.extents());
        let (mut all_steps, mut all_seconds) = (0, 0.0);
        let mut run = |steps: u64| {
            let sweep = Sweep { first_step: 0, steps, region, following: 0, keep_change: checked };
            let start = Instant::now();
            executor.sweep(&sweep)?;
            if let (Some(until), true) = (self.stencil.until, checked) {
                executor.residual(until.residual)?;
            }
            executor.finish()?;
            let seconds = start.elapsed().as_secs_f64();
            all_steps += steps;
            all_seconds += seconds;
            Ok(seconds / steps as f64)
        };
        let steps = steps_of_a_run((whole, RUN), checked, budget, &mut run)?;
        let measured = measure(Repeats::default(), best, budget, || run(steps))?;
        drop(executor);
        self.untuned.get_or_insert(measured.median);
        if measured.median < best {
            let plain = Spec { until: None, ..self.stencil.clone() };
            // What stays on the chip is small, and one tile of a corner would send nobody its rims.
            let cells = if small { self.volume } else { &self.corner };
            let mut checked = match make(cells, true) {
                Ok(checked) => checked,
                Err(error @ (Error::Spec { .. } | Error::Memory { .. })) => {
                    return Ok(Err(format!("it can't be checked: {error}")));
                }
                Err(error) => return Err(error),
            };
            if !agrees(&mut checked, &plain, cells, 2 * depth.min(16) + 1)? {
                return Ok(Err("it does not agree with the reference".into()));
            }
        }
        Ok(Ok(Ran { measured, steps: all_steps, seconds: all_seconds }))
    }
}

/// Steps of a measured run that is to last so many seconds, a multiple of `whole`, which is all where each step is
/// `checked`: `run` tells the seconds a step of so many.
///
/// # Errors
/// What `run` fails with.
pub(super) fn steps_of_a_run(
    (whole, lasts): (u64, f64),
    checked: bool,
    budget: Budget,
    run: &mut impl FnMut(u64) -> Result<f64>,
) -> Result<u64> {
    // The first touches everything, and says little of what further ones take.
    let mut seconds = run(whole)? * whole as f64;
    let mut steps = whole;
    for _ in 0..GROWTHS {
        if checked || (budget.spent() && seconds > SHORT) {
            break;
        }
        seconds = run(steps)? * steps as f64;
        let more = lasts / seconds.max(1e-9);
        if more < 2.0 {
            break;
        }
        steps = ((steps as f64 * more.min(GROWTH)) as u64).next_multiple_of(whole);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::super::CHECKED;
    use super::*;
    use crate::exchange::Cells;
    use crate::prelude::{Near, stencil};
    use crate::spec::total::Total;
    use crate::{CpuPolicy, Policy, Residual, Stencil};
    use warpweft_core::element::CellType;
    use warpweft_core::grid::{RawVolumeMut, Volume};

    #[stencil]
    fn smooth(u: Near<f32, 2>) -> f32 {
        0.5 * u[[0, 0]] + 0.25 * (u[[0, -1]] + u[[0, 1]])
    }

    /// An executor that is fast, for it does no step; it keeps the most that it was asked for at once. One that
    /// is stuck has tiles that wait for nothing.
    #[derive(Default)]
    struct Idle<'a> {
        asked: Option<&'a Cell<u64>>,
        stuck: bool,
    }

    impl SweepExecutor for Idle<'_> {
        fn cell(&self) -> CellType {
            CellType::of::<f32>()
        }
        fn read(&mut self, _: &[Cells], _: &mut Vec<u8>) -> Result<()> {
            Ok(())
        }
        fn write(&mut self, _: &[Cells], _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn changes(&mut self, _: Residual, _: &Region) -> Result<Total> {
            Ok(Total::default())
        }
        fn sweep(&mut self, sweep: &Sweep) -> Result<()> {
            if let Some(asked) = self.asked {
                asked.set(asked.get().max(sweep.steps));
            }
            Ok(())
        }
        fn residual(&mut self, _: Residual) -> Result<f64> {
            Ok(0.0)
        }
        fn finish(&mut self) -> Result<()> {
            if self.stuck { Err(stuck("waited 20 s")) } else { Ok(()) }
        }
        fn store(&mut self, _: RawVolumeMut<'_>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn steps_that_take_nothing_are_timed_in_long_runs_even_when_the_budget_is_spent() {
        let stencil = Stencil::of(smooth());
        let volume = Volume::from_fn([32, 32], |[y, x]| (x * y) as f32);
        let mut search = Search::new(&stencil, &volume, (CHECKED, &[])).unwrap();
        let most = Cell::new(0);
        let spent = Budget::of(Duration::ZERO);
        let make = |_: &RawVolume, _| Ok(Idle { asked: Some(&most), stuck: false });
        let _ = search.trial((3, false), f64::INFINITY, spent, make).unwrap();
        assert!(most.get() > 1 << 10 && most.get().is_multiple_of(3), "{} steps", most.get());
    }

    fn waits() -> Result<Idle<'static>> {
        Ok(Idle { stuck: true, ..Idle::default() })
    }

    fn stuck(what: &str) -> Error {
        Error::Device {
            stage: "exchanging rims".into(),
            device: "one".into(),
            what: what.into(),
            hint: "look".into(),
        }
    }

    #[test]
    fn a_failure_ends_the_search_only_if_the_device_is_lost_with_it() {
        let stencil = Stencil::of(smooth());
        let volume = Volume::from_fn([32, 32], |[y, x]| (x * y) as f32);
        let mut search = Search::new(&stencil, &volume, (CHECKED, &[])).unwrap();
        let made = Cell::new(0);
        let mut tried = |lost: bool| {
            made.set(0);
            search.trial((1, true), f64::INFINITY, Budget::of(Duration::ZERO), |_, _| {
                made.set(made.get() + 1);
                if lost && made.get() > 1 { Err(stuck("the device is lost")) } else { waits() }
            })
        };
        let lives = tried(false).unwrap().err().unwrap();
        assert!(lives.contains("waited 20 s"), "{lives}");
        let lost = tried(true).err().unwrap().to_string();
        assert!(lost.contains("waited 20 s"), "{lost}");
    }

    #[test]
    fn two_failures_in_a_row_end_the_search_and_a_run_between_them_does_not() {
        let stencil = Stencil::of(smooth());
        let volume = Volume::from_fn([32, 32], |[y, x]| (x * y) as f32);
        let mut search = Search::new(&stencil, &volume, (CHECKED, &[])).unwrap();
        let spent = Budget::of(Duration::ZERO);
        // What does nothing is never checked where it does not win.
        let runs = |search: &mut Search<'_>| {
            search.trial((1, false), 0.0, spent, |_, _| Ok(Idle::default())).unwrap().is_ok()
        };
        let stuck = |search: &mut Search<'_>| {
            search
                .trial((1, true), f64::INFINITY, spent, |_, _| waits())
                .map(|tried| tried.is_err())
        };
        assert!(stuck(&mut search).unwrap());
        assert!(runs(&mut search));
        assert!(stuck(&mut search).unwrap());
        // One that can't be made says nothing of the device.
        let large = |_: &RawVolume, _| Err::<Idle<'_>, _>(Error::spec("1 GB", "lower `tile`"));
        assert!(search.trial((1, true), f64::INFINITY, spent, large).unwrap().is_err());
        let error = stuck(&mut search).unwrap_err().to_string();
        assert!(error.contains("waited 20 s"), "{error}");
    }

    #[test]
    fn what_does_not_run_or_agree_is_told_with_its_reason() {
        let stencil = Stencil::of(smooth());
        let volume = Volume::from_fn([32, 32], |[y, x]| (x * y) as f32);
        let mut search = Search::new(&stencil, &volume, (CHECKED, &[])).unwrap();
        let mut said = |threads: usize, made: fn() -> Result<Idle<'static>>| {
            let policy = Policy::Cpu(CpuPolicy { tile_rows: threads, ..CpuPolicy::default() });
            let budget = Budget::of(Duration::ZERO);
            let ran = search.trial((1, false), f64::INFINITY, budget, |_, _| made()).unwrap();
            assert_eq!(search.note(policy, threads, ran), None);
            search.refused.last().cloned().unwrap()
        };
        let wrong = said(2, || Ok(Idle::default()));
        assert!(wrong.reason.contains("does not agree with the reference"), "{wrong:?}");
        let large = said(3, || Err(Error::spec("a tile of 1 GB", "lower `tile`")));
        assert!(large.reason.contains("a tile of 1 GB"), "{large:?}");
        let room = said(4, || {
            // As `Kernel::allow_shared` refuses a shape.
            Err(Error::Memory {
                whose: "step: the shared".into(),
                needed: 300_000,
                available: 232_448,
                hint: "lower `tile`".into(),
            })
        });
        assert!(
            room.reason.contains("300000 bytes needed (292.97 KiB), 232448 available (227.00 KiB)"),
            "{room:?}"
        );
        assert_eq!([&wrong, &large, &room].map(|refused| refused.devices), [2, 3, 4]);
        assert_ne!(wrong.policy, large.policy);
        assert_eq!((search.refused, search.trials), (vec![wrong, large, room], vec![]));
    }
}
