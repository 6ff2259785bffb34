//! Tables among the parameters of element functions: copied to the device, where the parameters of launches point to them.

use std::any::TypeId;
use std::ffi::c_void;
use std::sync::Arc;

use crate::cpu::Slab;
use crate::spec::reduction::scalar::SessionScalar;
use crate::spec::stage::StageList;
use crate::{Knows, RawTap, Stage};
use warpweft_core::cuda::{Buffer, Stream};
use warpweft_core::element::{Bits, CellType, TableBytes, Unit};
use warpweft_core::error::Result;
use warpweft_core::grid::{Axes, RawVolume};

/// Bytes of a table at least.
const LEAST: usize = 4096;

/// A stage whose parameters are for one device.
struct OnDevice {
    of: Arc<dyn Stage>,
    /// The parameters, with addresses on the device.
    parameters: Vec<u64>,
    /// What they point to.
    _tables: Vec<Buffer>,
}

/// `stages` with their tables on the device of `stream`.
///
/// # Errors
/// Too little memory there; the driver's.
pub(super) fn on_device(stages: &StageList, stream: &Stream) -> Result<StageList> {
    stages.iter().map(|stage| one(stage, stream)).collect()
}

fn one(stage: &Arc<dyn Stage>, stream: &Stream) -> Result<Arc<dyn Stage>> {
    let tables = stage.tables();
    if tables.is_empty() {
        return Ok(stage.clone());
    }
    let size = stage.parameters_size();
    // SAFETY: a stage promises that so many bytes are there; those between members are copied, never looked at.
    let bytes = unsafe {
        std::slice::from_raw_parts(stage.parameters().cast::<std::mem::MaybeUninit<u8>>(), size)
    };
    let mut parameters = vec![0u64; size.div_ceil(8)];
    // SAFETY: `parameters` has room for `size` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), parameters.as_mut_ptr().cast(), size);
    }
    let mut buffers = Vec::new();
    for TableBytes { offset, bytes, item } in tables {
        // A table of nothing still has memory for one item, which a fault reads.
        let buffer = Buffer::new(stream.device(), bytes.len().max(item).max(LEAST))?;
        stream.upload_bytes(&buffer, 0, bytes)?;
        // A table begins with its address, aligned as an integer of eight bytes.
        if let Some(word) = parameters.get_mut(offset / 8) {
            *word = buffer.address();
        }
        buffers.push(buffer);
    }
    stream.synchronize()?;
    Ok(Arc::new(OnDevice { of: stage.clone(), parameters, _tables: buffers }))
}

// SAFETY: all but the parameters is that of a stage, and these are a copy of the same size.
unsafe impl Stage for OnDevice {
    fn name(&self) -> &'static str {
        self.of.name()
    }
    fn function(&self) -> TypeId {
        self.of.function()
    }
    fn rank(&self) -> usize {
        self.of.rank()
    }
    fn cell_type(&self) -> CellType {
        self.of.cell_type()
    }
    fn taps(&self) -> &[RawTap] {
        self.of.taps()
    }
    fn writes(&self) -> &'static [usize] {
        self.of.writes()
    }
    fn knows(&self) -> Knows {
        self.of.knows()
    }
    fn cell(&self, now: &RawVolume, at: Axes<usize>, place: (Axes<usize>, u64)) -> Bits {
        self.of.cell(now, at, place)
    }
    unsafe fn slab(&self, slab: &Slab) {
        // SAFETY: passed on to the caller.
        unsafe { self.of.slab(slab) }
    }
    fn cuda(&self, unit: &mut Unit) -> String {
        self.of.cuda(unit)
    }
    fn parameters_text(&self, unit: &mut Unit) -> String {
        self.of.parameters_text(unit)
    }
    fn parameters(&self) -> *const c_void {
        self.parameters.as_ptr().cast()
    }
    fn parameters_size(&self) -> usize {
        self.of.parameters_size()
    }
    fn tables(&self) -> Vec<TableBytes<'_>> {
        self.of.tables()
    }
    fn taken(&self) -> Vec<(&'static str, SessionScalar)> {
        self.of.taken()
    }
    fn given(&self, values: &[Option<f64>]) -> Arc<dyn Stage> {
        self.of.given(values)
    }
}
