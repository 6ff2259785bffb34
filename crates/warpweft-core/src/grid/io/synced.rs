//! Files and folder entries that survive a power failure: they are flushed to disk.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::stall::{Calling, Counted, Naming};
use super::temporary::{TemporaryFile, remove_abandoned};

/// Writes the file `name` of `folder` under a temporary name, flushes it to disk, and renames it, so a file
/// of that name is always complete. A failure leaves no temporary file.
///
/// # Errors
/// The file can't be written.
pub fn write_synced(folder: &Path, name: &str, from: &mut dyn Read) -> io::Result<()> {
    let target = folder.join(name);
    let _naming = Naming::of(&target);
    let mut calling = Calling::begin();
    remove_abandoned(&target);
    let temporary = TemporaryFile::next_to(&target)?;
    let mut file = Counted(temporary.file());
    calling.pause(|| {
        io::copy(from, &mut file)?;
        file.flush()?;
        temporary.file().sync_all()
    })?;
    temporary.put(&target)?;
    calling.pause(|| sync_folder(folder))
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
    use std::fs;

    use super::*;

    struct Torn;
    impl Read for Torn {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
    }

    #[test]
    fn a_file_is_whole_or_as_it_was_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_synced(folder.path(), "a", &mut &b"first"[..]).unwrap();
        let failed = write_synced(folder.path(), "a", &mut b"sec".chain(Torn));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(path).unwrap(), b"first");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
