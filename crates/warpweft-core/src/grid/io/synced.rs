//! Files and folder entries that survive a power failure: they are flushed to disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Writes the file `name` of `folder` under a temporary name, flushes it to disk, and renames it, so a file
/// of that name is always complete. A failure leaves no temporary file.
///
/// # Errors
/// The file can't be written.
pub fn write_synced(folder: &Path, name: &str, from: &mut dyn Read) -> io::Result<()> {
    let beside = folder.join(format!("{name}.partial"));
    let written = File::create(&beside).and_then(|mut file| {
        io::copy(from, &mut file)?;
        file.sync_all()?;
        fs::rename(&beside, folder.join(name))
    });
    written.inspect_err(|_| {
        // If it can't be removed either, there is nothing to add to the error.
        let _ = fs::remove_file(&beside);
    })?;
    sync_folder(folder)
}

/// Flushes a folder's entries to disk.
///
/// # Errors
/// The folder can't be read or flushed.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_file_is_whole_or_as_it_was_and_nothing_is_left_beside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_synced(folder.path(), "a", &mut &b"first"[..]).unwrap();
        let failed = write_synced(folder.path(), "a", &mut b"sec".chain(Torn));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
