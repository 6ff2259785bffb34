//! Calls on the cores: every worker keeps the calls that it spawns in a private deque, and gives the oldest to a worker
//! that requests one.
//!
//! A worker that waits for a stolen call requests work from its thief, deeper than its own (leapfrogging: Wagner and
//! Calder, PPoPP 1993). So levels grow along every deque, which bounds memory by what one worker needs alone, times the
//! number of workers (Blumofe and Leiserson, "Scheduling multithreaded computations by work stealing", JACM 1999). And
//! the run always makes progress: the deepest call that a worker waits for is run by a worker that does not wait, since
//! that worker could only wait for a deeper one.

mod executor;
mod frame;
mod job;
mod shared;
mod steal;
mod worker;

pub use executor::CpuExecutor;
pub use frame::Frame;
pub use worker::Worker;
