//! The stencil pattern: the reference's bits from every executor, and what a run promises.

#[macro_use]
mod linear;
mod places;

mod cpu;
mod cuda;
mod extremes;
mod functions;
mod points;
mod ranks;
mod regrouped;
mod run;
