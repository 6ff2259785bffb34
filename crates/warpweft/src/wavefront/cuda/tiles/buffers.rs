//! What a launch reads and writes, in the hybrid layout.

use super::super::bytes::{bytes_of, inputs};
use super::plan::Plan;
use super::text::{Arguments, Extras};
use crate::cuda::{Buffer, Device, Stream};
use crate::error::Result;
use crate::wavefront::frame::allocate;
use crate::wavefront::spec::{Keep, Wavefront};
use crate::wavefront::{Border, WavefrontElement};

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
    pub fn new<E: WavefrontElement>(
        device: &Device,
        stream: &Stream,
        wavefront: &Wavefront<'_, E>,
        plan: &Plan,
        contents: Contents<'_, E>,
        blocks: usize,
    ) -> Result<Self> {
        let [rows, columns] = plan.extents;
        let cell = size_of::<E::Cell>();
        let stores = wavefront.keep == Keep::Matrix || !E::OLD.is_empty();
        let mut columns_in = vec![E::Column::default(); columns + 2 * plan.column_padding()];
        columns_in[plan.column_padding()..][..columns].copy_from_slice(wavefront.columns);
        let lines = match wavefront.border {
            Border::Value(_) => Vec::new(),
            _ => side_cells(wavefront, plan)?,
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
            rows: inputs(stream, wavefront.rows)?,
            columns: inputs(stream, &columns_in)?,
            inputs: match size_of::<E::Input>() {
                0 => Buffer::new(device, 0)?,
                _ => input_buffer(stream, wavefront, plan, contents)?,
            },
            matrix: match (stores, E::OLD.is_empty()) {
                (false, _) => Buffer::new(device, 0)?,
                (true, true) => Buffer::new(device, plan.stored() * cell)?,
                (true, false) => cell_buffer(stream, wavefront, plan, contents)?,
            },
            top: Buffer::from_slice(stream, bytes_of(&top_cells(wavefront, plan)?))?,
            sides: Buffer::from_slice(stream, bytes_of(&lines))?,
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
    pub fn arguments<E: WavefrontElement>(
        &self,
        wavefront: &Wavefront<'_, E>,
        plan: &Plan,
        extras: Extras,
    ) -> Arguments {
        let past = |buffer: &Buffer, items: usize, bytes: usize| match buffer.bytes() {
            0 => 0,
            _ => buffer.address() + (items * bytes) as u64,
        };
        let band = wavefront.band.map_or([0; 2], |band| {
            let most = i32::MAX as isize / 2;
            [band.lower, band.upper].map(|d| d.clamp(-most, most) as i32)
        });
        let cell = size_of::<E::Cell>();
        let [rows, columns] = plan.extents;
        Arguments {
            rows: self.rows.address(),
            columns: past(&self.columns, plan.column_padding(), size_of::<E::Column>().max(1)),
            inputs: past(&self.inputs, plan.padding(), size_of::<E::Input>()),
            matrix: past(&self.matrix, plan.padding(), cell),
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
            band,
            buffered: plan.buffered as i32,
        }
    }
}

/// The rows above the domain, nearest first.
fn top_cells<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    plan: &Plan,
) -> Result<Vec<E::Cell>> {
    let mut cells = allocate(plan.shape.above * plan.width)?;
    let read = E::DEPENDENCES.iter().map(|[di, _]| -di).max().unwrap_or(0);
    for (v, row) in cells.chunks_mut(plan.width).enumerate().take(read as usize) {
        for (x, cell) in row.iter_mut().enumerate() {
            let j = x as isize - plan.shape.sides[0] as isize;
            *cell = wavefront.border.at(-1 - v as isize, j);
        }
    }
    Ok(cells)
}

/// The columns before and after the domain, row by row.
fn side_cells<E: WavefrontElement>(
    wavefront: &Wavefront<'_, E>,
    plan: &Plan,
) -> Result<Vec<E::Cell>> {
    let [left, right] = plan.shape.sides;
    let [rows, columns] = plan.extents;
    let mut cells = allocate(rows * (left + right))?;
    for (i, row) in cells.chunks_mut((left + right).max(1)).enumerate() {
        for (x, cell) in row.iter_mut().enumerate() {
            let j =
                if x < left { x as isize - left as isize } else { (columns + x - left) as isize };
            *cell = wavefront.border.at(i as isize, j);
        }
    }
    Ok(cells)
}

/// The inputs of cells in the hybrid layout.
fn input_buffer<E: WavefrontElement>(
    stream: &Stream,
    wavefront: &Wavefront<'_, E>,
    plan: &Plan,
    contents: Contents<'_, E>,
) -> Result<Buffer> {
    if let Contents::Repeated { inputs, .. } = contents {
        return repeated(stream, plan.stored(), inputs);
    }
    let mut stored: Vec<E::Input> = allocate(plan.stored())?;
    for i in 0..plan.extents[0] {
        for j in 0..plan.extents[1] {
            let at = plan.padding() + plan.layout.index(i, j + plan.shape.sides[0]);
            stored[at] = wavefront.input(i, j);
        }
    }
    Buffer::from_slice(stream, bytes_of(&stored))
}

/// The cells before the first sweep in the hybrid layout, and what is around them.
fn cell_buffer<E: WavefrontElement>(
    stream: &Stream,
    wavefront: &Wavefront<'_, E>,
    plan: &Plan,
    contents: Contents<'_, E>,
) -> Result<Buffer> {
    if let Contents::Repeated { cells, .. } = contents {
        return repeated(stream, plan.stored(), cells);
    }
    let [rows, columns] = plan.extents;
    let mut stored: Vec<E::Cell> = allocate(plan.stored())?;
    for i in 0..rows + plan.shape.south {
        for x in 0..plan.width {
            let j = x as isize - plan.shape.sides[0] as isize;
            stored[plan.padding() + plan.layout.index(i, x)] = match usize::try_from(j) {
                Ok(j) if i < rows && j < columns => {
                    wavefront.initial.get(i * columns + j).copied().unwrap_or_default()
                }
                _ => wavefront.border.at(i as isize, j),
            };
        }
    }
    Buffer::from_slice(stream, bytes_of(&stored))
}

/// `count` values: `block` over and over.
fn repeated<T: Copy>(stream: &Stream, count: usize, block: &[T]) -> Result<Buffer> {
    let buffer = Buffer::new(stream.device(), count * size_of::<T>())?;
    let block = bytes_of(block);
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
