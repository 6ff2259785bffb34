//! Stencils over ranks, on cores and on GPUs.

mod cones;
mod distributed;
mod gpus;
mod subdomains;
