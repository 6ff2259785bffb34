//! Threads that still compile when nobody waits for them. The process waits at its end: the compiler must not be at work
//! when its library is taken down.

use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

use super::nvrtc::Nvrtc;

/// Threads that [`leave_to_compile`] was given, whether the end of the process waits for them, and whether it has.
struct Left {
    threads: Vec<JoinHandle<()>>,
    awaited: bool,
    ended: bool,
}

static LEFT: Mutex<Left> = Mutex::new(Left { threads: Vec::new(), awaited: false, ended: false });

/// Lets threads end their compilations by themselves, so that the kernels are in the cache for later runs. The process
/// waits for them at its end. Where that can't be arranged, or the end has come, this call waits.
pub fn leave_to_compile(threads: Vec<JoinHandle<()>>) {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.threads.retain(|thread| !thread.is_finished());
    left.threads.extend(threads.into_iter().filter(|thread| !thread.is_finished()));
    if left.threads.is_empty() || (left.awaited && !left.ended) {
        return;
    }
    // What is registered last is called first, and the library registers its own end when it is loaded.
    // SAFETY: `wait` neither unwinds nor ends the process.
    left.awaited |= !left.ended && Nvrtc::get().is_ok() && unsafe { libc::atexit(wait) } == 0;
    if left.ended || !left.awaited {
        left.threads.drain(..).for_each(|thread| _ = thread.join());
    }
}

extern "C" fn wait() {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.ended = true;
    let threads = std::mem::take(&mut left.threads);
    drop(left);
    threads.into_iter().for_each(|thread| _ = thread.join());
}
