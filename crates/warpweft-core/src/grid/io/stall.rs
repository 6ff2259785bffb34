//! Whether a file that this process reads or writes makes progress: the other end of a pipe may never come, and a network
//! file system may be gone. Only calls into the system count: the process may take its time to make the content.

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Calls under way that open, read, write or rename a file.
static CALLS: AtomicUsize = AtomicUsize::new(0);
/// Counts every such call that has ended.
static ENDED: AtomicU64 = AtomicU64::new(0);
/// Files that are being read or written.
static FILES: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Bytes that one call reads or writes at most, so that a slow file shows its progress.
const PIECE: usize = 1 << 20;

/// Counts as a call under way, until it is dropped.
pub(super) struct Calling(());

impl Calling {
    pub fn begin() -> Self {
        CALLS.fetch_add(1, Relaxed);
        Self(())
    }

    /// Does `work` that is no such call: it makes a content, or flushes a file to disk, which may take long.
    pub fn pause<R>(&mut self, work: impl FnOnce() -> R) -> R {
        let _paused = Paused::begin();
        work()
    }
}

/// Names a file that is being read or written, until it is dropped.
#[derive(Debug)]
pub(super) struct Naming(PathBuf);

impl Naming {
    pub fn of(file: &Path) -> Self {
        files(|files| files.push(file.to_path_buf()));
        Self(file.to_path_buf())
    }
}

impl Drop for Naming {
    fn drop(&mut self) {
        files(|files| {
            if let Some(at) = files.iter().position(|file| *file == self.0) {
                files.swap_remove(at);
            }
        });
    }
}

fn files<R>(look: impl FnOnce(&mut Vec<PathBuf>) -> R) -> R {
    look(&mut FILES.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Drop for Calling {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Relaxed);
        ENDED.fetch_add(1, Relaxed);
    }
}

/// Counts as one call less, until it is dropped.
struct Paused(());

impl Paused {
    fn begin() -> Self {
        CALLS.fetch_sub(1, Relaxed);
        ENDED.fetch_add(1, Relaxed);
        Self(())
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        CALLS.fetch_add(1, Relaxed);
    }
}

/// A reader or writer whose progress counts.
#[derive(Debug)]
pub(super) struct Counted<W>(pub W);

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _calling = Calling::begin();
        self.0.write(&bytes[..bytes.len().min(PIECE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let _calling = Calling::begin();
        let most = to.len().min(PIECE);
        self.0.read(&mut to[..most])
    }
}

/// Watches from another thread whether the files that are being read or written make progress.
pub struct Stall {
    ended: Cell<u64>,
    since: Cell<Instant>,
}

impl Stall {
    /// Watches from now on.
    pub fn watch() -> Self {
        Self { ended: Cell::new(ENDED.load(Relaxed)), since: Cell::new(Instant::now()) }
    }

    /// Whether a call that reads or writes is under way, and none has ended for `time`.
    pub fn lasts(&self, time: Duration) -> bool {
        let ended = ENDED.load(Relaxed);
        if CALLS.load(Relaxed) == 0 || ended != self.ended.replace(ended) {
            self.since.set(Instant::now());
        }
        self.since.get().elapsed() >= time
    }

    /// The files that are being read or written.
    pub fn files(&self) -> Vec<PathBuf> {
        files(|files| files.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread::sleep;

    use super::*;
    use crate::grid::io::{write_synced, write_whole};

    const TICK: Duration = Duration::from_millis(25);
    /// What stalls in one test would in another.
    static ONE: Mutex<()> = Mutex::new(());

    /// Whether it lasts for eight ticks in a row, within `ticks`: other tests write files too.
    fn stalls(ticks: usize) -> bool {
        let stall = Stall::watch();
        (0..ticks).any(|_| {
            sleep(TICK);
            stall.lasts(8 * TICK)
        })
    }

    /// A content that takes its time.
    struct Slow(bool);

    impl io::Read for Slow {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0 |= stalls(12);
            Ok(0)
        }
    }

    #[test]
    fn making_a_content_is_no_stall() {
        let _one = ONE.lock();
        let folder = tempfile::tempdir().unwrap();
        let mut stalled = false;
        write_whole(&folder.path().join("a"), |to| {
            to.write_all(b"begin")?;
            stalled = stalls(12);
            to.write_all(b"end")
        })
        .unwrap();
        let mut slow = Slow(false);
        write_synced(folder.path(), "b", &mut slow).unwrap();
        assert!(!stalled && !slow.0);
    }

    #[test]
    fn a_call_that_does_not_come_back_is_one() {
        let _one = ONE.lock();
        struct Stuck(bool);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                assert!(bytes.len() <= PIECE);
                self.0 |= stalls(400);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut to = Counted(Stuck(false));
        to.write_all(&vec![0; PIECE + 1]).unwrap();
        assert!(to.0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn so_is_a_pipe_that_nobody_reads() {
        let _one = ONE.lock();
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|made| made.success()) {
            return println!("skipped: no mkfifo");
        }
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| write_whole(&pipe, |to| to.write_all(b"text")));
            let stalled = stalls(400);
            assert!(Stall::watch().files().contains(&pipe));
            assert_eq!(std::fs::read(&pipe).unwrap(), b"text");
            writer.join().unwrap().unwrap();
            assert!(stalled && !Stall::watch().files().contains(&pipe));
        });
    }
}
