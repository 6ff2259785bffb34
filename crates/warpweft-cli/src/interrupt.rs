//! Ctrl-C: the first asks the run to stop after the present sweep, the second stops at once.

use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);

/// The exit status of a program that Ctrl-C ended: 128 + SIGINT.
pub const STATUS: u8 = 130;

/// Listens for Ctrl-C from now on. Without a handler Ctrl-C ends the program at once, as ever.
pub fn listen() {
    // Fails only when there is a handler already, and then this one is it.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(STATUS.into());
        }
    });
}

/// Set once Ctrl-C was pressed.
pub fn flag() -> &'static AtomicBool {
    &STOP
}
