//! Independent tasks, fork-join tasks and graphs of kernels.

pub mod apsp;
pub mod fib;
pub mod knapsack;
pub mod mandelbrot;
pub mod paths;
pub mod pricing;
pub mod quadrature;
pub mod queens;
pub mod sha1;
pub mod sort;
pub mod sort_radix;
pub mod sort_teams;
pub mod strassen;
pub mod strassen_teams;
pub mod uts;
