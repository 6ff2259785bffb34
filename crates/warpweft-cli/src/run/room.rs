//! Checks before a run that the disk has room for its results. Other programs may still fill it meanwhile.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::statvfs;
use warpweft::element::CellType;
use warpweft::{Error, Result};

use super::files::{Format, Outputs};
use crate::output::scaled;

/// Refuses a run of `cells` cells whose results don't fit on the disks of their folders. If the space or the
/// size is unknown, e.g. of a picture, nothing is refused.
///
/// # Errors
/// A disk has less space than its results need together.
pub fn need_room(outputs: &Outputs, cell: CellType, cells: usize) -> Result<()> {
    let mut disks = BTreeMap::<u64, u64>::new();
    for (path, format) in &outputs.results {
        // An existing path that is not a file, e.g. a pipe or /dev/null, takes any amount.
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            continue;
        }
        let sizes = cell.fields().iter().map(|field| field.kind.size() as u64);
        let bytes = cells as u64
            * match format {
                // One field; which one is not known yet.
                Format::Npy => sizes.min().unwrap_or(0),
                Format::Vti => sizes.sum(),
                Format::Png => 0,
            };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let (Ok(known), Ok(disk)) = (std::fs::metadata(folder), statvfs(folder)) else { continue };
        // An existing file is replaced only when the new file is complete.
        let needed = disks.entry(known.dev()).or_default();
        *needed += bytes;
        // Some network file systems report nothing.
        if disk.f_blocks == 0 {
            continue;
        }
        let room = disk.f_bavail.saturating_mul(disk.f_frsize);
        if *needed > room {
            let (needed, room) = (scaled(*needed as f64), scaled(room as f64));
            return Err(Error::file(
                path,
                format!("needs {needed}B, but its disk has only {room}B free"),
                "free some space, or choose a folder on another disk",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_disk_has_is_refused_and_what_is_small_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let results = |names: &[&str]| Outputs {
            results: names
                .iter()
                .map(|name| {
                    let path = folder.path().join(name);
                    let format = Format::of(&path, &[Format::Npy, Format::Vti, Format::Png]);
                    (path, format.unwrap())
                })
                .collect(),
            plot: None,
            trace: None,
        };
        let check =
            |names: &[&str], cells| need_room(&results(names), CellType::of::<f64>(), cells);
        check(&["a.npy", "a.vti", "a.png"], 8).unwrap();
        check(&["a.png"], 1 << 55).unwrap();
        for name in ["a.npy", "a.vti"] {
            let error = check(&["a.png", name], 1 << 55).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("its disk has"), "{error}");
        }
        // Two files that fit alone but not together.
        let disk = statvfs(folder.path()).unwrap();
        let most = (disk.f_bavail * disk.f_frsize / 8 * 2 / 3) as usize;
        check(&["a.npy"], most).unwrap();
        check(&["a.npy", "b.npy"], most).unwrap_err();
    }
}
