//! Searches that stop where nothing is to be found: adaptive quadrature, branch and bound.

use serde_json::json;
use warpweft::Result;
use warpweft_apps::knapsack::Knapsack as Things;
use warpweft_apps::quadrature;

use super::options::{Options, Said, alike};
use crate::run::check::Check;
use crate::run::outcome::Outcome;

#[derive(clap::Args)]
#[command(after_help = "The result is compared with the antiderivative.

Examples:
  warpweft channels quadrature
  warpweft channels quadrature --tolerance 1e-6 --threads 2")]
pub struct Quadrature {
    /// Error tolerance of the integral, 1e-14 to 1.
    #[arg(long, value_name = "X", default_value_t = 1e-12, allow_negative_numbers = true)]
    tolerance: f64,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(
    after_help = "The best value is checked by dynamic programming (a table over all weights). The number of nodes that the search
visits depends on its order; the best value does not.

Examples:
  warpweft channels knapsack 60
  warpweft channels knapsack 100 --seed 7 --device gpu"
)]
pub struct Knapsack {
    /// Things to choose from, 1 to 200.
    things: u32,
    /// Seed of their weights and values.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    #[command(flatten)]
    options: Options,
}

impl Quadrature {
    pub fn outcome(&self) -> Result<Outcome> {
        let tolerance = self.tolerance;
        let ran = self.options.run(&quadrature::channels(tolerance)?)?;
        let (found, exact) = (ran.values[0], quadrature::exact());
        // Sums of a million intervals are rounded.
        let allowed = tolerance + 1e-14 * exact;
        let compared = || Check::made("antiderivative", (found - exact).abs(), allowed);
        let check = self.options.checking.unless_none(compared);
        let settings = vec![("tolerance", json!(tolerance))];
        let said = Said { settings, answer: vec![("integral", json!(found))], check };
        Ok(self.options.outcome("quadrature", format!("to within {tolerance:e}"), ran, said))
    }
}

impl Knapsack {
    pub fn outcome(&self) -> Result<Outcome> {
        let things = Things::new(self.things, self.seed)?;
        let (graph, best) = things.graph();
        let ran = self.options.run_graph(&graph)?;
        let found = ran.values.buffer(best)[0];
        let compared = || alike("table over all weights", found.into(), things.plain().into());
        let check = self.options.checking.unless_none(compared);
        let title = format!("{} things, weight up to {}", self.things, things.room);
        let settings = vec![("things", json!(self.things)), ("seed", json!(self.seed))];
        let answer = vec![("value", json!(found)), ("nodes", json!(ran.report.done))];
        Ok(self.options.outcome("knapsack", title, ran, Said { settings, answer, check }))
    }
}
