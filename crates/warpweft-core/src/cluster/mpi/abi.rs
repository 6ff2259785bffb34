//! The few functions of an MPI library that ranks need, loaded at run time, behind a safe interface:
//! all of MPI's unsafe.
//!
//! Two binary interfaces are in use. Open MPI (`libmpi.so.40`) makes handles pointers to objects that
//! the library exports; MPICH and its kin (`libmpich.so.12`, by the interface that they agreed on in
//! 2013) make them integers fixed for good. [`World`] is written once over the handle.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::cluster::transport::{Remote, Shared, Tag};

/// Calls from several threads, one at a time: MPI_THREAD_SERIALIZED.
const SERIALIZED: c_int = 2;
/// Longer than any library's version text (MPICH's is up to 8192 bytes) and error text.
const TEXT: usize = 16_384;

/// Room for an MPI_Status: 24 bytes in Open MPI, 20 in MPICH.
type Status = [u64; 8];

/// What a transport needs of a library that has been initialised. Errors are the library's texts.
pub(super) trait Wire: Send + Sync {
    /// This rank and how many there are.
    fn place(&self) -> (usize, usize);
    /// Begins to send part of `message`, which is kept until it is on its way.
    fn start(
        &self,
        to: usize,
        tag: Tag,
        message: &Message,
        part: Range<usize>,
    ) -> Result<(), String>;
    /// Lets go of messages that are on their way; returns how many are not.
    fn reap(&self) -> Result<usize, String>;
    /// The next message from `from`, or anybody, if one has come.
    fn poll(&self, from: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, String>;
    /// Makes room for messages on so many lanes; all ranks come here.
    fn open_lanes(&self, lanes: usize) -> Result<(), String>;
    /// What the library calls itself.
    fn version(&self) -> String;
    /// Whether it sends from and receives into device memory, by its own account.
    fn cuda_aware(&self) -> bool;
    /// Ends this rank's part; waits for the others.
    fn finalize(&self) -> Result<(), String>;
    /// Ends all ranks at once.
    fn abort(&self, code: i32);
}

/// What is sent, and stays where it is until it is on its way.
#[derive(Clone)]
pub(super) enum Message {
    /// In the host's memory.
    Host(Shared),
    /// In that of a GPU.
    Device(Arc<dyn Remote>),
}

impl Message {
    /// Bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Host(message) => (**message).as_ref().len(),
            Self::Device(message) => message.bytes(),
        }
    }

    /// Where its bytes begin.
    fn start(&self) -> *const u8 {
        match self {
            Self::Host(message) => (**message).as_ref().as_ptr(),
            Self::Device(message) => message.address() as *const u8,
        }
    }
}

/// Where to put a message.
pub(super) enum Room<'a> {
    /// Into a GPU's memory from this byte on, if it fits.
    Device(&'a dyn Remote, usize),
    /// Behind what is there.
    Append(&'a mut Vec<u8>),
    /// At the beginning, if it fits.
    Into(&'a mut [u8]),
}

/// What came of a look for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Polled {
    /// None has come.
    Nothing,
    /// It was received: so many bytes.
    Received(usize),
    /// It does not fit and lies where it lay: so many bytes.
    TooLong(usize),
}

/// A handle of communicators, datatypes, requests and error handlers.
trait Handle: Copy + Send + Sync + 'static {
    /// Any value, to be overwritten.
    const BLANK: Self;
}

/// Open MPI's: the address of an object.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Object(*mut c_void);
// SAFETY: an address that only the library follows, which does its own locking.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Handle for Object {
    const BLANK: Self = Self(std::ptr::null_mut());
}

impl Handle for c_int {
    const BLANK: Self = 0;
}

/// The constants in which the interfaces differ.
struct Constants<H> {
    world: H,
    byte: H,
    errors_return: H,
    any_source: c_int,
}

type Code = c_int;

/// The functions, with their types in either interface.
struct Calls<H> {
    init_thread: unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> Code,
    query_thread: unsafe extern "C" fn(*mut c_int) -> Code,
    initialized: unsafe extern "C" fn(*mut c_int) -> Code,
    finalized: unsafe extern "C" fn(*mut c_int) -> Code,
    finalize: unsafe extern "C" fn() -> Code,
    abort: unsafe extern "C" fn(H, c_int) -> Code,
    comm_dup: unsafe extern "C" fn(H, *mut H) -> Code,
    comm_rank: unsafe extern "C" fn(H, *mut c_int) -> Code,
    comm_size: unsafe extern "C" fn(H, *mut c_int) -> Code,
    comm_set_errhandler: unsafe extern "C" fn(H, H) -> Code,
    isend: unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> Code,
    test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> Code,
    iprobe: unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut Status) -> Code,
    get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> Code,
    recv: unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut Status) -> Code,
    error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> Code,
    version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> Code,
    query_cuda: Option<unsafe extern "C" fn() -> c_int>,
}

macro_rules! symbol {
    ($library:expr, $name:literal) => {
        // SAFETY: the type is the one that the standard gives the function, in the library's own
        // interface; the library is never closed.
        unsafe { $library.get(concat!($name, "\0").as_bytes()).map(|found| *found) }
            .map_err(|error| error.to_string())
    };
}

impl<H: Handle> Calls<H> {
    fn of(library: &Library) -> Result<Self, String> {
        Ok(Self {
            init_thread: symbol!(library, "MPI_Init_thread")?,
            query_thread: symbol!(library, "MPI_Query_thread")?,
            initialized: symbol!(library, "MPI_Initialized")?,
            finalized: symbol!(library, "MPI_Finalized")?,
            finalize: symbol!(library, "MPI_Finalize")?,
            abort: symbol!(library, "MPI_Abort")?,
            comm_dup: symbol!(library, "MPI_Comm_dup")?,
            comm_rank: symbol!(library, "MPI_Comm_rank")?,
            comm_size: symbol!(library, "MPI_Comm_size")?,
            comm_set_errhandler: symbol!(library, "MPI_Comm_set_errhandler")?,
            isend: symbol!(library, "MPI_Isend")?,
            test: symbol!(library, "MPI_Test")?,
            iprobe: symbol!(library, "MPI_Iprobe")?,
            get_count: symbol!(library, "MPI_Get_count")?,
            recv: symbol!(library, "MPI_Recv")?,
            error_string: symbol!(library, "MPI_Error_string")?,
            version: symbol!(library, "MPI_Get_library_version")?,
            query_cuda: symbol!(library, "MPIX_Query_cuda_support").ok(),
        })
    }
}

/// A message whose sending has begun.
struct Pending<H> {
    request: H,
    /// Keeps the bytes where they are.
    _message: Message,
}

/// All ranks, as one of them.
struct World<H> {
    calls: Calls<H>,
    constants: Constants<H>,
    rank: usize,
    ranks: usize,
    /// Whether the library was initialised here, and so is finalised here.
    ours: bool,
    /// What threads it allows.
    level: c_int,
    /// Held during every call, as the level of threading asks for.
    held: Mutex<Held<H>>,
}

/// What calls need.
struct Held<H> {
    /// A communicator a lane; of our own, so that a program's other messages are not taken for ours.
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
pub(super) fn open(name: &str) -> Result<Box<dyn Wire>, String> {
    // SAFETY: MPI libraries are made to be loaded; global symbols, since Open MPI's own plugins
    // look its symbols up.
    let library = unsafe { Library::open(Some(name), RTLD_NOW | RTLD_GLOBAL) };
    // Never closed: a library that has been finalised may still have threads.
    let library = library.map_err(|error| {
        // The system's reason names the file.
        std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string)
    });
    let library = Box::leak(Box::new(library?));
    if let Ok(world) = exported(library, "ompi_mpi_comm_world\0") {
        let constants = Constants {
            world,
            byte: exported(library, "ompi_mpi_byte\0")?,
            errors_return: exported(library, "ompi_mpi_errors_return\0")?,
            any_source: -1,
        };
        return Ok(Box::new(World::start(Calls::of(library)?, constants)?));
    }
    let calls: Calls<c_int> = Calls::of(library)?;
    let version = calls.version_text();
    let kin = ["MPICH", "Intel(R) MPI", "MVAPICH", "CRAY MPICH"];
    if !kin.iter().any(|name| version.contains(name)) {
        let first = version.lines().next().unwrap_or_default();
        return Err(format!("{name} is {first}, neither Open MPI nor kin of MPICH"));
    }
    let constants = Constants {
        world: 0x4400_0000,
        byte: 0x4c00_010d,
        errors_return: 0x5400_0001,
        any_source: -2,
    };
    Ok(Box::new(World::start(calls, constants)?))
}

/// The address of one of Open MPI's objects.
fn exported(library: &Library, name: &str) -> Result<Object, String> {
    // SAFETY: only the symbol's address is taken.
    let found = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
    found.map(|symbol| Object(symbol.into_raw().cast())).map_err(|error| error.to_string())
}

impl<H: Handle> Calls<H> {
    fn version_text(&self) -> String {
        let (mut text, mut length) = (vec![0u8; TEXT], 0);
        // SAFETY: writes less than TEXT bytes; the standard allows it before initialisation.
        let code = unsafe { (self.version)(text.as_mut_ptr().cast(), &mut length) };
        if code == 0 { text_of(&text) } else { String::new() }
    }

    /// `Err` with the library's text unless `code` is success.
    fn check(&self, code: Code, what: &str) -> Result<(), String> {
        if code == 0 {
            return Ok(());
        }
        let (mut text, mut length) = (vec![0u8; TEXT], 0);
        // SAFETY: writes less than TEXT bytes.
        let known = unsafe { (self.error_string)(code, text.as_mut_ptr().cast(), &mut length) };
        let text = if known == 0 { text_of(&text) } else { format!("error {code}") };
        Err(format!("{what}: {text}"))
    }
}

impl<H: Handle> Calls<H> {
    /// A further communicator like `of`, which all its ranks make together; MPI must be initialised.
    fn own(&self, of: H, constants: &Constants<H>) -> Result<H, String> {
        let mut comm = H::BLANK;
        // SAFETY: a handle of this library; writes one handle.
        let code = unsafe { (self.comm_dup)(of, &mut comm) };
        self.check(code, "making a communicator")?;
        // SAFETY: both are handles of this library.
        let code = unsafe { (self.comm_set_errhandler)(comm, constants.errors_return) };
        self.check(code, "choosing how errors are told").map(|()| comm)
    }
}

fn text_of(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().trim().to_string()
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
                    "MPI allows threads to level {provided} only, not {SERIALIZED}"
                ));
            }
        } else {
            // SAFETY: MPI is initialised; writes one integer.
            let code = unsafe { (calls.query_thread)(&mut provided) };
            calls.check(code, "asking for the level of threads")?;
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

    /// Nothing panics while it is held, so a poisoned list is still whole.
    fn lock(&self) -> MutexGuard<'_, Held<H>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H: Handle> Wire for World<H> {
    fn place(&self) -> (usize, usize) {
        (self.rank, self.ranks)
    }

    fn start(
        &self,
        to: usize,
        tag: Tag,
        message: &Message,
        part: Range<usize>,
    ) -> Result<(), String> {
        let mut held = self.lock();
        if part.start > part.end || part.end > message.len() {
            return Err("a part beyond the message's end".into());
        }
        let count = c_int::try_from(part.len()).map_err(|_| "a part of 2 GiB or more")?;
        let from = message.start().wrapping_add(part.start).cast();
        let (to, comm, tag) = (to as c_int, held.comm(tag)?, c_int::from(tag.number()));
        let mut request = H::BLANK;
        // SAFETY: so many bytes of `message`, a clone of which is kept until the request is complete, so
        // that nobody can borrow what it holds exclusively before.
        let code = unsafe {
            (self.calls.isend)(from, count, self.constants.byte, to, tag, comm, &mut request)
        };
        self.calls.check(code, "sending")?;
        held.pending.push(Pending { request, _message: message.clone() });
        Ok(())
    }

    fn reap(&self) -> Result<usize, String> {
        let pending = &mut self.lock().pending;
        let mut at = 0;
        while at < pending.len() {
            let (mut done, mut status) = (0, Status::default());
            // SAFETY: a request that has not been completed; writes an integer and a status.
            let code =
                unsafe { (self.calls.test)(&mut pending[at].request, &mut done, &mut status) };
            self.calls.check(code, "sending")?;
            if done != 0 {
                pending.swap_remove(at);
            } else {
                at += 1;
            }
        }
        Ok(pending.len())
    }

    fn poll(&self, from: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, String> {
        let held = self.lock();
        let comm = held.comm(tag)?;
        let from = from.map_or(self.constants.any_source, |rank| rank as c_int);
        let (tag, byte) = (c_int::from(tag.number()), self.constants.byte);
        let (mut there, mut count, mut status) = (0, 0, Status::default());
        // SAFETY: writes an integer and a status.
        let code = unsafe { (self.calls.iprobe)(from, tag, comm, &mut there, &mut status) };
        self.calls.check(code, "looking for a message")?;
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
        // SAFETY: `to` is borrowed exclusively, or a device's by the contract of `Remote`, and holds
        // `count` bytes. Nobody else receives in between: the lock is held.
        let code = unsafe {
            let to = to.cast();
            (self.calls.recv)(to, count, byte, from, tag, comm, &mut status)
        };
        self.calls.check(code, "receiving")?;
        Ok(Polled::Received(length))
    }

    fn open_lanes(&self, lanes: usize) -> Result<(), String> {
        if self.level < SERIALIZED {
            return Err(format!(
                "this program began MPI for threads to level {} only, not {SERIALIZED}, as several ranks a process need",
                self.level
            ));
        }
        let mut held = self.lock();
        while held.comms.len() < lanes {
            // Of one whose errors are told, not of the program's own.
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
        // Not locked: whoever holds the lock may be waiting for a rank that is gone.
        // SAFETY: the handle is the library's own; it ends the process.
        let _ = unsafe { (self.calls.abort)(self.constants.world, code) };
    }
}
