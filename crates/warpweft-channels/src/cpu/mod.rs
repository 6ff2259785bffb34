//! Calls on the cores: every worker keeps what it spawns on a stack of its own, and gives of it when asked.
//!
//! A worker that waits for a call that it gave asks who runs it for work deeper than its own (leapfrogging:
//! Wagner and Calder, PPoPP 1993). So levels grow along every worker's stack, which bounds memory by what one
//! worker needs alone, times workers (Blumofe and Leiserson, "Scheduling multithreaded computations by work
//! stealing", JACM 1999). And somebody always goes on: the deepest call that anybody waits for is run by
//! a worker that doesn't wait, since it could only wait for a deeper one.

mod executor;
mod frame;
mod job;
mod shared;
mod worker;

pub use executor::CpuExecutor;
pub use frame::Frame;
pub use worker::Worker;
