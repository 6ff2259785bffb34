//! Products of matrices on the cores or on a GPU.

use serde_json::json;
use warpweft::Result;
use warpweft::element::{Real, Word};
use warpweft_apps::strassen::{
    Matrix, Number, difference, difference_by_rows, signs, signs_of_rows,
};
use warpweft_apps::strassen_teams::{self, multiplied};

use super::options::{Options, Said};
use crate::arguments::Precision;
use crate::run::check::{Check, no_room};
use crate::run::outcome::Outcome;

/// Vectors by which a product is checked.
const TRIES: u64 = 20;

#[derive(clap::Args)]
#[command(
    after_help = "The matrices hold -1, 0 and 1, so the product is exact. The check multiplies it by 20 random
vectors (Freivalds). With --check full, it computes every cell by the definition of the product.

Examples:
  warpweft channels strassen 1024
  warpweft channels strassen 2000 --dtype f32 --threads 2
  warpweft channels strassen 8192 --dtype f32 --device gpu"
)]
pub struct Strassen {
    /// Rows and columns, 1 to 16384.
    n: usize,
    /// Width of the numbers.
    #[arg(long, value_enum, default_value = "f64")]
    dtype: Precision,
    /// Use the version by teams of lanes, also on cores. Matrices with at most this many rows are multiplied with eight products
    /// of submatrices instead of Strassen's seven [default on a GPU: 8192].
    #[arg(long, value_name = "ROWS")]
    leaf: Option<usize>,
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

    fn product<T: Number + Real + Word>(&self) -> Result<Outcome> {
        let (ran, check) = if self.options.names_gpu() || self.leaf.is_some() {
            let leaf = self.leaf.unwrap_or(strassen_teams::LEAF);
            let rows = strassen_teams::rows(self.n);
            let of = |seed| signs_of_rows::<T>(self.n, rows, seed);
            let (a, b) = (of(1)?, of(2)?);
            let matrices = [&a, &b];
            let ran =
                self.options.run_by(|machine, run| multiplied(matrices, leaf, machine, run))?;
            let check = self.exact([&a, &b, &ran.values]);
            (ran.without_values(), check)
        } else {
            let (a, b) = (signs::<T>(self.n, 1)?, signs::<T>(self.n, 2)?);
            let mut ran = self.options.run_on_cores(a.times(&b)?)?;
            let c = a.from_product(std::mem::take(&mut ran.values[0]));
            (ran.without_values(), self.exact([&a, &b, &c]))
        };
        // As a product by its definition would be counted.
        let rate = 2.0 * (self.n as f64).powi(3) / ran.report.seconds.max(1e-9);
        let settings = vec![("n", json!(self.n)), ("dtype", json!(self.dtype.kind().name()))];
        let answer = vec![("flops_per_second", json!(rate))];
        let title = format!("{0} x {0} cells of {1}", self.n, self.dtype.kind().name());
        Ok(self.options.outcome("strassen", title, ran, Said { settings, answer, check }))
    }

    /// Compares the product, the third of these.
    fn exact<T: Number>(&self, matrices: [&Matrix<T>; 3]) -> Check {
        let n = self.n as u64;
        self.options.checking.unless_none(|| match self.options.checking.full() {
            // Rows of the second matrix in order, and one of sums.
            true => no_room(8 * n * (n + 1)).unwrap_or_else(|| {
                Check::made("product by its definition", difference_by_rows(matrices), 0.0)
            }),
            false => Check::made("product with vectors", difference(matrices, TRIES), 0.0)
                .of(format!("products with {TRIES} random vectors")),
        })
    }
}
