//! Products of matrices on the cores.

use serde_json::json;
use warpweft::Result;
use warpweft_apps::strassen::{Number, difference, signs};

use super::options::{Options, Said};
use crate::arguments::Precision;
use crate::run::check::Check;
use crate::run::outcome::Outcome;

/// Vectors by which a product is checked.
const TRIES: u64 = 20;

#[derive(clap::Args)]
#[command(
    after_help = "The matrices hold -1, 0 and 1, so the product is exact. It is checked by vectors (Freivalds).

Examples:
  warpweft channels strassen 1024
  warpweft channels strassen 2000 --dtype f32 --threads 2"
)]
pub struct Strassen {
    /// Rows and columns, 1 to 16384.
    n: usize,
    /// Width of the numbers.
    #[arg(long, value_enum, default_value = "f64")]
    dtype: Precision,
    #[command(flatten)]
    options: Options,
}

impl Strassen {
    pub fn outcome(&self) -> Result<Outcome> {
        match self.dtype {
            Precision::F32 => self.product::<f32>(),
            Precision::F64 => self.product::<f64>(),
        }
    }

    fn product<T: Number>(&self) -> Result<Outcome> {
        let (a, b) = (signs::<T>(self.n, 1)?, signs::<T>(self.n, 2)?);
        let mut ran = self.options.run_on_cores(a.times(&b))?;
        let c = a.from_product(std::mem::take(&mut ran.values[0]));
        let check = Check::made("product with vectors", difference([&a, &b, &c], TRIES), 0.0);
        // As a product by its definition would be counted.
        let rate = 2.0 * (self.n as f64).powi(3) / ran.report.seconds.max(1e-9);
        let settings = vec![("n", json!(self.n)), ("dtype", json!(self.dtype.kind().name()))];
        let answer = vec![("flops_per_second", json!(rate))];
        let title = format!("{0} x {0} cells of {1}", self.n, self.dtype.kind().name());
        Ok(self.options.outcome("strassen", title, ran, Said { settings, answer, check }))
    }
}
