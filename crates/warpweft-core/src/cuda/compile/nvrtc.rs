//! NVRTC, loaded at run time. What to compile and the cache are not here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::cuda::library::{Wanted, find};
use crate::error::{Error, Result};

type Program = *mut c_void;
type Code = c_int;

/// The entry points of libnvrtc; the library stays loaded as long as the process.
pub(super) struct Nvrtc {
    /// Its release.
    pub version: (i32, i32),
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Code,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Code,
    destroy: unsafe extern "C" fn(*mut Program) -> Code,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Code,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> Code,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    explain: unsafe extern "C" fn(Code) -> *const c_char,
}

/// The inputs of one compilation.
pub(super) struct Input<'a> {
    pub name: &'a str,
    pub source: &'a str,
    /// Names and texts of what the source may include.
    pub headers: &'a [(String, String)],
    pub options: &'a [String],
}

/// The compiler's library.
pub(in crate::cuda) const NVRTC: Wanted = Wanted {
    name: "libnvrtc",
    what: "the CUDA compiler",
    variable: "WARPWEFT_NVRTC",
    versions: &["13", "12"],
    install: "install it with `pip install nvidia-cuda-nvrtc` or the CUDA toolkit, or let \
              WARPWEFT_NVRTC name the library or its folder",
};

/// The path of the library, searched once a process; `None` leaves it to the system's loader.
///
/// # Errors
/// See [`find`].
pub(super) fn library() -> Result<Option<PathBuf>> {
    static FOUND: Mutex<Option<Option<PathBuf>>> = Mutex::new(None);
    let mut known = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = &*known {
        return Ok(path.clone());
    }
    let path = find(&NVRTC)?;
    *known = Some(path.clone());
    Ok(path)
}

impl Nvrtc {
    /// The library of this process, loaded on first use.
    ///
    /// # Errors
    /// There is none, or it can't be loaded.
    pub fn get() -> Result<&'static Self> {
        static LOADED: Mutex<Option<&'static Nvrtc>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(nvrtc) = *loaded {
            return Ok(nvrtc);
        }
        let nvrtc: &'static Self = Box::leak(Box::new(Self::load(library()?)?));
        *loaded = Some(nvrtc);
        Ok(nvrtc)
    }

    fn load(path: Option<PathBuf>) -> Result<Self> {
        Self::bind(NVRTC.open(path.as_deref())?, path.as_deref())
    }

    fn bind(library: &'static Library, path: Option<&Path>) -> Result<Self> {
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type is the one that NVIDIA's header gives the function.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|error| NVRTC.missing(&format!("it lacks {}: {error}", $name)))?
            };
        }
        let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code = symbol!("nvrtcVersion");
        let (mut major, mut minor) = (0, 0);
        // SAFETY: writes two integers.
        unsafe { version(&mut major, &mut minor) };
        if let Some(folder) = path.and_then(Path::parent) {
            // The compiler asks the loader for its builtins by this name. Wheels are outside the loader's
            // folders, but a library of that name that is already loaded is found.
            let builtins = folder.join(format!("libnvrtc-builtins.so.{major}.{minor}"));
            // SAFETY: as for the library itself; it holds data only.
            if let Ok(builtins) = unsafe { Library::open(Some(builtins), RTLD_NOW | RTLD_LOCAL) } {
                std::mem::forget(builtins);
            }
        }
        Ok(Self {
            version: (major, minor),
            create: symbol!("nvrtcCreateProgram"),
            compile: symbol!("nvrtcCompileProgram"),
            destroy: symbol!("nvrtcDestroyProgram"),
            log_size: symbol!("nvrtcGetProgramLogSize"),
            log: symbol!("nvrtcGetProgramLog"),
            cubin_size: symbol!("nvrtcGetCUBINSize"),
            cubin: symbol!("nvrtcGetCUBIN"),
            explain: symbol!("nvrtcGetErrorString"),
        })
    }

    /// The CUBIN and the compiler's log. Several threads may compile at once.
    ///
    /// # Errors
    /// [`Error::Compile`] with the log.
    pub fn compile(&self, input: &Input) -> Result<(Vec<u8>, String)> {
        let refuse = |log: String| Error::Compile { kernel: input.name.into(), log };
        let text = |text: &str| {
            CString::new(text).map_err(|_| refuse("the source text contains a NUL byte".into()))
        };
        let texts = |all: &mut dyn Iterator<Item = &String>| -> Result<Vec<CString>> {
            all.map(|one| text(one)).collect()
        };
        let (source, name) = (text(input.source)?, text(input.name)?);
        let header_names = texts(&mut input.headers.iter().map(|(name, _)| name))?;
        let headers = texts(&mut input.headers.iter().map(|(_, text)| text))?;
        let options = texts(&mut input.options.iter())?;
        let pointers = |all: &[CString]| all.iter().map(|one| one.as_ptr()).collect::<Vec<_>>();
        let (header_pointers, name_pointers) = (pointers(&headers), pointers(&header_names));
        let option_pointers = pointers(&options);

        let mut program = Guard { nvrtc: self, program: std::ptr::null_mut() };
        // SAFETY: all texts end with a zero and live beyond the call, the arrays have the lengths
        // given, and a handle is written.
        let code = unsafe {
            (self.create)(
                &mut program.program,
                source.as_ptr(),
                name.as_ptr(),
                headers.len() as c_int,
                header_pointers.as_ptr(),
                name_pointers.as_ptr(),
            )
        };
        if code != 0 {
            return Err(refuse(self.text(code)));
        }
        // SAFETY: as above; the program is alive.
        let code = unsafe {
            (self.compile)(program.program, options.len() as c_int, option_pointers.as_ptr())
        };
        let log = self.read(program.program, self.log_size, self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log).trim_end_matches('\0').trim_end().to_owned();
        if code != 0 {
            return Err(refuse(format!("{}\n{log}", self.text(code)).trim_end().into()));
        }
        match self.read(program.program, self.cubin_size, self.cubin) {
            Ok(cubin) if !cubin.is_empty() => Ok((cubin, log)),
            Ok(_) => Err(refuse(
                "the compiler made no machine code: name a real architecture, \
                 e.g. sm_90"
                    .into(),
            )),
            Err(code) => Err(refuse(self.text(code))),
        }
    }

    fn read(
        &self,
        program: Program,
        size: unsafe extern "C" fn(Program, *mut usize) -> Code,
        get: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    ) -> Result<Vec<u8>, Code> {
        let mut bytes = 0;
        // SAFETY: the program is alive; writes one size.
        match unsafe { size(program, &mut bytes) } {
            0 => {}
            code => return Err(code),
        }
        let mut data = vec![0u8; bytes];
        // SAFETY: writes as many bytes as it reported.
        match unsafe { get(program, data.as_mut_ptr().cast()) } {
            0 => Ok(data),
            code => Err(code),
        }
    }

    fn text(&self, code: Code) -> String {
        // SAFETY: returns a static string for every code.
        let text = unsafe { (self.explain)(code) };
        if text.is_null() {
            return format!("NVRTC error {code}");
        }
        // SAFETY: not null, so it is one of those strings.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// Destroys the program in every case.
struct Guard<'a> {
    nvrtc: &'a Nvrtc,
    program: Program,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.program.is_null() {
            // SAFETY: made by `create` and destroyed once.
            unsafe { (self.nvrtc.destroy)(&mut self.program) };
        }
    }
}
