//! The options of heat conduction, and the way from them to types.

use warpweft::element::ScalarKind;
use warpweft::prelude::*;
use warpweft_apps::heat::Conducts;

use super::{number, whole};

/// The extents in each number of dimensions where none are asked for, as help tells them.
pub const SIZES: &str = "256x256x256, 2048x2048 or 1048576";

/// Order, rate, dimensions and scalar.
#[derive(clap::Args)]
pub struct Conduction {
    /// Order of accuracy in space: 2, 4, 6 or 8.
    #[arg(long, default_value_t = 2, value_parser = whole::<usize>)]
    pub order: usize,
    /// Diffusion number: diffusivity times the time step over the cell size squared.
    #[arg(long, default_value_t = 0.1, value_parser = number::<f64>)]
    pub rate: f64,
    /// Dimensions, 1 to 3.
    #[arg(long, value_parser = whole::<usize>)]
    pub dims: Option<usize>,
    /// What cells hold: f16, bf16, f32 or f64.
    #[arg(long)]
    pub dtype: Option<Float>,
}

/// A scalar of heat conduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Float {
    #[value(aliases = ["float16", "half"])]
    F16,
    #[value(alias = "bfloat16")]
    Bf16,
    #[value(aliases = ["float32", "float", "single"])]
    F32,
    #[value(aliases = ["float64", "double"])]
    F64,
}

impl Float {
    /// The scalar.
    pub fn kind(self) -> ScalarKind {
        match self {
            Self::F16 => ScalarKind::F16,
            Self::Bf16 => ScalarKind::Bf16,
            Self::F32 => ScalarKind::F32,
            Self::F64 => ScalarKind::F64,
        }
    }
}

/// What is to be done once dimensions and scalar are types.
pub trait InTypes {
    /// Does it; `default` are the extents when none are named.
    ///
    /// # Errors
    /// Its own.
    fn run<T: Conducts<D>, const D: usize>(&self, default: [usize; D]) -> Result<Self::Outcome>;
    /// What comes of it.
    type Outcome;
}

impl Conduction {
    /// Does `job` in the dimensions that all who said a number agree on, and in `float`.
    ///
    /// # Errors
    /// They disagree, or it is not 1, 2 or 3; the job's own.
    pub fn in_types<J: InTypes>(
        &self,
        size: Option<usize>,
        input: Option<usize>,
        float: Option<Float>,
        job: &J,
    ) -> Result<J::Outcome> {
        let mut agreed: Option<(&str, usize)> = None;
        for (who, dims) in [("--dims", self.dims), ("--size", size), ("--input", input)] {
            let Some(dims) = dims else { continue };
            match agreed {
                Some((other, agreed)) if agreed != dims => {
                    return Err(Error::spec(
                        format!("{other} says {agreed} dimensions, {who} {dims}"),
                        "leave one of them out",
                    ));
                }
                _ => agreed = Some((who, dims)),
            }
        }
        let dims = agreed.map_or(3, |(_, dims)| dims);
        match (dims, self.dtype.or(float).unwrap_or(Float::F32)) {
            (1, Float::F16) => job.run::<f16, 1>([1 << 20]),
            (1, Float::Bf16) => job.run::<bf16, 1>([1 << 20]),
            (2, Float::F16) => job.run::<f16, 2>([2048; 2]),
            (2, Float::Bf16) => job.run::<bf16, 2>([2048; 2]),
            (3, Float::F16) => job.run::<f16, 3>([256; 3]),
            (3, Float::Bf16) => job.run::<bf16, 3>([256; 3]),
            (1, Float::F32) => job.run::<f32, 1>([1 << 20]),
            (1, Float::F64) => job.run::<f64, 1>([1 << 20]),
            (2, Float::F32) => job.run::<f32, 2>([2048; 2]),
            (2, Float::F64) => job.run::<f64, 2>([2048; 2]),
            (3, Float::F32) => job.run::<f32, 3>([256; 3]),
            (3, Float::F64) => job.run::<f64, 3>([256; 3]),
            (dims, _) => Err(Error::spec(format!("heat in {dims} dimensions"), "choose 1, 2 or 3")),
        }
    }
}
