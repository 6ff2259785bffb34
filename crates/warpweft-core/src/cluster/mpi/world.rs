//! MPI calls behind a safe interface.
//!
//! [`World`] is generic over the handle type of the binary interface (`symbols`).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use super::api::{Fault, Message, MpiApi, Polled, Room};
use super::symbols::{Calls, Constants, Handle, Object, Status};
use crate::cluster::transport::Tag;

/// Calls may come from several threads, one at a time: MPI_THREAD_SERIALIZED.
const SERIALIZED: c_int = 2;

/// A tag that no message has.
const UNUSED: Tag = Tag(0x7ffd);

/// A message that is being sent.
struct Pending<H> {
    request: H,
    /// Keeps the bytes in place.
    _message: Message,
}

/// The library, initialised.
struct World<H> {
    calls: Calls<H>,
    constants: Constants<H>,
    rank: usize,
    ranks: usize,
    /// Whether it was initialised here; then it is finalised here too.
    ours: bool,
    /// The supported thread level.
    level: c_int,
    /// Locked during every call, as the thread level requires.
    held: Mutex<Held<H>>,
}

/// The state that calls need.
struct Held<H> {
    /// One communicator for each lane. They are our own, so that other messages of the program are not
    /// received here.
    comms: Vec<H>,
    pending: Vec<Pending<H>>,
}

impl<H: Handle> Held<H> {
    fn comm(&self, tag: Tag) -> Result<H, String> {
        let lane = tag.lane();
        self.comms.get(lane).copied().ok_or_else(|| format!("no lane {lane}"))
    }
}

/// Loads the library `name` and initialises it.
pub(super) fn open(name: &str) -> Result<Box<dyn MpiApi>, String> {
    // SAFETY: MPI libraries may be loaded; symbols are global because Open MPI's plugins need them.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    // Never closed: a library that has been finalised may still have threads.
    let library = library.map_err(|error| {
        // The system's error text names the file.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    });
    let library = Box::leak(Box::new(library?));
    if let Ok(world) = exported(library, "ompi_mpi_comm_world\0") {
        let constants = Constants {
            world,
            byte: exported(library, "ompi_mpi_byte\0")?,
            errors_return: exported(library, "ompi_mpi_errors_return\0")?,
            any_source: -1,
            process_failed: 75,
        };
        return Ok(Box::new(World::start(Calls::of(library)?, constants)?));
    }
    let calls: Calls<c_int> = Calls::of(library)?;
    let version = calls.version_text();
    let kin = ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"];
    if !kin.iter().any(|name| version.contains(name)) {
        let first = version.lines().next().unwrap_or_default();
        return Err(format!("{name} is {first}, which is neither Open MPI nor derived from MPICH"));
    }
    let constants = Constants {
        world: 0x4400_0000,
        byte: 0x4c00_010d,
        errors_return: 0x5400_0001,
        any_source: -2,
        process_failed: 101,
    };
    Ok(Box::new(World::start(calls, constants)?))
}

/// The address of one of Open MPI's objects.
fn exported(library: &Library, name: &str) -> Result<Object, String> {
    // SAFETY: only the symbol's address is taken.
    let found = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
    found.map(|symbol| Object(symbol.into_raw().cast())).map_err(|error| error.to_string())
}

impl<H: Handle> World<H> {
    fn start(calls: Calls<H>, constants: Constants<H>) -> Result<Self, String> {
        let (mut before, mut after, mut provided) = (0, 0, 0);
        // SAFETY: writes one integer; the standard allows it at any time.
        calls.check(unsafe { (calls.finalized)(&mut after) }, "asking for MPI's state")?;
        if after != 0 {
            return Err(
                "this process has left MPI, for good: join once and keep it until the end".into()
            );
        }
        // SAFETY: writes one integer.
        calls.check(unsafe { (calls.initialized)(&mut before) }, "asking for MPI's state")?;
        if before == 0 {
            let none = std::ptr::null_mut();
            // SAFETY: the standard allows null for both arguments; writes one integer.
            let code = unsafe {
                (calls.init_thread)(none, std::ptr::null_mut(), SERIALIZED, &mut provided)
            };
            calls.check(code, "initialising MPI")?;
            if provided < SERIALIZED {
                return Err(format!(
                    "MPI provides only thread level {provided}, but MPI_THREAD_SERIALIZED ({SERIALIZED}) is needed"
                ));
            }
        } else {
            // SAFETY: MPI is initialised; writes one integer.
            let code = unsafe { (calls.query_thread)(&mut provided) };
            calls.check(code, "asking for the thread level")?;
        }
        let comm = calls.own(constants.world, &constants)?;
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: writes one integer.
        calls.check(unsafe { (calls.comm_rank)(comm, &mut rank) }, "asking for the rank")?;
        // SAFETY: as above.
        calls.check(unsafe { (calls.comm_size)(comm, &mut ranks) }, "asking for the ranks")?;
        let held = Mutex::new(Held { comms: vec![comm], pending: Vec::new() });
        let (rank, ranks) = (rank as usize, ranks as usize);
        Ok(Self { calls, constants, rank, ranks, ours: before == 0, level: provided, held })
    }

    /// No code panics while it holds the lock, so the list is consistent even if the lock is poisoned.
    fn lock(&self) -> MutexGuard<'_, Held<H>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Handle> MpiApi for World<H> {
    fn rank_and_ranks(&self) -> (usize, usize) {
        (self.rank, self.ranks)
    }

    fn start(
        &self,
        to: usize,
        tag: Tag,
        message: &Message,
        part: Range<usize>,
    ) -> Result<(), Fault> {
        let mut held = self.lock();
        if part.start > part.end || part.end > message.len() {
            return Err("a byte range that exceeds the message".into());
        }
        let count = c_int::try_from(part.len()).map_err(|_| "a part of 2 GiB or more")?;
        let from = message.start().wrapping_add(part.start).cast();
        let (to, comm, tag) = (to as c_int, held.comm(tag)?, c_int::from(tag.number()));
        let mut request = H::BLANK;
        // SAFETY: that many bytes of `message`. A clone of it is kept until the request is complete, so no
        // one can borrow the bytes exclusively before.
        let code = unsafe {
            (self.calls.isend)(from, count, self.constants.byte, to, tag, comm, &mut request)
        };
        self.calls.exchanged(code, "sending", &self.constants)?;
        held.pending.push(Pending { request, _message: message.clone() });
        Ok(())
    }

    fn reap(&self) -> Result<usize, Fault> {
        let pending = &mut self.lock().pending;
        let mut at = 0;
        while at < pending.len() {
            let (mut done, mut status) = (0, Status::default());
            // SAFETY: a request that has not been completed; writes an integer and a status.
            let code =
                unsafe { (self.calls.test)(&mut pending[at].request, &mut done, &mut status) };
            // A request to a rank that is lost is complete, too.
            let lost = match self.calls.exchanged(code, "sending", &self.constants) {
                Err(Fault::Lost) => true,
                sent => sent.map(|()| false)?,
            };
            if done != 0 || lost {
                pending.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(pending.len())
    }

    fn poll(&self, from: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, Fault> {
        let held = self.lock();
        let comm = held.comm(tag)?;
        let from = from.map_or(self.constants.any_source, |rank| rank as c_int);
        let (tag, byte) = (c_int::from(tag.number()), self.constants.byte);
        let (mut there, mut count, mut status) = (0, 0, Status::default());
        // SAFETY: writes an integer and a status.
        let code = unsafe { (self.calls.iprobe)(from, tag, comm, &mut there, &mut status) };
        self.calls.exchanged(code, "looking for a message", &self.constants)?;
        if there == 0 {
            return Ok(Polled::Nothing);
        }
        // SAFETY: reads the status of the message found; writes an integer.
        let code = unsafe { (self.calls.get_count)(&status, byte, &mut count) };
        self.calls.check(code, "measuring a message")?;
        let length = usize::try_from(count).map_err(|_| "a message of 2 GiB or more")?;
        let to = match room {
            Room::Append(bytes) => {
                let before = bytes.len();
                bytes.resize(before + length, 0);
                bytes[before..].as_mut_ptr()
            }
            Room::Into(bytes) if length <= bytes.len() => bytes.as_mut_ptr(),
            Room::Device(to, from) if length <= to.bytes().saturating_sub(from) => {
                (to.address() as *mut u8).wrapping_add(from)
            }
            Room::Into(_) | Room::Device(..) => return Ok(Polled::TooLong(length)),
        };
        // SAFETY: `to` is borrowed exclusively, or device memory under the contract of `Remote`, and holds
        // `count` bytes. No other thread receives in between: the lock is held.
        let code = unsafe {
            let to = to.cast();
            (self.calls.recv)(to, count, byte, from, tag, comm, &mut status)
        };
        self.calls.exchanged(code, "receiving", &self.constants)?;
        Ok(Polled::Received(length))
    }

    fn is_lost(&self, rank: usize) -> bool {
        let held = self.lock();
        let (mut there, mut status) = (0, Status::default());
        let (rank, tag) = (rank as c_int, c_int::from(UNUSED.number()));
        // SAFETY: writes an integer and a status.
        let code =
            unsafe { (self.calls.iprobe)(rank, tag, held.comms[0], &mut there, &mut status) };
        self.calls.exchanged(code, "looking for a message", &self.constants) == Err(Fault::Lost)
    }

    fn acknowledge_losses(&self) {
        let held = self.lock();
        if let Some(acknowledge) = self.calls.failure_ack {
            for &comm in &held.comms {
                // SAFETY: a communicator of this library. If it fails, the next poll says so again.
                let _ = unsafe { acknowledge(comm) };
            }
        }
    }

    fn open_lanes(&self, lanes: usize) -> Result<(), String> {
        if self.level < SERIALIZED {
            return Err(format!(
                "this program initialised MPI with thread level {}, but several ranks per process need MPI_THREAD_SERIALIZED ({SERIALIZED})",
                self.level
            ));
        }
        let mut held = self.lock();
        while held.comms.len() < lanes {
            // For a communicator whose errors are returned, not the program's own.
            let comm = self.calls.own(held.comms[0], &self.constants)?;
            held.comms.push(comm);
        }
        Ok(())
    }

    fn version(&self) -> String {
        self.calls.version_text()
    }

    fn cuda_aware(&self) -> bool {
        // SAFETY: takes nothing and returns an integer.
        self.calls.query_cuda.is_some_and(|query| unsafe { query() } == 1)
    }

    fn finalize(&self) -> Result<(), String> {
        let _held = self.lock();
        if !self.ours {
            return Ok(());
        }
        // SAFETY: MPI was initialised here; the transport makes no call after this.
        self.calls.check(unsafe { (self.calls.finalize)() }, "finalising MPI")
    }

    fn abort(&self, code: i32) {
        // No lock: the thread that holds it may wait for a rank that is gone. SAFETY: the handle is the
        // library's own; the call ends the process.
        let _ = unsafe { (self.calls.abort)(self.constants.world, code) };
    }
}
