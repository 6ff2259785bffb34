//! Laplace's equation on a plate by sweeps in place: Gauss-Seidel and successive over-relaxation.
//!
//! Lexicographic order, as PeerWave's Heat2D and SOR: each sweep uses the values of this sweep to the
//! north and west and those of the last one to the east and south. Red-black order is another
//! iteration.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{Kept, WavefrontElement, WavefrontExecutor};

use crate::table::Table;

/// Gauss-Seidel: the mean of four neighbours.
#[wavefront]
pub fn gauss_seidel<T: Real>(u: Earlier<T>, old: Old<T>) -> T {
    T::lit(0.25) * (u.n + u.w + old.e + old.s)
}

/// Successive over-relaxation (Young 1954): as far again beyond the mean as `omega` says.
#[wavefront]
pub fn over_relaxation<T: Real>(u: Earlier<T>, old: Old<T>, omega: T) -> T {
    let mean = T::lit(0.25) * (u.n + u.w + old.e + old.s);
    old.c + omega * (mean - old.c)
}

/// What is held around the plate: `top` above it, 0 on the other sides.
pub fn edge<T: Real>(top: T) -> Border<T> {
    Border::function(move |i, _| if i < 0 { top } else { T::default() })
}

/// `sweeps` sweeps of `element` over `plate`, whose edge above is held at `top` and the others at 0.
///
/// # Errors
/// No cells or no sweeps; the executor's.
pub fn relax<T, E>(
    element: E,
    plate: &mut Volume<T, 2>,
    top: T,
    sweeps: usize,
    executor: &mut (impl WavefrontExecutor<E> + ?Sized),
) -> Result<Report>
where
    T: Real,
    E: WavefrontElement<Cell = T, Row = (), Column = (), Input = ()>,
{
    let relaxed = {
        let wavefront = Wavefront::of(element)
            .over(plate.extents())
            .initial(plate.as_slice())
            .border(edge(top))
            .sweeps(sweeps)
            .keep(Keep::Matrix);
        executor.run(&wavefront)?
    };
    match relaxed {
        (Kept::Matrix(cells), report) => {
            plate.as_mut_slice().copy_from_slice(&cells);
            Ok(report)
        }
        _ => Err(Error::spec("no plate came back", "report this: it is a bug")),
    }
}

/// The same by three loops over a padded array; `omega` is 1 for Gauss-Seidel.
pub fn plain<T: Real>(plate: &mut Volume<T, 2>, top: T, sweeps: usize, omega: Option<T>) {
    let [m, n] = plate.extents();
    let mut cells = Table::filled(T::default(), m + 2, n + 2);
    cells[0].fill(top);
    for (i, row) in plate.as_slice().chunks(n).enumerate() {
        cells[i + 1][1..=n].copy_from_slice(row);
    }
    for _ in 0..sweeps {
        for i in 1..=m {
            for j in 1..=n {
                let around = cells[i - 1][j] + cells[i][j - 1] + cells[i][j + 1] + cells[i + 1][j];
                let mean = T::lit(0.25) * around;
                let here = cells[i][j];
                cells[i][j] = match omega {
                    None => mean,
                    Some(omega) => here + omega * (mean - here),
                };
            }
        }
    }
    for (i, row) in plate.as_mut_slice().chunks_mut(n).enumerate() {
        row.copy_from_slice(&cells[i + 1][1..=n]);
    }
}
