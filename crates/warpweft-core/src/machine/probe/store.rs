//! Probes stored on disk, one file for all machines that share a folder, and when to measure again.
//!
//! Other work on the cores makes them seem slower. A disturbed probe is repeated once the cores are idle or
//! a day has passed, and the better figures of both are kept. An undisturbed probe is valid for a month.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{DISTURBED, DISTURBING, Probe, cpu, now, probe};
use crate::error::{Error, Result};
use crate::grid::io::{make_private, read_own, write_own};
use crate::machine::Machine;

/// Raised when the measurements change, so that older results are not used.
const FORM: u32 = 2;

const DAY: u64 = 24 * 60 * 60;
const MONTH: u64 = 30 * DAY;

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct File {
    form: u32,
    machines: BTreeMap<String, Probe>,
}

impl Probe {
    /// The probe stored in `folder` for this machine, if any. A damaged file counts as none and adds a note.
    pub fn load(machine: &Machine, folder: &Path, notes: &mut Vec<String>) -> Option<Self> {
        read(folder, notes).machines.remove(&machine.fingerprint())
    }

    /// Why this probe must be repeated at second `now`, if it must; `quiet` says whether the cores are idle.
    fn again(&self, now: u64, quiet: impl FnOnce() -> bool) -> Option<&'static str> {
        let age = now.saturating_sub(self.when);
        if self.cpu.disturbed() {
            (age > DAY || quiet()).then_some("other programs disturbed the last measurement")
        } else {
            // Memory may have been changed, or a virtual machine moved.
            (age > MONTH && quiet()).then_some("the last measurement is more than a month old")
        }
    }

    /// This probe. If it was disturbed, it gets the better of its own limits of the cores and those of
    /// `known`.
    pub fn or_better(mut self, known: Option<&Self>) -> Self {
        if let Some(known) = known.filter(|_| self.cpu.disturbed()) {
            self.cpu = self.cpu.or_better(&known.cpu);
        }
        self
    }

    /// Stores the probe in `folder`, next to those of other machines.
    ///
    /// # Errors
    /// [`Error::File`] if it can't be written.
    pub fn save(&self, machine: &Machine, folder: &Path) -> Result<()> {
        let mut file = read(folder, &mut Vec::new());
        file.machines.insert(machine.fingerprint(), self.clone());
        let path = folder.join("probe.json");
        let hint = "set WARPWEFT_CACHE to a folder that can be written";
        let text = serde_json::to_vec_pretty(&file)
            .map_err(|error| Error::file(&path, error, "please report this"))?;
        make_private(folder).map_err(|error| Error::file(&path, error, hint))?;
        write_own(&path, &text)
    }
}

fn read(folder: &Path, notes: &mut Vec<String>) -> File {
    let path = folder.join("probe.json");
    let fresh = || File { form: FORM, machines: BTreeMap::new() };
    let text = match read_own(&path) {
        Ok(text) => text,
        Err(error) => {
            if error.kind() == io::ErrorKind::PermissionDenied {
                let path = path.display();
                notes.push(format!("limits in {path} are not used: {error}; measured anew"));
            }
            return fresh();
        }
    };
    match serde_json::from_slice::<File>(&text) {
        Ok(file) if file.form == FORM => file,
        Ok(_) => fresh(),
        Err(error) => {
            notes.push(format!("{} was damaged ({error}); measured anew", path.display()));
            fresh()
        }
    }
}

/// A probe that could not be stored, for the rest of this process.
static UNKEPT: Mutex<Option<(String, Probe)>> = Mutex::new(None);

/// The probe of this machine in `folder`, else one that this process measured.
pub fn known(machine: &Machine, folder: Option<&Path>) -> Option<Probe> {
    let kept = folder.and_then(|folder| Probe::load(machine, folder, &mut Vec::new()));
    kept.or_else(|| {
        let unkept = UNKEPT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unkept.filter(|(of, _)| *of == machine.fingerprint()).map(|(_, probe)| probe)
    })
}

/// The machine's probe: the one in `folder` ([`folder`](crate::cuda::folder) is the user's), or a new one, which takes a few
/// seconds, is announced by `tell`, and is stored. A disturbed probe is repeated once the cores are idle or
/// a day later, and keeps its better figures; others are repeated after a month, when the cores are idle.
///
/// # Errors
/// See [`probe`]. A folder that can't be read or written adds a note.
pub fn probed(machine: &Machine, folder: Option<&Path>, tell: &dyn Fn(&str)) -> Result<Probe> {
    let mut notes = Vec::new();
    let known = folder.and_then(|folder| Probe::load(machine, folder, &mut notes));
    let quiet = || cpu::others().is_none_or(|others| others <= DISTURBING);
    if let Some(known) = &known {
        let Some(why) = known.again(now(), quiet) else { return Ok(known.clone()) };
        tell(&format!("measuring this machine's limits again: {why}"));
    } else {
        tell("measuring this machine's limits, once");
    }
    let mut measured = probe(machine)?.or_better(known.as_ref());
    let saved = folder.map(|folder| measured.save(machine, folder));
    if !matches!(saved, Some(Ok(()))) {
        let unkept = Some((machine.fingerprint(), measured.clone()));
        *UNKEPT.lock().unwrap_or_else(PoisonError::into_inner) = unkept;
    }
    if let Some(Err(error)) = saved {
        notes.push(format!(
            "this machine's limits are measured in each run, because they can't be stored: {error}"
        ));
    }
    // Once a day is enough to say that.
    let lately = |known: &Probe| known.cpu.disturbed() && now().saturating_sub(known.when) < DAY;
    if known.as_ref().is_some_and(lately) {
        measured.notes.retain(|what| what != DISTURBED);
    }
    // This note concerns this run only, so it is not stored.
    measured.notes.extend(notes);
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::CpuProbe;

    fn measured(when: u64, others: f64, copy: f64, hop: f64) -> Probe {
        let [copy, hop, others] = [copy, hop, others].map(Some);
        let cpu = CpuProbe { threads: 2, copy, hop, others, ..CpuProbe::default() };
        Probe { cpu, gpus: Vec::new(), pairs: Vec::new(), notes: Vec::new(), seconds: 1.0, when }
    }

    #[test]
    fn what_was_disturbed_is_measured_again_when_the_cores_are_idle_or_later() {
        let disturbed = measured(1000, 2.0, 1e9, 1e-6);
        let again = |probe: &Probe, later, quiet| probe.again(1000 + later, || quiet).is_some();
        assert_eq!([true, false].map(|quiet| again(&disturbed, 1, quiet)), [true, false]);
        assert!(again(&disturbed, DAY + 1, false));
        let fine = measured(1000, 0.1, 1e9, 1e-6);
        assert_eq!([true, false].map(|quiet| again(&fine, MONTH, quiet)), [false, false]);
        assert_eq!([true, false].map(|quiet| again(&fine, MONTH + 1, quiet)), [true, false]);
        // The clock was set back.
        assert!(fine.again(0, || true).is_none());
        // A file from before times were stored.
        assert!(measured(0, 0.1, 1e9, 1e-6).again(now(), || true).is_some());
    }

    #[test]
    fn other_work_never_lowers_a_limit_that_was_reached() {
        let known = measured(1, 1.5, 3e9, 4e-7);
        let worse = measured(2, 2.0, 2e9, 3e-7).or_better(Some(&known));
        assert_eq!(worse, measured(2, 2.0, 3e9, 3e-7));
        assert_eq!(worse.cpu.read, None);
        // Nothing is taken from a probe of other cores, or for a probe that was not disturbed.
        let mut fewer = measured(2, 2.0, 2e9, 3e-7);
        fewer.cpu.threads = 1;
        assert_eq!(fewer.clone().or_better(Some(&known)), fewer);
        let quiet = measured(2, 0.0, 2e9, 3e-7);
        assert_eq!(quiet.clone().or_better(Some(&known)), quiet);
        assert_eq!(known.clone().or_better(None), known);
    }
}
