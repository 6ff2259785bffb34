//! Whether there is room on the disk for what a run will write, found out before any work is done. Not: other
//! writers, who may take it meanwhile.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::statvfs;
use warpweft::element::CellType;
use warpweft::{Error, Result};

use super::files::{Format, Outputs};
use crate::output::scaled;

/// Refuses a run of `cells` cells whose results don't fit on the disks of their folders. Of what nothing is
/// known, such as a disk that can't be asked or a picture, nothing is refused.
///
/// # Errors
/// There is less room than the results of a disk need together.
pub fn need_room(outputs: &Outputs, cell: CellType, cells: usize) -> Result<()> {
    let mut disks = BTreeMap::<u64, u64>::new();
    for (path, format) in &outputs.results {
        // What is there and no file, a pipe or /dev/null, takes any.
        if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
            continue;
        }
        let sizes = cell.fields().iter().map(|field| field.kind.size() as u64);
        let bytes = cells as u64
            * match format {
                // The field that is shown, which is not known yet.
                Format::Npy => sizes.min().unwrap_or(0),
                Format::Vti => sizes.sum(),
                Format::Png => 0,
            };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let (Ok(known), Ok(disk)) = (std::fs::metadata(folder), statvfs(folder)) else { continue };
        // What is written over is replaced when the new file is whole.
        let needed = disks.entry(known.dev()).or_default();
        *needed += bytes;
        // Some network file systems tell nothing.
        if disk.f_blocks == 0 {
            continue;
        }
        let room = disk.f_bavail.saturating_mul(disk.f_frsize);
        if *needed > room {
            let (needed, room) = (scaled(*needed as f64), scaled(room as f64));
            return Err(Error::file(
                path,
                format!("needs {needed}B of which its disk has {room}B"),
                "make room, or name a folder of a disk that has it",
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
        let told = |names: &[&str], cells| need_room(&results(names), CellType::of::<f64>(), cells);
        told(&["a.npy", "a.vti", "a.png"], 8).unwrap();
        told(&["a.png"], 1 << 55).unwrap();
        for name in ["a.npy", "a.vti"] {
            let error = told(&["a.png", name], 1 << 55).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("its disk has"), "{error}");
        }
        // Two that fit alone, and not together.
        let disk = statvfs(folder.path()).unwrap();
        let most = (disk.f_bavail * disk.f_frsize / 8 * 2 / 3) as usize;
        told(&["a.npy"], most).unwrap();
        told(&["a.npy", "b.npy"], most).unwrap_err();
    }
}
