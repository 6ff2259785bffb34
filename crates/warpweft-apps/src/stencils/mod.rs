//! Iterated updates of a neighbourhood.

pub mod edge;
pub mod heat;
pub mod himeno;
pub mod hyperthermia;
pub mod life;
pub mod life3d;
pub mod seismic;
pub mod swim;
pub mod tricubic;
