//! Queues of work on a device, and events in them.

use std::fmt;
use std::sync::OnceLock;

use cudarc::driver::sys;
use cudarc::driver::sys::CUresult;

use super::Device;
use crate::error::{Error, Result};

/// The priority of a stream on its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// After all others.
    Low,
    /// The driver's default.
    #[default]
    Normal,
    /// Before all others, e.g. for boundary cells whose halos other ranks wait for.
    High,
}

/// A queue of work: work in one stream runs in order, work in different streams concurrently.
pub struct Stream {
    device: Device,
    raw: sys::CUstream,
}

// SAFETY: the driver lets any thread use a stream, and locks inside.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream of normal priority.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Self> {
        Self::with_priority(device, Priority::Normal)
    }

    /// A new stream of the given priority.
    ///
    /// # Errors
    /// The driver's.
    pub fn with_priority(device: &Device, priority: Priority) -> Result<Self> {
        device.bind()?;
        let (mut least, mut greatest, mut raw) = (0, 0, std::ptr::null_mut());
        // SAFETY: writes two integers.
        let code = unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        device.check(code, "asking for priorities")?;
        let priority = match priority {
            Priority::Low => least,
            Priority::Normal => 0,
            Priority::High => greatest,
        };
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes one handle, on the current context.
        let code = unsafe { sys::cuStreamCreateWithPriority(&mut raw, flags, priority) };
        device.check(code, "making a stream")?;
        Ok(Self { device: *device, raw })
    }

    /// The device it queues work for.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits until everything in it is done.
    ///
    /// # Errors
    /// The first error of the work waited for.
    pub fn synchronize(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the stream is alive.
        self.device.check(unsafe { sys::cuStreamSynchronize(self.raw) }, "waiting")
    }

    /// Whether everything in it is done.
    ///
    /// # Errors
    /// The first error of that work.
    pub fn is_done(&self) -> Result<bool> {
        self.device.bind()?;
        // SAFETY: the stream is alive.
        match unsafe { sys::cuStreamQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => self.device.check(code, "waiting").map(|()| true),
        }
    }

    /// Records `event` at its end.
    ///
    /// # Errors
    /// The driver's; both must be of one device.
    pub fn record(&self, event: &Event) -> Result<()> {
        self.device.bind()?;
        // SAFETY: both are alive.
        self.device.check(unsafe { sys::cuEventRecord(event.raw, self.raw) }, "recording an event")
    }

    /// Makes work that is queued from now on wait for `event`, which may be another device's.
    ///
    /// # Errors
    /// The driver's.
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.device.bind()?;
        // SAFETY: both are alive.
        let code = unsafe { sys::cuStreamWaitEvent(self.raw, event.raw, 0) };
        self.device.check(code, "waiting for an event")
    }

    pub(in crate::cuda) fn raw(&self) -> sys::CUstream {
        self.raw
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: owned by this value; the driver lets queued work finish first.
            let _ = unsafe { sys::cuStreamDestroy_v2(self.raw) };
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a stream of {}", self.device.label())
    }
}

/// A point in a stream, with the time at which the device passed it.
pub struct Event {
    device: Device,
    raw: sys::CUevent,
}

// SAFETY: the driver lets any thread use an event, and locks inside.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// A new event; it counts as passed until it is recorded.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device) -> Result<Self> {
        device.bind()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one handle, on the current context.
        let code = unsafe { sys::cuEventCreate(&mut raw, 0) };
        device.check(code, "making an event")?;
        Ok(Self { device: *device, raw })
    }

    /// The device of the streams that it can be recorded in.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Gives up waiting for the work before it: see [`Device::give_up`].
    pub(in crate::cuda) fn give_up(self) {
        let event = std::mem::ManuallyDrop::new(self);
        event.device.give_up(event.raw);
    }

    /// Waits until the device has passed it.
    ///
    /// # Errors
    /// The first error of the work before it.
    pub fn synchronize(&self) -> Result<()> {
        self.device.bind()?;
        // SAFETY: the event is alive.
        self.device.check(unsafe { sys::cuEventSynchronize(self.raw) }, "waiting")
    }

    /// Whether the device has passed it.
    ///
    /// # Errors
    /// The first error of the work before it.
    pub fn is_done(&self) -> Result<bool> {
        self.device.bind()?;
        // SAFETY: the event is alive.
        match unsafe { sys::cuEventQuery(self.raw) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            code => self.device.check(code, "waiting").map(|()| true),
        }
    }

    /// Seconds on the device's clock from this event to `later`; both must have passed.
    ///
    /// # Errors
    /// One of them was never recorded or has not passed yet.
    pub fn seconds_until(&self, later: &Event) -> Result<f64> {
        self.device.bind()?;
        let mut milliseconds = 0.0;
        // SAFETY: writes one float; both are alive.
        let code = unsafe { elapsed()?(&mut milliseconds, self.raw, later.raw) };
        self.device.check(code, "reading a time")?;
        Ok(f64::from(milliseconds) * 1e-3)
    }
}

type Elapsed = unsafe extern "C" fn(*mut f32, sys::CUevent, sys::CUevent) -> CUresult;

/// The first version of the driver's function, which every driver has. The bindings know only the second,
/// from CUDA 12.8, and panic without it.
fn elapsed() -> Result<Elapsed> {
    static FOUND: OnceLock<Option<Elapsed>> = OnceLock::new();
    // SAFETY: an event exists, so the library is loaded; the type is the one that the header gives.
    let find = || unsafe { sys::culib().get::<Elapsed>(b"cuEventElapsedTime\0").ok().map(|f| *f) };
    FOUND.get_or_init(find).ok_or_else(|| Error::Device {
        stage: "reading a time".into(),
        device: "this machine".into(),
        what: "the driver lacks cuEventElapsedTime".into(),
        hint: "reinstall the NVIDIA driver".into(),
    })
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: owned by this value.
            let _ = unsafe { sys::cuEventDestroy_v2(self.raw) };
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an event of {}", self.device.label())
    }
}
