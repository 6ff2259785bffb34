//! The applications on a grid: what each computes, its options, and what it is compared with.

pub mod command;
pub mod edge;
pub mod fields;
pub mod heat;
pub mod himeno;
pub mod hyperthermia;
pub mod life;
pub mod paths;
pub mod seismic;
pub mod swim;
pub mod tricubic;
