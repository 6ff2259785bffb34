//! Reads small text files that programs write for themselves, with a limit on the length, because another program may have put
//! any file in their place.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use super::stall::{Calling, Counted, Naming};

/// Bytes of the longest: a manifest of 100,000 parts.
const LONGEST: u64 = 32 << 20;

/// A file that is read. [`Stall`](super::Stall) sees whether that makes progress.
#[derive(Debug)]
pub struct Input {
    file: Counted<File>,
    _naming: Naming,
}

impl Input {
    /// Opens what a user named: a file, a pipe or a device. A pipe is waited for.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(path: &Path) -> io::Result<Self> {
        let (naming, _calling) = (Naming::of(path), Calling::begin());
        Ok(Self { file: Counted(File::open(path)?), _naming: naming })
    }

    /// Opens a file that a program wrote for itself. A pipe in its place is not waited for.
    ///
    /// # Errors
    /// It can't be opened, or is not a regular file.
    pub fn open_file(path: &Path) -> io::Result<Self> {
        let (naming, _calling) = (Naming::of(path), Calling::begin());
        Ok(Self { file: Counted(open_regular(path, File::options().read(true))?), _naming: naming })
    }

    /// What is known of it.
    ///
    /// # Errors
    /// The system's.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.0.metadata()
    }
}

/// Opens the file at `path` by `options`. A pipe in its place is not waited for.
///
/// # Errors
/// It can't be opened, or is not a regular file.
pub fn open_regular(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(ErrorKind::InvalidData, "is not a regular file")),
    }
}

impl Read for Input {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.file.read(to)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.0.seek(to)
    }
}

/// The bytes of the file at `path`, which is a file and not a device or a pipe.
///
/// # Errors
/// It can't be read, is no file, or is longer than 32 MiB.
pub fn read_small(path: &Path) -> io::Result<Vec<u8>> {
    read_up_to(path, LONGEST)
}

/// The same for files of at most `longest` bytes.
///
/// # Errors
/// See [`read_small`].
pub fn read_up_to(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    read_all(Input::open_file(path)?, longest)
}

/// All that `from` gives, a pipe too, if it is at most `longest` bytes.
///
/// # Errors
/// It can't be read, or gives more.
pub fn read_all(from: impl Read, longest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(longest.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > longest {
        true => {
            Err(io::Error::new(ErrorKind::InvalidData, format!("is longer than {longest} bytes")))
        }
        false => Ok(bytes),
    }
}

/// The same as text.
///
/// # Errors
/// See [`read_small`]; bytes that are no UTF-8.
pub fn read_small_text(path: &Path) -> io::Result<String> {
    text(read_small(path)?)
}

/// Reads a text that a user named: a file, or a pipe such as a shell's `<(..)`.
///
/// # Errors
/// It can't be read, is longer than 32 MiB, or is not UTF-8.
pub fn read_given_text(path: &Path) -> io::Result<String> {
    text(read_all(Input::open(path)?, LONGEST)?)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "is not valid UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_small_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "text").unwrap();
        assert_eq!(read_small_text(&path).unwrap(), "text");
        std::fs::write(&path, [0xff]).unwrap();
        assert!(read_small_text(&path).is_err());
        File::create(&path).unwrap().set_len(LONGEST + 1).unwrap();
        assert!(read_small(&path).unwrap_err().to_string().contains("longer"));
        assert_eq!(read_all(&b"12 345"[..], 6).unwrap(), b"12 345");
        assert!(read_all(&b"12 345"[..], 5).is_err());
        assert_eq!(
            read_given_text(&folder.path().join("b")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
        if Path::new("/dev/zero").exists() {
            let told = read_given_text(Path::new("/dev/zero")).unwrap_err().to_string();
            assert!(told.contains("is longer than"), "{told}");
            assert!(
                read_small(Path::new("/dev/zero"))
                    .unwrap_err()
                    .to_string()
                    .contains("not a regular file")
            );
        }
        assert_eq!(read_small(&folder.path().join("b")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}
