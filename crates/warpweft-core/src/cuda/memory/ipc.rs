//! Memory of one process that kernels of another process on the same host address directly: CUDA IPC. What is
//! written and when is up to the pattern.
//!
//! Semantics as in the driver's reference manual, "Memory Management", `cuIpcGetMemHandle` and
//! `cuIpcOpenMemHandle`: a handle stands for a whole allocation; memory must be closed wherever it was opened
//! before its owner frees it; its owner can't open it.

use cudarc::driver::sys;

use super::buffer::Buffer;
use crate::cuda::device::Device;
use crate::cuda::device::apart;
use crate::error::Result;

/// Bytes of a driver's handle.
const HANDLE: usize = 64;
/// Allocations of at least this size share no block of device memory with others.
const BLOCK: usize = 2 << 20;

/// What another process needs to open a buffer; send it by any means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported([u8; HANDLE]);

impl Exported {
    /// As bytes.
    pub fn bytes(&self) -> [u8; HANDLE] {
        self.0
    }

    /// Out of its bytes; `None` unless there are as many as a handle has.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl Buffer {
    /// At least `bytes` bytes in an allocation of their own, for export.
    ///
    /// # Errors
    /// See [`Buffer::new`].
    pub fn to_export(device: &Device, bytes: usize) -> Result<Self> {
        Self::new(device, bytes.max(1).next_multiple_of(BLOCK))
    }

    /// A handle for other processes of this host. The buffer must come from [`Buffer::to_export`], and must
    /// not be dropped before every process that opened it has closed it.
    ///
    /// # Errors
    /// The driver's, e.g. if it lacks IPC.
    pub fn export(&self) -> Result<Exported> {
        self.device().bind()?;
        let mut handle = sys::CUipcMemHandle { reserved: [0; HANDLE] };
        // SAFETY: writes one handle; the address is that of an allocation.
        let code = unsafe { sys::cuIpcGetMemHandle(&mut handle, self.address()) };
        self.device().check(code, "exporting memory to other processes")?;
        Ok(Exported(handle.reserved.map(|byte| byte as u8)))
    }
}

/// Another process's memory, closed on drop.
#[derive(Debug)]
pub struct Imported {
    device: Device,
    address: u64,
}

impl Imported {
    /// Lets kernels on `device` address memory that another process of this host has exported.
    ///
    /// # Errors
    /// The driver's: a process of another host, or this one; no direct link between the devices.
    pub fn open(device: &Device, exported: &Exported) -> Result<Self> {
        device.bind()?;
        let handle = sys::CUipcMemHandle { reserved: exported.0.map(|byte| byte as _) };
        let flags = sys::CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS as u32;
        let mut address = 0;
        // SAFETY: writes one address; the driver checks the handle.
        let code = unsafe { sys::cuIpcOpenMemHandle_v2(&mut address, handle, flags) };
        device.check(code, "opening the memory of another process")?;
        Ok(Self { device: *device, address })
    }

    /// Its address for kernels on the device that it was opened for.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for Imported {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            let _apart = apart();
            // SAFETY: opened by this value; the code that queued work with its address waited for it.
            let _ = unsafe { sys::cuIpcCloseMemHandle(self.address) };
        }
    }
}
