//! What a launch reads and writes, in the hybrid layout.

use super::text::{Arguments, Extras};
use crate::cuda::upload::inputs;
use crate::frame::allocate;
use crate::plan::Plan;
use crate::recurrence::{WavefrontElement, bytes_of};
use crate::spec::{Erased, Keep};
use warpweft_core::cuda::{Buffer, Device, Stream};
use warpweft_core::error::Result;

/// Bytes between two flags, as in `flags.cuh`: a sector of its own for each.
const FLAG_BYTES: usize = 32;

/// What cells and inputs hold before a run.
#[derive(Clone, Copy, Debug)]
pub enum Contents<'a, E: WavefrontElement> {
    /// What the wavefront says.
    Given,
    /// These, over and over in the order of memory, whatever the wavefront says: for measurements at
    /// sizes that the host can't hold.
    Repeated {
        /// Inputs of cells.
        inputs: &'a [E::Input],
        /// Cells before the first sweep.
        cells: &'a [E::Cell],
    },
}

/// Inputs and cells that repeat, if they do, as bytes.
pub(crate) type Repeated<'a> = Option<[&'a [u8]; 2]>;

impl<'a, E: WavefrontElement> Contents<'a, E> {
    pub(crate) fn repeated(&self) -> Repeated<'a> {
        match self {
            Self::Given => None,
            Self::Repeated { inputs, cells } => Some([bytes_of(inputs), bytes_of(cells)]),
        }
    }
}

/// The buffers of a launch.
pub(super) struct Buffers {
    rows: Buffer,
    columns: Buffer,
    inputs: Buffer,
    pub(super) matrix: Buffer,
    top: Buffer,
    sides: Buffer,
    border: Buffer,
    carry: Buffer,
    pub(super) flags: Buffer,
    pub(super) kept: Buffer,
    pub(super) candidates: Buffer,
    pub(super) idle: Buffer,
    /// Bottom rows that are kept at once, and states of tile-rows.
    counts: [usize; 2],
}

impl Buffers {
    /// Filled with what the kernel reads.
    ///
    /// # Errors
    /// Too little memory; the driver's.
    pub fn new(
        device: &Device,
        stream: &Stream,
        wavefront: &Erased<'_>,
        plan: &Plan,
        contents: Repeated<'_>,
        blocks: usize,
    ) -> Result<Self> {
        let [rows, columns] = plan.extents;
        let element = &wavefront.element;
        let (cell, sweeps) = (element.cell, !element.old.is_empty());
        let stores = wavefront.keep == Keep::Matrix || sweeps;
        let padded = columns + 2 * plan.column_padding();
        let mut columns_in = vec![0; padded * element.column];
        columns_in[plan.column_padding() * element.column..][..wavefront.columns.len()]
            .copy_from_slice(wavefront.columns);
        let lines = match wavefront.border.value() {
            Some(_) => Vec::new(),
            None => side_cells(wavefront, plan)?,
        };
        let borders = if wavefront.sweeps > 1 { plan.tile_rows } else { 1 };
        let states = plan.tile_rows * plan.live_sweeps();
        let carried = !plan.policy.method.flags() && plan.units() > blocks;
        let carry = plan.shape.depth + (plan.shape.above + 1) * plan.shape.history;
        let carries = if carried { states * carry * plan.layout.height } else { 0 };
        let kept_cells = match wavefront.keep {
            Keep::Best | Keep::Least | Keep::Score | Keep::Sum | Keep::Matrix => 0,
            Keep::LastRow => columns,
            Keep::LastColumn => rows,
        };
        Ok(Self {
            rows: inputs(stream, wavefront.rows, rows)?,
            columns: inputs(stream, &columns_in, padded)?,
            inputs: match element.input {
                0 => Buffer::new(device, 0)?,
                _ => input_buffer(stream, wavefront, plan, contents)?,
            },
            matrix: match (stores, sweeps) {
                (false, _) => Buffer::new(device, 0)?,
                (true, false) => Buffer::new(device, plan.stored() * cell)?,
                (true, true) => cell_buffer(stream, wavefront, plan, contents)?,
            },
            top: Buffer::from_slice(stream, &top_cells(wavefront, plan)?)?,
            sides: Buffer::from_slice(stream, &lines)?,
            border: Buffer::new(device, borders * plan.shape.above * plan.width * cell)?,
            carry: Buffer::new(device, carries * cell)?,
            flags: Buffer::zeroed(stream, blocks * FLAG_BYTES)?,
            kept: Buffer::new(device, kept_cells * cell)?,
            candidates: Buffer::zeroed(stream, blocks * plan.layout.height / 32 * 24)?,
            idle: Buffer::zeroed(stream, blocks * 40)?,
            counts: [borders, states],
        })
    }

    /// The kernel's arguments.
    pub fn arguments(&self, wavefront: &Erased<'_>, plan: &Plan, extras: Extras) -> Arguments {
        let past = |buffer: &Buffer, items: usize, bytes: usize| match buffer.bytes() {
            0 => 0,
            _ => buffer.address() + (items * bytes) as u64,
        };
        let band = wavefront.band.map_or([0; 2], |band| {
            let most = i32::MAX as isize / 2;
            [band.lower, band.upper].map(|d| d.clamp(-most, most) as i32)
        });
        let element = &wavefront.element;
        let [rows, columns] = plan.extents;
        Arguments {
            rows: self.rows.address(),
            columns: past(&self.columns, plan.column_padding(), element.column.max(1)),
            inputs: past(&self.inputs, plan.padding(), element.input),
            matrix: past(&self.matrix, plan.padding(), element.cell),
            top: self.top.address(),
            sides: past(&self.sides, 0, 0),
            border: self.border.address(),
            carry: past(&self.carry, 0, 0),
            flags: self.flags.address(),
            kept: past(&self.kept, 0, 0),
            candidates: self.candidates.address(),
            idle: self.idle.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            tile_rows: plan.tile_rows as i32,
            sweeps: plan.sweeps as i32,
            width: plan.width as i32,
            fronts: plan.layout.fronts as i32,
            tile: plan.policy.width as i32,
            tiles: plan.tiles as i32,
            ring: plan.ring as i32,
            lag: plan.lag as i32,
            sweep_lag: plan.sweep_lag as i32,
            ahead: plan.shape.ahead as i32,
            sweep_ahead: plan.sweep_ahead as i32,
            borders: self.counts[0] as i32,
            states: self.counts[1] as i32,
            delay: extras.delays.unwrap_or(0),
            band_lower: band[0],
            band_upper: band[1],
            buffered: plan.buffered as i32,
        }
    }
}

/// The rows above the domain, nearest first.
fn top_cells(wavefront: &Erased<'_>, plan: &Plan) -> Result<Vec<u8>> {
    let cell = wavefront.element.cell;
    let mut cells = allocate(plan.shape.above * plan.width * cell)?;
    let read = wavefront.element.dependences.iter().map(|[di, _]| -di).max().unwrap_or(0);
    let rows = cells.chunks_mut((plan.width * cell).max(1));
    for (v, row) in rows.enumerate().take(read as usize) {
        for (x, cell) in row.chunks_mut(cell).enumerate() {
            let j = x as isize - plan.shape.sides[0] as isize;
            wavefront.border.put(-1 - v as isize, j, cell);
        }
    }
    Ok(cells)
}

/// The columns before and after the domain, row by row.
fn side_cells(wavefront: &Erased<'_>, plan: &Plan) -> Result<Vec<u8>> {
    let [left, right] = plan.shape.sides;
    let [rows, columns] = plan.extents;
    let cell = wavefront.element.cell;
    let mut cells = allocate(rows * (left + right) * cell)?;
    for (i, row) in cells.chunks_mut(((left + right) * cell).max(1)).enumerate() {
        for (x, cell) in row.chunks_mut(cell).enumerate() {
            let j =
                if x < left { x as isize - left as isize } else { (columns + x - left) as isize };
            wavefront.border.put(i as isize, j, cell);
        }
    }
    Ok(cells)
}

/// The inputs of cells in the hybrid layout.
fn input_buffer(
    stream: &Stream,
    wavefront: &Erased<'_>,
    plan: &Plan,
    contents: Repeated<'_>,
) -> Result<Buffer> {
    let size = wavefront.element.input;
    if let Some([inputs, _]) = contents {
        return repeated(stream, plan.stored() * size, inputs);
    }
    let mut stored = allocate(plan.stored() * size)?;
    let mut given = wavefront.inputs.chunks(size);
    for i in 0..plan.extents[0] {
        for (j, input) in given.by_ref().take(plan.extents[1]).enumerate() {
            let at = plan.padding() + plan.layout.index(i, j + plan.shape.sides[0]);
            stored[at * size..][..size].copy_from_slice(input);
        }
    }
    Buffer::from_slice(stream, &stored)
}

/// The cells before the first sweep in the hybrid layout, and what is around them.
fn cell_buffer(
    stream: &Stream,
    wavefront: &Erased<'_>,
    plan: &Plan,
    contents: Repeated<'_>,
) -> Result<Buffer> {
    let size = wavefront.element.cell;
    if let Some([_, cells]) = contents {
        return repeated(stream, plan.stored() * size, cells);
    }
    let [rows, columns] = plan.extents;
    let mut stored = allocate(plan.stored() * size)?;
    for i in 0..rows + plan.shape.south {
        for x in 0..plan.width {
            let j = x as isize - plan.shape.sides[0] as isize;
            let at = plan.padding() + plan.layout.index(i, x);
            let to = &mut stored[at * size..][..size];
            match usize::try_from(j) {
                Ok(j) if i < rows && j < columns => {
                    to.copy_from_slice(&wavefront.initial[(i * columns + j) * size..][..size]);
                }
                _ => wavefront.border.put(i as isize, j, to),
            }
        }
    }
    Buffer::from_slice(stream, &stored)
}

/// `bytes` bytes: `block` over and over.
fn repeated(stream: &Stream, bytes: usize, block: &[u8]) -> Result<Buffer> {
    let buffer = Buffer::new(stream.device(), bytes)?;
    let mut filled = block.len().min(buffer.bytes());
    stream.upload(&buffer, 0, &block[..filled])?;
    while filled > 0 && filled < buffer.bytes() {
        let more = filled.min(buffer.bytes() - filled);
        stream.copy(&buffer, filled, &buffer, 0, more)?;
        filled += more;
    }
    stream.synchronize()?;
    Ok(buffer)
}
