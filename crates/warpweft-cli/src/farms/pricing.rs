//! `warpweft run options`: call options by Monte Carlo, a farm of short tasks.

use std::path::{Path, PathBuf};

use serde_json::json;
use warpweft::farm::Inputs;
use warpweft::grid::io::write_whole;
use warpweft::prelude::*;
use warpweft_apps::pricing::{Compared, Contract, Price, compared, contract, price};

use super::{About, FarmOptions};
use crate::arguments::{at_least_one, whole};
use crate::place;
use crate::run::check::Check;
use crate::run::files::{Write, ending};
use crate::run::outcome::Outcome;

/// The mean of all prices may differ from the exact one by so many of its standard errors: once in two million runs of
/// other seeds. The seeds are fixed, so a run that passes passes always.
const ERRORS: f64 = 5.0;

/// Paths of an option at most: about four seconds on a core.
const MOST_PATHS: u32 = 100_000_000;

/// Call options of a book, priced by random paths.
#[derive(clap::Args)]
#[command(
    after_help = "Each option is a task: by default of about 100 us on a core. Every device gives the same prices, to the \
bit. Their mean is checked against the closed form of Black and Scholes: it must lie within five standard errors. The report says \
how many prices lie within two of their own standard errors; about 95 % should. With --check full, each price is also computed \
again on one core.

Examples:
  warpweft run options
  warpweft run options --count 1000000 --device gpu
  warpweft run options --count 5000 --output prices.csv"
)]
pub struct Pricing {
    /// Number of options.
    #[arg(long, value_name = "N", default_value = "20000",
          value_parser = at_least_one::<std::num::NonZero<u32>>)]
    count: std::num::NonZero<u32>,
    /// Random prices for each option, 100 to 100 million.
    #[arg(long, value_name = "N", default_value = "2500", value_parser = whole::<u32>)]
    paths: u32,
    /// Save one line for each option: strike, rate, volatility, years, price, standard error, exact price.
    #[arg(long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
    #[command(flatten)]
    options: FarmOptions,
}

impl Pricing {
    /// Prices, checks and saves.
    pub fn run(&self) -> Result<Option<Outcome>> {
        if !(100..=MOST_PATHS).contains(&self.paths) {
            let what = format!("{} paths per option", self.paths);
            let help = format!(
                "use 100 to {MOST_PATHS}: fewer don't give an error estimate, and with more an interrupt would wait too long"
            );
            return Err(Error::spec(what, help));
        }
        if let Some(path) = self.output.as_ref().filter(|_| place::speaks()) {
            ending(path, &["csv"])?;
        }
        self.options.check(self.output.iter())?;
        let count = u64::from(self.count.get());
        let about = About {
            app: "options",
            title: format!("{count} call options of {} paths", self.paths),
            settings: vec![("count", json!(count)), ("paths", json!(self.paths))],
            task: "option",
            tasks: ["options", "options/s"],
        };
        let inputs = Inputs::by(count, contract);
        let farm = Farm::of(price(self.paths));
        let Some(farmed) = self.options.run(&farm, inputs, &about)? else { return Ok(None) };
        let priced = || {
            let all = farmed.outputs.iter().enumerate();
            all.filter_map(|(k, price)| Some((contract(k as u64), (*price)?)))
        };
        let found = compared(priced(), self.paths);
        let write = |path| Box::new(move || write(path, priced())) as Write<'_>;
        let result = self.output.as_deref().map(|path| (path, write(path)));
        let saved = self.options.save(result, farmed.trace.as_deref());
        let answer = vec![
            ("mean_price", json!(found.mean)),
            ("standard_error", json!(found.error)),
            ("within_two_errors_percent", json!(100.0 * found.within_two)),
        ];
        let check = match farmed.outcome.report.interrupted {
            true => Check::none("interrupted"),
            false => self.options.checking.unless_none(|| match self.options.checking.full() {
                true => again(priced(), self.paths).unwrap_or_else(|| checked(&found)),
                false => checked(&found),
            }),
        };
        Ok(Some(self.options.outcome(about, answer, check, saved, farmed.outcome)))
    }
}

/// What is wrong with a price, if one differs from that of the same function, called once more on one core.
fn again(prices: impl Iterator<Item = (Contract, Price)>, paths: u32) -> Option<Check> {
    let bits = |price: Price| [price.mean, price.error].map(f64::to_bits);
    let of = price(paths);
    for (k, (contract, found)) in prices.enumerate() {
        let expect = match of.on_core(contract) {
            Ok(expect) => expect,
            Err(failure) => return Some(Check::failed(format!("option {k}: {failure:?}"))),
        };
        if bits(expect) != bits(found) {
            let [found, expect] = [found.mean, expect.mean];
            return Some(Check::failed(format!("option {k} is {found}, on one core {expect}")));
        }
    }
    None
}

/// Whether the prices are those of the closed form, as far as so many paths can tell.
fn checked(found: &Compared) -> Check {
    if found.worst > 3.0 * ERRORS {
        return Check::failed(format!("an option is {:.0} standard errors off", found.worst));
    }
    let reference = "closed form of Black and Scholes, the mean of all prices";
    Check::made(reference, found.difference, ERRORS * found.error)
}

fn write(path: &Path, prices: impl Iterator<Item = (Contract, Price)>) -> Result<()> {
    let mut text = String::from("strike,rate,volatility,years,price,error,exact\n");
    for (contract, price) in prices {
        let Contract { strike, rate, volatility, years, .. } = contract;
        let (Price { mean, error }, exact) = (price, contract.closed_form());
        text.push_str(&format!("{strike},{rate},{volatility},{years},{mean},{error},{exact}\n"));
    }
    write_whole(path, |to| to.write_all(text.as_bytes()))
}
