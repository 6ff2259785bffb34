//! Applications of Warpweft's patterns, each with an oracle that shares no code with the library.

pub mod align;
pub mod heat;
pub mod life;
pub mod life3d;
pub mod plain;
pub mod soup;
