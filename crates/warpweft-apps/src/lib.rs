//! Applications of Warpweft's patterns, each with a reference solution that shares no code with the library.

pub mod align;
pub mod apsp;
pub mod area;
pub mod edge;
pub mod fib;
pub mod heat;
pub mod himeno;
pub mod hyperthermia;
pub mod life;
pub mod life3d;
pub mod paths;
pub mod plain;
pub mod queens;
pub mod relaxation;
pub mod seismic;
pub mod soup;
pub mod subsequence;
pub mod swim;
mod table;
pub mod tricubic;
pub mod warping;

/// A limit to six digits, rounded down so that what is named is allowed: what checks it must let pass what
/// is greater by 1e-12 of it, rounding's share.
fn rounded_down(limit: f64) -> f64 {
    if !limit.is_normal() {
        return limit;
    }
    let scale = 10f64.powi(5 - limit.log10().floor() as i32);
    (limit * (1.0 + 1e-12) * scale).floor() / scale
}
