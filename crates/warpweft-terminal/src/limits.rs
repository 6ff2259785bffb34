//! The measured limits of this machine, with notes to the user.

use std::cell::Cell;

use warpweft::Result;
use warpweft::machine::{Machine, Probe, probed};

use crate::output::note;

/// The machine's measured limits from the cache folder, else measured and stored there.
///
/// # Errors
/// See [`probed`]. A folder that can't be read or written is noted.
pub fn limits(machine: &Machine) -> Result<Probe> {
    let anew = Cell::new(false);
    let tell = |what: &str| {
        anew.set(true);
        note(what);
    };
    // Who reads what was tuned says why a folder is not used.
    let folder = warpweft::cuda::trusted_folder().ok().flatten();
    let measured = probed(machine, folder.as_deref(), &tell)?;
    // Noted when it is measured, not by every command that reads it.
    if anew.get() {
        measured.notes.iter().for_each(|what| note(what));
    }
    Ok(measured)
}
