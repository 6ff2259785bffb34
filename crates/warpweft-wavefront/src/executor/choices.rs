//! Recorded choices: what an executor needs for them, and how it hands them out.

use crate::recurrence::WavefrontElement;
use crate::spec::{Keep, Kept};
use warpweft_core::error::{Error, Result};

/// Recorded choices.
pub trait Choices {
    /// That of the cell at `row` and `column` of the domain.
    ///
    /// # Errors
    /// The device's.
    fn at(&mut self, row: usize, column: usize) -> Result<u8>;
}

/// What is done with recorded choices while they are there, given what else was kept.
pub type Walk<'w, C> = dyn FnMut(&Kept<C>, &mut dyn Choices) -> Result<()> + 'w;

/// What an executor would need to record the choices of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Whose memory: "host" or the device's name.
    pub whose: String,
    /// Bytes in all.
    pub needed: u64,
    /// Bytes there are.
    pub available: u64,
    /// The measured speed-up over finding the path in linear space.
    pub speedup: f64,
}

impl Need {
    /// Whether there is as much memory as is needed.
    pub fn fits(&self) -> bool {
        self.needed <= self.available
    }
}

/// What an executor without directions says to them.
pub(crate) fn unrecorded<E: WavefrontElement>() -> Error {
    Error::spec(
        format!("directions of {}, which this executor does not record", E::NAME),
        "look for the path in linear space, or run it on one process's cores or GPU",
    )
}

/// Refuses to record choices unless the best cell or the last row is kept: paths end there.
pub(crate) fn check_kept(keep: Keep) -> Result<()> {
    match keep {
        Keep::Best | Keep::LastRow => Ok(()),
        _ => Err(Error::spec(
            format!("choices recorded with {keep:?} kept"),
            "keep the best cell or the last row, where paths end",
        )),
    }
}
