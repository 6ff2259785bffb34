//! Where a subdomain's first cells come from.

use std::borrow::Cow;

use crate::checkpoint::Saved;
use crate::plan::halo::Span;
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};

/// The state that a run starts from. On axes that repeat, indices below 0 and beyond the extent mean cells of
/// the other end.
#[derive(Clone, Copy)]
pub(crate) enum Start<'a> {
    /// The whole volume.
    Volume(&'a RawVolume),
    /// A checkpoint.
    Saved(&'a Saved),
}

impl<'a> Start<'a> {
    /// `volume`, or the checkpoint to go on from.
    pub(crate) fn of(volume: &'a RawVolume, saved: Option<&'a Saved>) -> Self {
        saved.map_or(Self::Volume(volume), Self::Saved)
    }

    /// The cells of `span`; not copied where that is the whole volume.
    ///
    /// # Errors
    /// Not enough host memory; a checkpoint that can't be read.
    pub(crate) fn cells(&self, span: Span) -> Result<Cow<'a, RawVolume>> {
        let dims = span.rank();
        match *self {
            Self::Volume(volume)
                if span.low == Axes::filled(dims, 0) && span.extents() == volume.extents() =>
            {
                Ok(Cow::Borrowed(volume))
            }
            Self::Volume(volume) => volume.cut_out(span.low, span.extents()).map(Cow::Owned),
            Self::Saved(saved) => saved.cells(span).map(Cow::Owned),
        }
    }
}
