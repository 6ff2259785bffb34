//! What one GPU computes of a run: its kernel, its copies of the inputs, its borders and flags, its launch.
//! Not: which tile-rows it computes (`assignment`), what becomes of the results (`executor`).

use std::time::Duration;

use super::assignment::Assignment;
use super::packed;
use super::recording::AlsoKept;
use super::text::{Arguments, parameters};
use crate::cuda::signature::Values;
use crate::cuda::tables::OnDevice;
use crate::cuda::upload::inputs;
use crate::policy::CudaPolicy;
use crate::recurrence::bytes_of;
use crate::spec::{Erased, Keep};
use warpweft_core::cuda::{Buffer, Cubin, Device, Kernel, Launch, Module, Stream, Watchdog};
use warpweft_core::error::{Error, Result};

/// How long a block may wait for another. The longest wait of a working run is the last block's for its
/// first chunk, while all before it begin: the time of 400,000 columns, say, on 528 blocks of 8 warps, where 2
/// columns a macro-step and chunks of 32 set warps 94 apart, which is this long at 12 µs a column. Shapes of 8
/// columns on 8 GPUs wait six times as many, which leaves 2 µs for one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Bytes between two flags, as in `layout.cuh`: a sector of its own for each.
const FLAG_BYTES: usize = 32;

/// A GPU and the last kernel that it ran.
pub(super) struct Gpu {
    pub device: Device,
    pub stream: Stream,
    watchdog: Watchdog,
    /// The kernel of this source, and the bytes of shared memory that it needs.
    kernel: Option<(String, Kernel, u32)>,
}

impl Gpu {
    pub fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            kernel: None,
        })
    }

    /// Whether the last kernel is that of `source`.
    pub fn has(&self, source: &str) -> bool {
        self.kernel.as_ref().is_some_and(|(known, ..)| known == source)
    }

    /// Loads what `source` was compiled to.
    pub fn load(&mut self, source: &str, cubin: &Cubin) -> Result<()> {
        let module = Module::load(&self.device, cubin)?;
        let kernel = module.kernel("wavefront_strip")?;
        let shared: u32 = module.global("ww_shared_bytes")?.read(&self.stream)?;
        kernel.allow_shared(shared)?;
        self.kernel = Some((source.into(), kernel, shared));
        Ok(())
    }

    /// The kernel and its shared memory.
    pub fn kernel(&self) -> Option<(&Kernel, u32)> {
        self.kernel.as_ref().map(|(_, kernel, shared)| (kernel, *shared))
    }

    /// Blocks of the kernel that are resident at once, which all of a launch must be: they wait for one
    /// another.
    pub fn resident(&self, policy: &CudaPolicy, inputs: bool) -> Result<usize> {
        let Some((kernel, shared)) = self.kernel() else { return Ok(0) };
        let threads = policy.threads(inputs);
        let an_sm = kernel.blocks_per_sm(threads, shared)?;
        if an_sm == 0 {
            return Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!(
                    "no block of {threads} threads, {} registers a thread and {shared} bytes of \
                     shared memory fits an SM",
                    kernel.attributes().registers
                ),
                hint: "lower `warps` or `rows` of the policy".into(),
            });
        }
        Ok((an_sm.min(policy.blocks) * self.device.sms()?) as usize)
    }

    /// Waits until its launch is done.
    pub fn wait(&self) -> Result<()> {
        self.watchdog.wait(&self.stream, LIMIT)
    }
}

/// What a GPU holds for one run.
pub(super) struct Subdomain<'g> {
    pub gpu: &'g Gpu,
    pub assignment: Assignment,
    row_inputs: Buffer,
    column_inputs: Buffer,
    /// Of all cells, whatever rows are computed here.
    cell_inputs: Buffer,
    left: Option<Buffer>,
    /// Two cells: of the border where it is the same everywhere, and its corner.
    edges: Vec<u8>,
    flags: Buffer,
    /// The border: at last the last row, on the GPU that computed it.
    pub border: Buffer,
    /// Its rows of the matrix or of the last column, or its choices.
    pub kept: Buffer,
    record: Buffer,
    /// A winner a warp.
    pub candidates: Buffer,
    element: OnDevice,
    /// The function that tells choices, if they are recorded.
    choice: Option<OnDevice>,
}

impl<'g> Subdomain<'g> {
    /// Allocates and fills; all of it is queued in the GPU's stream.
    pub fn new(
        gpu: &'g Gpu,
        assignment: Assignment,
        wavefront: &Erased<'_>,
        policy: &CudaPolicy,
        also: AlsoKept<'_>,
    ) -> Result<Self> {
        let (device, stream) = (&gpu.device, &gpu.stream);
        let [rows, columns] = wavefront.extents;
        let cell = wavefront.element.cell;
        let height = policy.tile_rows();
        let border = Buffer::new(device, columns * cell)?;
        let mut left = None;
        let mut edges = wavefront.outside().repeat(2);
        if let Some([corner, top, cells]) = wavefront.border.lines(wavefront.extents) {
            if assignment.has(0) {
                stream.upload(&border, 0, &top)?;
            }
            left = Some(Buffer::from_slice(stream, &cells)?);
            edges[cell..].copy_from_slice(&corner);
        }
        let own: usize = assignment.rows(height, rows).map(|range| range.len()).sum();
        let kept = match wavefront.keep {
            Keep::Matrix => own * columns,
            Keep::LastColumn => own,
            _ if also.edges() => own,
            _ => 0,
        };
        let choices = also.recording().map(|it| it.bytes([rows, columns], policy));
        let element = OnDevice::new(stream, wavefront.parameters, &wavefront.tables)?;
        let choice = also.recording().map(|it| it.on_device(stream)).transpose()?;
        Ok(Self {
            gpu,
            assignment,
            row_inputs: inputs(stream, wavefront.rows, rows)?,
            column_inputs: inputs(stream, wavefront.columns, columns)?,
            cell_inputs: inputs(stream, wavefront.inputs, 1)?,
            left,
            edges,
            flags: Buffer::zeroed(stream, rows.div_ceil(height) * FLAG_BYTES)?,
            border,
            kept: Buffer::new(device, choices.unwrap_or(kept * cell))?,
            record: Buffer::zeroed(stream, 8)?,
            candidates: Buffer::zeroed(stream, assignment.blocks * policy.warps as usize * 24)?,
            element,
            choice,
        })
    }

    /// Launches the kernel. `above` and `below` have the blocks before the first and after the last of
    /// this one's: itself, where it is the only one.
    pub fn launch(
        &self,
        wavefront: &Erased<'_>,
        policy: &CudaPolicy,
        above: &Self,
        below: &Self,
        also: AlsoKept<'_>,
        delays: u32,
    ) -> Result<()> {
        let Some((kernel, shared)) = self.gpu.kernel() else { return Ok(()) };
        let [rows, columns] = wavefront.extents;
        let arguments = Arguments {
            rows: self.row_inputs.address(),
            columns: self.column_inputs.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            border: self.border.address(),
            left: self.left.as_ref().map_or(0, Buffer::address),
            flags: self.flags.address(),
            kept: self.kept.address(),
            record: self.record.address(),
            candidates: self.candidates.address(),
            border_below: below.border.address(),
            flags_below: below.flags.address(),
            inputs: self.cell_inputs.address(),
            has_lines: i32::from(self.left.is_some()),
            first_block: self.assignment.first as i32,
            all_blocks: self.assignment.all as i32,
            gpu_above: above.gpu.device.ordinal() as i32,
            delays,
            symbols: packed::symbols(wavefront.columns).unwrap_or_default(),
        };
        self.gpu.watchdog.reset();
        let recording = also.recording();
        let choice = self.choice.as_ref().zip(recording);
        let values = Values {
            arguments: (bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>()),
            watchdog: Some(&self.gpu.watchdog),
            edges: &self.edges,
            element: &self.element.parameters,
            choice: choice.map(|(choice, recording)| (&choice.parameters[..], recording.align)),
        };
        let args = values.launch(parameters(recording.is_some()), &wavefront.element)?;
        let threads = policy.threads(wavefront.element.input > 0);
        let launch = Launch::line(self.assignment.blocks as u32, threads).shared(shared);
        // SAFETY: the arguments are those of `wavefront_strip` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait, those of neighbours too.
        unsafe { self.gpu.stream.launch_cooperative(kernel, launch, &args) }
    }
}
