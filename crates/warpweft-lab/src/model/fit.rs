//! The model fitted to measured runs, prediction next to measurement.

use std::path::Path;

use serde::{Deserialize, Serialize};
use warpweft::grid::check_extents;
use warpweft::grid::io::read_given_text;
use warpweft::stencil::drive::{check_depth, deepest_feasible};
use warpweft::stencil::ghost_model::{Fitted, Kernel, Sample, Staging, Traced, fit};
use warpweft::stencil::{Boundaries, Boundary, Partition};
use warpweft::{Error, Result};

use super::chart::{Chart, Curve};
use super::scaling::{DEEPEST, MOST};
use super::workload::Workload;

/// One measured run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Cells of the whole volume along each axis.
    pub extents: Vec<usize>,
    /// Parts along each axis.
    pub grid: Vec<usize>,
    /// Steps between halo exchanges.
    pub depth: usize,
    /// Seconds a step.
    pub seconds: f64,
    /// Whether the first part along an axis and the last are neighbours.
    #[serde(default = "yes")]
    pub periodic: bool,
    /// Which cells were computed between two halo exchanges.
    #[serde(default)]
    pub kernel: Kernel,
}

fn yes() -> bool {
    true
}

/// Deepest ghost zone of a run: tracing one takes time as its square.
const TRACED: usize = 1024;
/// Seconds of a step beyond which they are a slip of units: eleven days.
const SLOWEST: f64 = 1e6;

/// The runs in `path`.
///
/// # Errors
/// A file that can't be read or does not hold runs.
pub fn read(path: &Path) -> Result<Vec<Run>> {
    let hint = "write a JSON list of {extents, grid, depth, seconds}";
    let file = read_given_text(path).map_err(|error| Error::file(path, error, hint))?;
    serde_json::from_str(&file).map_err(|error| Error::file(path, error, hint))
}

/// Fits the model to `runs` and compares.
///
/// # Errors
/// Runs that say too little, or can't have been.
pub fn text<const D: usize>(
    work: &Workload<D>,
    runs: &[Run],
    plot: Option<&Path>,
    json: bool,
) -> Result<String> {
    let (samples, feasible): (Vec<_>, Vec<_>) =
        runs.iter().map(|run| sample(work, run)).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let fitted = fit(&samples, kernel(runs)?, Staging::None)?;
    let best = |(sample, &deepest): (&Sample<Traced>, &usize)| {
        fitted.model.best_depth(&sample.part, deepest).0
    };
    let best: Vec<usize> = samples.iter().zip(&feasible).map(best).collect();
    let predicted: Vec<f64> =
        samples.iter().map(|s| fitted.model.predict(&s.part, s.depth).seconds).collect();
    if let Some(path) = plot {
        chart(&work.name, &samples, &predicted).save(path)?;
    }
    Ok(if json {
        let rows: Vec<_> = runs
            .iter()
            .zip(predicted.iter().zip(&best))
            .map(|(run, (predicted, best))| {
                serde_json::json!({
                    "extents": run.extents, "grid": run.grid, "depth": run.depth,
                    "measured": run.seconds, "predicted": predicted, "best_depth": best,
                })
            })
            .collect();
        serde_json::json!({
            "app": work.name, "pattern": "stencil", "model": fitted.model, "rows": rows,
            "median_error": fitted.median_error, "worst_error": fitted.worst_error,
        })
        .to_string()
    } else {
        table(work, runs, &predicted, &best, &fitted)
    })
}

/// What all runs are of: rates are those of one way to compute.
fn kernel(runs: &[Run]) -> Result<Kernel> {
    let first = runs.first().map(|run| run.kernel).unwrap_or_default();
    match runs.iter().find(|run| run.kernel != first) {
        None => Ok(first),
        Some(other) => Err(Error::spec(
            format!("runs of two kernels, {first:?} and {:?}", other.kernel),
            "write the runs of each kernel to a file of their own",
        )),
    }
}

/// The run as the model sees it, and the largest R that its parts allow.
fn sample<const D: usize>(work: &Workload<D>, run: &Run) -> Result<(Sample<Traced>, usize)> {
    let axes = |numbers: &[usize]| -> Result<[usize; D]> {
        numbers.try_into().map_err(|_| {
            Error::spec(
                format!("a run with {} axes of {}, which has {D}", numbers.len(), work.name),
                "give one number per axis",
            )
        })
    };
    let (extents, grid) = (axes(&run.extents)?, axes(&run.grid)?);
    check_extents(extents.into())?;
    let parts = grid.iter().fold(1usize, |all, &n| all.saturating_mul(n));
    if parts > MOST {
        let what = format!("a run on a grid of {} subdomains", joined(&run.grid));
        return Err(Error::spec(what, format!("use {MOST} in all or fewer")));
    }
    let boundary = if run.periodic { Boundary::Periodic } else { Boundary::Neumann };
    let boundaries = Boundaries::all(D, boundary);
    let partition = Partition::grid(extents, grid, &boundaries)?;
    check_depth(&partition, &boundaries, &work.stages, work.fields.len(), run.depth)?;
    if run.depth > TRACED {
        let what = format!("a run with R = {}", run.depth);
        return Err(Error::spec(what, format!("fit to runs with at most {TRACED}")));
    }
    if !(run.seconds > 0.0 && run.seconds <= SLOWEST) {
        let what = format!("a run with {:?} seconds a step", run.seconds);
        return Err(Error::spec(what, format!("give more than 0 and at most {SLOWEST}")));
    }
    let deepest = run.depth.max(DEEPEST);
    let part = Traced::new(&partition, &work.stages, &work.fields, deepest);
    let (stages, fields) = (&work.stages, work.fields.len());
    let feasible = deepest_feasible(&partition, &boundaries, stages, fields, deepest);
    Ok((Sample { part, depth: run.depth, seconds: run.seconds }, feasible))
}

fn table<const D: usize>(
    work: &Workload<D>,
    runs: &[Run],
    predicted: &[f64],
    best: &[usize],
    fitted: &Fitted,
) -> String {
    let mut text = format!("{}: the model fitted to {} runs\n\n", work.name, runs.len());
    text.push_str("             extents      grid   R    measured   predicted   error   best R\n");
    for ((run, predicted), best) in runs.iter().zip(predicted).zip(best) {
        text.push_str(&format!(
            "{:>20} {:>9} {:>3} {:>8.2} µs {:>8.2} µs {:>6.1}% {best:>8}\n",
            joined(&run.extents),
            joined(&run.grid),
            run.depth,
            run.seconds * 1e6,
            predicted * 1e6,
            100.0 * (predicted / run.seconds - 1.0)
        ));
    }
    let model = fitted.model;
    text.push_str(&format!(
        "\na_c {:.3e} s a cell, b_c {:.3e} s a launch, a_m {:.3e} s a byte, b_m {:.3e} s a halo exchange\nmedian error {:.1} %, worst {:.1} %\n",
        model.compute.per_unit, model.compute.fixed, model.network.per_unit, model.network.fixed,
        100.0 * fitted.median_error, 100.0 * fitted.worst_error
    ));
    text
}

fn chart(name: &str, samples: &[Sample<Traced>], predicted: &[f64]) -> Chart {
    let mut order: Vec<usize> = (0..samples.len()).collect();
    order.sort_by_key(|&i| samples[i].depth);
    let curve = |name: &str, value: &dyn Fn(usize) -> f64| Curve {
        name: name.into(),
        points: order.iter().map(|&i| (samples[i].depth as f64, value(i) * 1e6)).collect(),
    };
    Chart {
        title: format!("{name}: measured and predicted"),
        x: "steps between halo exchanges (R)".into(),
        y: "µs a step".into(),
        whole: 0.0,
        curves: vec![
            curve("measured", &|i| samples[i].seconds),
            curve("predicted", &|i| predicted[i]),
        ],
    }
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join("×")
}

#[cfg(test)]
mod tests {
    use super::super::workload::{App, app};
    use super::*;

    fn fitted(runs: &str) -> Result<String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("runs.json");
        std::fs::write(&path, runs).unwrap();
        let App::Deep(heat) = app("heat", 2, None).unwrap() else { panic!("heat is 3D") };
        text(&heat, &read(&path)?, Some(&dir.path().join("plot.svg")), false)
    }

    #[test]
    fn measured_runs_are_fitted_and_shown_beside_the_prediction() {
        // 50 µs a swap and 2 ps a cell, by hand: 128³ a part, cut in slabs.
        let run = |depth: f64| {
            let cells: f64 =
                (0..depth as i32).map(|i| (128.0 + 2.0 * f64::from(i)) * 16384.0).sum();
            let seconds = (cells * 2e-12 + 5e-5) / depth;
            format!(
                r#"{{"extents":[512,128,128],"grid":[4,1,1],"depth":{depth},"seconds":{seconds:e}}}"#
            )
        };
        let runs = [1.0, 2.0, 4.0, 8.0, 16.0].map(run).join(",");
        let text = fitted(&format!("[{runs}]")).unwrap();
        assert!(text.contains("median error 0.0 %"), "{text}");
        assert!(text.contains("a_c 2.000e-12") && text.contains("b_m 5.000e-5"), "{text}");
    }

    /// Slabs of 8 planes, computed whole: 2 ps a cell and a swap so slow that deeper is always better.
    fn of_ranks(depth: f64) -> String {
        let cells = depth * (8.0 + 2.0 * depth) * 16384.0;
        let seconds = (cells * 2e-12 + 5e-2) / depth;
        format!(
            r#"{{"extents":[32,128,128],"grid":[4,1,1],"depth":{depth},"seconds":{seconds:e},"kernel":"whole"}}"#
        )
    }

    #[test]
    fn runs_say_how_they_were_computed_and_the_best_depth_is_one_that_can_be_run() {
        let runs = [1.0, 2.0, 4.0, 8.0].map(of_ranks);
        let text = fitted(&format!("[{}]", runs.join(","))).unwrap();
        assert!(text.contains("median error 0.0 %") && text.contains("a_c 2.000e-12"), "{text}");
        // A ghost zone for nine steps is deeper than the eight planes of a neighbour.
        let best = |line: &&str| line.ends_with(" 8");
        assert_eq!(text.lines().filter(|line| line.contains("32×128×128")).filter(best).count(), 4);
        let other = runs[0].replace("whole", "shrinking");
        let error = fitted(&format!("[{},{other}]", runs.join(","))).unwrap_err().to_string();
        assert!(error.contains("Whole and Shrinking"), "{error}");
    }

    #[test]
    fn runs_that_cannot_have_been_are_refused_at_once() {
        let run = |extents: &str, grid: &str, depth: &str, seconds: &str| {
            let run = format!(
                r#"{{"extents":{extents},"grid":{grid},"depth":{depth},"seconds":{seconds}}}"#
            );
            fitted(&format!("[{run}]")).unwrap_err().to_string()
        };
        let cases = [
            (run("[64,64,64]", "[2,1,1]", "0", "1"), "0 steps between halo exchanges"),
            (run("[64,64,64]", "[2,1,1]", "33", "1"), "the largest feasible R is 32"),
            (run("[64,64,64]", "[1,1,1]", "4000000000", "1"), "R = 4000000000 steps"),
            (run("[64,64,64]", "[1,1,1]", "1025", "1"), "with at most 1024"),
            (run("[18446744073709551615,1,1]", "[1,1,1]", "1", "1"), "memory can address"),
            (run("[0,64,64]", "[1,1,1]", "1", "1"), "extent 0 on axis z"),
            (run("[64,64,64]", "[0,1,1]", "1", "1"), "0 subdomains along axis z"),
            (run("[1000000000,1,1]", "[1000000000,1,1]", "1", "1"), "65536 in all"),
            (run("[64,64,64]", "[2,1,1]", "1", "1e308"), "1e308 seconds a step"),
            (run("[64,64,64]", "[2,1,1]", "1", "-1"), "-1.0 seconds a step"),
        ];
        for (error, expect) in cases {
            assert!(error.contains(expect), "{expect} in {error}");
        }
    }

    #[test]
    fn files_that_hold_no_runs_are_refused_with_their_path() {
        for bad in ["", "{}", r#"[{"extents":[8],"grid":[1],"depth":1}]"#] {
            let error = fitted(bad).unwrap_err().to_string();
            assert!(error.contains("runs.json") && error.contains("JSON list"), "{error}");
        }
        let flat = r#"[{"extents":[8,8],"grid":[1,1],"depth":1,"seconds":1.0}]"#;
        assert!(fitted(flat).unwrap_err().to_string().contains("2 axes of heat, which has 3"));
    }
}
