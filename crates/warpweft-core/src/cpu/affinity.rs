//! Binding the calling thread to one core.

/// Binds the calling thread to core `core`, by the system's numbers.
///
/// # Errors
/// The system's error, e.g. if the core is outside the process's allowed set. On systems without such a call
/// the thread stays unbound and this succeeds.
#[cfg(target_os = "linux")]
pub(super) fn pin(core: usize) -> std::io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(std::io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero set is the empty set; `core` is below the size of the set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        set
    };
    // SAFETY: thread 0 is the caller, and the set lives across the call.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn pin(_: usize) -> std::io::Result<()> {
    Ok(())
}
