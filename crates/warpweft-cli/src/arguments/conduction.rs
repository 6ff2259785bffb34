//! The options of heat conduction, and the choice of types from them.

use warpweft::element::ScalarKind;
use warpweft::{Error, Result};

use super::{number, whole};

/// The default extents for each number of dimensions, for the help text.
pub const SIZES: &str = "256x256x256, 2048x2048 or 1048576";
/// The same, for each number of dimensions.
pub const LINE: [usize; 1] = [1 << 20];
pub const PLANE: [usize; 2] = [2048; 2];
pub const SPACE: [usize; 3] = [256; 3];

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

/// The scalar types of heat conduction.
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

impl Conduction {
    /// The number of dimensions, 1 to 3, on which `--dims`, `--size` and `--input` agree, and the scalar
    /// type, `float` by default.
    ///
    /// # Errors
    /// They disagree, or the number is not 1, 2 or 3.
    pub fn dims_and_float(
        &self,
        size: Option<usize>,
        input: Option<usize>,
        float: Option<Float>,
    ) -> Result<(usize, Float)> {
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
        match agreed.map_or(3, |(_, dims)| dims) {
            dims @ 1..=3 => Ok((dims, self.dtype.or(float).unwrap_or(Float::F32))),
            dims => Err(Error::spec(format!("heat in {dims} dimensions"), "choose 1, 2 or 3")),
        }
    }
}
