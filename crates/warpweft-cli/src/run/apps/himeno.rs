//! `warpweft run himeno` and `warpweft tune himeno`.

use serde_json::json;
use warpweft::prelude::*;
use warpweft_apps::himeno::{self, FLOPS, Relaxes, SIZES};

use super::command::AppCommand;
use super::fields::{Case, Show};
use crate::arguments::{Precision, by_default};

/// The steps where none are asked for.
pub const STEPS: u64 = 100;

/// The Himeno benchmark.
#[derive(clap::Args)]
#[command(mut_arg("size", |arg| by_default(arg, "that of --class")))]
#[command(after_help = "Examples:
  warpweft run himeno
  warpweft run himeno --class L --steps 1000 --device gpu --json")]
pub struct Himeno<C: AppCommand> {
    /// The benchmark's size: XS, S, M, L or XL.
    #[arg(long, value_name = "NAME", default_value = "S", conflicts_with = "size")]
    class: String,
    /// Type of the numbers in a cell [default: that of --input, else f32].
    #[arg(long)]
    dtype: Option<Precision>,
    #[command(flatten)]
    command: C,
}

impl<C: AppCommand> Himeno<C> {
    /// Runs or tunes it.
    pub fn execute(&self) -> Result<C::Outcome> {
        match self.command.precision(self.dtype, Precision::F32)? {
            Precision::F32 => self.of::<f32>(),
            Precision::F64 => self.of::<f64>(),
        }
    }

    fn of<T: Relaxes>(&self) -> Result<C::Outcome> {
        let class = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(&self.class));
        let &(_, default) = class.ok_or_else(|| {
            Error::spec(format!("no class {}", self.class), "choose XS, S, M, L or XL")
        })?;
        let case = Case {
            app: "himeno",
            title: "Jacobi, over-relaxed by 0.8".into(),
            extents: self.command.extents(default.into())?,
            steps: STEPS,
            stencil: T::stencil().into_spec(),
            start: &|extents| himeno::start::<T>(extents.array()).map(Volume::into_raw),
            shown: 0,
            ready: |_, cells| Ok(cells),
            show: Show::Range,
            plain: (1, &himeno::plain_step),
            roundings: &|_, _| 16.0,
            steady: u64::MAX,
            answer: &|volume, report| {
                let inner = volume.extents().map(|n| n.saturating_sub(2) as f64);
                let flops = FLOPS * inner.iter().product::<f64>() * report.done as f64;
                let class = SIZES.iter().find(|(_, size)| volume.extents() == *size);
                vec![
                    ("class", json!(class.map(|(name, _)| name))),
                    ("mflops", json!(1e-6 * flops / report.seconds)),
                    ("gosa_of_the_next_step", json!(himeno::gosa_of::<T>(volume))),
                ]
            },
        };
        self.command.execute(&case)
    }
}
