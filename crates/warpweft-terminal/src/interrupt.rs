//! Handling of signals: Ctrl-C, and those by which `kill`, schedulers and `mpirun` end a program. Most commands end
//! at once, without temporary files. A command that [`listen`]s is asked to stop and saves what it has; a second
//! signal ends it at once. Also the signal for files that exceed a limit.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use warpweft::grid::io::{Stall, remove_temporary_files};

use crate::{output, place, requested};

static STOP: AtomicBool = AtomicBool::new(false);
static LISTENS: AtomicBool = AtomicBool::new(false);
static OVER: AtomicBool = AtomicBool::new(false);
/// When the first signal came.
static ASKED: Mutex<Option<Instant>> = Mutex::new(None);

/// One request to end may reach a process of several twice: from the terminal and from `mpirun`.
const ONE_REQUEST: Duration = Duration::from_secs(1);
/// A read or write that makes no progress for so long after a signal never ends.
const STALLED: Duration = Duration::from_secs(3);
/// Launchers kill their processes about a second after they have passed a signal on: before that, the user must know what
/// is waited for.
const SOON: Duration = Duration::from_millis(300);
/// How long the end of the process waits for a line on standard error, whose reader may be gone, too.
const PATIENCE: Duration = Duration::from_millis(500);

/// Handles SIGINT (Ctrl-C), SIGTERM and SIGHUP from now on: they end the program with [`output::INTERRUPTED`].
pub fn handle() {
    let hang_up_ignored = ignores_hang_up();
    // Fails only if a handler exists already, and then it is this one.
    let _ = ctrlc::set_handler(|| {
        if !LISTENS.load(Ordering::Relaxed) || asked_before() {
            if let Some(files) = requested::state() {
                say(output::complain, format!("ended by a signal; {files}"));
            }
            end();
        }
        ask();
    });
    outlive_ranks();
    if hang_up_ignored {
        // SAFETY: sets a constant disposition for a signal whose handler this program has just set.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
    }
}

/// Asks the program to stop, as the first signal does.
pub fn ask() {
    if !STOP.swap(true, Ordering::Relaxed) {
        thread::spawn(end_if_stalled);
    }
}

/// Records that the work is done and this process leaves MPI. A launcher may signal it from now on; no note about unfinished work is printed then.
pub fn over() {
    OVER.store(true, Ordering::Relaxed);
}

/// MPICH's launcher tells the ranks by SIGUSR1 that one of them has ended, if they are to go on (`-disable-auto-cleanup`).
/// They find out which by themselves.
fn outlive_ranks() {
    if place::place().is_some() {
        // SAFETY: sets a constant disposition for a signal that nothing here handles.
        unsafe { libc::signal(libc::SIGUSR1, libc::SIG_IGN) };
    }
}

/// From now on the first signal sets [`flag`], and the second ends the program.
pub fn listen() {
    LISTENS.store(true, Ordering::Relaxed);
}

/// Whether an earlier signal asked the program to end.
fn asked_before() -> bool {
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    match *asked {
        None => {
            *asked = Some(Instant::now());
            false
        }
        Some(first) => place::place().is_none() || first.elapsed() > ONE_REQUEST,
    }
}

/// Ends the program if it waits for a file: for the other end of a pipe, or a network that is gone.
fn end_if_stalled() {
    let (stall, asked) = (Stall::watch(), Instant::now());
    // Without a launcher, nothing kills the process early, so it prints no early notes.
    let of_launcher = place::place().is_some();
    let (mut works, mut waits) = (of_launcher && place::speaks(), of_launcher);
    loop {
        thread::sleep(Duration::from_millis(50));
        if waits && stall.lasts(SOON) {
            (works, waits) = (false, false);
            let what = format!("waits for {}", named(&stall.files()));
            say(output::note_here, with_requested("interrupted, but still ", what));
        }
        if works && asked.elapsed() > SOON {
            works = false;
            if requested::state().is_some() && !OVER.load(Ordering::Relaxed) {
                let what = with_requested("interrupted: ", "finishes what it has begun".into());
                say(output::note_here, what);
            }
        }
        if stall.lasts(STALLED) {
            let files = stall.files();
            let what = format!("while {} could be neither read nor written", named(&files));
            let what = with_requested("interrupted ", what);
            say(output::complain, format!("{what}; help: {}", hint(&files)));
            end();
        }
    }
}

/// The names of `files`.
fn named(files: &[PathBuf]) -> String {
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    if files.is_empty() { "a file".into() } else { files.join(" and ") }
}

/// `what` happened, and which requested files are written.
fn with_requested(begin: &str, what: String) -> String {
    let files = requested::state().map(|files| format!("; {files}")).unwrap_or_default();
    format!("{begin}{what}{files}")
}

/// What to do about `files` that could not be read or written.
fn hint(files: &[PathBuf]) -> &'static str {
    let is_pipe = |file: &PathBuf| file.metadata().is_ok_and(|known| !known.is_file());
    match files.iter().any(is_pipe) {
        true => "start the program at the other end of the pipe, or use a regular file instead",
        false => "check that the file system answers",
    }
}

/// Prints `what` by `print`, in a thread of its own: another may hold the terminal for ever.
fn say(print: fn(&str), what: String) {
    let (done, wait) = mpsc::channel();
    let print = move || {
        print(&what);
        let _ = done.send(());
    };
    // Without a thread nothing is said: the end must not hang.
    if thread::Builder::new().spawn(print).is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}

/// Ends the process at once: no destructors, which might wait for the main thread.
fn end() -> ! {
    remove_temporary_files();
    // SAFETY: ends the process; nothing of it is used afterwards.
    unsafe { libc::_exit(output::INTERRUPTED.into()) }
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
