//! Ctrl-C, and the signals by which `kill`, schedulers and `mpirun` ask a program to end: the first
//! asks the run to stop after the present sweep, the second stops at once. And the one that comes with a
//! file that grows too long.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit status of a run that was asked to end: 128 + SIGINT, as of one that Ctrl-C ended.
pub const STATUS: u8 = 130;

/// Listens for SIGINT (Ctrl-C), SIGTERM and SIGHUP from now on. Without a handler they end the program
/// at once, as ever.
pub fn listen() {
    let hang_up_ignored = ignores_hang_up();
    // Fails only when there is a handler already, and then this one is it.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(STATUS.into());
        }
    });
    if hang_up_ignored {
        // SAFETY: a constant disposition for a signal that this program's own handler was just set for.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

/// Whether the program was started to outlive its terminal, as by `nohup`.
fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let signals = ignored.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    // Bit 0 is signal 1, which is SIGHUP.
    signals.is_some_and(|signals| signals & 1 != 0)
}

/// From now on a file that grows beyond the limit (`ulimit -f`) is one that can't be written, and not
/// the program's end: what was half written is removed, and all else is saved.
pub fn survive_long_files() {
    // SAFETY: a constant disposition for a signal that nothing here handles; the write then fails.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether the run was asked to end.
pub fn stopped() -> bool {
    STOP.load(Ordering::Relaxed)
}

/// Set once the run was asked to end.
pub fn flag() -> &'static AtomicBool {
    &STOP
}
