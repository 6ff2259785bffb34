//! Compiled code on a device: modules, their kernels and their globals.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::sys;
use cudarc::driver::sys::CUfunction_attribute as Attribute;

use super::compile::Cubin;
use super::device::Device;
use super::device::Stream;
use super::device::apart;
use super::memory::{Plain, bytes_of, bytes_of_mut};
use crate::error::{Error, Result};

/// A CUBIN on a device; unloaded when it and all its kernels are gone.
#[derive(Clone)]
pub struct Module {
    loaded: Arc<Loaded>,
}

struct Loaded {
    device: Device,
    raw: sys::CUmodule,
    name: String,
    /// Whether functions call themselves.
    recursive: bool,
}

/// Bytes of a lane's stack for functions that call themselves: `element/prelude.cuh` says how they stay within it.
const STACK: usize = 32 << 10;
/// In the name of such a function, mangled: the type of its level.
const LEVEL: &[u8] = b"2ww5levelE";

// SAFETY: the driver lets any thread use a module, and locks inside.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Module {
    /// Loads `cubin`, which must be compiled for the device's architecture.
    ///
    /// # Errors
    /// The driver's, e.g. for another architecture or a newer format than it knows; a CUBIN that was compiled with
    /// `WARPWEFT_COMPILE=quick`, for tests without a GPU.
    pub fn load(device: &Device, cubin: &Cubin) -> Result<Self> {
        cubin.check()?;
        device.bind()?;
        let mut raw = std::ptr::null_mut();
        let _apart = apart();
        // SAFETY: a `Cubin` holds what NVRTC made, checked when it came from the disk; the driver
        // reads the length from the ELF header.
        let code = unsafe { sys::cuModuleLoadData(&mut raw, cubin.image().as_ptr().cast()) };
        device.check(code, &format!("loading {}", cubin.name()))?;
        let name = cubin.name().to_owned();
        let recursive = cubin.image().windows(LEVEL.len()).any(|bytes| bytes == LEVEL);
        Ok(Self { loaded: Arc::new(Loaded { device: *device, raw, name, recursive }) })
    }

    /// The kernel with this name (`extern "C"`). It is fully loaded, so that its first launch costs no more
    /// than the others.
    ///
    /// # Errors
    /// There is no kernel with this name; the driver's.
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let device = &self.loaded.device;
        let symbol = self.symbol(name)?;
        device.bind()?;
        let mut raw = std::ptr::null_mut();
        let _apart = apart();
        // SAFETY: writes one handle; the name is ended by a zero.
        let code = unsafe { sys::cuModuleGetFunction(&mut raw, self.loaded.raw, symbol.as_ptr()) };
        device.check(code, &format!("looking up kernel {name} of {}", self.loaded.name))?;
        let attribute = |which| -> Result<u32> {
            let mut value = 0;
            // SAFETY: writes one integer. The query loads a function that the driver loads lazily.
            let code = unsafe { sys::cuFuncGetAttribute(&mut value, which, raw) };
            device.check(code, &format!("asking about kernel {name}"))?;
            Ok(value as u32)
        };
        let attributes = Attributes {
            registers: attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            shared_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            constant_bytes: attribute(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            max_threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        };
        if self.loaded.recursive {
            device.need_stack(STACK + attributes.local_bytes as usize)?;
        }
        Ok(Kernel { module: self.clone(), raw, name: name.into(), attributes })
    }

    /// The `__device__` or `__constant__` variable of this name (`extern "C"` or global scope).
    ///
    /// # Errors
    /// There is none.
    pub fn global(&self, name: &str) -> Result<Global> {
        let device = &self.loaded.device;
        let symbol = self.symbol(name)?;
        device.bind()?;
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: writes an address and a size; the name is ended by a zero.
        let code = unsafe {
            sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.loaded.raw, symbol.as_ptr())
        };
        device.check(code, &format!("looking up variable {name} of {}", self.loaded.name))?;
        Ok(Global { module: self.clone(), address, bytes, name: name.into() })
    }

    fn symbol(&self, name: &str) -> Result<CString> {
        CString::new(name)
            .map_err(|_| Error::spec(format!("the name {name:?} holds a zero"), "write a C name"))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            let _apart = apart();
            // SAFETY: owned by this value; kernels and globals share it and are gone.
            let _ = unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.loaded.name, self.loaded.device.label())
    }
}

/// Properties of a compiled kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Attributes {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes of local memory a thread: spills, and arrays indexed at run time.
    pub local_bytes: u32,
    /// Bytes of static shared memory a block.
    pub shared_bytes: u32,
    /// Bytes of constant memory.
    pub constant_bytes: u32,
    /// The largest number of threads a block can have.
    pub max_threads: u32,
}

/// A kernel, ready to launch.
#[derive(Clone)]
pub struct Kernel {
    module: Module,
    raw: sys::CUfunction,
    name: String,
    attributes: Attributes,
}

// SAFETY: the driver lets any thread use a function, and locks inside.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The device it is on.
    pub fn device(&self) -> &Device {
        &self.module.loaded.device
    }

    /// The module it is in.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Properties that the compiler determined.
    pub fn attributes(&self) -> Attributes {
        self.attributes
    }

    /// Permits `bytes` of dynamic shared memory a block; needed above 48 KiB.
    ///
    /// # Errors
    /// [`Error::Memory`]: more than the device has for one block, in bytes.
    pub fn allow_shared(&self, bytes: u32) -> Result<()> {
        let most = self.device().shared_memory()?.block;
        if bytes as usize > most {
            return Err(Error::Memory {
                whose: format!("{} for {}: the shared", self.device().label(), self.name),
                needed: bytes.into(),
                available: most as u64,
                hint: "choose a smaller tile: a policy with fewer warps, rows or planes".into(),
            });
        }
        let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        self.device().bind()?;
        // SAFETY: sets one integer of a live function.
        let code = unsafe { sys::cuFuncSetAttribute(self.raw, which, bytes as i32) };
        let stage = || format!("permitting {bytes} bytes of shared memory to {}", self.name);
        self.device().check(code, &stage())
    }

    /// Prefers so many percent of an SM's on-chip memory to be shared memory, the rest cache: a hint to the driver.
    ///
    /// # Errors
    /// The driver's.
    pub fn prefer_shared(&self, percent: u32) -> Result<()> {
        let which = Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        self.device().bind()?;
        // SAFETY: sets one integer of a live function.
        let code = unsafe { sys::cuFuncSetAttribute(self.raw, which, percent.min(100) as i32) };
        self.device().check(code, &format!("splitting the memory of an SM for {}", self.name))
    }

    /// How many blocks of `threads` threads and `shared` bytes of dynamic shared memory are
    /// resident on an SM at once; 0 when not even one fits.
    ///
    /// # Errors
    /// The driver's.
    pub fn blocks_per_sm(&self, threads: u32, shared: u32) -> Result<u32> {
        self.device().bind()?;
        let mut blocks = 0;
        // SAFETY: writes one integer.
        let code = unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                self.raw,
                threads as i32,
                shared as usize,
            )
        };
        self.device().check(code, &format!("asking for the occupancy of {}", self.name))?;
        Ok(blocks as u32)
    }

    pub(super) fn raw(&self) -> sys::CUfunction {
        self.raw
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {:?}", self.name, self.module)
    }
}

/// A `__device__` or `__constant__` variable of a module.
#[derive(Clone, Debug)]
pub struct Global {
    module: Module,
    address: u64,
    bytes: usize,
    name: String,
}

impl Global {
    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its value, after all work queued in `stream`.
    ///
    /// # Errors
    /// [`Error::Spec`] when `T` has another size; the driver's.
    pub fn read<T: Plain>(&self, stream: &Stream) -> Result<T> {
        self.fits::<T>(stream)?;
        // SAFETY: every bit pattern of a plain type is a value.
        let mut value: T = unsafe { std::mem::zeroed() };
        let bytes = bytes_of_mut(std::slice::from_mut(&mut value));
        // SAFETY: both hold `bytes`, and `value` outlives the wait below.
        let code = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                bytes.as_mut_ptr().cast(),
                self.address,
                self.bytes,
                stream.raw(),
            )
        };
        stream.device().check(code, &format!("reading {}", self.name))?;
        stream.synchronize()?;
        Ok(value)
    }

    /// Sets its value, after all work queued in `stream`, and waits.
    ///
    /// # Errors
    /// As [`Global::read`].
    pub fn write<T: Plain>(&self, stream: &Stream, value: T) -> Result<()> {
        self.fits::<T>(stream)?;
        let bytes = bytes_of(std::slice::from_ref(&value));
        // SAFETY: both hold `bytes`, and `value` outlives the wait below.
        let code = unsafe {
            sys::cuMemcpyHtoDAsync_v2(self.address, bytes.as_ptr().cast(), self.bytes, stream.raw())
        };
        stream.device().check(code, &format!("writing {}", self.name))?;
        stream.synchronize()
    }

    fn fits<T: Plain>(&self, stream: &Stream) -> Result<()> {
        if size_of::<T>() != self.bytes || *stream.device() != self.module.loaded.device {
            return Err(Error::spec(
                format!(
                    "variable {} has {} bytes on {}, but the host value has {} bytes and its stream is on {}",
                    self.name,
                    self.bytes,
                    self.module.loaded.device.label(),
                    size_of::<T>(),
                    stream.device().label()
                ),
                "give its own type, and a stream of its device",
            ));
        }
        stream.device().bind()
    }
}
