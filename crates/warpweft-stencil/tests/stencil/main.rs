//! The stencil pattern: the reference's bits from every executor, and what a run promises.

#[macro_use]
#[path = "../../../warpweft/tests/linear/mod.rs"]
mod linear;

mod cpu;
mod cuda;
#[path = "../../../warpweft/tests/extremes/mod.rs"]
mod extremes;
mod functions;
mod points;
mod ranks;
mod run;
