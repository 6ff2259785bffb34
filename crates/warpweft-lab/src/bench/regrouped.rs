//! Linear steps with regrouped sums on the first GPU: separable weights of f64 on tensor cores, and whole runs by Fourier
//! transforms, next to single steps and with their largest difference.

use std::process::ExitCode;

use serde::Serialize;
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft::stencil::{Run, Target};

use super::Options;
use super::extents::extents_of;
use super::record::Record;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Linear stencils whose sums may be regrouped, on the first GPU.
#[derive(clap::Args)]
pub struct Regrouped {
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shrink: u32,
    #[command(flatten)]
    options: Options,
}

const DOWN: [f64; 3] = [0.24, 0.49, 0.27];
const RIGHT: [f64; 3] = [0.26, 0.45, 0.29];
const DEEP: [f64; 3] = [0.22, 0.47, 0.31];

/// Nine weights that are a product.
#[stencil]
fn blurred(u: Near<f64, 2>) -> f64 {
    let mut sum = 0.0;
    for y in 0..3 {
        let row = RIGHT[0] * u[[y - 1, -1]] + RIGHT[1] * u[[y - 1, 0]] + RIGHT[2] * u[[y - 1, 1]];
        sum += DOWN[y as usize] * row;
    }
    sum
}

/// Twenty-seven weights that are a product.
#[stencil]
fn smoothed(u: Near<f64, 3>) -> f64 {
    let mut sum = 0.0;
    for z in 0..3 {
        for y in 0..3 {
            let row = RIGHT[0] * u[[z - 1, y - 1, -1]]
                + RIGHT[1] * u[[z - 1, y - 1, 0]]
                + RIGHT[2] * u[[z - 1, y - 1, 1]];
            sum += DEEP[z as usize] * DOWN[y as usize] * row;
        }
    }
    sum
}

#[stencil]
fn diffused(u: Near<f32, 2>) -> f32 {
    u[[0, 0]] + 0.2 * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * u[[0, 0]])
}

/// One case.
#[derive(Debug, Serialize)]
struct Figure {
    case: String,
    steps: u64,
    /// Cells a second with regrouped sums, of the steps alone: median, least and greatest.
    rate: [f64; 3],
    /// The same of the whole call: copies to and from the GPU, compilation, plans.
    whole: f64,
    /// Cells a second of steps with the user's sums.
    single: f64,
    /// The largest difference from these, as a part of the largest cell, after `compared` steps.
    error: f64,
    compared: u64,
    policy: serde_json::Value,
}

impl Regrouped {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn command(&self) -> String {
        let shrink =
            if self.shrink == 1 { String::new() } else { format!(" --shrink {}", self.shrink) };
        format!("warpweft bench regrouped{shrink}{}", self.options.command())
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        let held = Boundary::Dirichlet(0.25);
        let around = Boundary::Periodic;
        let mut figures = Vec::new();
        for (faces, name) in [(held, "fixed"), (around, "periodic")] {
            let stencil = || Stencil::of(blurred()).boundary(faces);
            figures.push(self.figure(
                "9-point box f64",
                name,
                stencil,
                16384,
                [144, 64],
                &machine,
            )?);
            for size in [512, 768] {
                let stencil = || Stencil::of(smoothed()).boundary(faces);
                let case = "27-point box f64";
                figures.push(self.figure(case, name, stencil, size, [28, 64], &machine)?);
            }
        }
        let stencil = || Stencil::of(diffused()).boundary(around);
        figures.push(self.figure(
            "5 points f32",
            "periodic",
            stencil,
            8192,
            [1000, 64],
            &machine,
        )?);
        let none: [(); 0] = [];
        let record = Record::new("regrouped", &self.command(), &machine, probe, &figures, &none);
        record.conclude(&self.options, table(&figures))
    }

    /// Of a run of so many steps, and of the error after others.
    fn figure<S: Fields + Scalar + Into<f64> + From<f32>, const D: usize>(
        &self,
        case: &str,
        faces: &str,
        stencil: impl Fn() -> Stencil<S, D>,
        size: usize,
        [steps, compared]: [u64; 2],
        machine: &Machine,
    ) -> Result<Figure> {
        let size = (size / self.shrink as usize).max(1);
        let case = format!("{case}, {}, {faces} faces", extents_of(D, size));
        note(&case);
        let first = Volume::from_fn([size; D], |at| {
            let hash = at.iter().fold(7u32, |all, n| all.wrapping_mul(31).wrapping_add(*n as u32));
            S::from((hash.wrapping_mul(0x9e37_79b9) >> 8) as f32 / (1 << 24) as f32)
        });
        let run = Run { target: Target::AnyGpu, ..Run::default() };
        let took = |stencil: Stencil<S, D>, steps: u64| {
            let (mut volume, begin) = (first.clone(), std::time::Instant::now());
            let report = stencil.run_with(&mut volume, Steps(steps), machine, &run)?;
            Ok::<_, Error>((volume, report, begin.elapsed().as_secs_f64()))
        };
        let (expect, ..) = took(stencil(), compared)?;
        let (found, ..) = took(stencil().regroup_sums(), compared)?;
        let pairs = expect.as_slice().iter().zip(found.as_slice());
        let pairs = pairs.map(|(a, b)| -> [f64; 2] { [(*a).into(), (*b).into()] });
        let [apart, largest] = pairs.fold([0.0f64; 2], |[apart, largest], [a, b]| {
            [apart.max((a - b).abs()), largest.max(a.abs())]
        });
        let error = apart / largest;
        let (_, single, _) = took(stencil(), steps)?;
        let (mut rates, mut whole, mut policy) = (Vec::new(), Vec::new(), serde_json::Value::Null);
        for _ in 0..self.options.repeats {
            let (_, report, seconds) = took(stencil().regroup_sums(), steps)?;
            rates.push(report.rate.value);
            whole.push(first.len() as f64 * steps as f64 / seconds);
            policy = report.policy;
        }
        rates.sort_by(f64::total_cmp);
        whole.sort_by(f64::total_cmp);
        Ok(Figure {
            case,
            steps,
            rate: [rates[rates.len() / 2], rates[0], rates[rates.len() - 1]],
            whole: whole[whole.len() / 2],
            single: single.rate.value,
            error,
            compared,
            policy,
        })
    }
}

fn table(figures: &[Figure]) -> String {
    let mut text = String::from("Cells a second on one GPU, sums regrouped\n");
    for Figure { case, steps, rate, whole, single, error, compared, policy } in figures {
        let [rate, least, most] = rate.map(scaled);
        text.push_str(&format!(
            "{case}, {steps} steps: {rate} ({least} to {most}), the whole call {}, with the user's sums {}; largest \
             difference after {compared} steps {error:.1e}; {policy}\n",
            scaled(*whole),
            scaled(*single)
        ));
    }
    text
}
