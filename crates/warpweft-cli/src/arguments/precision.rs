//! `--dtype` of applications whose cells hold floats of four or eight bytes.

use warpweft::element::ScalarKind;

/// The width of a cell's floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    #[value(aliases = ["float32", "float", "single"])]
    F32,
    #[value(aliases = ["float64", "double"])]
    F64,
}

impl Precision {
    /// The scalar.
    pub fn kind(self) -> ScalarKind {
        match self {
            Self::F32 => ScalarKind::F32,
            Self::F64 => ScalarKind::F64,
        }
    }
}
