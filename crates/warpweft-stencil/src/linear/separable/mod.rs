//! Several steps of a separable linear stencil of f64 in one pass over memory, on FP64 tensor cores (bands.cuh, plane.cuh,
//! volume.cuh). Beyond fixed faces cells are continued where that is exact; else those next to them are left to single
//! steps in shared memory (rim.cuh). Not: which run does so.

mod factors;
mod layout;

use std::time::Instant;

pub(super) use factors::Factors;
pub(super) use layout::Faces;

use super::gpu::Failed;
use layout::{COLUMNS, Layout, REACH, TILE_ROWS};
use warpweft_core::cuda::{
    Args, Buffer, Cubin, Device, Event, Kernel, Launch, Module, Options, Priority, Rows, Stream,
    compile,
};
use warpweft_core::error::Result;

/// Threads of a block of every kernel.
const THREADS: u32 = 256;
/// Parts that an axis is cut into at most, for blocks that work at the same time.
const PARTS: usize = 64;
/// Weights next to a cell may differ by this factor where cells are continued beyond fixed faces.
const UNEVEN: f64 = 16.0;
/// How far from 1 weights may add up to, which round.
const UNITY: f64 = 8.0 * f64::EPSILON;
/// Steps from which on Fourier transforms are faster, in a plane and in a volume: they run at 21 and 25 Gcells/s whatever the
/// steps, a pass at about 3,900 and 750 Gcells/s (one H200, without faces).
const TRANSFORMED: [u64; 2] = [180, 29];

/// A separable step of a volume, and its faces.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Separable {
    pub factors: Factors,
    pub faces: Faces,
    /// Slowest axis first.
    pub extents: Vec<usize>,
}

impl Separable {
    /// Steps of a pass.
    pub fn depth(&self) -> usize {
        REACH[self.extents.len() - 2] / self.factors.radius
    }

    /// Whether `device` can take `steps` steps so, and no other way is faster.
    ///
    /// # Errors
    /// The driver's.
    pub fn suits(&self, device: &Device, steps: u64) -> Result<bool> {
        let periodic = !self.faces.fixed.contains(&true);
        let transformed = periodic && steps >= TRANSFORMED[self.extents.len() - 2];
        Ok(!transformed && device.capability()? >= (9, 0))
    }

    /// Whether there are kernels for this: two or three axes.
    pub fn of(factors: Factors, faces: Faces, extents: &[usize]) -> Option<Self> {
        let known = matches!(extents.len(), 2 | 3) && extents.iter().all(|&n| n < 1 << 30);
        // A grid has at most so many tiles of rows.
        let known = known && (extents.len() < 3 || extents[1] <= TILE_ROWS * 65_535);
        known.then(|| Self { factors, faces, extents: extents.to_vec() })
    }

    /// How cells are continued beyond the fixed faces of each axis, slowest first (the method of images): by the weight before a
    /// cell over that after it; 0 where they are not. Where a step reads one cell to each side, the cell beyond the face then
    /// keeps its value, and no cell of the volume sees what lies behind it. What faces hold must be the same after a step of
    /// a volume that holds it everywhere.
    pub fn images(&self) -> Vec<f64> {
        let sum: f64 = self.factors.along.iter().map(|along| along.iter().sum::<f64>()).product();
        let kept = self.faces.outside == 0.0 || (sum - 1.0).abs() <= UNITY;
        let middle = self.factors.radius;
        let ratio = |along: &Vec<f64>| {
            let [below, above] = [along[middle - 1], along[middle + 1]];
            let ratio = if below == above { 1.0 } else { below / above };
            let near = (2..=middle).all(|k| along[middle - k] == 0.0 && along[middle + k] == 0.0);
            // Also neither negative nor a division by zero.
            if near && (1.0 / UNEVEN..=UNEVEN).contains(&ratio) { ratio } else { 0.0 }
        };
        let axes = self.faces.fixed.iter().zip(&self.factors.along);
        axes.map(|(&fixed, along)| if fixed && kept { ratio(along) } else { 0.0 }).collect()
    }

    /// The kernels. O(1) a launch.
    fn compiled(&self, arch: &str) -> Result<Cubin> {
        let dims = self.extents.len();
        let pass = if dims == 2 { include_str!("plane.cuh") } else { include_str!("volume.cuh") };
        let text = format!(
            "#define WW_REACH {}\n#define WW_RADIUS {}\n#define WW_DIMS {dims}\n{}{pass}{}",
            REACH[dims - 2],
            self.factors.radius,
            include_str!("bands.cuh"),
            include_str!("rim.cuh")
        );
        compile(&text.replace("#pragma once\n", ""), "separable steps", arch, &Options::default())
    }

    /// The weights of `steps` steps as the kernels' `Bands`, or of one as their `Single`: along x, y, z, with `reach` to each
    /// side.
    fn weights(&self, steps: usize, reach: usize) -> Vec<u8> {
        let dims = self.extents.len();
        let along = |n: usize| match dims.checked_sub(n + 1) {
            Some(axis) => self.factors.composed(axis, steps, reach),
            None => vec![0.0; 2 * reach + 1],
        };
        (0..3).flat_map(along).flat_map(f64::to_ne_bytes).collect()
    }
}

/// A volume on the device, and what passes over it.
struct Passes<'a> {
    separable: &'a Separable,
    layout: Layout,
    kernels: [Kernel; 3],
    /// Rim kernels run next to the pass.
    streams: [Stream; 2],
    boxes: Buffer,
    count: u32,
    parts: usize,
}

impl<'a> Passes<'a> {
    fn new(device: &Device, separable: &'a Separable) -> Result<Self> {
        let Separable { factors, faces, extents } = separable;
        let layout = Layout::of(extents, faces, factors.radius, &separable.images());
        let module = Module::load(device, &separable.compiled(&device.arch()?)?)?;
        let pass = if layout.dims == 2 { "ww_plane" } else { "ww_volume" };
        let kernels = [module.kernel(pass)?, module.kernel("ww_rim")?, module.kernel("ww_ghosts")?];
        kernels[0].allow_shared(shared_of_pass(&layout))?;
        kernels[1].allow_shared(shared_of_rim(&layout))?;
        let streams = [Stream::new(device)?, Stream::with_priority(device, Priority::High)?];
        let boxes = layout.boxes();
        let count = boxes.len() as u32;
        let flat: Vec<i32> = boxes.into_iter().flatten().collect();
        let boxes = match flat.is_empty() {
            true => Buffer::new(device, 4)?,
            false => Buffer::from_slice(&streams[0], &flat)?,
        };
        let at_once = device.sms()? * kernels[0].blocks_per_sm(THREADS, shared_of_pass(&layout))?;
        let parts = parts(&layout, at_once.max(1) as usize);
        Ok(Self { separable, layout, kernels, streams, boxes, count, parts })
    }

    /// Queues a pass of `steps` steps.
    fn queue(&self, device: &Device, steps: usize, [from, to]: [&Buffer; 2]) -> Result<()> {
        let [main, side] = &self.streams;
        let (layout, volume) = (&self.layout, self.layout.bytes());
        let ghosts = 2 * (layout.reach + layout.radius);
        for axis in (0..layout.dims).filter(|&axis| !layout.fixed[axis]) {
            let width = |n: usize| match n {
                n if n == axis => ghosts,
                n if n < layout.dims => layout.size[n] + ghosts,
                _ => 1,
            };
            let mut args = Args::new();
            args.buffer(from);
            args.value(axis as i32);
            args.value(layout.images[axis]);
            args.blob(&volume, 8);
            let cells = width(0) * width(1) * width(2);
            let launch = Launch::line(cells.div_ceil(THREADS as usize) as u32, THREADS);
            // SAFETY: the margins hold as many ghost cells on every side, and the grid has one thread for each of them.
            unsafe { main.launch(&self.kernels[2], launch, &args)? };
        }
        let [before, after] = [Event::new(device)?, Event::new(device)?];
        if self.count > 0 {
            main.record(&before)?;
            side.wait(&before)?;
            let mut args = Args::new();
            args.buffer(from);
            args.buffer(to);
            args.value(steps as i32);
            args.blob(&volume, 8);
            args.blob(&self.separable.weights(1, layout.radius), 8);
            args.buffer(&self.boxes);
            let launch = Launch::line(self.count, THREADS).shared(shared_of_rim(layout));
            // SAFETY: `count` boxes lie in the buffer and write cells of the volume only; what they read beyond it and its
            // ghost cells is not memory.
            unsafe { side.launch(&self.kernels[1], launch, &args)? };
            side.record(&after)?;
        }
        let along = layout.size[layout.dims - 1];
        let chunk = along.div_ceil(self.parts);
        let mut args = Args::new();
        args.buffer(from);
        args.buffer(to);
        args.value(chunk as i32);
        args.blob(&volume, 8);
        args.blob(&self.separable.weights(steps, layout.reach), 8);
        let [across, rows] = tiles(layout);
        let chunks = along.div_ceil(chunk);
        let grid = if layout.dims == 2 { [across, chunks, 1] } else { [across, rows, chunks] };
        let launch = Launch::new(grid.map(|n| n as u32), [THREADS, 1, 1]);
        // SAFETY: the margins hold what the last blocks along each axis read beyond the volume.
        unsafe { main.launch(&self.kernels[0], launch.shared(shared_of_pass(layout)), &args)? };
        if self.count > 0 {
            main.wait(&after)?;
        }
        Ok(())
    }
}

/// Blocks of a pass along x and y.
fn tiles(layout: &Layout) -> [usize; 2] {
    let rows = if layout.dims == 2 { 1 } else { layout.size[1].div_ceil(TILE_ROWS) };
    [layout.size[0].div_ceil(COLUMNS), rows]
}

/// How many parts the last axis is cut into, so that blocks, of which so many run at once, end together and read little twice.
fn parts(layout: &Layout, at_once: usize) -> usize {
    let along = layout.size[layout.dims - 1];
    let extra = if layout.dims == 2 { 8 * (1 + layout.reach / 4) * 2 } else { 4 * layout.reach };
    let cost = |parts: usize| {
        let blocks = tiles(layout).iter().product::<usize>() * parts;
        blocks.div_ceil(at_once) * (along.div_ceil(parts) + extra)
    };
    (1..=PARTS.min(along)).min_by_key(|&parts| cost(parts)).unwrap_or(1)
}

/// Shared memory of a block of the pass: slots of rows that are apart by half of the banks.
fn shared_of_pass(layout: &Layout) -> u32 {
    let read = COLUMNS + 2 * layout.reach;
    let row = if read % 16 == 8 { read } else { read + 8 };
    let (slots, rows) = if layout.dims == 2 { (4, 8) } else { (5, TILE_ROWS + 2 * layout.reach) };
    (slots * rows * row * 8) as u32
}

/// Of a block of the rim: two boxes.
fn shared_of_rim(layout: &Layout) -> u32 {
    let deep = 2 * layout.reach + layout.radius;
    let side = if layout.dims == 2 { 64 } else { 16 };
    let wide: usize = side + 2 * layout.reach;
    (2 * deep * wide.pow(layout.dims as u32 - 1) * 8) as u32
}

/// Takes `steps` steps over the `cells` of a volume. Returns the seconds of all passes.
///
/// # Errors
/// There is no compiler; too little memory; the device's.
pub(super) fn advance(
    device: &Device,
    separable: &Separable,
    steps: u64,
    cells: &mut [u8],
) -> std::result::Result<f64, Failed> {
    let passes = Passes::new(device, separable)?;
    let (layout, [main, _]) = (&passes.layout, &passes.streams);
    let buffers =
        [Buffer::zeroed(main, 8 * layout.cells)?, Buffer::zeroed(main, 8 * layout.cells)?];
    let [nx, ny, nz] = layout.size;
    let extents = [8 * nx, ny, nz, 1];
    let rows = Rows {
        offset: 8 * layout.origin,
        strides: [8 * layout.pitch, 8 * layout.plane, 8 * layout.cells],
    };
    main.upload_box(extents, (&buffers[0], rows), (&*cells, Rows::dense(extents)))?;
    main.synchronize()?;
    let begin = Instant::now();
    let (mut from, mut to, mut left) = (&buffers[0], &buffers[1], steps);
    while left > 0 {
        let taken = left.min(separable.depth() as u64);
        passes.queue(device, taken as usize, [from, to])?;
        (from, to, left) = (to, from, left - taken);
    }
    main.synchronize()?;
    let seconds = begin.elapsed().as_secs_f64();
    main.download_box(extents, (from, rows), (cells, Rows::dense(extents)))
        .map_err(Failed::Partly)?;
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_core::cuda::compiler;

    #[test]
    fn kernels_compile_for_hopper() {
        if let Err(reason) = compiler() {
            eprintln!("skipped: {reason}");
            return;
        }
        for dims in [2, 3] {
            for radius in [1, 2] {
                let along = vec![vec![0.2; 2 * radius + 1]; dims];
                let faces = Faces { fixed: vec![true; dims], outside: 0.0 };
                let factors = Factors { radius, along };
                let separable = Separable::of(factors, faces, &vec![100; dims]).unwrap();
                separable.compiled("sm_90").unwrap();
            }
        }
    }
}
