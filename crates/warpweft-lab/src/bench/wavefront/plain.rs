//! The loops that one would write first: a row after the other, as few rows as are read, one core.

use std::time::Instant;

use warpweft_conformance::wavefront::{AffineCell, affine_local};

/// What `run` computed, and how many seconds it took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let begin = Instant::now();
    let result = std::hint::black_box(run());
    (result, begin.elapsed().as_secs_f64())
}

/// The last row of optimal string alignment, and the seconds that it took.
pub fn strings(a: &[u8], b: &[u8]) -> (Vec<i32>, f64) {
    timed(|| {
        let n = b.len();
        let mut rows: [Vec<i32>; 3] = [vec![0; n + 1], (0..=n as i32).collect(), vec![0; n + 1]];
        for i in 0..a.len() {
            let [before, above, here] = &mut rows;
            here[0] = i as i32 + 1;
            for j in 0..n {
                let mut least =
                    (above[j] + i32::from(a[i] != b[j])).min(above[j + 1] + 1).min(here[j] + 1);
                if a[i] + 1 == b[j] {
                    let exchanged = if i == 0 || j == 0 { i.max(j) as i32 } else { before[j - 1] };
                    least = least.min(exchanged + 1);
                }
                here[j + 1] = least;
            }
            rows.rotate_left(1);
        }
        rows[1].split_off(1)
    })
}

/// The last row of Gotoh's recurrence over cells of zeros, and the seconds that it took.
pub fn gotoh(a: &[u8], b: &[u8], of: &affine_local) -> (Vec<AffineCell>, f64) {
    let affine_local { matching, mismatch, open, extend, .. } = *of;
    timed(|| {
        let mut row = vec![AffineCell::default(); b.len() + 1];
        for &a in a {
            let (mut corner, mut west) = (row[0], row[0]);
            for (cell, &b) in row[1..].iter_mut().zip(b) {
                let pair = if a == b { matching } else { mismatch };
                let e = (west.h + open).max(west.e + extend);
                let f = (cell.h + open).max(cell.f + extend);
                let h = (corner.h + pair).max(e).max(f).max(0);
                corner = *cell;
                west = AffineCell { h, e, f };
                *cell = west;
            }
        }
        row.split_off(1)
    })
}

/// The last row of the least energies of seams through `size` x `size` pixels, and the seconds that it took.
pub fn seam(energies: &[u8], size: usize) -> (Vec<i32>, f64) {
    timed(|| {
        let mut rows = [vec![0; size + 2], vec![0; size + 2]];
        for energies in energies.chunks(size) {
            let [above, here] = &mut rows;
            for (j, &energy) in energies.iter().enumerate() {
                here[j + 1] = i32::from(energy) + above[j].min(above[j + 1]).min(above[j + 2]);
            }
            rows.swap(0, 1);
        }
        let [mut last, _] = rows;
        last.truncate(size + 1);
        last.split_off(1)
    })
}

/// The last row after a sweep of Gauss-Seidel over `size` x `size` zeros below an edge of ones, and the seconds
/// that the sweep took.
pub fn sweep(size: usize) -> (Vec<f32>, f64) {
    let pitch = size + 2;
    let mut plate = vec![0f32; pitch * pitch];
    plate[..pitch].fill(1.0);
    // Pages that were never written would cost the loop, not what it is compared with.
    plate[pitch..].fill(0.0);
    let ((), seconds) = timed(|| {
        for i in 1..=size {
            for j in 1..=size {
                let at = i * pitch + j;
                plate[at] =
                    0.25 * (plate[at - pitch] + plate[at - 1] + plate[at + 1] + plate[at + pitch]);
            }
        }
    });
    (plate[size * pitch + 1..][..size].to_vec(), seconds)
}
