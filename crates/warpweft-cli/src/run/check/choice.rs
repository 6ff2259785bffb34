//! How much of a result is compared: the options of every command that has a result.

use super::Check;

/// How much of a result is compared with a reference solution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckChoice {
    /// As much as takes about a second.
    #[default]
    Quick,
    /// All of it.
    Full,
}

/// The options.
#[derive(clap::Args)]
pub struct Checking {
    /// How much of the result to check against a reference solution: what takes about a second, or everything, however long
    /// it takes.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    check: CheckChoice,
    /// Do not check the result.
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
}

impl Checking {
    /// Whether everything is to be compared.
    pub fn full(&self) -> bool {
        self.check == CheckChoice::Full
    }

    /// The check that is made of a result, if none is to be.
    pub fn unchecked(&self) -> Option<Check> {
        self.no_check.then(|| Check::none("--no-check"))
    }

    /// The check that is made, unless none is to be.
    pub fn unless_none(&self, check: impl FnOnce() -> Check) -> Check {
        self.unchecked().unwrap_or_else(check)
    }

    /// How many of something are compared where `quick` take about a second.
    pub fn most(&self, quick: u64) -> u64 {
        if self.full() { u64::MAX } else { quick }
    }
}
