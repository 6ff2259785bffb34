//! The other processes that `mpirun` started with this one, if any.

use std::process::ExitCode;
#[cfg(feature = "mpi")]
use std::sync::OnceLock;
#[cfg(feature = "mpi")]
use std::time::{Duration, Instant};

use warpweft::cluster::Transport;
#[cfg(feature = "mpi")]
use warpweft::cluster::mpi::Mpi;
use warpweft::{Error, Result};

use crate::output;
use crate::place;

/// How long the first process may take to report another's error.
#[cfg(feature = "mpi")]
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(feature = "mpi")]
static JOINED: OnceLock<Mpi> = OnceLock::new();

/// Joins the other processes, if there are any. This comes first, so that later errors can be sent to them.
///
/// # Errors
/// MPI support is not built in, or the library can't be used.
pub fn join() -> Result<()> {
    let Some(place) = place::place() else { return Ok(()) };
    #[cfg(not(feature = "mpi"))]
    return place.refuse();
    #[cfg(feature = "mpi")]
    {
        let mpi = Mpi::join(&place)?;
        JOINED.get_or_init(|| mpi);
        Ok(())
    }
}

/// The transport to the other processes, after joining.
pub fn net() -> Option<&'static dyn Transport> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return JOINED.get().map(|mpi| mpi as &dyn Transport);
}

/// The name of the transport, for reports.
pub fn network() -> Option<String> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return JOINED.get().map(|mpi| {
        let aware = if mpi.cuda_aware() { "" } else { "not " };
        format!("{}, {aware}CUDA-aware", mpi.library())
    });
}

/// Leaves the others in order after all work is done.
pub fn leave(status: ExitCode) -> ExitCode {
    #[cfg(feature = "mpi")]
    if let Some(Err(error)) = JOINED.get().map(Mpi::leave) {
        return fail(&error);
    }
    status
}

/// Ends all processes because of this one's arguments: the others may have valid ones, and wait for it.
pub fn refuse(what: &str, status: u8) -> ExitCode {
    #[cfg(not(feature = "mpi"))]
    let _ = what;
    // Without others there is no one to notify.
    #[cfg(feature = "mpi")]
    if let (Ok(()), Some(mpi)) = (join(), JOINED.get()) {
        mpi.abort(what);
        // The first process ends all after it has printed the error; it may still be measuring its host.
        let begin = Instant::now();
        while !place::speaks() && begin.elapsed() < PATIENCE {
            // The result is a known error, but the call makes messages progress.
            let _ = mpi.check();
            std::thread::sleep(Duration::from_millis(20));
        }
        mpi.end_all(status);
    }
    ExitCode::from(status)
}

/// Prints an error and ends all processes.
pub fn fail(error: &Error) -> ExitCode {
    let status = output::fail(error);
    #[cfg(feature = "mpi")]
    if let Some(mpi) = JOINED.get() {
        mpi.abort(&error.to_string());
        mpi.end_all(output::status(error));
    }
    status
}
