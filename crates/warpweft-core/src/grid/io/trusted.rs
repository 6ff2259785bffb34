//! Whether code may be loaded from a folder or a file: it belongs to this user or to root, and nobody else may write
//! there.

use std::path::Path;
use std::{fs, io};

use super::read_small;

/// Checks every folder from `from` down to `folder`, which may also be a file and must be below
/// `from`.
///
/// # Errors
/// What others could do, in words.
#[cfg(unix)]
pub fn check_trusted(from: &Path, folder: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;

    // Owned by whom this process acts for. Where there is no such file, nothing is known of anybody.
    let Ok(own) = fs::metadata("/proc/self").map(|known| known.uid()) else { return Ok(()) };
    let found = |path: &Path| fs::canonicalize(path).map_err(|error| error.to_string());
    let (from, folder) = (found(from)?, found(folder)?);
    if !folder.starts_with(&from) {
        return Err(format!("{} leads out of {}", folder.display(), from.display()));
    }
    for folder in folder.ancestors().take_while(|folder| folder.starts_with(&from)) {
        let known = fs::metadata(folder).map_err(|error| error.to_string())?;
        if known.uid() != own && known.uid() != 0 {
            return Err(format!("{} belongs to another user", folder.display()));
        }
        if known.mode() & 0o022 != 0 {
            return Err(format!("{} can be written by other users", folder.display()));
        }
    }
    Ok(())
}

/// Reads a file of at most 32 MiB that nobody but this user and root can have written.
///
/// # Errors
/// It can't be read, or is longer. [`io::ErrorKind::PermissionDenied`] with what others could do, if they could.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let bytes = read_small(path)?;
    let refused = |why| io::Error::new(io::ErrorKind::PermissionDenied, why);
    check_trusted(path, path).map_err(refused).map(|()| bytes)
}

/// Makes a folder that only this user may write, and those above it, if there is none.
///
/// # Errors
/// The file system's.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut maker = fs::DirBuilder::new();
    maker.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut maker, 0o755);
    maker.create(folder)
}

/// Forbids others to write to a folder that this user made under a umask that lets them; `true` if they could until
/// now. What is no folder of this user's own stays as it is.
#[cfg(unix)]
pub fn narrow(folder: &Path) -> bool {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (Ok(own), Ok(known)) = (fs::metadata("/proc/self"), fs::symlink_metadata(folder)) else {
        return false;
    };
    let wide = known.is_dir() && known.uid() == own.uid() && known.mode() & 0o022 != 0;
    wide && fs::set_permissions(folder, fs::Permissions::from_mode(known.mode() & 0o755)).is_ok()
}

/// Elsewhere nothing is known of other users.
#[cfg(not(unix))]
pub fn narrow(_folder: &Path) -> bool {
    false
}

/// Elsewhere nothing is known of other users.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn check_trusted(_from: &Path, _folder: &Path) -> Result<(), String> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folders_of_others_and_for_others_are_not_trusted() {
        let directory = tempfile::tempdir().unwrap();
        let (outer, inner) = (directory.path().join("a"), directory.path().join("a/b"));
        fs::create_dir_all(&inner).unwrap();
        let mode =
            |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        for path in [&outer, &inner] {
            mode(path, 0o755);
        }
        assert_eq!(check_trusted(&outer, &inner), Ok(()));
        for (path, bits) in [(&outer, 0o777), (&outer, 0o1777), (&inner, 0o775)] {
            mode(path, bits);
            let refused = check_trusted(&outer, &inner).unwrap_err();
            assert!(refused.ends_with("can be written by other users"), "{refused}");
            mode(path, 0o755);
        }
        // What is above is not asked about.
        mode(&outer, 0o777);
        assert_eq!(check_trusted(&inner, &inner), Ok(()));
        mode(&outer, 0o755);
        let link = outer.join("link");
        symlink(directory.path(), &link).unwrap();
        assert!(check_trusted(&outer, &link).unwrap_err().contains("leads out of"));
        let file = inner.join("library");
        fs::write(&file, "code").unwrap();
        for (bits, trusted) in [(0o644, true), (0o664, false), (0o646, false)] {
            mode(&file, bits);
            assert_eq!(check_trusted(&outer, &file).is_ok(), trusted, "{bits:o}");
        }
        assert!(check_trusted(&outer, &outer.join("none")).is_err());
    }
}
