//! What the bench of wavefronts measures: recurrences, sizes, and what is kept.

use serde::Serialize;
use warpweft::wavefront::Keep;

use super::Part;

/// What is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Smith-Waterman in cells of 32 bits.
    Local,
    /// The same in 16 bits: two cells a register on a GPU.
    LocalSixteen,
    /// Smith-Waterman with affine gaps in cells of 32 bits.
    Affine,
    /// The same in 16 bits where they are exact and pay.
    AffineSixteen,
    /// Time warping.
    Warp,
    /// Optimal string alignment, which reads two rows and columns back.
    Transposing,
    /// Proteins by BLOSUM62 with affine gaps.
    Protein,
    /// A summed area table.
    Table(Pixels, Way),
}

/// What a table sums: `f32`, or bytes to `i32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    Reals,
    Bytes,
}

/// How a table is summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    CellByCell,
    Scans,
}

/// What is measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Case {
    pub on: Part,
    #[serde(skip)]
    pub kind: Kind,
    /// What people call it.
    pub what: &'static str,
    pub size: usize,
    #[serde(skip)]
    pub keep: Keep,
    /// Bytes of a cell that come from memory or go there, where they matter.
    pub bytes: usize,
}

const fn case(on: Part, kind: Kind, what: &'static str, size: usize, keep: Keep) -> Case {
    Case { on, kind, what, size, keep, bytes: 0 }
}

/// A case that keeps its matrix.
const fn kept(on: Part, kind: Kind, what: &'static str, size: usize, bytes: usize) -> Case {
    Case { on, kind, what, size, keep: Keep::Matrix, bytes }
}

pub const CASES: [Case; 37] = [
    case(Part::Cpu, Kind::Local, "SW i32, one core", 20_000, Keep::Best),
    case(Part::Cpu, Kind::LocalSixteen, "SW 16 bits, one core", 20_000, Keep::Best),
    case(Part::Cpu, Kind::Affine, "SW affine i32, one core", 20_000, Keep::Best),
    case(Part::Cpu, Kind::AffineSixteen, "SW affine 16 bits, one core", 20_000, Keep::Best),
    case(Part::Cpu, Kind::Protein, "SW BLOSUM62 16 bits, one core", 20_000, Keep::Best),
    case(Part::Cpu, Kind::Transposing, "OSA, last row, one core", 20_000, Keep::LastRow),
    case(Part::Cpu, Kind::Warp, "DTW f32, one core", 20_000, Keep::LastRow),
    case(Part::Gpu, Kind::Local, "SW i32, score", 20_000, Keep::Score),
    case(Part::Gpu, Kind::Local, "SW i32, score", 100_000, Keep::Score),
    case(Part::Gpu, Kind::Local, "SW i32, score", 1_000_000, Keep::Score),
    case(Part::Gpu, Kind::LocalSixteen, "SW 16-bit pairs, score", 1_000_000, Keep::Score),
    case(Part::Gpu, Kind::Local, "SW i32, position", 20_000, Keep::Best),
    case(Part::Gpu, Kind::Local, "SW i32, position", 100_000, Keep::Best),
    case(Part::Gpu, Kind::Local, "SW i32, position", 1_000_000, Keep::Best),
    case(Part::Gpu, Kind::Affine, "SW affine, position", 20_000, Keep::Best),
    case(Part::Gpu, Kind::Affine, "SW affine, position", 100_000, Keep::Best),
    case(Part::Gpu, Kind::Affine, "SW affine, position", 1_000_000, Keep::Best),
    case(Part::Gpu, Kind::AffineSixteen, "SW affine, score", 20_000, Keep::Score),
    case(Part::Gpu, Kind::AffineSixteen, "SW affine, score", 100_000, Keep::Score),
    case(Part::Gpu, Kind::AffineSixteen, "SW affine, score", 1_000_000, Keep::Score),
    case(Part::Gpu, Kind::AffineSixteen, "SW affine, position, 16 bits", 1_000_000, Keep::Best),
    case(Part::Gpu, Kind::Protein, "SW BLOSUM62, position", 100_000, Keep::Best),
    case(Part::Gpu, Kind::Transposing, "OSA, last row", 100_000, Keep::LastRow),
    kept(Part::Matrix, Kind::Local, "SW i32, matrix", 100_000, 4),
    kept(Part::Tables, Kind::Table(Pixels::Reals, Way::Scans), "SAT f32, by scans", 16_384, 8),
    kept(Part::Tables, Kind::Table(Pixels::Reals, Way::Scans), "SAT f32, by scans", 32_768, 8),
    kept(
        Part::Tables,
        Kind::Table(Pixels::Bytes, Way::Scans),
        "SAT u8 to i32, by scans",
        32_768,
        5,
    ),
    kept(
        Part::Tables,
        Kind::Table(Pixels::Reals, Way::CellByCell),
        "SAT f32, cell by cell",
        16_384,
        8,
    ),
    kept(
        Part::Tables,
        Kind::Table(Pixels::Bytes, Way::CellByCell),
        "SAT u8 to i32, cell by cell",
        32_768,
        5,
    ),
    case(Part::Gpu, Kind::Warp, "DTW f32, last row", 100_000, Keep::LastRow),
    case(Part::Gpus, Kind::Local, "SW i32, score", 100_000, Keep::Score),
    case(Part::Gpus, Kind::Local, "SW i32, score", 1_000_000, Keep::Score),
    case(Part::Gpus, Kind::Local, "SW i32, score", 4_000_000, Keep::Score),
    case(Part::Gpus, Kind::LocalSixteen, "SW 16-bit pairs, score", 1_000_000, Keep::Score),
    case(Part::Gpus, Kind::Local, "SW i32, position", 1_000_000, Keep::Best),
    // What register strips do at the largest size of the methods on an H200, keeping no matrix.
    case(Part::Methods, Kind::Local, "SW i32, score", 181_248, Keep::Score),
    case(Part::Methods, Kind::Warp, "DTW f32, last row", 181_248, Keep::LastRow),
];
