//! The farm pattern: every task done once, whatever fails.

mod cores;
mod cuda;
mod dying;
mod faults;
mod feel;
mod journals;
mod kernels;
mod lost_ranks;
mod ranks;
mod slices;
mod tasks;
mod user_code;
