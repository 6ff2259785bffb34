//! Where a subdomain's first cells come from.

use std::borrow::Cow;

use crate::checkpoint::Saved;
use crate::halo::Span;
use warpweft_core::error::Result;
use warpweft_core::grid::RawVolume;

/// The state that a run starts from. On axes that repeat, indices below 0 and beyond the extent mean cells of
/// the other end.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a, const D: usize> {
    /// The whole volume.
    Volume(&'a RawVolume<D>),
    /// A checkpoint.
    Saved(&'a Saved<D>),
}

impl<'a, const D: usize> Start<'a, D> {
    /// `volume`, or the checkpoint to go on from.
    pub(crate) fn of(volume: &'a RawVolume<D>, saved: Option<&'a Saved<D>>) -> Self {
        saved.map_or(Self::Volume(volume), Self::Saved)
    }

    /// The cells of `span`; not copied where that is the whole volume.
    ///
    /// # Errors
    /// Not enough host memory; a checkpoint that can't be read.
    pub(crate) fn cells(&self, span: Span<D>) -> Result<Cow<'a, RawVolume<D>>> {
        match *self {
            Self::Volume(volume) if span.low == [0; D] && span.extents() == volume.extents() => {
                Ok(Cow::Borrowed(volume))
            }
            Self::Volume(volume) => volume.cut_out(span.low, span.extents()).map(Cow::Owned),
            Self::Saved(saved) => saved.cells(span).map(Cow::Owned),
        }
    }
}
