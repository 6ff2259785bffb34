//! The functions of an MPI library, loaded at run time, with the types of either binary interface.
//!
//! Two binary interfaces are in use. Open MPI (`libmpi.so.40`) makes handles pointers to objects that
//! the library exports; MPICH and its derivatives (`libmpich.so.12`, by the interface that they agreed on in
//! 2013) make them integers fixed for good.

use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::os::unix::Library;

use super::api::Fault;

/// Longer than any library's version text (MPICH's is up to 8192 bytes) and error text.
const TEXT: usize = 16_384;

/// Room for an MPI_Status: 24 bytes in Open MPI, 20 in MPICH.
pub(super) type Status = [u64; 8];

/// A handle to communicators, datatypes, requests or error handlers.
pub(super) trait Handle: Copy + Send + Sync + 'static {
    /// Any value; it is overwritten.
    const BLANK: Self;
}

/// Open MPI's: the address of an object.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Object(pub(super) *mut c_void);
// SAFETY: only the library dereferences the address, and it does its own locking.
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
pub(super) struct Constants<H> {
    pub(super) world: H,
    pub(super) byte: H,
    pub(super) errors_return: H,
    pub(super) any_source: c_int,
    /// The first of two classes of errors by which a lost process is known (MPI 5's fault tolerance, ULFM).
    pub(super) process_failed: c_int,
}

pub(super) type Code = c_int;

/// The functions, with their types in either interface.
pub(super) struct Calls<H> {
    pub(super) init_thread:
        unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> Code,
    pub(super) query_thread: unsafe extern "C" fn(*mut c_int) -> Code,
    pub(super) initialized: unsafe extern "C" fn(*mut c_int) -> Code,
    pub(super) finalized: unsafe extern "C" fn(*mut c_int) -> Code,
    pub(super) finalize: unsafe extern "C" fn() -> Code,
    pub(super) abort: unsafe extern "C" fn(H, c_int) -> Code,
    pub(super) comm_dup: unsafe extern "C" fn(H, *mut H) -> Code,
    pub(super) comm_rank: unsafe extern "C" fn(H, *mut c_int) -> Code,
    pub(super) comm_size: unsafe extern "C" fn(H, *mut c_int) -> Code,
    pub(super) comm_set_errhandler: unsafe extern "C" fn(H, H) -> Code,
    pub(super) isend:
        unsafe extern "C" fn(*const c_void, c_int, H, c_int, c_int, H, *mut H) -> Code,
    pub(super) test: unsafe extern "C" fn(*mut H, *mut c_int, *mut Status) -> Code,
    pub(super) iprobe: unsafe extern "C" fn(c_int, c_int, H, *mut c_int, *mut Status) -> Code,
    pub(super) get_count: unsafe extern "C" fn(*const Status, H, *mut c_int) -> Code,
    pub(super) recv:
        unsafe extern "C" fn(*mut c_void, c_int, H, c_int, c_int, H, *mut Status) -> Code,
    pub(super) error_string: unsafe extern "C" fn(c_int, *mut c_char, *mut c_int) -> Code,
    pub(super) version: unsafe extern "C" fn(*mut c_char, *mut c_int) -> Code,
    pub(super) error_class: unsafe extern "C" fn(c_int, *mut c_int) -> Code,
    pub(super) failure_ack: Option<unsafe extern "C" fn(H) -> Code>,
    pub(super) query_cuda: Option<unsafe extern "C" fn() -> c_int>,
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
    pub(super) fn of(library: &Library) -> Result<Self, String> {
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
            error_class: symbol!(library, "MPI_Error_class")?,
            failure_ack: symbol!(library, "MPIX_Comm_failure_ack").ok(),
            query_cuda: symbol!(library, "MPIX_Query_cuda_support").ok(),
        })
    }
}

impl<H: Handle> Calls<H> {
    pub(super) fn version_text(&self) -> String {
        let (mut text, mut length) = (vec![0u8; TEXT], 0);
        // SAFETY: writes less than TEXT bytes; the standard allows it before initialisation.
        let code = unsafe { (self.version)(text.as_mut_ptr().cast(), &mut length) };
        if code == 0 { text_of(&text) } else { String::new() }
    }

    /// `Err` with the library's text unless `code` means success.
    pub(super) fn check(&self, code: Code, what: &str) -> Result<(), String> {
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
    /// The same of a call that exchanges messages.
    pub(super) fn exchanged(
        &self,
        code: Code,
        what: &str,
        constants: &Constants<H>,
    ) -> Result<(), Fault> {
        if code == 0 {
            return Ok(());
        }
        let mut class = 0;
        // SAFETY: a code of this library; writes one integer.
        let known = unsafe { (self.error_class)(code, &mut class) } == 0;
        match known && (0..2).contains(&(class - constants.process_failed)) {
            true => Err(Fault::Lost),
            false => self.check(code, what).map_err(Fault::Other),
        }
    }

    /// A new communicator like `of`. Collective; MPI must be initialised.
    pub(super) fn own(&self, of: H, constants: &Constants<H>) -> Result<H, String> {
        let mut comm = H::BLANK;
        // SAFETY: a handle of this library; writes one handle.
        let code = unsafe { (self.comm_dup)(of, &mut comm) };
        self.check(code, "making a communicator")?;
        // SAFETY: both are handles of this library.
        let code = unsafe { (self.comm_set_errhandler)(comm, constants.errors_return) };
        self.check(code, "setting the error handler").map(|()| comm)
    }
}

fn text_of(bytes: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
    text.to_string_lossy().trim().to_string()
}
