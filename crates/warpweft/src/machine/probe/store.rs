//! Probes kept on disk, one file for all machines that share a folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::{Probe, probe};
use crate::cuda;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Changes with what is measured or how, so that older results are measured anew.
const FORM: u32 = 1;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct File {
    form: u32,
    machines: BTreeMap<String, Probe>,
}

impl Probe {
    /// The probe kept in `folder` for this machine, if any. A damaged file counts as none and
    /// adds a note.
    pub fn load(machine: &Machine, folder: &Path, notes: &mut Vec<String>) -> Option<Self> {
        read(folder, notes).machines.remove(&machine.fingerprint())
    }

    /// Keeps the probe in `folder`, beside those of other machines.
    ///
    /// # Errors
    /// [`Error::File`] when it can't be written.
    pub fn save(&self, machine: &Machine, folder: &Path) -> Result<()> {
        let mut file = read(folder, &mut Vec::new());
        file.machines.insert(machine.fingerprint(), self.clone());
        let path = folder.join("probe.json");
        let remedy = "set WARPWEFT_CACHE to a folder that can be written";
        let text = serde_json::to_vec_pretty(&file)
            .map_err(|error| Error::file(&path, error, "please report this"))?;
        cuda::write_whole(&path, &text).map_err(|error| Error::file(&path, error, remedy))
    }
}

fn read(folder: &Path, notes: &mut Vec<String>) -> File {
    let path = folder.join("probe.json");
    let fresh = || File { form: FORM, machines: BTreeMap::new() };
    let Ok(text) = std::fs::read(&path) else { return fresh() };
    match serde_json::from_slice::<File>(&text) {
        Ok(file) if file.form == FORM => file,
        Ok(_) => fresh(),
        Err(error) => {
            notes.push(format!("{} was damaged ({error}); measured anew", path.display()));
            fresh()
        }
    }
}

/// The machine's probe: from the user's cache folder ([`cuda::folder`]), or measured and kept
/// there, which takes a few seconds.
///
/// # Errors
/// As [`probe`]. A folder that can't be read or written adds a note.
pub fn probed(machine: &Machine) -> Result<Probe> {
    match cuda::folder() {
        Some(folder) => probed_in(machine, &folder),
        None => probe(machine),
    }
}

/// As [`probed`], in a folder of the caller's choice.
///
/// # Errors
/// As [`probed`].
pub fn probed_in(machine: &Machine, folder: &Path) -> Result<Probe> {
    let mut notes = Vec::new();
    if let Some(known) = Probe::load(machine, folder, &mut notes) {
        return Ok(known);
    }
    let mut measured = probe(machine)?;
    if let Err(error) = measured.save(machine, folder) {
        notes.push(error.to_string());
    }
    // Of this run alone, so not kept.
    measured.notes.extend(notes);
    Ok(measured)
}
