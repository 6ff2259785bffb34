//! Applications of Warpweft's patterns, each with a reference solution that shares no code with the library.

pub mod errors;
mod gzip;
pub mod plain;
pub mod soup;
mod stencils;
mod table;
mod tasks;
mod wavefronts;

pub use stencils::{edge, heat, himeno, hyperthermia, life, life3d, seismic, swim, tricubic};
pub use tasks::{
    apsp, fib, knapsack, mandelbrot, paths, pricing, quadrature, queens, sha1, sort, sort_radix,
    sort_teams, strassen, strassen_teams, uts,
};
pub use wavefronts::{align, area, relaxation, subsequence, warping};

/// A limit to six digits, rounded down so that what is named is allowed: what checks it must let pass what
/// is greater by 1e-12 of it, rounding's share.
fn rounded_down(limit: f64) -> f64 {
    if !limit.is_normal() {
        return limit;
    }
    let scale = 10f64.powi(5 - limit.log10().floor() as i32);
    (limit * (1.0 + 1e-12) * scale).floor() / scale
}
