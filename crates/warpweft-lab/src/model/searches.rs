//! `warpweft model searches`: PARTANS' table II on simulated machines, with a search that models.

use serde::Serialize;
use warpweft::cluster::{Jitter, Tree, topology};
use warpweft::stencil::drive::search::{
    Assessment, DepthSearch, Dichotomic, Exhaustive, Guided, HillClimbing, assess,
};
use warpweft::stencil::drive::{Cycle, Simulation, deepest_feasible};
use warpweft::stencil::ghost_model::Traced;
use warpweft::stencil::{Boundaries, Boundary, Partition};
use warpweft::{Error, Result};

use super::device::Gpu;
use super::scaling::prior;
use super::workload::{App, Workload, app};

/// The columns of PARTANS' table II, and its two other applications, with their cells along an axis.
const CASES: [(&str, usize); 12] = [
    ("life", 2048),
    ("life", 4096),
    ("swim", 2048),
    ("swim", 4096),
    ("himeno", 128),
    ("himeno", 256),
    ("hyperthermia", 128),
    ("hyperthermia", 256),
    ("edge", 2048),
    ("edge", 4096),
    ("tricubic", 128),
    ("tricubic", 256),
];

/// Iterations between two cells of halo that PARTANS' exhaustive searches imply: they ended at
/// halos of a 24th of the extent (85 of 2048, 170 of 4096, 10 of 256).
const RANGE: usize = 24;

/// What to simulate.
#[derive(clap::Args)]
#[command(after_help = "Example:
  warpweft model searches --machine p67-nat")]
pub struct Arguments {
    /// The machine: x79, p67-nat or p67-nf with two GTX 590, or h200 with four H200.
    #[arg(long, default_value = "x79", value_parser = ["x79", "p67-nat", "p67-nf", "h200"])]
    machine: String,
    /// Number of GPUs to use, of four.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=4))]
    gpus: u8,
    /// Time to compute a cell, as a multiple of the GPU's, as in the synthetic kernels of the PARTANS paper.
    #[arg(long, default_value_t = 1.0)]
    granularity: f64,
    /// Factor by which the model-guided search's prior overrates the network and underrates the GPU.
    #[arg(long, default_value_t = 1.0)]
    prior_error: f64,
    /// Noise of every duration: standard deviation of its logarithm.
    #[arg(long, default_value_t = 0.03)]
    jitter: f64,
    /// Seed of the noise [default: 1].
    #[arg(long)]
    seed: Option<u64>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

/// One application and size, by every search.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The application.
    pub app: &'static str,
    /// Cells along each axis.
    pub size: usize,
    /// Deepest ghost zone allowed, in steps.
    pub deepest: usize,
    /// The depth that is best without noise.
    pub best_depth: usize,
    /// Exhaustive, hill climbing, dichotomic, guided.
    pub searches: [Assessment; 4],
}

/// Names of [`Case::searches`].
pub const SEARCHES: [&str; 4] = ["exhaustive", "hill climbing", "dichotomic", "model-guided"];

impl Arguments {
    /// The report.
    pub fn text(&self) -> Result<String> {
        if !(0.0..=1.0).contains(&self.jitter) {
            return Err(Error::spec(format!("jitter {}", self.jitter), "give 0 to 1"));
        }
        if self.jitter == 0.0 && self.seed.is_some() {
            return Err(Error::spec(
                "--seed without noise",
                "give --jitter more than 0, or leave it out",
            ));
        }
        let factors = [("granularity", self.granularity), ("prior-error", self.prior_error)];
        if let Some((name, value)) = factors.iter().find(|(_, x)| !(1e-6..=1e6).contains(x)) {
            return Err(Error::spec(format!("--{name} {value}"), "give a factor such as 0.1"));
        }
        let cases = Conditions {
            gpus: usize::from(self.gpus),
            granularity: self.granularity,
            prior_error: self.prior_error,
            jitter: self.jitter,
            seed: self.seed.unwrap_or(1),
        }
        .cases(&self.machine)?;
        if self.json {
            return Ok(serde_json::json!({
                "machine": self.machine, "gpus": self.gpus, "searches": SEARCHES, "cases": cases,
            })
            .to_string());
        }
        Ok(table(&self.machine, self.gpus, &cases))
    }
}

/// PARTANS' table II on a simulated machine with four GPUs, for a prior that is off by a factor: every
/// case by every search.
///
/// # Errors
/// A machine that is not known.
pub fn table_two(machine: &str, prior_error: f64) -> Result<Vec<[Assessment; 4]>> {
    let conditions = Conditions { gpus: 4, granularity: 1.0, prior_error, jitter: 0.03, seed: 1 };
    Ok(conditions.cases(machine)?.into_iter().map(|case| case.searches).collect())
}

/// What all cases of a table have in common.
#[derive(Clone, Copy, Debug)]
struct Conditions {
    gpus: usize,
    granularity: f64,
    prior_error: f64,
    jitter: f64,
    seed: u64,
}

impl Conditions {
    /// Every case on one machine.
    fn cases(&self, machine: &str) -> Result<Vec<Case>> {
        let (network, gpu) = match topology::by_name(machine) {
            Some(network) => (network, Gpu::Gtx590),
            None => (topology::h200_nodes(1, 4), Gpu::H200),
        };
        let one = |&(name, size): &(&'static str, usize)| match app(name, 2, None)? {
            App::Flat(work) => self.case(&work, name, size, &network, gpu),
            App::Deep(work) => self.case(&work, name, size, &network, gpu),
        };
        CASES.iter().map(one).collect()
    }

    fn case<const D: usize>(
        &self,
        work: &Workload<D>,
        name: &'static str,
        size: usize,
        network: &Tree,
        gpu: Gpu,
    ) -> Result<Case> {
        let boundaries = Boundaries::all(D, Boundary::Periodic);
        let mut grid = [1; D];
        grid[0] = self.gpus;
        let partition = Partition::grid([size; D], grid, &boundaries)?;
        let fields = work.fields.len();
        let deepest =
            deepest_feasible(&partition, &boundaries, &work.stages, fields, (size / RANGE).max(4));
        // Circular placement: neighbours on different cards, where the machine has cards.
        let placement = &[0, 2, 1, 3][..self.gpus];
        let mut device = gpu.rates(work.traffic);
        device.per_unit *= self.granularity;
        let simulation = Simulation {
            partition: &partition,
            stages: &work.stages,
            fields: &work.fields,
            device,
            network,
            placement,
            boundary_first: true,
        };
        let cycles: Vec<Cycle> = (1..=deepest).map(|depth| simulation.cycle(depth)).collect();
        let part = Traced::new(&partition, &work.stages, &work.fields, deepest);
        let mut prior = prior(&simulation);
        prior.compute.per_unit *= self.prior_error;
        prior.compute.fixed *= self.prior_error;
        prior.network.per_unit /= self.prior_error;
        prior.network.fixed /= self.prior_error;
        let mut searches: [Box<dyn DepthSearch>; 4] = [
            Box::new(Exhaustive::new(deepest)),
            Box::new(HillClimbing::new(deepest)),
            Box::new(Dichotomic::new(deepest)),
            Box::new(Guided::new(prior, part, deepest)),
        ];
        let best = cycles.iter().min_by(|a, b| a.exact().total_cmp(&b.exact()));
        let best_depth = best.map_or(1, Cycle::depth);
        let searches = std::array::from_fn(|i| {
            assess(searches[i].as_mut(), &cycles, &mut Jitter::new(self.seed, self.jitter))
        });
        Ok(Case { app: name, size, deepest, best_depth, searches })
    }
}

fn table(machine: &str, gpus: u8, cases: &[Case]) -> String {
    let mut text = format!(
        "Searches for the depth of ghost zones, simulated on {machine} with {gpus} GPUs\nduring, after: % of the best depth's speed; steps: until converged\n\n{:>18} {:>5} {:>6}",
        "", "R max", "best R"
    );
    for name in SEARCHES {
        text.push_str(&format!(" | {name:^26}"));
    }
    text.push_str(&format!("\n{:>31}", ""));
    for _ in SEARCHES {
        text.push_str(&format!(" | {:>3} {:>6} {:>6} {:>8}", "R", "during", "after", "steps"));
    }
    text.push('\n');
    for case in cases {
        text.push_str(&format!(
            "{:>13} {:>4} {:>5} {:>6}",
            case.app, case.size, case.deepest, case.best_depth
        ));
        for a in case.searches {
            text.push_str(&format!(
                " | {:>3} {:>6.2} {:>6.2} {:>8}",
                a.depth,
                100.0 * a.during,
                100.0 * a.after,
                a.steps
            ));
        }
        text.push('\n');
    }
    let mean = |value: &dyn Fn(&Assessment) -> f64, i: usize| {
        cases.iter().map(|case| value(&case.searches[i])).sum::<f64>() / cases.len() as f64
    };
    text.push_str(&format!("{:>31}", "mean"));
    for i in 0..SEARCHES.len() {
        text.push_str(&format!(
            " |     {:>6.2} {:>6.2} {:>8.0}",
            100.0 * mean(&|a| a.during, i),
            100.0 * mean(&|a| a.after, i),
            mean(&|a| a.steps as f64, i)
        ));
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(cases: &[Case], search: usize, value: impl Fn(&Assessment) -> f64) -> f64 {
        cases.iter().map(|case| value(&case.searches[search])).sum::<f64>() / cases.len() as f64
    }

    #[test]
    fn with_rates_from_a_probe_the_guided_search_is_near_the_best_at_once() {
        for machine in ["x79", "p67-nat", "p67-nf", "h200"] {
            for (seed, granularity) in [(1, 1.0), (2, 0.1), (3, 0.01)] {
                let conditions =
                    Conditions { gpus: 4, granularity, prior_error: 1.0, jitter: 0.03, seed };
                for case in conditions.cases(machine).unwrap() {
                    let [_, _, dichotomic, guided] = case.searches;
                    assert!(guided.after >= 0.98, "{machine} {granularity} {case:?}");
                    assert!(guided.during >= 0.95, "{machine} {granularity} {case:?}");
                    assert!(guided.steps < dichotomic.steps, "{machine} {granularity} {case:?}");
                }
            }
        }
    }

    #[test]
    fn with_rates_four_times_off_it_still_needs_a_fraction_of_the_others_steps() {
        for machine in ["x79", "p67-nf", "h200"] {
            for (granularity, prior_error) in [(1.0, 0.5), (1.0, 2.0), (0.1, 0.5), (0.1, 2.0)] {
                let conditions =
                    Conditions { gpus: 4, granularity, prior_error, jitter: 0.03, seed: 1 };
                let cases = conditions.cases(machine).unwrap();
                let about = format!("{machine}, granularity {granularity}, prior {prior_error}");
                assert!(mean(&cases, 3, |a| a.after) > 0.985, "{about}");
                for other in 0..3 {
                    let less = mean(&cases, 3, |a| a.steps as f64)
                        / mean(&cases, other, |a| a.steps as f64);
                    assert!(less < 0.6, "{about}: {less} of the steps of {}", SEARCHES[other]);
                }
                for case in &cases {
                    // The worst: a first trial that agrees with a wrong prior by accident.
                    assert!(case.searches[3].after > 0.94, "{about}: {case:?}");
                    assert!(case.searches[3].steps < case.searches[2].steps, "{about}: {case:?}");
                }
            }
        }
    }
}
