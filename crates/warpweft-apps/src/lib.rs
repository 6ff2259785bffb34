//! Applications of Warpweft's patterns, each with an oracle that shares no code with the library.

pub mod align;
pub mod area;
pub mod conformance;
pub mod edge;
pub mod heat;
pub mod himeno;
pub mod hyperthermia;
pub mod life;
pub mod life3d;
pub mod plain;
pub mod relaxation;
pub mod seismic;
pub mod soup;
pub mod subsequence;
pub mod swim;
pub mod tricubic;
pub mod warping;
