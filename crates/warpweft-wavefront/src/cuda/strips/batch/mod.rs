//! Many problems at once: a warp computes one alone, the largest first.
//!
//! For sizes of which one can't fill a GPU. Problems that would keep a warp busy when all others are
//! done, and what the kernel can't do, run one by one.

mod choices;
pub(super) mod database;
mod items;
mod launch;
mod memory;
mod pairs;
mod paths;
mod place;
mod search;
mod text;

use super::executor::CudaExecutor;
use super::shape::possible;
use crate::cuda::filled::{Take, TakeKept};
use crate::executor::by_size;
use crate::recurrence::WavefrontElement;
use crate::report::{TotalReport, unchecked};
use crate::spec::{Erased, Kept, Wavefront, of_problem};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

use place::{Batch, around};
use text::Wanted;
pub use text::{compile_check, compile_paths_check, compile_search_check};

/// Warps of a block.
const WARPS: u32 = 4;
/// The most rows a lane owns.
const MOST_ROWS: u32 = 32;
/// The most bytes of lines between passes: fewer warps run where columns are many.
const LINES: usize = 1 << 30;

/// Cells of a problem that is not worth a launch of its own: half a millisecond of one warp.
const SMALL: u64 = 2 << 20;

impl CudaExecutor {
    /// As many problems as warps run well at once are shared out evenly.
    fn parts(&self) -> Result<usize> {
        Ok(4 * WARPS as usize * self.gpus[0].device.sms()? as usize)
    }

    /// As [`WavefrontExecutor::run_batch`](crate::WavefrontExecutor::run_batch).
    pub(super) fn batch<E: WavefrontElement>(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        let erased: Vec<_> = wavefronts.iter().map(Wavefront::erased).collect();
        let mut take = TakeKept::of(wavefronts.len());
        let report = self.batch_of(&erased, &mut take)?;
        let left = || Error::spec("a problem left undone", "report this as a bug");
        let kept = take.kept.into_iter().map(|kept| kept.ok_or_else(left));
        Ok((kept.collect::<Result<_>>()?, report))
    }

    /// The same, of problems as bytes.
    fn batch_of(&mut self, wavefronts: &[Erased<'_>], take: &mut dyn Take) -> Result<Report> {
        let check =
            |(k, one): (usize, &Erased<'_>)| one.check().map_err(|error| of_problem(k, error));
        wavefronts.iter().enumerate().try_for_each(check)?;
        // All are of one element: what strips can't do is mostly said by the first.
        wavefronts.first().map_or(Ok(()), possible)?;
        let (large, rest) = by_size(wavefronts, self.parts()?, SMALL);
        let small: Vec<_> = rest.iter().map(|&k| &wavefronts[k]).collect();
        let around = around(&small).filter(|_| rest.len() > 1);
        let in_turn = if around.is_some() { large } else { (0..wavefronts.len()).collect() };
        let mut total = TotalReport::default();
        for k in in_turn {
            total.add(self.one_of(&wavefronts[k], k, take)?);
        }
        if let Some(around) = around {
            let keep = small[0].keep;
            let batch = Batch::of(&small, Wanted::Keep(keep), around);
            let cells = take.cells(batch.kept)?;
            let done = self.launch(batch, None, cells, unchecked(small[0]))?;
            let mut first = 0;
            for (at, &k) in rest.iter().enumerate() {
                let end = first + wavefronts[k].kept_cells();
                let found = done.found.get(at..=at).unwrap_or_default();
                take.take(k, keep, found, first..end, wavefronts[k].extents);
                first = end;
            }
            total.add(done.report);
        }
        total.report()
    }

    /// Runs `wavefront`, which is problem `k`, by all blocks.
    fn one_of(&mut self, wavefront: &Erased<'_>, k: usize, take: &mut dyn Take) -> Result<Report> {
        let count = wavefront.kept_cells();
        let (found, report) = self.fill(wavefront, take.cells(count)?)?;
        take.take(k, wavefront.keep, &found, 0..count, wavefront.extents);
        Ok(report)
    }
}
