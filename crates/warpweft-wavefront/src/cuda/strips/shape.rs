//! Which shapes the register-strip kernel can have.

use super::carried::Carrier;
use super::packed;
use super::shared::{INPUTS, RING, WINDOW, check, fitted};
use crate::policy::CudaPolicy;
use crate::recurrence::WavefrontElement;
use crate::spec::{Erased, Keep, Wavefront};
use warpweft_core::cuda::SharedMemory;
use warpweft_core::error::{Error, Result};

/// The largest cell a lane can hand on.
const MAX_CELL: usize = 16;

/// What register strips can't do that `wavefront` needs, if anything.
pub fn misses<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    missing(&wavefront.erased())
}

/// The same.
pub(super) fn missing(wavefront: &Erased<'_>) -> Option<&'static str> {
    let element = &wavefront.element;
    let known = |vector: &[isize; 2]| matches!(vector, [-1, -1] | [-1, 0] | [0, -1]);
    let words = |bytes: usize| bytes == 0 || bytes.is_power_of_two() && bytes <= 16;
    [
        ("old values", !element.old.is_empty()),
        (
            "dependences other than north, west and north-west",
            !element.carried && !element.dependences.iter().all(known),
        ),
        ("cell inputs of a size that is not supported", !words(element.input)),
        ("bands", wavefront.band.is_some()),
        ("cells of more than 16 bytes", element.cell > MAX_CELL),
        ("column inputs of a size that is not supported", !words(element.column)),
        // They compute cells beyond the domain too, where a fault would be none.
        ("a function that may fault", element.faults()),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

/// Refuses what register strips can't do.
pub(super) fn possible(wavefront: &Erased<'_>) -> Result<()> {
    missing(wavefront).map_or(Ok(()), |what| {
        Err(Error::spec(
            format!(
                "{} has {what}, which the register-strip kernel does not support",
                wavefront.element.name
            ),
            "run it on the cores",
        ))
    })
}

/// What register strips can't do that `wavefront` needs on a GPU of `sms` SMs, memory for its cells and
/// inputs included, if anything.
pub(crate) fn unfit(
    wavefront: &Erased<'_>,
    sms: u32,
    shared: SharedMemory,
) -> Option<&'static str> {
    if let Some(carrier) = Carrier::of(wavefront) {
        return unfit(&carrier.erased(wavefront), sms, shared);
    }
    missing(wavefront).or_else(|| {
        let policy = on_one(wavefront, true, sms, shared);
        let fits = policy.check(wavefront.element.cell).and(check(wavefront, &policy, shared));
        fits.is_err().then_some("cells and inputs that fill shared memory")
    })
}

impl CudaPolicy {
    /// Columns that the last lane of a warp is behind the first.
    pub fn lag(&self) -> u32 {
        (self.lanes() - 1) * self.columns
    }

    /// Strips of rows in a warp: one a lane, or two.
    pub(super) fn lanes(&self) -> u32 {
        if self.packed_16x2 { 64 } else { 32 }
    }

    /// Columns of the ring of column inputs.
    pub(super) fn inputs(&self) -> u32 {
        if self.packed_16x2 { 2 * INPUTS } else { INPUTS }
    }

    /// Rows of a tile-row.
    pub fn tile_rows(&self) -> usize {
        (self.warps * self.lanes() * self.rows) as usize
    }

    /// Threads of a block: two warps move borders, and where cells have inputs one copy warp for each that
    /// computes moves them.
    pub(super) fn threads(&self, inputs: bool) -> u32 {
        32 * (self.warps * (1 + u32::from(inputs)) + 2)
    }

    /// Whether a kernel of this shape exists for cells of `cell_bytes` bytes.
    ///
    /// # Errors
    /// Which number is out of range, and the range.
    pub fn check(&self, cell_bytes: usize) -> Result<()> {
        let Self { rows, columns, chunk, warps, blocks, .. } = *self;
        let refuse = |what: String, hint: &str| Err(Error::spec(what, hint));
        if cell_bytes > MAX_CELL {
            return refuse(format!("a cell of {cell_bytes} bytes"), "a cell has 16 bytes at most");
        }
        if !(1..=32).contains(&rows) {
            return refuse(format!("{rows} rows a lane"), "take 1 to 32");
        }
        if ![1, 2, 4, 8].contains(&columns) {
            return refuse(format!("{columns} columns a macro-step"), "take 1, 2, 4 or 8");
        }
        if !(8..=128).contains(&chunk) || !chunk.is_power_of_two() {
            return refuse(format!("a chunk of {chunk} columns"), "take 8, 16, 32, 64 or 128");
        }
        if !(1..=30).contains(&warps) || !(1..=8).contains(&blocks) {
            return refuse(
                format!("{blocks} blocks an SM of {warps} warps"),
                "take 1 to 30 warps and 1 to 8 blocks",
            );
        }
        if warps * (self.lag() + 2 * chunk) + WINDOW + 2 * RING > self.inputs() {
            return refuse(
                format!("{warps} warps of {columns} columns and chunks of {chunk}"),
                "take fewer warps or columns, or shorter chunks: column inputs must outlive them",
            );
        }
        Ok(())
    }

    /// A shape for a domain on a device of `sms` SMs that keeps no matrix.
    ///
    /// Short domains are bound by latency along the critical path and want little lag; long ones
    /// by instruction issue and want many rows a lane, as far as registers allow, and tile-rows that
    /// come out even over the SMs. Measured on an H200: `align_rates`.
    pub fn for_domain(rows: usize, cell_bytes: usize, sms: u32) -> Self {
        // Rows for each scheduler of the device.
        let share = rows / (sms as usize * 4);
        match (cell_bytes.div_ceil(4), share) {
            (1, 0..64) => Self::of(5, 2, 16, 4),
            (1, 64..800) => Self::of(even(rows, 4 * 32, 7, sms).max(4), 2, 16, 4),
            (1, _) => Self::of(even(rows, 8 * 32, 15, sms), 2, 32, 8),
            (2 | 3, 0..800) => Self::of(even(rows, 4 * 32, 6, sms).max(4), 2, 16, 4),
            (2 | 3, _) => Self::of(even(rows, 8 * 32, 10, sms), 2, 32, 8),
            _ => Self::of(4, 2, 16, 4),
        }
    }

    /// As [`CudaPolicy::for_domain`] where every cell is kept: a block's tiles must fit its shared
    /// memory, and rows must leave in long pieces.
    pub fn for_matrix(rows: usize, cell_bytes: usize, sms: u32) -> Self {
        let most = (4 / cell_bytes.div_ceil(4).max(1) as u32).max(1);
        match rows / (sms as usize * 4) {
            0..40 => Self::of(most, 1, 32, 2),
            40..100 => Self::of(most, 2, 32, 4),
            _ => Self::of(even(rows, 3 * 32, most, sms), 2, 64, 3),
        }
    }

    /// As [`CudaPolicy::for_matrix`] where cells have inputs: chunks of 32 columns, as pieces of rows in
    /// memory should have 128 bytes, and few warps a block, as tiles take its shared memory; of f32, one
    /// has room. Measured on an H200 (`one_gpu_sums_tables_cell_by_cell`): tables of f32 at 16,384
    /// squared with one warp 193 Gcells/s, 136 with chunks of 16 and two warps, 162 with four columns a
    /// macro-step; of u8 to i32 at 32,768 squared with two warps 339, with one of
    /// eight rows a lane 345.
    pub fn for_inputs(cell_bytes: usize) -> Self {
        Self::of((4 / cell_bytes.div_ceil(4).max(1) as u32).max(1), 2, 32, 2)
    }

    /// As [`CudaPolicy::for_domain`] with two cells a register, if that is worth it: short domains
    /// pay more for the lag of 64 strips a warp than two cells at once save, unless cells have several numbers. Measured on
    /// an H200 with affine gaps: 1.17 TCUPS at 100,000 squared (4 warps of 3 rows a lane), 3.84 at 1,000,000 (8 of 15).
    pub fn for_packed(rows: usize, cell_bytes: usize, sms: u32) -> Option<Self> {
        let share = rows / (sms as usize * 4);
        let shape = match (cell_bytes.div_ceil(4), share) {
            (1, 0..800) | (_, 0..100) => return None,
            (2.., 100..256) => Self::of(even(rows, 4 * 64, 4, sms).max(2), 1, 16, 4),
            _ => Self::of(even(rows, 8 * 64, 15, sms), 1, 32, 8),
        };
        Some(Self { packed_16x2: true, ..shape })
    }

    const fn of(rows: u32, columns: u32, chunk: u32, warps: u32) -> Self {
        Self { rows, columns, chunk, warps, blocks: 1, packed_16x2: false }
    }
}

/// The fewest rows a lane, of at most `most`, with which blocks of `lanes` strips on `sms` SMs need
/// as few passes over the rows as with `most`.
fn even(rows: usize, lanes: u32, most: u32, sms: u32) -> u32 {
    let lanes = lanes as usize * sms.max(1) as usize;
    let passes = rows.div_ceil(lanes * most as usize).max(1);
    rows.div_ceil(lanes * passes).max(1) as u32
}

/// The shape for `wavefront` on one GPU of `sms` SMs where none was given, with two cells a register if
/// `packed_16x2` says so and it is worth it.
pub(super) fn on_one(
    wavefront: &Erased<'_>,
    packed_16x2: bool,
    sms: u32,
    shared: SharedMemory,
) -> CudaPolicy {
    let (rows, cell) = (wavefront.extents[0], wavefront.element.cell);
    let fit = |policy| fitted(wavefront, policy, shared);
    if wavefront.keep == Keep::Matrix {
        return fit(match wavefront.element.input {
            0 => CudaPolicy::for_matrix(rows, cell, sms),
            _ => CudaPolicy::for_inputs(cell),
        });
    }
    let two = CudaPolicy::for_packed(rows, cell, sms).filter(|_| packed_16x2).map(fit);
    let fits = |policy: &CudaPolicy| check(wavefront, policy, shared);
    two.filter(|policy| packed::check(wavefront, policy, false).and(fits(policy)).is_ok())
        .unwrap_or_else(|| fit(CudaPolicy::for_domain(rows, cell, sms)))
}

#[cfg(test)]
mod tests {
    use super::super::shared::{block_bytes, staged};
    use super::super::text::compile_check;
    use super::*;
    use crate::recurrence::Earlier;
    use crate::recurrences::{affine_local, area, local, mix};
    use crate::spec::Keep;
    use crate::wavefront;
    use warpweft_core::cuda::compiler;

    const LIMITS: [usize; 4] = [48 << 10, 99 << 10, 163 << 10, 227 << 10];

    /// Tables' shapes on an H200, as measured.
    #[test]
    fn tiles_of_inputs_take_a_warp_before_they_take_columns() {
        let shared = SharedMemory::of_block(227 << 10);
        let chosen = |erased: &Erased<'_>| {
            let CudaPolicy { rows, columns, chunk, warps, .. } = on_one(erased, true, 132, shared);
            (rows, columns, chunk, warps)
        };
        let bytes = Wavefront::of(area()).over([16_384; 2]).keep(Keep::Matrix);
        assert_eq!(chosen(&bytes.erased()), (4, 2, 32, 2));
        let words = Wavefront::of(copied()).over([16_384; 2]).keep(Keep::Matrix);
        assert_eq!(chosen(&words.erased()), (4, 2, 32, 1));
    }

    /// A cell and an input of a word each.
    #[wavefront]
    fn copied(h: Earlier<u32>, #[cell] x: u32) -> u32 {
        h.w ^ x
    }

    /// Whether what is chosen for `element` fits every limit, and how large it is.
    fn fit_everywhere<E: WavefrontElement>(element: E) {
        let rows = [E::Row::default()].repeat(1_000_000);
        for (count, limit) in [100, 3_000, 100_000, 1_000_000]
            .into_iter()
            .flat_map(|n| LIMITS.map(|limit| (n, limit)))
        {
            let wavefront = Wavefront::of(element).rows(&rows[..count]).columns(&[]);
            for keep in Keep::ALL {
                let wavefront = wavefront.clone().keep(keep);
                let (erased, shared) = (wavefront.erased(), SharedMemory::of_block(limit));
                let policy = on_one(&erased, true, 132, shared);
                let told = format!("{} {keep:?} {count} {limit}: {policy:?}", E::NAME);
                policy.check(erased.element.cell).expect(&told);
                check(&erased, &policy, shared).expect(&told);
                let out = staged(&erased, &policy, shared);
                assert!(block_bytes(&erased, &policy, out) <= limit, "{told}");
                // A matrix leaves in long pieces of rows on all that are sold for computing.
                assert_eq!(out, keep == Keep::Matrix, "{told}");
                if limit >= 227 << 10 && erased.element.input == 0 {
                    let usual = match keep {
                        Keep::Matrix => CudaPolicy::for_matrix(count, erased.element.cell, 132),
                        _ if policy.packed_16x2 => {
                            CudaPolicy::for_packed(count, erased.element.cell, 132).expect(&told)
                        }
                        _ => CudaPolicy::for_domain(count, erased.element.cell, 132),
                    };
                    assert_eq!(policy, usual, "measured on an H200: {told}");
                }
            }
        }
    }

    #[test]
    fn chosen_shapes_fit_every_device() {
        fit_everywhere(local(2, -1, -1));
        fit_everywhere(affine_local(2, -3, -5, -1));
        fit_everywhere(mix(1));
        fit_everywhere(area());
    }

    /// The kernel asserts that it takes no more than is counted here.
    #[test]
    fn chosen_shapes_compile_for_every_generation() {
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        fn compiles<E: WavefrontElement>(element: E, keep: Keep, arch: &str) {
            let rows = vec![E::Row::default(); 100_000];
            let wavefront = Wavefront::of(element).rows(&rows).columns(&[]).keep(keep);
            let shared = SharedMemory::of_arch(arch);
            let policy = on_one(&wavefront.erased(), true, 132, shared);
            compile_check(&wavefront, &policy, arch).unwrap();
        }
        for arch in ["sm_80", "sm_86", "sm_89", "sm_90", "sm_120"] {
            compiles(area(), Keep::Matrix, arch);
        }
        compiles(affine_local(2, -3, -5, -1), Keep::Best, "sm_86");
        let large = CudaPolicy::for_domain(1_000_000, 12, 132);
        let letters = [b'A'; 3];
        let wavefront = Wavefront::of(affine_local(2, -3, -5, -1)).rows(&letters).columns(&letters);
        let error = compile_check(&wavefront, &large, "sm_86").unwrap_err().to_string();
        assert!(error.contains("bytes of shared memory for affine_local, limit 101376"), "{error}");
    }
}
