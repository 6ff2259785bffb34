//! What several GPUs gain over a whole run, the search for how to use them counted.
//!
//! PARTANS (Lutz, Fensch, Cole 2013, §6.5 and figure 19) runs every application for 100,000 steps. It decides on the
//! number of GPUs beforehand, which isn't counted; the search that goes on while the application runs is: its steps
//! advance the application, at the pace of what is being tried.

use serde::Serialize;
use warpweft::stencil::Trial;

/// Steps of a run, as in PARTANS' figure 19.
pub const STEPS: f64 = 100_000.0;

/// Speedups of a run over the best that one GPU does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speedups {
    /// Of a step, once the policy is known.
    pub steady: f64,
    /// Of the run, counted as PARTANS does.
    pub whole_run: f64,
    /// Of the run after a search of which no step counts: compilation, copies, checks, and trials on
    /// other numbers of GPUs included.
    pub strict: f64,
}

/// The speedups of a search of `search` seconds with these `trials`, whose best took `chosen` seconds a step
/// on `gpus` GPUs; `None` where nothing ran on one.
pub fn speedups(trials: &[Trial], gpus: usize, chosen: f64, search: f64) -> Option<Speedups> {
    let on = |devices: usize| trials.iter().filter(move |trial| trial.devices == devices);
    let one = on(1).map(|trial| trial.seconds).min_by(f64::total_cmp)?;
    let (steps, spent) = on(gpus).fold((0.0, 0.0), |(steps, seconds), trial| {
        (steps + trial.ran.0 as f64, seconds + trial.ran.1)
    });
    // A search of more steps than the run ends with it.
    let (steps, spent) =
        if steps > STEPS { (STEPS, spent * STEPS / steps) } else { (steps, spent) };
    Some(Speedups {
        steady: one / chosen,
        whole_run: STEPS * one / (spent + (STEPS - steps) * chosen),
        strict: STEPS * one / (search + STEPS * chosen),
    })
}

/// The geometric and the arithmetic mean; `None` of nothing.
pub fn means(values: &[f64]) -> Option<[f64; 2]> {
    let count = values.len() as f64;
    let logarithms: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| [(logarithms / count).exp(), values.iter().sum::<f64>() / count])
}

#[cfg(test)]
mod tests {
    use warpweft::stencil::{CpuPolicy, Policy};

    use super::*;

    fn trial(devices: usize, seconds: f64, ran: (u64, f64)) -> Trial {
        Trial { policy: Policy::Cpu(CpuPolicy::default()), devices, seconds, ran }
    }

    #[test]
    fn steps_of_a_search_advance_the_application_at_their_own_pace() {
        let trials = [
            trial(1, 4e-3, (50, 0.3)),
            trial(1, 5e-3, (50, 0.3)),
            trial(4, 2e-3, (10_000, 20.0)),
            trial(4, 1e-3, (10_000, 10.0)),
        ];
        let found = speedups(&trials, 4, 1e-3, 60.0).unwrap();
        assert!((found.steady - 4.0).abs() < 1e-12);
        // 20,000 steps in 30 s, 80,000 in 80 s; 400 s on one GPU.
        assert!((found.whole_run - 400.0 / 110.0).abs() < 1e-12);
        assert!((found.strict - 400.0 / 160.0).abs() < 1e-12);
        assert_eq!(speedups(&trials[2..], 4, 1e-3, 60.0), None);
    }

    #[test]
    fn a_search_longer_than_the_run_is_cut() {
        let trials = [trial(1, 1e-6, (400_000, 0.4)), trial(2, 1e-6, (200_000, 0.4))];
        let found = speedups(&trials, 2, 1e-6, 1.0).unwrap();
        assert!((found.whole_run - 0.5).abs() < 1e-12);
    }

    #[test]
    fn means_of_factors() {
        assert_eq!(means(&[]), None);
        let [geometric, arithmetic] = means(&[2.0, 8.0]).unwrap();
        assert!((geometric - 4.0).abs() < 1e-12 && arithmetic == 5.0);
    }
}
