//! Kernels that take several steps in one launch, next to those of single steps: they may come while a run is under
//! way, and each is measured before one is kept. Not: their text (`text`, `temporal`, `resident`).

pub(super) mod arrivals;
pub(super) mod contest;

use super::launch::queue::{By, Queue};
use super::launch::turn::Turn;
use super::limits::check_grid;
use super::resident::Resident;
use super::temporal::FaceValues;
use super::text::FusedShape;
use crate::{CudaKernel, CudaPolicy, Region};
use warpweft_core::cuda::{Kernel, Module, Stream};
use warpweft_core::error::Result;

/// A kernel of several steps that is ready.
pub(super) struct Fused {
    pub policy: CudaPolicy,
    pub shape: FusedShape,
    pub kernel: Kernel,
    pub whole: Whole,
    /// What functions of faces say of a pass, where there are any.
    pub values: Option<FaceValues>,
}

/// How it takes steps of the whole volume.
pub(super) enum Whole {
    /// Passes over memory, launched again and again.
    Passes(Turn),
    /// Tiles that stay on the chip.
    Stays(Box<Resident>),
}

impl Fused {
    /// The kernel of `module`, for all cells of the arrays.
    ///
    /// # Errors
    /// A grid that no launch can have; tiles that the device can't hold; the driver's.
    pub fn new(
        (policy, shape): (CudaPolicy, FusedShape),
        module: &Module,
        queue: &Queue<'_>,
        stream: &Stream,
    ) -> Result<Self> {
        let kernel = module.kernel(shape.kernel())?;
        let layout = &queue.arrays.layout;
        if let FusedShape::Resident(tiles) = &shape {
            let home = Resident::new(&policy, (tiles, kernel.clone()), layout, stream, 1)?;
            let whole = Whole::Stays(Box::new(home));
            return Ok(Self { policy, shape, kernel, whole, values: None });
        }
        if shape.shared() > 0 {
            kernel.allow_shared(shape.shared() as u32)?;
        }
        check_grid(queue.fused_grid((&policy, &shape)), false, &policy)?;
        let all: Region = super::launch::boxes::whole(layout);
        let values = match &shape {
            FusedShape::Temporal(shape) => {
                FaceValues::new(queue.stencil, (layout, shape), module, stream)?
            }
            _ => None,
        };
        let of = (&kernel, &policy, &shape, values.as_ref());
        let whole = Turn::new(shape.change(), |state| queue.fused(of, state, &all))?;
        Ok(Self { policy, shape, kernel, whole: Whole::Passes(whole), values })
    }

    /// The kernel, with what a launch is made of.
    pub fn by(&self) -> By<'_> {
        (&self.kernel, &self.policy, &self.shape, self.values.as_ref())
    }

    /// Whether its cells are packed, which parts of a volume can't be.
    pub fn packs(&self) -> bool {
        self.policy.kernel == CudaKernel::Packed
    }

    /// Whether it takes steps of parts of a volume: not where it is told where its cells are, or which of them matter, nor where
    /// cells are packed, as parts need not begin and end with whole words.
    pub fn takes_parts(&self) -> bool {
        match &self.shape {
            FusedShape::Temporal(shape) => !shape.framed() && !self.packs(),
            FusedShape::Resident(_) => false,
        }
    }

    /// Steps of a pass.
    pub fn depth(&self) -> u64 {
        u64::from(self.policy.temporal_depth).max(1)
    }

    /// The tiles that stay on the chip, if it has such.
    pub fn resident(&self) -> Option<&Resident> {
        match &self.whole {
            Whole::Stays(home) => Some(home),
            Whole::Passes(_) => None,
        }
    }
}
