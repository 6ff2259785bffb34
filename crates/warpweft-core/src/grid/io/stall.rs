//! Whether a file that this process writes makes progress: the other end of a pipe may never come, and a network
//! file system may be gone.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Files that are being opened or written.
static OPEN: AtomicUsize = AtomicUsize::new(0);
/// Counts every piece that was written.
static PIECES: AtomicU64 = AtomicU64::new(0);

/// Counts as a file that is being written, until it is dropped.
pub(super) struct Writing(());

impl Writing {
    pub fn begin() -> Self {
        OPEN.fetch_add(1, Relaxed);
        Self(())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Relaxed);
        PIECES.fetch_add(1, Relaxed);
    }
}

/// A writer whose progress counts.
pub(super) struct Counted<W>(pub W);

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.0.write(bytes);
        PIECES.fetch_add(1, Relaxed);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Watches from another thread whether the files that are being written make progress.
pub struct Stall {
    pieces: Cell<u64>,
    since: Cell<Instant>,
}

impl Stall {
    /// Watches from now on.
    pub fn watch() -> Self {
        Self { pieces: Cell::new(PIECES.load(Relaxed)), since: Cell::new(Instant::now()) }
    }

    /// Whether a file is being written, without progress for `time`.
    pub fn lasts(&self, time: Duration) -> bool {
        let pieces = PIECES.load(Relaxed);
        if OPEN.load(Relaxed) == 0 || pieces != self.pieces.replace(pieces) {
            self.since.set(Instant::now());
        }
        self.since.get().elapsed() >= time
    }
}
