//! The other processes that `mpirun` started with this one, if it did.

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

/// How long the first process has to tell what another found wrong.
#[cfg(feature = "mpi")]
const PATIENCE: Duration = Duration::from_secs(60);

#[cfg(feature = "mpi")]
static JOINED: OnceLock<Mpi> = OnceLock::new();

/// Joins the other processes, if there are any: done first of all, so that whatever fails later can
/// be told to them.
///
/// # Errors
/// MPI is not built in, or its library can't be used.
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

/// The way to the other processes, once joined.
pub fn net() -> Option<&'static dyn Transport> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return JOINED.get().map(|mpi| mpi as &dyn Transport);
}

/// What reports call the way to the other processes.
pub fn network() -> Option<String> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return JOINED.get().map(|mpi| {
        let aware = if mpi.cuda_aware() { "" } else { "not " };
        format!("{}, {aware}CUDA-aware", mpi.library())
    });
}

/// Leaves the others in good order after all is done.
pub fn leave(status: ExitCode) -> ExitCode {
    #[cfg(feature = "mpi")]
    if let Some(Err(error)) = JOINED.get().map(Mpi::leave) {
        return fail(&error);
    }
    status
}

/// Ends all processes over the arguments of this one: the others may have better ones, and wait for it.
pub fn refuse(what: &str, status: u8) -> ExitCode {
    #[cfg(not(feature = "mpi"))]
    let _ = what;
    // Without the others there is nobody to be told.
    #[cfg(feature = "mpi")]
    if let (Ok(()), Some(mpi)) = (join(), JOINED.get()) {
        mpi.abort(what);
        // The first process ends all when it has said what is wrong: it may be measuring its host.
        let begin = Instant::now();
        while !place::speaks() && begin.elapsed() < PATIENCE {
            // An error it is, and known; but messages move on.
            let _ = mpi.check();
            std::thread::sleep(Duration::from_millis(20));
        }
        mpi.end_all(status);
    }
    ExitCode::from(status)
}

/// Says what went wrong and ends all processes.
pub fn fail(error: &Error) -> ExitCode {
    let status = output::fail(error);
    #[cfg(feature = "mpi")]
    if let Some(mpi) = JOINED.get() {
        mpi.abort(&error.to_string());
        mpi.end_all(output::status(error));
    }
    status
}
