//! Runs the paper's methods: inputs in, one cooperative launch, what was kept out.

use std::time::{Duration, Instant};

use super::super::executor::{bytes_of, bytes_of_mut, inputs, winner};
use super::idle::IdleTime;
use super::plan::{Plan, Shape};
use super::text::{Arguments, Extras, options, source};
use crate::cuda::{
    Args, Buffer, Device, Event, Global, Kernel, Launch, Module, Stream, Watchdog, compile,
};
use crate::element::Unit;
use crate::error::{Error, Result};
use crate::report::Report;
use crate::wavefront::executor::WavefrontExecutor;
use crate::wavefront::frame::allocate;
use crate::wavefront::report::report;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Border, Extreme, Policy, TilePolicy, WavefrontElement};

/// How long a block may wait for another.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Bytes between two flags, as in `flags.cuh`: a sector of its own for each.
const FLAG_BYTES: usize = 32;

/// Runs any legal wavefront on one GPU by tiles.
pub struct TileExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: Option<TilePolicy>,
    extras: Extras,
    /// The last kernel and its source.
    kernel: Option<(String, Module)>,
}

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

impl TileExecutor {
    /// An executor on `device`; without a policy it takes [`TilePolicy::for_domain`].
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, policy: Option<TilePolicy>) -> Result<Self> {
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            policy,
            extras: Extras::default(),
            kernel: None,
        })
    }

    /// With something compiled in beside the work.
    pub fn with(mut self, extras: Extras) -> Self {
        self.extras = extras;
        self
    }

    /// With another policy.
    pub fn set_policy(&mut self, policy: TilePolicy) {
        self.policy = Some(policy);
    }

    fn module(&mut self, source: String, name: &str) -> Result<Module> {
        if let Some((known, module)) = &self.kernel
            && *known == source
        {
            return Ok(module.clone());
        }
        let cubin = compile(&source, name, &self.device.arch()?, &options())?;
        let module = Module::load(&self.device, &cubin)?;
        self.kernel = Some((source, module.clone()));
        Ok(module)
    }

    /// Everything on the device, ready to be launched.
    ///
    /// # Errors
    /// A policy that no kernel can have, or that the vectors forbid; too little memory; the
    /// compiler's and the driver's.
    pub fn prepare<E: WavefrontElement>(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        contents: Contents<'_, E>,
    ) -> Result<Prepared<'_>> {
        let [rows, columns] = wavefront.extents();
        let policy = match self.policy {
            Some(policy) => policy,
            None => TilePolicy::for_domain(rows, self.device.sms()?),
        };
        let plan =
            Plan::new(wavefront.extents(), wavefront.sweeps, E::DEPENDENCES, E::OLD, policy)?;
        let cell = size_of::<E::Cell>();
        let shared = plan.shared(cell)? as u32;
        let (text, unit) = source(wavefront, &plan, self.extras);
        let module = self.module(text, E::NAME)?;
        let kernel = module.kernel("wavefront_tiles")?;
        kernel.allow_shared(shared)?;
        let blocks = self.blocks(&kernel, &plan, shared)?;
        let fault = match unit.site_of(1) {
            Some(_) => Some(module.global("ww_fault")?),
            None => None,
        };

        let Self { device, stream, watchdog, .. } = &*self;
        let stores = wavefront.keep == Keep::Matrix || !E::OLD.is_empty();
        let mut columns_in = vec![E::Column::default(); columns + 2 * plan.column_padding()];
        columns_in[plan.column_padding()..][..columns].copy_from_slice(wavefront.columns);
        let sides = matches!(wavefront.border, Border::Value(_));
        let borders = if wavefront.sweeps > 1 { plan.tile_rows } else { 1 };
        let states = plan.tile_rows * plan.live_sweeps();
        let carried = !policy.method.flags() && plan.units() > blocks as usize;
        let carry = plan.shape.depth + (plan.shape.above + 1) * plan.shape.history;
        let lines = if sides { Vec::new() } else { side_cells(wavefront, &plan)? };
        let kept_cells = match wavefront.keep {
            Keep::Best | Keep::Least | Keep::Score | Keep::Matrix => 0,
            Keep::LastRow => columns,
            Keep::LastColumn => rows,
        };
        let buffers = Buffers {
            rows: inputs(stream, wavefront.rows)?,
            columns: inputs(stream, &columns_in)?,
            inputs: match size_of::<E::Input>() {
                0 => Buffer::new(device, 0)?,
                _ => input_buffer(stream, wavefront, &plan, contents)?,
            },
            matrix: match (stores, E::OLD.is_empty()) {
                (false, _) => Buffer::new(device, 0)?,
                (true, true) => Buffer::new(device, plan.stored() * cell)?,
                (true, false) => cell_buffer(stream, wavefront, &plan, contents)?,
            },
            top: Buffer::from_slice(stream, bytes_of(&top_cells(wavefront, &plan)?))?,
            sides: Buffer::from_slice(stream, bytes_of(&lines))?,
            border: Buffer::new(device, borders * plan.shape.above * plan.width * cell)?,
            carry: Buffer::new(
                device,
                if carried { states * carry * plan.layout.height * cell } else { 0 },
            )?,
            flags: Buffer::zeroed(stream, blocks as usize * FLAG_BYTES)?,
            kept: Buffer::new(device, kept_cells * cell)?,
            candidates: Buffer::zeroed(stream, blocks as usize * plan.layout.height / 32 * 24)?,
            idle: Buffer::zeroed(stream, blocks as usize * 32)?,
        };
        let past = |buffer: &Buffer, items: usize, bytes: usize| match buffer.bytes() {
            0 => 0,
            _ => buffer.address() + (items * bytes) as u64,
        };
        let band = wavefront.band.map_or([0; 2], |band| {
            let most = i32::MAX as isize / 2;
            [band.lower, band.upper].map(|d| d.clamp(-most, most) as i32)
        });
        let arguments = Arguments {
            rows: buffers.rows.address(),
            columns: past(&buffers.columns, plan.column_padding(), size_of::<E::Column>().max(1)),
            inputs: past(&buffers.inputs, plan.padding(), size_of::<E::Input>()),
            matrix: past(&buffers.matrix, plan.padding(), cell),
            top: buffers.top.address(),
            sides: if sides { 0 } else { buffers.sides.address() },
            border: buffers.border.address(),
            carry: past(&buffers.carry, 0, 0),
            flags: buffers.flags.address(),
            kept: past(&buffers.kept, 0, 0),
            candidates: buffers.candidates.address(),
            idle: buffers.idle.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            tile_rows: plan.tile_rows as i32,
            sweeps: plan.sweeps as i32,
            width: plan.width as i32,
            fronts: plan.layout.fronts as i32,
            tile: policy.width as i32,
            tiles: plan.tiles as i32,
            ring: plan.ring as i32,
            lag: plan.lag as i32,
            sweep_lag: plan.sweep_lag as i32,
            ahead: plan.shape.ahead as i32,
            sweep_ahead: plan.sweep_ahead as i32,
            borders: borders as i32,
            states: states as i32,
            delay: self.extras.delays.unwrap_or(0),
            band,
            reserved: 0,
        };
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        watchdog.argument(&mut args)?;
        let border = match wavefront.border {
            Border::Value(value) => value,
            _ => E::Cell::default(),
        };
        let edges = [border, wavefront.band.map_or(border, |band| band.outside)];
        args.blob(bytes_of(&edges), align_of::<E::Cell>());
        args.blob(bytes_of(std::slice::from_ref(&wavefront.element)), align_of::<E>());
        stream.synchronize()?;
        Ok(Prepared { plan, kernel, fault, unit, stream, watchdog, buffers, args, blocks, shared })
    }

    /// Blocks of a launch, all of which are resident at once: they wait for one another.
    fn blocks(&self, kernel: &Kernel, plan: &Plan, shared: u32) -> Result<u32> {
        let threads = plan.policy.threads();
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
                remedy: "lower `height` or `width` of the policy".into(),
            });
        }
        let resident = (an_sm.min(plan.policy.blocks) * self.device.sms()?) as usize;
        Ok(resident.min(plan.units()) as u32)
    }
}

/// What a launch reads and writes.
struct Buffers {
    rows: Buffer,
    columns: Buffer,
    inputs: Buffer,
    matrix: Buffer,
    top: Buffer,
    sides: Buffer,
    border: Buffer,
    carry: Buffer,
    flags: Buffer,
    kept: Buffer,
    candidates: Buffer,
    idle: Buffer,
}

/// A wavefront on the device.
pub struct Prepared<'x> {
    plan: Plan,
    kernel: Kernel,
    fault: Option<Global>,
    unit: Unit,
    stream: &'x Stream,
    watchdog: &'x Watchdog,
    buffers: Buffers,
    args: Args,
    blocks: u32,
    shared: u32,
}

impl Prepared<'_> {
    /// Fronts, tiles and waits.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Blocks of the launch.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Computes all cells; returns the kernel's seconds. Again: old values are what the last launch
    /// left.
    ///
    /// # Errors
    /// A fault of the element function or of the device.
    pub fn launch(&self) -> Result<f64> {
        let device = self.stream.device();
        self.stream.fill(&self.buffers.flags, 0)?;
        self.watchdog.reset();
        let launch = Launch::line(self.blocks, self.plan.policy.threads()).shared(self.shared);
        let (start, end) = (Event::new(device)?, Event::new(device)?);
        self.stream.record(&start)?;
        // SAFETY: the arguments are those of `wavefront_tiles` in order and layout; every buffer
        // holds what the kernel's comment says, padding included, and lives past the wait.
        unsafe { self.stream.launch_cooperative(&self.kernel, launch, &self.args)? };
        self.stream.record(&end)?;
        self.watchdog.wait(self.stream, LIMIT)?;
        self.check_fault()?;
        start.seconds_until(&end)
    }

    fn check_fault(&self) -> Result<()> {
        let Some(fault) = &self.fault else { return Ok(()) };
        let code = fault.read::<u32>(self.stream)?;
        if code == 0 {
            return Ok(());
        }
        fault.write(self.stream, 0u32)?;
        Err(match self.unit.site_of(code) {
            Some(site) => Error::Element {
                place: format!("{}:{}", site.file, site.line),
                what: site.what.into(),
            },
            None => Error::Element {
                place: self.stream.device().label().into(),
                what: format!("fault {code}, which is no place of its own"),
            },
        })
    }

    /// Where the blocks' time went in the last launch; zeros unless it was compiled in.
    ///
    /// # Errors
    /// The driver's.
    pub fn idle(&self) -> Result<IdleTime> {
        let mut blocks = vec![[0u64; 4]; self.blocks as usize];
        self.stream.download(&self.buffers.idle, 0, &mut blocks)?;
        Ok(IdleTime::of(&blocks))
    }

    fn kept<E: WavefrontElement>(&self, wavefront: &Wavefront<'_, E>) -> Result<Kept<E::Cell>> {
        let [rows, columns] = self.plan.extents;
        let best = |extreme| {
            if wavefront.updates() == 0 {
                // No score at all, which is not the lowest.
                return Ok(None);
            }
            let warps = self.blocks as usize * self.plan.layout.height / 32;
            let mut found = vec![[0u64; 3]; warps];
            self.stream.download(&self.buffers.candidates, 0, &mut found)?;
            Ok::<_, Error>(winner(&found, extreme))
        };
        let line = |count| {
            let mut cells: Vec<E::Cell> = allocate(count)?;
            self.stream.download(&self.buffers.kept, 0, bytes_of_mut(&mut cells))?;
            Ok::<_, Error>(cells)
        };
        Ok(match wavefront.keep {
            Keep::Best => Kept::Best(best(Extreme::Greatest)?),
            Keep::Least => Kept::Best(best(Extreme::Least)?),
            Keep::Score => Kept::Score(best(Extreme::Greatest)?.map(|best| best.score)),
            Keep::LastRow => Kept::LastRow(line(columns)?),
            Keep::LastColumn => Kept::LastColumn(line(rows)?),
            Keep::Matrix => {
                let plan = &self.plan;
                let mut stored: Vec<E::Cell> = allocate(plan.layout.len(plan.stored_tile_rows()))?;
                let skipped = plan.padding() * size_of::<E::Cell>();
                self.stream.download(&self.buffers.matrix, skipped, bytes_of_mut(&mut stored))?;
                let mut matrix: Vec<E::Cell> = allocate(rows * columns)?;
                for (i, row) in matrix.chunks_mut(columns).enumerate() {
                    let first = plan.layout.index(i, plan.shape.sides[0]);
                    let cells = stored[first..].iter().step_by(plan.layout.height);
                    for (to, from) in row.iter_mut().zip(cells) {
                        *to = *from;
                    }
                }
                Kept::Matrix(matrix)
            }
        })
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for TileExecutor {
    fn misses(&self, _: &Wavefront<'_, E>) -> Option<&'static str> {
        let square = self.policy.is_some_and(|policy| policy.method.square());
        let skewed = Shape::of(E::DEPENDENCES, E::OLD).is_ok_and(|shape| !shape.square);
        (square && skewed).then_some("vectors to the north-east in square tiles")
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        wavefront.check()?;
        let begin = Instant::now();
        let prepared = self.prepare(wavefront, Contents::Given)?;
        let mut setup = begin.elapsed().as_secs_f64();
        let seconds = prepared.launch()?;
        let begin = Instant::now();
        let kept = prepared.kept(wavefront)?;
        setup += begin.elapsed().as_secs_f64();
        let policy = Policy::Tiles(prepared.plan.policy);
        let devices = vec![self.device.label().to_string()];
        Ok((kept, report(wavefront, devices, seconds, setup, policy)))
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
    let Contents::Given = contents else {
        let Contents::Repeated { inputs, .. } = contents else { unreachable!() };
        return repeated(stream, plan.stored(), inputs);
    };
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
