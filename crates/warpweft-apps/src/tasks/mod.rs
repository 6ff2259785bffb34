//! Independent tasks, fork-join tasks and graphs of kernels.

pub mod apsp;
pub mod fib;
pub mod paths;
pub mod queens;
