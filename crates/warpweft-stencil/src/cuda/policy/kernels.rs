//! The kernels of a run on a GPU: one of single steps, which it can begin with at once, and those of several steps
//! that may take over. Not: which these are (`modelled`).

use super::super::memory::arrays::bytes_of;
use super::super::memory::layout::Layout;
use super::super::temporal::{FaceTable, packs_cells};
use super::super::text::{Room, room_of, single};
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, over_parts};

/// Cells that a thread looks through at a time.
const SHARE: usize = 1 << 22;

/// When kernels of several steps that are not in the cache are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compile {
    /// Before the run begins.
    First,
    /// The most promising alone, on a thread: the run is so short that it may end before.
    Foremost,
    /// While it takes single steps, on up to so many threads.
    Meanwhile(usize),
    /// Likewise, once it has taken single steps for a while: nobody knows how long it will be.
    Eventually(usize),
    /// Not: it is too short.
    Never,
}

/// The kernels of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernels {
    /// Of single steps.
    pub single: CudaPolicy,
    /// Of several steps, the most promising first.
    pub fused: Vec<CudaPolicy>,
    /// When those are compiled.
    pub compile: Compile,
    /// Seconds that a single step takes at least.
    pub least: f64,
}

/// Kernels that fit a volume and a device's memory, with their layout.
pub(in crate::cuda) struct Planned {
    pub single: CudaPolicy,
    pub fused: Vec<CudaPolicy>,
    pub layout: Layout,
    /// Whether fields have the arrays that fused steps need.
    pub fuses: bool,
    pub note: Option<String>,
}

impl Kernels {
    /// Those of one policy, compiled before the run.
    pub fn of(policy: &CudaPolicy) -> Self {
        let fused = if policy.kernel.fuses() { vec![*policy] } else { Vec::new() };
        Self { single: single(policy), fused, compile: Compile::First, least: f64::INFINITY }
    }

    /// Single steps, then those that may take over.
    pub fn all(&self) -> Vec<CudaPolicy> {
        std::iter::once(self.single).chain(self.fused.iter().copied()).collect()
    }

    /// The policy that is expected to take most steps.
    pub fn foremost(&self) -> CudaPolicy {
        self.fused.first().copied().unwrap_or(self.single)
    }

    /// Those that the cells of `volume` allow: packed cells must be small.
    ///
    /// # Errors
    /// The only policy is one of packed cells, and they are too large.
    pub(in crate::cuda) fn for_cells(&self, stencil: &Spec, volume: &RawVolume) -> Result<Self> {
        let mut kernels = self.clone();
        if kernels.fused.iter().all(|policy| policy.kernel != CudaKernel::Packed) {
            return Ok(kernels);
        }
        let cells = volume.field_bytes(0);
        let largest = over_parts(cells.len(), SHARE, |part| cells[part].iter().copied().max());
        let largest = largest.into_iter().flatten().max().unwrap_or(0);
        let fits = |policy: &CudaPolicy| packs_cells(stencil, policy, largest);
        if self.compile == Compile::First && !kernels.fused.iter().all(fits) {
            return Err(Error::spec(
                format!(
                    "the kernel `Packed` can't hold these cells, whose largest value is {largest}"
                ),
                "take another kernel: cells in bits must be proved to stay 0 or 1, others to stay within a byte, and \
                 below 128 where they are compared",
            ));
        }
        kernels.fused.retain(fits);
        // Packed cells are several times as fast as others: trying those would take longer than it could save.
        let is_packed = |policy: &CudaPolicy| policy.kernel == CudaKernel::Packed;
        if kernels.fused.iter().any(is_packed) {
            kernels.fused.retain(is_packed);
        }
        Ok(kernels)
    }

    /// One layout for all, so that a change of kernels moves nothing; single steps alone where `free` bytes are too
    /// few for others.
    ///
    /// # Errors
    /// A policy that no kernel can have; more cells than kernels can index.
    pub(in crate::cuda) fn planned(
        &self,
        stencil: &Spec,
        extents: Axes<usize>,
        free: u64,
    ) -> Result<Planned> {
        let single = self.single.shaped(stencil.rank())?;
        let alone = room_of(stencil, extents, &single)?;
        let (mut room, mut fused): (Option<Room>, Vec<CudaPolicy>) = (None, Vec::new());
        for policy in &self.fused {
            let shaped = policy.shaped(stencil.rank());
            let needed =
                shaped.and_then(|shaped| Ok((shaped, room_of(stencil, extents, &shaped)?)));
            match needed {
                Ok((shaped, needed)) => {
                    room = Some(room.map_or(needed, |room| room.with(needed)));
                    fused.push(shaped);
                }
                Err(error) if self.compile == Compile::First => return Err(error),
                Err(_) => {}
            }
        }
        let fuses = fused.iter().any(|policy| policy.kernel.levels());
        let layout = room.unwrap_or(alone).layout(stencil, extents)?;
        let values = FaceTable::bytes_of(stencil, &layout, extents, &fused);
        let fits = fused.is_empty() || bytes_of(stencil, &layout, fuses) + values <= free;
        if fits || self.compile == Compile::First {
            return Ok(Planned { single, fused, layout, fuses, note: None });
        }
        let layout = alone.layout(stencil, extents)?;
        let note = Some(
            "the GPU has too little memory for fused steps, so the run takes single steps".into(),
        );
        Ok(Planned { single, fused: Vec::new(), layout, fuses: false, note })
    }
}
