//! Handling of signals: Ctrl-C, and those by which `kill`, schedulers and `mpirun` end a program. The first
//! asks the run to stop after the present sweep, the second ends the process at once. Also the signal for
//! files that exceed a limit.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit status of an interrupted run: 128 + SIGINT.
pub const STATUS: u8 = 130;

/// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP from now on. Without a handler they end the program at once.
pub fn listen() {
    let hang_up_ignored = ignores_hang_up();
    // Fails only if a handler exists already, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(STATUS.into());
        }
    });
    if hang_up_ignored {
        // SAFETY: sets a constant disposition for a signal whose handler this program has just set.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

/// Whether the program was started to survive its terminal, e.g. by `nohup`.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    // Bit 0 is signal 1, which is SIGHUP.
    signals.is_some_and(|signals| signals & 1 != 0)
}

/// From now on, a file that grows beyond the limit (`ulimit -f`) is a write error and does not end the
/// program. The partial file is removed, and other files are saved.
pub fn survive_long_files() {
    // SAFETY: sets a constant disposition for a signal that nothing here handles; the write then fails.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether the run was asked to stop.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// The flag that is set when the run is asked to stop.
pub fn flag() -> &'static AtomicBool {
    &STOP
}
