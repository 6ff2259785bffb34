//! On how many GPUs, and with which shape: the least predicted time.
//!
//! All blocks of all GPUs form one pipeline. Its length is counted by
//! [`StripModel::critical_chunks`]: the rows that are computed at one time are a skew behind one
//! another, warp by warp, and that skew is what more GPUs can't shorten. What a column costs a warp
//! depends on the shape as measured here; other elements differ by a factor that no choice depends on
//! much.

use super::shape::on_one;
use super::shared::fitted;
use crate::model::StripModel;
use crate::policy::CudaPolicy;
use crate::spec::{Erased, Keep};
use warpweft_core::cuda::SharedMemory;

/// Nanoseconds that a column costs a warp with so many rows a lane, as fitted to Smith-Waterman in 32
/// bits on an H200 (`align_rates`, within a tenth from 3 to 15 rows): a row, in packed 16-bit cells; what a
/// lone warp of a scheduler waits in addition, and one of several; with one column a macro-step, half of it
/// where warps fill one another's gaps; and a chunk.
const ROW: f64 = 3.3;
const PACKED: f64 = 5.3;
const ALONE: f64 = 9.0;
const SHARED: f64 = 2.0;
const SINGLE: f64 = 8.0;
const CHUNK: f64 = 64.0;
/// Seconds from a block to the next, in addition to the columns that they are apart.
const HOP: f64 = 5e-6;
/// A launch more, and a subdomain's copies and flags: what the time on several GPUs must save at least.
const GPU: f64 = 5e-5;
/// A prediction may be a tenth off, and several GPUs must be faster for sure.
const MARGIN: f64 = 1.1;
/// Schedulers of an SM.
const SCHEDULERS: u32 = 4;

/// Seconds of `rows` × `columns` cells of one word on `blocks` blocks, one an SM.
pub(super) fn seconds(policy: &CudaPolicy, rows: usize, columns: usize, blocks: usize) -> f64 {
    let CudaPolicy { rows: own, columns: step, chunk, warps, packed_16x2, .. } = *policy;
    let work = f64::from(own) * if packed_16x2 { PACKED } else { ROW } + CHUNK / f64::from(chunk);
    let single = if step == 1 { SINGLE } else { 0.0 };
    let sharing = f64::from(warps.div_ceil(SCHEDULERS));
    let column = (work + ALONE + single).max(sharing * (work + SHARED + single / 2.0));
    let model = StripModel { column: column * 1e-9, chunk: 0.0 };
    model.seconds(policy, rows, columns, blocks) + HOP * blocks.saturating_sub(1) as f64
}

/// Shapes for a pipeline over several GPUs, of cells of so many words.
fn shapes(words: usize, packed_16x2: bool) -> impl Iterator<Item = CudaPolicy> {
    let most = match words {
        1 => 15,
        2 | 3 => 10,
        _ => 4,
    };
    let each = [(4, 16), (4, 32), (8, 32)].into_iter();
    each.flat_map(move |(warps, chunk)| {
        let columns = if packed_16x2 { 1 } else { 2 };
        (3..=most).map(move |rows| CudaPolicy {
            rows,
            columns,
            chunk,
            warps,
            blocks: 1,
            packed_16x2,
        })
    })
}

/// The shape for `wavefront` where none was given, and on how many of `gpus` GPUs of `sms` SMs each;
/// with two cells a register where that is exact, if `packed_16x2` says so.
/// Matrices are kept on one, and inputs of cells brought to one: bringing them over takes longer than
/// computing them.
pub(super) fn choose(
    wavefront: &Erased<'_>,
    packed_16x2: bool,
    sms: u32,
    shared: SharedMemory,
    gpus: usize,
) -> (CudaPolicy, usize) {
    let [rows, columns] = wavefront.extents;
    let cell = wavefront.element.cell;
    let words = cell.div_ceil(4).max(1);
    let one = on_one(wavefront, packed_16x2, sms, shared);
    if wavefront.keep == Keep::Matrix || wavefront.element.input > 0 {
        return (one, 1);
    }
    let predicted = |policy: &CudaPolicy, gpus: usize| {
        let blocks = (sms as usize * gpus).min(rows.div_ceil(policy.tile_rows()));
        words as f64 * seconds(policy, rows, columns, blocks) + GPU * (gpus - 1) as f64
    };
    let shapes = || shapes(words, false).chain(shapes(words, true).filter(|_| one.packed_16x2));
    let several = (2..=gpus).flat_map(|gpus| shapes().map(move |policy| (policy, gpus)));
    let fits = several.filter(|(policy, _)| {
        policy.check(cell).is_ok() && fitted(wavefront, *policy, shared) == *policy
    });
    let best = fits.map(|(policy, gpus)| (MARGIN * predicted(&policy, gpus), policy, gpus));
    let all = std::iter::once((predicted(&one, 1), one, 1)).chain(best);
    let least = all.min_by(|a, b| a.0.total_cmp(&b.0));
    least.map_or((one, 1), |(_, policy, gpus)| (policy, gpus))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Wavefront;

    const H200: SharedMemory = SharedMemory::of_block(227 << 10);

    const fn policy(rows: u32, columns: u32, chunk: u32, warps: u32) -> CudaPolicy {
        CudaPolicy { rows, columns, chunk, warps, blocks: 1, packed_16x2: false }
    }

    const fn packed(rows: u32, warps: u32) -> CudaPolicy {
        CudaPolicy { packed_16x2: true, ..policy(rows, 1, 32, warps) }
    }

    /// Measured on H200s: milliseconds of a million columns.
    #[test]
    fn measured_times_are_predicted_within_a_tenth() {
        for (policy, rows, gpus, milliseconds) in [
            (policy(15, 2, 32, 4), 253_440, 1, 65.5),
            (policy(15, 2, 16, 4), 253_440, 1, 69.2),
            (policy(15, 1, 32, 4), 253_440, 1, 73.3),
            (policy(5, 2, 16, 4), 84_480, 1, 30.7),
            (policy(3, 2, 16, 4), 50_688, 1, 23.9),
            (policy(5, 2, 16, 8), 168_960, 1, 49.0),
            (policy(8, 2, 16, 8), 270_336, 1, 72.9),
            (policy(15, 2, 32, 8), 1_000_000, 1, 221.7),
            (policy(15, 2, 32, 4), 1_000_000, 2, 126.7),
            (policy(15, 2, 32, 4), 1_000_000, 4, 77.7),
            (policy(15, 1, 32, 8), 1_000_000, 1, 238.7),
            (packed(15, 8), 1_000_000, 1, 186.6),
            (packed(15, 4), 1_000_000, 2, 109.5),
            (packed(4, 8), 1_000_000, 4, 83.8),
            (policy(15, 2, 32, 8), 1_000_000, 2, 127.1),
            (policy(5, 2, 16, 4), 1_000_000, 2, 175.5),
        ] {
            let blocks = (132 * gpus).min(usize::div_ceil(rows, policy.tile_rows()));
            let found = 1e3 * seconds(&policy, rows, 1_000_000, blocks);
            assert!((found / milliseconds - 1.0).abs() < 0.1, "{policy:?}: {found} {milliseconds}");
        }
    }

    #[test]
    fn more_gpus_are_taken_where_they_pay() {
        let letters = vec![b'A'; 1_000_000];
        let gpus = |length: usize, there| {
            let element = crate::recurrences::local(2, -1, -1);
            let (a, b) = (&letters[..length], &letters[..length]);
            let wavefront = Wavefront::of(element).rows(a).columns(b);
            choose(&wavefront.erased(), true, 132, H200, there).1
        };
        assert_eq!(gpus(100, 4), 1);
        assert_eq!(gpus(3_000, 8), 1);
        assert_eq!(gpus(100_000, 4), 1);
        assert_eq!(gpus(1_000_000, 4), 4);
        assert_eq!(gpus(1_000_000, 1), 1);
        let matrix = Wavefront::of(crate::recurrences::local(2, -1, -1))
            .rows(&letters[..100_000])
            .columns(&letters[..100_000])
            .keep(Keep::Matrix);
        assert_eq!(choose(&matrix.erased(), true, 132, H200, 4).1, 1);
    }
}
