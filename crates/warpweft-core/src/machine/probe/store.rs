//! Probes kept on disk, one file for all machines that share a folder; and when one is measured again.
//!
//! Other work on the cores makes them seem slower, so a probe that was disturbed is not believed for
//! good: it is measured again once the cores are idle or an hour has passed, and of both the better
//! figures are kept. One that was not disturbed is believed for a month.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::{DISTURBING, Probe, cpu, now, probe};
use crate::cuda;
use crate::error::{Error, Result};
use crate::machine::Machine;

/// Changes with what is measured or how, so that older results are measured anew.
const FORM: u32 = 2;

const HOUR: u64 = 60 * 60;
const MONTH: u64 = 30 * 24 * HOUR;

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

    /// Why this is to be measured again at second `now`, if it is; `quiet` tells whether the cores are
    /// idle.
    fn again(&self, now: u64, quiet: impl FnOnce() -> bool) -> Option<&'static str> {
        let age = now.saturating_sub(self.when);
        if self.cpu.disturbed() {
            (age > HOUR || quiet()).then_some("they were disturbed the last time")
        } else {
            // Memory may have been changed, a virtual machine moved.
            (age > MONTH && quiet()).then_some("that was long ago")
        }
    }

    /// This probe; where it was disturbed, with the better of its limits of the cores and of those
    /// `known` before.
    pub fn or_better(mut self, known: Option<&Self>) -> Self {
        if let Some(known) = known.filter(|_| self.cpu.disturbed()) {
            self.cpu = self.cpu.or_better(&known.cpu);
        }
        self
    }

    /// Keeps the probe in `folder`, beside those of other machines.
    ///
    /// # Errors
    /// [`Error::File`] when it can't be written.
    pub fn save(&self, machine: &Machine, folder: &Path) -> Result<()> {
        let mut file = read(folder, &mut Vec::new());
        file.machines.insert(machine.fingerprint(), self.clone());
        let path = folder.join("probe.json");
        let hint = "set WARPWEFT_CACHE to a folder that can be written";
        let text = serde_json::to_vec_pretty(&file)
            .map_err(|error| Error::file(&path, error, "please report this"))?;
        cuda::write_whole(&path, &text).map_err(|error| Error::file(&path, error, hint))
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

/// What was measured and could not be kept, for the rest of this process.
static UNKEPT: Mutex<Option<(String, Probe)>> = Mutex::new(None);

/// What `folder` has of this machine, or else what this process measured itself.
pub fn known(machine: &Machine, folder: Option<&Path>) -> Option<Probe> {
    let kept = folder.and_then(|folder| Probe::load(machine, folder, &mut Vec::new()));
    kept.or_else(|| {
        let unkept = UNKEPT.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unkept.filter(|(of, _)| *of == machine.fingerprint()).map(|(_, probe)| probe)
    })
}

/// The machine's probe as `folder` has it ([`cuda::folder`] is the user's), or measured and kept there,
/// which takes a few seconds and is said to `tell` before. One that other work on the cores disturbed is
/// measured again once they are idle, or an hour later, and keeps its better figures; others are measured
/// again after a month, when the cores are idle.
///
/// # Errors
/// As [`probe`]. A folder that can't be read or written adds a note.
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
        notes.push(error.to_string());
    }
    // Of this run alone, so not kept.
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
        assert!(again(&disturbed, HOUR + 1, false));
        let fine = measured(1000, 0.1, 1e9, 1e-6);
        assert_eq!([true, false].map(|quiet| again(&fine, MONTH, quiet)), [false, false]);
        assert_eq!([true, false].map(|quiet| again(&fine, MONTH + 1, quiet)), [true, false]);
        // A clock that was set back.
        assert!(fine.again(0, || true).is_none());
        // A file of before the time was kept.
        assert!(measured(0, 0.1, 1e9, 1e-6).again(now(), || true).is_some());
    }

    #[test]
    fn other_work_never_lowers_a_limit_that_was_reached() {
        let known = measured(1, 1.5, 3e9, 4e-7);
        let worse = measured(2, 2.0, 2e9, 3e-7).or_better(Some(&known));
        assert_eq!(worse, measured(2, 2.0, 3e9, 3e-7));
        assert_eq!(worse.cpu.read, None);
        // Of other cores nothing is taken, and none for a probe that nothing disturbed.
        let mut fewer = measured(2, 2.0, 2e9, 3e-7);
        fewer.cpu.threads = 1;
        assert_eq!(fewer.clone().or_better(Some(&known)), fewer);
        let quiet = measured(2, 0.0, 2e9, 3e-7);
        assert_eq!(quiet.clone().or_better(Some(&known)), quiet);
        assert_eq!(known.clone().or_better(None), known);
    }
}
