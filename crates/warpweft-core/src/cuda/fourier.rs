//! Fourier transforms of real arrays by cuFFT, which is loaded when the first is made. Not: what is done between two of
//! them.

use std::ffi::{c_int, c_longlong, c_void};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::device::{Device, Stream};
use super::library::{Wanted, find};
use super::memory::Buffer;
use crate::error::{Error, Result};

/// The library of transforms.
const CUFFT: Wanted = Wanted {
    name: "libcufft",
    what: "Fourier transforms for GPUs",
    variable: "WARPWEFT_CUFFT",
    versions: &["12", "11"],
    install: "install it with `pip install nvidia-cufft` or the CUDA toolkit, let WARPWEFT_CUFFT name the library or \
              its folder, or run on the cores",
};

type Handle = c_int;
type Code = c_int;

/// The entry points of libcufft; the library stays loaded as long as the process.
struct Cufft {
    create: unsafe extern "C" fn(*mut Handle) -> Code,
    own_work: unsafe extern "C" fn(Handle, c_int) -> Code,
    make: unsafe extern "C" fn(
        Handle,
        c_int,
        *mut c_longlong,
        *mut c_longlong,
        c_longlong,
        c_longlong,
        *mut c_longlong,
        c_longlong,
        c_longlong,
        c_int,
        c_longlong,
        *mut usize,
    ) -> Code,
    work: unsafe extern "C" fn(Handle, *mut c_void) -> Code,
    stream: unsafe extern "C" fn(Handle, *mut c_void) -> Code,
    run: [unsafe extern "C" fn(Handle, *mut c_void, *mut c_void) -> Code; 4],
    destroy: unsafe extern "C" fn(Handle) -> Code,
}

impl Cufft {
    fn get() -> Result<&'static Self> {
        static LOADED: Mutex<Option<&'static Cufft>> = Mutex::new(None);
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cufft) = *loaded {
            return Ok(cufft);
        }
        let cufft: &'static Self = Box::leak(Box::new(Self::load(find(&CUFFT)?.as_deref())?));
        *loaded = Some(cufft);
        Ok(cufft)
    }

    fn load(path: Option<&Path>) -> Result<Self> {
        let library = CUFFT.open(path)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the type is the one that NVIDIA's header gives the function.
                *unsafe { library.get(concat!($name, "\0").as_bytes()) }
                    .map_err(|error| CUFFT.missing(&format!("it lacks {}: {error}", $name)))?
            };
        }
        Ok(Self {
            create: symbol!("cufftCreate"),
            own_work: symbol!("cufftSetAutoAllocation"),
            make: symbol!("cufftMakePlanMany64"),
            work: symbol!("cufftSetWorkArea"),
            stream: symbol!("cufftSetStream"),
            run: [
                symbol!("cufftExecR2C"),
                symbol!("cufftExecC2R"),
                symbol!("cufftExecD2Z"),
                symbol!("cufftExecZ2D"),
            ],
            destroy: symbol!("cufftDestroy"),
        })
    }
}

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Precision {
    /// Bytes of a real value.
    pub fn bytes(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double => 8,
        }
    }
}

/// A pair of transforms: of a dense array of real values, and back.
///
/// The spectrum of `[.., ny, nx]` values has `[.., ny, nx / 2 + 1]` complex numbers; the others are their conjugates.
/// Neither transform is scaled: forth and back multiplies by the number of values.
pub struct Fourier {
    plans: [Plan; 2],
    precision: Precision,
    /// Values, and complex numbers of the spectrum.
    sizes: [usize; 2],
    stream: u64,
    work: Buffer,
}

/// A plan of the library, for one direction.
struct Plan {
    cufft: &'static Cufft,
    handle: Handle,
    device: Device,
}

impl Plan {
    /// A plan without a work area, and the bytes of that which it needs.
    fn new(device: &Device, extents: &[usize], kind: c_int) -> Result<(Self, usize)> {
        let cufft = Cufft::get()?;
        device.bind()?;
        let mut handle = 0;
        // SAFETY: writes one handle, in the current context.
        check(device, unsafe { (cufft.create)(&mut handle) }, "making a plan")?;
        let plan = Self { cufft, handle, device: *device };
        // SAFETY: the plan is alive.
        check(device, unsafe { (cufft.own_work)(handle, 0) }, "making a plan")?;
        let mut sizes: Vec<c_longlong> = extents.iter().map(|&n| n as c_longlong).collect();
        let (none, mut bytes) = (std::ptr::null_mut(), 0);
        let rank = sizes.len() as c_int;
        // SAFETY: there are `rank` sizes; no layouts are given, so arrays are dense; writes one size.
        let code = unsafe {
            (cufft.make)(
                handle,
                rank,
                sizes.as_mut_ptr(),
                none,
                1,
                0,
                none,
                1,
                0,
                kind,
                1,
                &mut bytes,
            )
        };
        check(device, code, &format!("planning transforms of {extents:?} values"))?;
        Ok((plan, bytes))
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: owned by this value.
            unsafe { (self.cufft.destroy)(self.handle) };
        }
    }
}

impl Fourier {
    /// Plans transforms of arrays of `extents` values, slowest axis first, that run in `stream`.
    ///
    /// # Errors
    /// There is no cuFFT, or it can't plan these; no or more than three axes, an axis of no values; too little memory.
    pub fn new(stream: &Stream, extents: &[usize], precision: Precision) -> Result<Self> {
        if !(1..=3).contains(&extents.len()) || extents.contains(&0) {
            return Err(Error::spec(
                format!("a Fourier transform of {extents:?} values"),
                "transform arrays of one to three axes, none of them empty",
            ));
        }
        let device = stream.device();
        let kinds = match precision {
            Precision::Single => [0x2a, 0x2c],
            Precision::Double => [0x6a, 0x6c],
        };
        let (forth, needs) = Plan::new(device, extents, kinds[0])?;
        let (back, also) = Plan::new(device, extents, kinds[1])?;
        let work = Buffer::new(device, needs.max(also))?;
        let row = extents[extents.len() - 1];
        let rows: usize = extents[..extents.len() - 1].iter().product();
        let raw = stream.raw();
        for plan in [&forth, &back] {
            // SAFETY: the plan is alive; the work area lives as long as it, and `run` is given this stream again.
            let code = unsafe { (plan.cufft.work)(plan.handle, work.address() as *mut c_void) };
            check(device, code, "giving a plan its work area")?;
            // SAFETY: plan and stream are alive.
            let code = unsafe { (plan.cufft.stream)(plan.handle, raw.cast()) };
            check(device, code, "giving a plan its stream")?;
        }
        let sizes = [rows * row, rows * (row / 2 + 1)];
        Ok(Self { plans: [forth, back], precision, sizes, stream: raw as u64, work })
    }

    /// Complex numbers of a spectrum.
    pub fn modes(&self) -> usize {
        self.sizes[1]
    }

    /// Bytes of device memory that it uses itself.
    pub fn work_bytes(&self) -> usize {
        self.work.bytes()
    }

    /// Queues the transform of the values `from`, which keeps them, into the spectrum `to`.
    ///
    /// # Errors
    /// Another stream than the plan's; buffers that are too small; cuFFT's.
    pub fn forward(&self, stream: &Stream, from: &Buffer, to: &Buffer) -> Result<()> {
        self.run(stream, 0, from, to)
    }

    /// Queues the transform of the spectrum `from`, which is lost, into the values `to`.
    ///
    /// # Errors
    /// As [`Fourier::forward`].
    pub fn back(&self, stream: &Stream, from: &Buffer, to: &Buffer) -> Result<()> {
        self.run(stream, 1, from, to)
    }

    fn run(&self, stream: &Stream, way: usize, from: &Buffer, to: &Buffer) -> Result<()> {
        let bytes =
            [self.sizes[0] * self.precision.bytes(), 2 * self.sizes[1] * self.precision.bytes()];
        let (from, to) = (from.span(0, bytes[way])?, to.span(0, bytes[1 - way])?);
        let plan = &self.plans[way];
        if stream.raw() as u64 != self.stream || from == to {
            return Err(Error::spec(
                "a Fourier transform was given another stream than its plan's, or the same buffer as input and output",
                "pass the stream that the plan was made for, and two different buffers",
            ));
        }
        plan.device.bind()?;
        let run = plan.cufft.run[way + 2 * usize::from(self.precision == Precision::Double)];
        // SAFETY: both buffers hold what the plan reads and writes; the stream, given again, is alive.
        let code = unsafe { run(plan.handle, from as *mut c_void, to as *mut c_void) };
        check(&plan.device, code, "a Fourier transform")
    }
}

impl std::fmt::Debug for Fourier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "transforms of {} {:?} values", self.sizes[0], self.precision)
    }
}

/// An error of the library.
fn check(device: &Device, code: Code, stage: &str) -> Result<()> {
    let what = match code {
        0 => return Ok(()),
        2 | 14 => "too little memory on the device",
        5 => "an internal error; the library may be newer than the driver",
        7 => "it could not start on this device",
        8 => "it has no plan for arrays of this size",
        _ => "an error",
    };
    Err(Error::Device {
        stage: stage.into(),
        device: device.label().into(),
        what: format!("cuFFT: {what} (code {code})"),
        hint: "install a libcufft of the driver's CUDA release, or run on the cores".into(),
    })
}
