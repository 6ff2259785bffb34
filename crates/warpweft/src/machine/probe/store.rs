//! Probes kept on disk, one file for all machines that share a folder.

use std::collections::BTreeMap;
use std::path::Path;

use super::{DISTURBING, Probe, cpu, probe};
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

/// The machine's probe as `folder` has it ([`cuda::folder`] is the user's), or measured and kept there,
/// which takes a few seconds and is said to `tell` before. One that other work on the cores disturbed is
/// measured again once they are idle.
///
/// # Errors
/// As [`probe`]. A folder that can't be read or written adds a note.
pub fn probed(machine: &Machine, folder: Option<&Path>, tell: &dyn Fn(&str)) -> Result<Probe> {
    let mut notes = Vec::new();
    let known = folder.and_then(|folder| Probe::load(machine, folder, &mut notes));
    let quiet = || cpu::others().is_none_or(|others| others <= DISTURBING);
    let mut measured = match known {
        Some(known) if !known.cpu.disturbed() || !quiet() => return Ok(known),
        Some(_) => {
            tell("measuring this machine's limits again: its cores were busy the last time");
            probe(machine)?
        }
        None => {
            tell("measuring this machine's limits, once");
            probe(machine)?
        }
    };
    if let Some(Err(error)) = folder.map(|folder| measured.save(machine, folder)) {
        notes.push(error.to_string());
    }
    // Of this run alone, so not kept.
    measured.notes.extend(notes);
    Ok(measured)
}
