//! `--dtype` of applications whose cells hold floats of four or eight bytes.

/// How wide the floats of a cell are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    #[value(aliases = ["float32", "float", "single"])]
    F32,
    #[value(aliases = ["float64", "double"])]
    F64,
}
