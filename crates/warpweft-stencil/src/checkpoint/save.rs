//! Writing a checkpoint: all ranks their parts, rank 0 the manifest, next to first and then renamed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::format::{FORMAT, KEPT};
use super::hashed::Writer;
use super::manifest::{Manifest, NAME, PART, PartFile};
use super::probes::{self, Records};
use super::{Cut, Origin, State, folder_name, step_of, steps};
use crate::Region;
use crate::spec::points::Points;
use warpweft_core::cluster::{Transport, agree_on, gather_fine};
use warpweft_core::element::{CellType, ScalarKind};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::io::{sync_folder, write_synced};
use warpweft_core::grid::{Axes, RawVolume};
use warpweft_core::report::Series;

/// Stands for "no step yet".
const NONE: u64 = u64::MAX;

/// Saves states of one run.
#[derive(Debug)]
pub(crate) struct Saver {
    directory: PathBuf,
    every: u64,
    origin: Origin,
    extents: Vec<usize>,
    fields: Vec<(String, ScalarKind)>,
    /// What probes recorded, of which rank 0 alone writes.
    records: Mutex<Records>,
    /// The step of the last checkpoint that is whole.
    last: AtomicU64,
    pub(super) aside: Aside,
}

/// The room of a state that was written, and what came of it.
type Written = (RawVolume, Result<()>);

/// The state that is being written, and room for the next.
#[derive(Default)]
pub(super) struct Aside {
    pub writing: Mutex<Option<JoinHandle<Written>>>,
    pub spare: Mutex<Option<RawVolume>>,
}

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Aside")
    }
}

impl Saver {
    pub(super) fn new(
        directory: &Path,
        every: u64,
        origin: Origin,
        (cell, extents): (CellType, Axes<usize>),
        points: &Points,
        last: Option<u64>,
    ) -> Self {
        let fields = cell.fields().iter().map(|field| (field.name.to_string(), field.kind));
        Self {
            directory: directory.to_path_buf(),
            every,
            origin,
            extents: extents.to_vec(),
            fields: fields.collect(),
            records: Mutex::new(Records::of(points)),
            last: AtomicU64::new(last.unwrap_or(NONE)),
            aside: Aside::default(),
        }
    }

    /// Steps between two checkpoints.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// The step of the last checkpoint that is whole.
    pub fn last(&self) -> Option<u64> {
        Some(self.last.load(Ordering::Relaxed)).filter(|&step| step != NONE)
    }

    /// Saves `state`, of which this rank has the cells of `region`, and rank 0 what probes `recorded`; all
    /// ranks must come here. A checkpoint of the same step is replaced.
    ///
    /// # Errors
    /// On every rank: what any rank can't write, with the step of the last checkpoint that is whole.
    pub fn save(
        &self,
        net: &dyn Transport,
        state: State,
        region: Region,
        cells: &mut Cut<'_>,
        recorded: &[Series],
    ) -> Result<()> {
        let target = self.directory.join(folder_name(state.step));
        let partial = self.directory.join(format!("{}.partial", folder_name(state.step)));
        let begun = match net.rank() {
            0 => self.begin(&partial).map_err(|error| self.failed(&partial, &error)),
            _ => Ok(()),
        };
        agree_on(net, begun.map(|()| Vec::new()))?;
        let written = self.part(&partial, net.rank(), region, cells);
        let written = written.and_then(|part| {
            serde_json::to_vec(&part).map_err(|error| self.failed(&partial, &error.into()))
        });
        let parts = gather_fine(net, written).inspect_err(|_| self.discard(net, &partial))?;
        let closed = match net.rank() {
            0 => self.close(state, (&parts, recorded), &partial, &target),
            _ => Ok(()),
        };
        agree_on(net, closed.map(|()| Vec::new())).inspect_err(|_| self.discard(net, &partial))?;
        self.last.store(state.step, Ordering::Relaxed);
        if net.rank() == 0 {
            self.superseded().iter().for_each(|steps| self.remove(steps));
            self.remove_unnamed();
        }
        Ok(())
    }

    /// Makes the folder to write into, without what an earlier run left unfinished.
    fn begin(&self, partial: &Path) -> io::Result<()> {
        self.clear()?;
        fs::create_dir(partial)
    }

    /// Removes what an earlier run left unfinished.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let step =
                name.to_str().and_then(|name| name.strip_suffix(".partial")).and_then(step_of);
            if step.is_some() {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Writes this rank's cells.
    fn part(
        &self,
        folder: &Path,
        rank: usize,
        region: Region,
        cells: &mut Cut<'_>,
    ) -> Result<PartFile> {
        let name = format!("{PART}{rank}");
        let path = folder.join(&name);
        let failed = |error| self.failed(&path, &error);
        let mut file = Writer::create(&path).map_err(failed)?;
        for field in 0..self.fields.len() {
            file.put(&cells(field)?).map_err(failed)?;
        }
        let sum = file.finish().map_err(failed)?;
        let (low, high) = (region.low.to_vec(), region.high.to_vec());
        Ok(PartFile { file: name, low, high, sum })
    }

    /// Writes what probes recorded and the manifest, and gives the folder its name.
    fn close(
        &self,
        state: State,
        (parts, recorded): (&[Vec<u8>], &[Series]),
        partial: &Path,
        target: &Path,
    ) -> Result<()> {
        let probes = {
            let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
            let saved = records.save(&self.directory, recorded);
            saved.map_err(|error| self.failed(&self.directory, &error))?
        };
        let parts = parts.iter().map(|part| serde_json::from_slice(part));
        let manifest = Manifest {
            version: FORMAT.version,
            program: env!("CARGO_PKG_VERSION").into(),
            of: self.origin.of.clone(),
            computed: self.origin.parts.clone(),
            start: self.origin.start.clone(),
            extents: self.extents.clone(),
            fields: self.fields.clone(),
            step: state.step,
            residual: state.residual.map(f64::to_bits),
            parts: parts
                .collect::<serde_json::Result<_>>()
                .map_err(|error| self.failed(partial, &error.into()))?,
            probes,
        };
        let text = manifest.text()?;
        let finish = || {
            write_synced(partial, NAME, &mut text.as_bytes())?;
            rename_over(partial, target)?;
            sync_folder(&self.directory)
        };
        finish().map_err(|error: io::Error| self.failed(partial, &error))
    }

    /// Removes what a run that was killed left behind: the unfinished, and what its last checkpoint was to
    /// replace. What can't be removed stays; it is in nobody's way.
    pub(super) fn tidy(&self) {
        let _ = self.clear();
        // Later ones stay until there is another: it may be the disk's damage of today.
        let [old, _] = self.superseded();
        self.remove(&old);
        self.remove_unnamed();
    }

    /// Removes what probes recorded for checkpoints that are gone. Nothing while one can't be read, which may
    /// name any; and a look at a folder is enough while there are no more files than a run has.
    fn remove_unnamed(&self) {
        let Ok(files) = probes::files(&self.directory) else { return };
        if files.len() <= KEPT {
            return;
        }
        let named = steps(&self.directory).and_then(|steps| {
            let manifests =
                steps.iter().map(|&s| Manifest::read(&self.directory.join(folder_name(s))));
            let names = manifests.map(|read| Ok(read?.probes.map(|probes| probes.file)));
            names.collect::<Result<BTreeSet<_>>>()
        });
        let Ok(named) = named else { return };
        for (_, file) in files.into_iter().filter(|(_, file)| !named.contains(&Some(file.clone())))
        {
            let _ = fs::remove_file(self.directory.join(file));
        }
    }

    /// Checkpoints before those that are kept, and ones after them, which are damaged: the run went on
    /// from before them.
    fn superseded(&self) -> [Vec<u64>; 2] {
        let Ok(steps) = steps(&self.directory) else { return [Vec::new(), Vec::new()] };
        let newest = self.last.load(Ordering::Relaxed);
        let (mut old, later): (Vec<_>, Vec<_>) =
            steps.into_iter().partition(|&step| step <= newest);
        old.truncate(old.len().saturating_sub(KEPT));
        [old, later]
    }

    fn remove(&self, steps: &[u64]) {
        for &step in steps {
            let _ = fs::remove_dir_all(self.directory.join(folder_name(step)));
        }
    }

    fn discard(&self, net: &dyn Transport, partial: &Path) {
        if net.rank() == 0 {
            // The error that led here says more than one about what is left.
            let _ = fs::remove_dir_all(partial);
        }
    }

    fn failed(&self, path: &Path, error: &io::Error) -> Error {
        let hint = match self.last.load(Ordering::Relaxed) {
            NONE => "choose a folder that can be written and has room".to_string(),
            step => format!(
                "free disk space, then resume (--resume, `resume: true`) from the checkpoint of step {step}, which is complete"
            ),
        };
        Error::file(path, format!("a checkpoint can't be written: {error}"), hint)
    }
}

/// Gives a folder its name. One that has it already, a damaged one or that of a state which a session has changed since, is
/// removed: where the file system can exchange names, only when the new one has its name.
fn rename_over(partial: &Path, target: &Path) -> io::Result<()> {
    if target.symlink_metadata().is_err() {
        return fs::rename(partial, target);
    }
    if renameat_with(CWD, partial, CWD, target, RenameFlags::EXCHANGE).is_ok() {
        return remove_any(partial);
    }
    remove_any(target)?;
    fs::rename(partial, target)
}

/// Removes a folder, or what else is in its place.
fn remove_any(path: &Path) -> io::Result<()> {
    match path.symlink_metadata()?.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkpoint_takes_the_place_of_whatever_has_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let [partial, target] = ["partial", "step-3"].map(|name| directory.path().join(name));
        let places: [fn(&Path); 4] = [
            |_| {},
            |path| fs::create_dir(path).unwrap(),
            |path| fs::write(path, "").unwrap(),
            |path| std::os::unix::fs::symlink("nowhere", path).unwrap(),
        ];
        for (k, place) in places.into_iter().enumerate() {
            place(&target);
            fs::create_dir(&partial).unwrap();
            fs::write(partial.join("manifest"), k.to_string()).unwrap();
            rename_over(&partial, &target).unwrap();
            assert_eq!(fs::read_to_string(target.join("manifest")).unwrap(), k.to_string());
            assert!(partial.symlink_metadata().is_err());
            fs::remove_dir_all(&target).unwrap();
        }
    }
}
