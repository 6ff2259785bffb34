//! Compiles CUDA C++ to machine code for one architecture, or takes it from the cache.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Instant, UNIX_EPOCH};

use self::cache::Key;
use self::nvrtc::{Input, Nvrtc, library};
use crate::error::{Error, Result};

mod background;
mod cache;
mod nvrtc;

pub use background::leave_to_compile;
pub use cache::{Cache, folder, trusted_folder, write_whole};
#[cfg(test)]
pub(in crate::cuda) use nvrtc::NVRTC;

/// Headers that every source may include by these names.
const HEADERS: [(&str, &str); 2] =
    [("sync.cuh", include_str!("sync.cuh")), ("watchdog.cuh", include_str!("watchdog.cuh"))];

/// How to compile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Whether `a * b + c` may become one fused operation (FMA), which rustc never does. If off, results
    /// equal the CPU's bit by bit.
    pub contract: bool,
    /// Macros and their values.
    pub defines: Vec<(String, String)>,
    /// The most registers a thread may use; `None` uses the kernel's launch bounds.
    pub max_registers: Option<u32>,
    /// Names and texts of what the source may include, in addition to `sync.cuh` and `watchdog.cuh`.
    pub headers: Vec<(String, String)>,
    /// Whether profilers can show source lines.
    pub line_info: bool,
}

impl Options {
    /// The default options with these additional headers.
    pub fn including(headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|&(name, text)| (name.into(), text.into())).collect();
        Self { headers, ..Self::default() }
    }
}

/// A kernel to compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The name in messages.
    pub name: String,
    /// CUDA C++.
    pub source: String,
    /// The architecture, e.g. "sm_90".
    pub arch: String,
    /// How to compile it.
    pub options: Options,
}

/// Machine code for one architecture, and how it was obtained.
#[derive(Clone)]
pub struct Cubin {
    image: Vec<u8>,
    name: String,
    /// Whether it came from the cache.
    pub cached: bool,
    /// Seconds it took, including loading the compiler.
    pub seconds: f64,
    /// The compiler's warnings; empty when it came from the cache.
    pub log: String,
    /// Notes for the user, e.g. that the cache can't be written; each once a process.
    pub notes: Vec<String>,
    /// Whether it was made for tests without a GPU.
    quick: bool,
}

impl Cubin {
    /// The machine code, an ELF image.
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// That it may run on a GPU.
    ///
    /// # Errors
    /// It was compiled for tests without a GPU.
    pub(super) fn check(&self) -> Result<()> {
        match self.quick {
            false => Ok(()),
            true => Err(Error::spec(
                format!("kernel `{}` was compiled with {EFFORT}=quick and can't be run", self.name),
                "unset the variable: such kernels are for tests without a GPU",
            )),
        }
    }
}

impl fmt::Debug for Cubin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = if self.cached { "cached" } else { "compiled" };
        write!(f, "{} ({origin}, {} bytes, {:.4} s)", self.name, self.image.len(), self.seconds)
    }
}

/// The version of the compiler, if there is one; needs no GPU.
///
/// # Errors
/// [`Error::Device`] that says how to install it.
pub fn compiler() -> Result<String> {
    let (major, minor) = Nvrtc::get()?.version;
    let at = library()?.map(|path| format!(" at {}", path.display())).unwrap_or_default();
    Ok(format!("NVRTC {major}.{minor}{at}"))
}

/// Compiles `source` for `arch`, or takes it from the user's cache. Needs no GPU.
///
/// # Errors
/// [`Error::Compile`] with the compiler's log; [`Error::Device`] when there is no compiler.
pub fn compile(source: &str, name: &str, arch: &str, options: &Options) -> Result<Cubin> {
    compile_in(Cache::user(), source, name, arch, options)
}

/// Like [`compile`], with a cache of the caller's choice.
///
/// # Errors
/// See [`compile`].
pub fn compile_in(
    cache: &Cache,
    source: &str,
    name: &str,
    arch: &str,
    options: &Options,
) -> Result<Cubin> {
    let start = Instant::now();
    let mut notes = Vec::new();
    let Prepared { flags, headers, key } = Prepared::of(source, arch, options)?;
    let quick = flags.iter().any(|flag| flag == QUICK);
    let finished = |image, cached, log, notes| {
        let seconds = start.elapsed().as_secs_f64();
        Cubin { image, name: name.into(), cached, seconds, log, notes, quick }
    };
    if let Some(image) = cache.get(&key, &mut notes) {
        return Ok(finished(image, true, String::new(), notes));
    }
    // Threads that want the same kernel wait for the first that compiles it, and take its image: there may be no cache.
    let compiling = compiling(&key);
    let mut compiled = compiling.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(image) = compiled.clone().or_else(|| cache.get(&key, &mut notes)) {
        return Ok(finished(image, true, String::new(), notes));
    }
    let input = Input { name, source, headers: &headers, options: &flags };
    let (image, log) = Nvrtc::get()?.compile(&input)?;
    if !image.starts_with(b"\x7fELF") {
        let log = "the compiler's output is no ELF image; reinstall it".into();
        return Err(Error::Compile { kernel: name.into(), log });
    }
    cache.put(&key, &image, &mut notes);
    *compiled = Some(image.clone());
    Ok(finished(image, false, log, notes))
}

/// The image of a kernel, once the first of those who wait for it has compiled it.
type Compiled = Mutex<Option<Vec<u8>>>;

/// The lock of all who compile the same kernel.
fn compiling(key: &Key) -> Arc<Compiled> {
    static UNDER_WAY: Mutex<Option<HashMap<Key, Weak<Compiled>>>> = Mutex::new(None);
    let mut known = UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(lock) = known.get(key).and_then(Weak::upgrade) {
        return lock;
    }
    known.retain(|_, lock| lock.strong_count() > 0);
    let lock = Arc::new(Mutex::new(None));
    known.insert(key.clone(), Arc::downgrade(&lock));
    lock
}

/// What [`compile`] would take from the user's cache; `None` if it would compile.
///
/// # Errors
/// [`Error::Device`] when there is no compiler.
pub fn cached(source: &str, name: &str, arch: &str, options: &Options) -> Result<Option<Cubin>> {
    let start = Instant::now();
    let mut notes = Vec::new();
    let Prepared { flags, key, .. } = Prepared::of(source, arch, options)?;
    let quick = flags.iter().any(|flag| flag == QUICK);
    Ok(Cache::user().get(&key, &mut notes).map(|image| {
        let (name, seconds) = (name.into(), start.elapsed().as_secs_f64());
        Cubin { image, name, cached: true, seconds, log: String::new(), notes, quick }
    }))
}

/// What a compilation depends on.
struct Prepared {
    flags: Vec<String>,
    headers: Vec<(String, String)>,
    key: Key,
}

impl Prepared {
    fn of(source: &str, arch: &str, options: &Options) -> Result<Self> {
        let mut flags = flags(arch, options);
        let wanted = std::env::var_os(EFFORT);
        let wanted = wanted.as_ref().map(|wanted| wanted.to_string_lossy());
        flags.extend(effort(wanted.as_deref(), || Ok(Nvrtc::get()?.version))?);
        let mut headers: Vec<(String, String)> =
            HEADERS.iter().map(|&(name, text)| (name.into(), text.into())).collect();
        headers.extend(options.headers.iter().cloned());
        let identity = identity()?;
        let named = headers.iter().flat_map(|(name, text)| [name.as_str(), text.as_str()]);
        let parts = [source, identity.as_str()].into_iter();
        let key = Key::of(parts.chain(flags.iter().map(String::as_str)).chain(named));
        Ok(Self { flags, headers, key })
    }
}

/// Compiles all requests on up to `threads` threads. The results are in the order of the requests.
///
/// # Errors
/// For each request, see [`compile`].
pub fn compile_all(cache: &Cache, requests: &[Request], threads: usize) -> Vec<Result<Cubin>> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Cubin>>>> =
        requests.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = requests.get(index) else { break };
            let Request { name, source, arch, options } = request;
            let result = compile_in(cache, source, name, arch, options);
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(requests.len()) {
            // If the system refuses a thread, the others, including this one, do its work.
            let _ = std::thread::Builder::new().name("compiler".into()).spawn_scoped(scope, work);
        }
        work();
    });
    let taken = results.into_iter().zip(requests).map(|(result, request)| {
        let result = result.into_inner().unwrap_or_else(PoisonError::into_inner);
        result.unwrap_or_else(|| {
            let log = "the compiling thread ended early".into();
            Err(Error::Compile { kernel: request.name.clone(), log })
        })
    });
    taken.collect()
}

fn flags(arch: &str, options: &Options) -> Vec<String> {
    let mut flags = vec![
        format!("--gpu-architecture={arch}"),
        "--std=c++17".into(),
        "--device-as-default-execution-space".into(),
        format!("--fmad={}", options.contract),
    ];
    flags.extend(options.max_registers.map(|limit| format!("--maxrregcount={limit}")));
    flags.extend(options.line_info.then(|| "--generate-line-info".into()));
    flags.extend(
        options.defines.iter().map(|(name, value)| format!("--define-macro={name}={value}")),
    );
    flags
}

/// The variable that says how much the compiler optimises; for tests on machines without a GPU, where it is enough that kernels
/// compile.
const EFFORT: &str = "WARPWEFT_COMPILE";

/// The option for it.
const QUICK: &str = "--Ofast-compile=max";

/// The first version of NVRTC with that option.
const QUICK_SINCE: (i32, i32) = (12, 9);

/// The option of NVRTC for what [`EFFORT`] says: `full`, as if it were not set, or `quick`. Compiling takes a third of
/// the time with the latter. Kernels that take tensor maps fault on a GPU then, so none of them is loaded onto one.
///
/// # Errors
/// [`Error::Spec`] for another word; those of `version`.
fn effort(
    wanted: Option<&str>,
    version: impl FnOnce() -> Result<(i32, i32)>,
) -> Result<Option<String>> {
    match wanted {
        None | Some("full") => Ok(None),
        Some("quick") => Ok((version()? >= QUICK_SINCE).then(|| QUICK.into())),
        Some(other) => {
            Err(Error::spec(format!("{EFFORT} is `{other}`"), "set it to `full` or `quick`"))
        }
    }
}

/// A text that identifies a compiler.
///
/// For a file it is its path, size and time: loading the library to ask for its version takes 4.5 ms, as long
/// as all the rest of a cache hit.
fn identity() -> Result<String> {
    let by_file = |path: &Path| {
        let path = path.canonicalize().ok()?;
        let meta = path.metadata().ok()?;
        let time = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(format!("{} {} {}", path.display(), meta.len(), time.as_nanos()))
    };
    match library()?.as_deref().and_then(by_file) {
        Some(identity) => Ok(identity),
        None => {
            let (major, minor) = Nvrtc::get()?.version;
            Ok(format!("NVRTC {major}.{minor}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_optimises_as_the_variable_says() {
        let new = || Ok((13, 0));
        assert_eq!(effort(None, new).unwrap(), None);
        assert_eq!(effort(Some("full"), new).unwrap(), None);
        assert_eq!(effort(Some("quick"), new).unwrap().as_deref(), Some(QUICK));
        assert_eq!(effort(Some("quick"), || Ok((12, 8))).unwrap(), None);
        let error = effort(Some("Quick"), new).unwrap_err().to_string();
        assert!(error.contains("WARPWEFT_COMPILE is `Quick`"), "{error}");
    }

    #[test]
    fn what_is_compiled_for_tests_without_a_gpu_is_not_loaded() {
        let of = |quick| {
            let (image, name, log) = (Vec::new(), "sweep".to_string(), String::new());
            Cubin { image, name, cached: false, seconds: 0.0, log, notes: Vec::new(), quick }
        };
        assert!(of(false).check().is_ok());
        let error = of(true).check().unwrap_err().to_string();
        assert!(error.contains("kernel `sweep` was compiled with"), "{error}");
    }
}
