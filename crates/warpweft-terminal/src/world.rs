//! The other processes that `mpirun` started with this one, if any.

use std::process::ExitCode;
#[cfg(feature = "mpi")]
use std::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "mpi")]
use std::sync::{Mutex, OnceLock, PoisonError};
#[cfg(feature = "mpi")]
use std::time::Duration;

use warpweft::cluster::Transport;
#[cfg(feature = "mpi")]
use warpweft::cluster::mpi::Mpi;
use warpweft::{Error, Result};

use crate::statement::Statement;
use crate::{interrupt, output, place};

#[cfg(feature = "mpi")]
static JOINED: OnceLock<Mpi> = OnceLock::new();

/// Whether this process shares its work with the others.
#[cfg(feature = "mpi")]
static SHARES: AtomicBool = AtomicBool::new(false);

/// Why the others could not be joined.
#[cfg(feature = "mpi")]
static UNJOINED: Mutex<Option<Error>> = Mutex::new(None);

/// Joins the other processes, if there are any, and checks that all were asked to do the same. This comes first, so
/// that later errors can be sent to them. A process that can't join them goes on: work of one process needs no other.
///
/// # Errors
/// The exit status, after the error was printed: processes that were asked to do different things.
pub fn meet(statement: impl FnOnce() -> Result<Statement>) -> Result<(), ExitCode> {
    #[cfg(not(feature = "mpi"))]
    let _ = statement;
    #[cfg(feature = "mpi")]
    if let (Some(place), None) = (place::place(), JOINED.get()) {
        let mpi = match Mpi::join(&place) {
            Ok(mpi) => JOINED.get_or_init(|| mpi),
            Err(error) => {
                *UNJOINED.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                return Ok(());
            }
        };
        let said = statement().map_err(|error| fail(&error))?;
        return said.compare(mpi).map_err(|error| match error {
            // All have this error.
            Error::Spec { .. } => leave(output::fail(&error)),
            error => fail(&error),
        });
    }
    Ok(())
}

/// Shares the work of this process with the others, if there are any: from now on there is a [`net`].
///
/// # Errors
/// MPI support is not built in, or the library can't be used.
pub fn join() -> Result<()> {
    let Some(place) = place::place() else { return Ok(()) };
    #[cfg(not(feature = "mpi"))]
    return place.refuse();
    #[cfg(feature = "mpi")]
    match UNJOINED.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None if JOINED.get().is_none() => {
            let mpi = Mpi::join(&place)?;
            JOINED.get_or_init(|| mpi);
            SHARES.store(true, Ordering::Relaxed);
            Ok(())
        }
        None => {
            SHARES.store(true, Ordering::Relaxed);
            Ok(())
        }
    }
}

/// The transport to the other processes, after joining.
pub fn net() -> Option<&'static dyn Transport> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return shared().map(|mpi| mpi as &dyn Transport);
}

#[cfg(feature = "mpi")]
fn shared() -> Option<&'static Mpi> {
    JOINED.get().filter(|_| SHARES.load(Ordering::Relaxed))
}

/// The name of the transport, for reports.
pub fn network() -> Option<String> {
    #[cfg(not(feature = "mpi"))]
    return None;
    #[cfg(feature = "mpi")]
    return shared().map(|mpi| {
        let aware = if mpi.cuda_aware() { "" } else { "not " };
        format!("{}, {aware}CUDA-aware", mpi.library())
    });
}

/// Leaves the others in order after all work is done. Every process ends with the same status: that of the first
/// with one, else that of an interrupt if any was asked to end. A second call returns the same status.
pub fn leave(status: ExitCode) -> ExitCode {
    leave_or(status, &|| {})
}

/// Like [`leave`]; calls `failed` before the error is printed, if that is impossible because of another process: launchers end
/// the others soon after the first one that ends with an error.
pub fn leave_or(status: ExitCode, failed: &dyn Fn()) -> ExitCode {
    #[cfg(not(feature = "mpi"))]
    let _ = failed;
    #[cfg(feature = "mpi")]
    if let Some(mpi) = JOINED.get() {
        static LEFT: OnceLock<ExitCode> = OnceLock::new();
        return *LEFT.get_or_init(|| {
            let all = crate::ending::shared(mpi, ended(status), &interrupt::stopped);
            interrupt::over();
            all.and_then(|all| mpi.leave().map(|()| all)).unwrap_or_else(|error| {
                failed();
                fail(&error)
            })
        });
    }
    ended(status)
}

/// Does `work`, in which rank 0 may wait for a pipe for ever. If a signal reaches another rank meanwhile, rank 0 stops as if it had received the
/// signal.
pub fn while_writing<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(feature = "mpi")]
    if let Some(mpi) = JOINED.get().filter(|_| place::speaks()) {
        let done = AtomicBool::new(false);
        return std::thread::scope(|scope| {
            let listen = || {
                while !done.load(Ordering::Relaxed) {
                    match crate::ending::others_asked(mpi) {
                        Ok(false) => std::thread::sleep(Duration::from_millis(10)),
                        Ok(true) => return interrupt::ask(),
                        // `leave` meets the same error and reports it.
                        Err(_) => return,
                    }
                }
            };
            // Without a thread only signals to this process end it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, listen);
            let _end = Done(&done);
            work()
        });
    }
    work()
}

/// Ends the thread that listens, however the work ends.
#[cfg(feature = "mpi")]
struct Done<'a>(&'a AtomicBool);

#[cfg(feature = "mpi")]
impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `status`, unless all went well and the process was asked to end meanwhile.
fn ended(status: ExitCode) -> ExitCode {
    match interrupt::stopped() && status == ExitCode::SUCCESS {
        true => ExitCode::from(output::INTERRUPTED),
        false => status,
    }
}

/// Ends this process, which can't start because of `what`, and all others. If all have the same error, one of them prints
/// it by `print`, and the exit status is `status`; otherwise it is that of processes which disagree.
pub fn refuse(what: &str, status: u8, print: impl FnOnce()) -> ExitCode {
    if let Err(status) = meet(|| Ok(Statement::of_refusal(what))) {
        return status;
    }
    if place::speaks() {
        print();
    }
    leave(ExitCode::from(status))
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
