//! Channel-flow graphs: every item is consumed once, whatever the threads, warps and capacities.

mod cores;
mod ends;
mod gpu;
mod history;
mod played;
