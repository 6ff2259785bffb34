//! Checks for a CUDA driver, and turns its results into errors. Everything on a device is elsewhere.

use std::ffi::CStr;
use std::sync::OnceLock;

use cudarc::driver::sys;
use cudarc::driver::sys::CUresult;

use crate::error::{Error, Result};

/// The oldest supported driver: CUDA 12.0, in which every entry point used here exists.
const OLDEST: i32 = 12_000;

/// Checks that a CUDA driver is installed, new enough and able to start; the result is cached. A machine with
/// a driver may still have no device: see [`Device::count`](super::Device::count).
///
/// # Errors
/// [`Error::Device`] with the reason; never a panic.
pub fn available() -> Result<()> {
    static DRIVER: OnceLock<Result<(), (String, &'static str)>> = OnceLock::new();
    let started = DRIVER.get_or_init(start);
    started.as_ref().map(|_| ()).map_err(|(what, hint)| Error::Device {
        stage: "starting CUDA".into(),
        device: "this machine".into(),
        what: what.clone(),
        hint: (*hint).into(),
    })
}

fn start() -> Result<(), (String, &'static str)> {
    const INSTALL: &str = "install the NVIDIA driver, or use the CPU";
    // SAFETY: loads the driver's library and runs its initialisers, as every CUDA program does.
    // Every later call would panic without this check.
    if !unsafe { sys::is_culib_present() } {
        return Err(("no CUDA driver (libcuda.so) is installed".into(), INSTALL));
    }
    let mut version = 0;
    // SAFETY: the library is present; both functions exist in every version of it.
    let (code, init) = unsafe { (sys::cuDriverGetVersion(&mut version), sys::cuInit(0)) };
    if code != CUresult::CUDA_SUCCESS || version < OLDEST {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        let what = format!("the driver supports CUDA {major}.{minor}, at least 12.0 is needed");
        return Err((what, "update the NVIDIA driver, or use the CPU"));
    }
    match init {
        CUresult::CUDA_SUCCESS => Ok(()),
        CUresult::CUDA_ERROR_NO_DEVICE => {
            Err(("the driver finds no CUDA device".into(), "make one visible, or use the CPU"))
        }
        code => Err((describe(code), INSTALL)),
    }
}

/// The driver's name and text for a result code.
fn describe(code: CUresult) -> String {
    let (mut name, mut text) = (std::ptr::null(), std::ptr::null());
    // SAFETY: both write one pointer to a static string, or null for codes they don't know.
    unsafe {
        let _ = sys::cuGetErrorName(code, &mut name);
        let _ = sys::cuGetErrorString(code, &mut text);
    }
    let read = |pointer: *const std::ffi::c_char| {
        // SAFETY: not null, so it is one of the driver's static strings.
        (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_string_lossy())
    };
    match (read(name), read(text)) {
        (Some(name), Some(text)) => format!("{text} ({name})"),
        _ => format!("CUDA error {}", code as u32),
    }
}

/// Turns the driver's result into an error that says what was done, where, and what may help.
pub(super) fn check(code: CUresult, stage: &str, device: &str) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    Err(Error::Device {
        stage: stage.into(),
        device: device.into(),
        what: describe(code),
        hint: hint(code).into(),
    })
}

fn hint(code: CUresult) -> &'static str {
    use CUresult::*;
    match code {
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC
        | CUDA_ERROR_ASSERT
        | CUDA_ERROR_LAUNCH_FAILED => {
            "a kernel failed and this process has lost the device: run it again under \
             compute-sanitizer to see where"
        }
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => {
            "use fewer threads a block, or a kernel with fewer registers"
        }
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE => {
            "launch at most as many blocks as can be resident at once (Kernel::blocks_per_sm)"
        }
        CUDA_ERROR_NO_BINARY_FOR_GPU | CUDA_ERROR_INVALID_IMAGE => {
            "compile for this device's own architecture (Device::arch), and with an NVRTC no newer \
             than the driver"
        }
        CUDA_ERROR_OUT_OF_MEMORY => "choose a smaller problem, or free memory on the device",
        CUDA_ERROR_INVALID_VALUE => {
            "check the block (at most 1024 threads), the grid and the shared memory"
        }
        CUDA_ERROR_NOT_FOUND => "check the name against the source that was compiled",
        CUDA_ERROR_PEER_ACCESS_UNSUPPORTED => "copy through the host between these devices",
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH | CUDA_ERROR_SYSTEM_NOT_READY => {
            "restart the machine, or its NVIDIA driver and fabric manager"
        }
        CUDA_ERROR_DEVICE_UNAVAILABLE => {
            "another process holds the device exclusively: wait for it, or name another device"
        }
        _ => "look at `nvidia-smi`, and run on the CPU meanwhile",
    }
}
