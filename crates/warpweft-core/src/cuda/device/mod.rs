//! One GPU: its context, attributes and peers. What the machine has is in `machine/`.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fmt;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use cudarc::driver::sys;
pub use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::sys::CUresult;

use self::driver::check;
use self::limits::check_age;
use crate::error::{Error, Result};

mod driver;
mod limits;
mod stream;
mod together;

pub use driver::available;
pub use limits::SharedMemory;
pub use stream::{Event, Priority, Stream};
pub(in crate::cuda) use together::apart;
pub use together::{Together, undisturbed};

/// One GPU, by its primary context, which is created on first use and kept until the process ends.
///
/// Opening a device and reading its attributes creates no context, which would cost 0.1 s and hundreds of
/// megabytes of device memory.
#[derive(Clone, Copy)]
pub struct Device {
    context: &'static Context,
}

struct Context {
    ordinal: usize,
    handle: sys::CUdevice,
    raw: OnceLock<Primary>,
    /// The event after a kernel that was given up, or null; see [`Device::give_up`].
    hung: AtomicPtr<sys::CUevent_st>,
    label: String,
    name: String,
}

struct Primary(sys::CUcontext);

// SAFETY: a context may be made current by any thread; the driver locks inside.
unsafe impl Send for Primary {}
// SAFETY: as above.
unsafe impl Sync for Primary {}

impl Device {
    /// Number of devices that the driver shows to this process.
    ///
    /// # Errors
    /// See [`available`].
    pub fn count() -> Result<usize> {
        available()?;
        let mut count = 0;
        // SAFETY: writes one integer.
        let code = unsafe { sys::cuDeviceGetCount(&mut count) };
        check(code, "counting devices", "this machine")?;
        Ok(count as usize)
    }

    /// The device with this number, from 0; opening it again costs nothing.
    ///
    /// # Errors
    /// No driver, no such device, or a compute capability below 8.0.
    pub fn open(ordinal: usize) -> Result<Self> {
        static OPEN: Mutex<Option<HashMap<usize, &'static Context>>> = Mutex::new(None);
        let count = Self::count()?;
        if ordinal >= count {
            return Err(Error::Device {
                stage: "opening".into(),
                device: format!("GPU {ordinal}"),
                what: format!("this machine shows {count} GPUs, numbered from 0"),
                hint: "name one of them, or set CUDA_VISIBLE_DEVICES".into(),
            });
        }
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let context = match open.get(&ordinal) {
            Some(context) => context,
            None => {
                let found = Context::find(ordinal)?;
                check_age(&found.label, found.capability()?)?;
                open.entry(ordinal).or_insert(Box::leak(Box::new(found)))
            }
        };
        Ok(Self { context })
    }

    /// Its number, from 0.
    pub fn ordinal(&self) -> usize {
        self.context.ordinal
    }

    /// Its name, e.g. "NVIDIA H200".
    pub fn name(&self) -> &str {
        &self.context.name
    }

    /// Its name and number in errors and reports, e.g. "NVIDIA H200 (0)".
    pub fn label(&self) -> &str {
        &self.context.label
    }

    /// Its compute capability, e.g. `(9, 0)`.
    ///
    /// # Errors
    /// The driver's.
    pub fn capability(&self) -> Result<(u32, u32)> {
        self.context.capability()
    }

    /// The compiler's name for its architecture, e.g. "sm_90".
    ///
    /// # Errors
    /// The driver's.
    pub fn arch(&self) -> Result<String> {
        let (major, minor) = self.capability()?;
        Ok(format!("sm_{major}{minor}"))
    }

    /// Number of streaming multiprocessors.
    ///
    /// # Errors
    /// The driver's.
    pub fn sms(&self) -> Result<u32> {
        Ok(self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32)
    }

    /// Limits of its shared memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn shared_memory(&self) -> Result<SharedMemory> {
        use Attribute::*;
        let get = |which| self.attribute(which).map(|bytes| bytes.max(0) as usize);
        Ok(SharedMemory {
            block: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            sm: get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        })
    }

    /// Bytes of its memory.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory_size(&self) -> Result<u64> {
        let mut total = 0;
        // SAFETY: writes one size.
        let code = unsafe { sys::cuDeviceTotalMem_v2(&mut total, self.context.handle) };
        self.check(code, "asking for memory")?;
        Ok(total as u64)
    }

    /// Free and total bytes of its memory at present.
    ///
    /// # Errors
    /// The driver's.
    pub fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two sizes, for the current context.
        self.check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "asking for memory")?;
        Ok((free as u64, total as u64))
    }

    /// Gives each lane at least `bytes` of stack. The driver allocates them for all lanes that can be resident.
    ///
    /// # Errors
    /// The driver's, e.g. too little memory.
    pub(in crate::cuda) fn need_stack(&self, bytes: usize) -> Result<()> {
        self.bind()?;
        let which = sys::CUlimit::CU_LIMIT_STACK_SIZE;
        let mut now = 0;
        // SAFETY: writes one size, for the current context.
        let code = unsafe { sys::cuCtxGetLimit(&mut now, which) };
        self.check(code, "asking for the stack of a lane")?;
        if now >= bytes {
            return Ok(());
        }
        // SAFETY: sets one number of the current context.
        let code = unsafe { sys::cuCtxSetLimit(which, bytes) };
        self.check(code, &format!("giving each lane {bytes} bytes of stack"))
    }

    /// Waits until everything launched on the device by this process is done.
    ///
    /// # Errors
    /// The first error of the work waited for.
    pub fn synchronize(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: waits for the current context.
        self.check(unsafe { sys::cuCtxSynchronize() }, "waiting")
    }

    /// Whether kernels on this device can address memory of `other` directly.
    ///
    /// # Errors
    /// The driver's.
    pub fn can_access(&self, other: &Device) -> Result<bool> {
        let mut can = 0;
        // SAFETY: writes one integer; both handles are the driver's own.
        let code = unsafe {
            sys::cuDeviceCanAccessPeer(&mut can, self.context.handle, other.context.handle)
        };
        self.check(code, "asking for peers")?;
        Ok(can != 0)
    }

    /// Its address on the machine's bus: domain, bus and device. The same in every process.
    ///
    /// # Errors
    /// The driver's.
    pub fn bus(&self) -> Result<[i32; 3]> {
        Ok([
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)?,
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)?,
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID)?,
        ])
    }

    /// The driver's performance rank of the link to `other`: 0 is the fastest of this machine. `None` if it
    /// gives none.
    pub fn link_rank(&self, other: &Device) -> Option<u32> {
        let mut rank = 0;
        // SAFETY: writes one integer; both handles are the driver's own.
        let code = unsafe {
            sys::cuDeviceGetP2PAttribute(
                &mut rank,
                sys::CUdevice_P2PAttribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK,
                self.context.handle,
                other.context.handle,
            )
        };
        (code == CUresult::CUDA_SUCCESS && rank >= 0).then_some(rank as u32)
    }

    /// Lets kernels on this device address memory of `other`; one direction only.
    ///
    /// # Errors
    /// There is no direct link between the two, or the driver refuses.
    pub fn enable_peer(&self, other: &Device) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let there = other.raw()?;
        self.bind()?;
        // SAFETY: both contexts live as long as the process.
        match unsafe { sys::cuCtxEnablePeerAccess(there, 0) } {
            CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => Ok(()),
            code => self.check(code, &format!("enabling peer access to {}", other.label())),
        }
    }

    /// One of the driver's numbers about the device.
    pub fn attribute(&self, attribute: Attribute) -> Result<i32> {
        self.context.attribute(attribute)
    }

    /// Makes the device current for the calling thread, as most driver calls require.
    ///
    /// # Errors
    /// The driver's; a kernel that was given up is still running.
    pub(super) fn bind(&self) -> Result<()> {
        let raw = self.raw()?;
        // SAFETY: the context was retained and is never released.
        self.check(unsafe { sys::cuCtxSetCurrent(raw) }, "selecting the device")?;
        let hung = self.context.hung.load(Ordering::Acquire);
        // SAFETY: `give_up` keeps the event until the process ends.
        if !hung.is_null() && unsafe { sys::cuEventQuery(hung) } == CUresult::CUDA_ERROR_NOT_READY {
            return Err(Error::Device {
                stage: "selecting the device".into(),
                device: self.label().into(),
                what: "a kernel that exceeded its time limit is still running".into(),
                hint: "end this process".into(),
            });
        }
        Ok(())
    }

    /// Records that no thread waits any longer for the work before `event`, which is never destroyed.
    ///
    /// Freeing memory, a stream or a module waits in the driver for kernels that may use it. Until the event
    /// has passed, every use of the device is therefore an error at once, and dropped objects are not freed:
    /// the process can report what happened and end.
    pub(super) fn give_up(&self, event: sys::CUevent) {
        self.context.hung.store(event, Ordering::Release);
    }

    pub(super) fn check(&self, code: CUresult, stage: &str) -> Result<()> {
        check(code, stage, self.label())
    }

    /// The context, made on first use.
    pub(super) fn raw(&self) -> Result<sys::CUcontext> {
        if let Some(primary) = self.context.raw.get() {
            return Ok(primary.0);
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one handle. Two threads that come here at once retain it twice, which only raises
        // its count.
        let code = unsafe { sys::cuDevicePrimaryCtxRetain(&mut raw, self.context.handle) };
        self.check(code, "opening")?;
        Ok(self.context.raw.get_or_init(|| Primary(raw)).0)
    }
}

impl Context {
    fn find(ordinal: usize) -> Result<Self> {
        let label = format!("GPU {ordinal}");
        let (mut handle, mut name) = (0, [0; 256]);
        // SAFETY: writes one handle.
        check(unsafe { sys::cuDeviceGet(&mut handle, ordinal as i32) }, "opening", &label)?;
        // SAFETY: the name is cut at the length given and ended by a zero.
        let code = unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), 256, handle) };
        check(code, "naming", &label)?;
        // SAFETY: ended by a zero, see above.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let label = format!("{name} ({ordinal})");
        let hung = AtomicPtr::default();
        Ok(Self { ordinal, handle, raw: OnceLock::new(), hung, label, name })
    }

    fn attribute(&self, attribute: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: writes one integer.
        let code = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.handle) };
        check(code, "asking for attributes", &self.label)?;
        Ok(value)
    }

    fn capability(&self) -> Result<(u32, u32)> {
        let major = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok((major as u32, minor as u32))
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.ordinal() == other.ordinal()
    }
}

impl Eq for Device {}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}
