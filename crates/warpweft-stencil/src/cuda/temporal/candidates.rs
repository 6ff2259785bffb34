//! Which shapes of fused steps suit a stencil: the first choice, and what a tuner should try.
//!
//! The rule is a model with constants that were fitted to 83 shapes of ten stencils on one H200 (docs/models.md): each
//! warp keeps the rows of as many levels as registers allow; fewer registers a thread leave room for more blocks on a
//! multiprocessor; and what a row or a plane costs next to its levels is shared by them. Those of stars in two dimensions
//! were fitted again, to 29 shapes of four, when their kernels needed fewer registers.

use super::block::TimeBlock;
use super::partial::{PartialStage, parts};
use super::shape::{TemporalShape, fuses};
use crate::cuda::launch::boxes::whole;
use crate::cuda::memory::layout::{Layout, ghosts_of_pass};
use crate::cuda::policy::chunks::shortest_of;
use crate::cuda::policy::rings::ring_fits;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::grid::Axes;

/// Warps of a block in two dimensions.
const WARPS: u32 = 4;
/// Registers of a thread next to those of levels, and for each word of a row.
const REGISTERS: [usize; 2] = [48, 3];
/// The same in three dimensions, and for each field.
const REGISTERS_DEEP: [usize; 3] = [28, 3, 6];
/// The same where levels keep partial results, next to these.
const REGISTERS_PARTIAL: [usize; 2] = [44, 5];
/// Registers more than there are that a thread of a star in two dimensions may be counted: the compiler does without.
const SPARED: usize = 24;
/// Reads of a new value that take as long as a level of a star.
const TAPS: f64 = 7.0;
/// Operations of a new cell that take as long as a level of a star; those of 64 bits take twice that.
const OPERATIONS: f64 = 8.0;
/// Registers more than there are that a thread in three dimensions may want: a few words spill at no cost.
const SPILLED: usize = 16;
/// Blocks of four warps an SM, and the registers that each thread then has.
const BLOCKS: [(u32, usize); 4] = [(5, 96), (4, 128), (3, 168), (2, 255)];
/// What a row costs next to its levels, in words that a lane computes: barriers, and rows in and out; of stars, then of
/// others.
const ROW: [f64; 2] = [8.0, 36.0];
/// The power of the number of blocks with which they hide one another's waiting, likewise.
const HIDING: [f64; 2] = [0.3, 0.9];
/// What memory costs a step in two dimensions, as [`BYTE`], likewise.
const BYTE_FLAT: [f64; 2] = [0.8, BYTE];
/// What memory costs a step in one dimension, as [`BYTE`], of levels that take 1 in lanes of 16 cells; and the power of how
/// many more lanes there are with which levels take longer. Fitted to four shapes of three points in f32 on one H200.
const BYTE_LINE: f64 = 7.5;
const NARROW_LINE: f64 = 1.2;
/// Registers of a thread in one dimension next to its cells, and for each word of these.
const REGISTERS_LINE: [usize; 2] = [32, 3];
/// What a plane costs next to its levels, in levels.
const PLANE: f64 = 6.0;
/// What memory costs a step: words that a lane computes while a byte of a cell comes and goes. In three dimensions it
/// decides between shapes that are else alike: with half of 1024³ cells on each of two H100s, `bench multi` took 496 µs a
/// step by six steps a pass, and `run heat` 790 by four.
const BYTE: f64 = 0.3;
/// Cells of a lane times levels of a warp.
const LARGEST: u32 = 256;
/// Words of cells in bytes that take as long as one of cells in bits.
const BIT_SLICED: f64 = 3.0;
/// Rows that a chunk costs next to those that it computes.
const START: usize = 6;

/// What a lane's rows take.
struct Rows {
    /// Words of a cell of all fields.
    words: usize,
    /// Words of a cell that a step assigns, over all stages.
    assigned: usize,
    /// Words that the levels of a step keep, for lanes of `vx` cells.
    kept: Box<dyn Fn(usize) -> usize>,
}

fn rows(stencil: &Spec, shape: &TemporalShape) -> Rows {
    let word = |f: usize| stencil.cell.size(f).div_ceil(4);
    let words = shape.fields.iter().map(|&f| word(f)).sum();
    let assigned = stencil.stages.iter().flat_map(|stage| stage.writes());
    let assigned = assigned.map(|&f| word(f)).sum();
    let levels: Vec<_> = shape
        .lags
        .iter()
        .zip(&stencil.stages)
        .map(|(lag, stage)| {
            let fields = shape.fields.iter().map(|&f| {
                let off = stage.taps().iter().any(|tap| tap.field == f && tap.offset[0] != 0);
                let rows = if off { lag.low + lag.high } else { lag.high };
                // Rows that are widened once are so in the queue too.
                let (halo_rows, more) = match lag.cross {
                    true => (0, 0),
                    false => (lag.wide[f].iter().sum(), 5),
                };
                (word(f) * rows, halo_rows, more)
            });
            fields.collect::<Vec<_>>()
        })
        .collect();
    let kept = move |vx: usize| {
        let of = |level: &Vec<(usize, usize, usize)>| {
            level
                .iter()
                .map(|(rows, halo_rows, more)| rows * (vx + halo_rows) + more)
                .sum::<usize>()
        };
        levels.iter().map(of).sum()
    };
    Rows { words, assigned, kept: Box::new(kept) }
}

/// The shapes of fused steps to try for `stencil` over `extents` on a device of so many multiprocessors, the most
/// promising first, `most` at most, of up to `free` steps; none where steps of it can't be fused. Most are of packed cells
/// where these may be `packed`, a few not: it is for the cells to say whether they can be.
pub fn temporal_shapes(
    stencil: &Spec,
    extents: Axes<usize>,
    device: ((u32, u32), u32),
    (most, free): (usize, u64),
    packed: bool,
) -> Vec<CudaPolicy> {
    if !fuses(stencil) {
        return Vec::new();
    }
    let (plain, pack) = (CudaKernel::Temporal, CudaKernel::Packed);
    let flat = stencil.rank() == 2;
    let of =
        |shapes: Vec<Candidate>, most| best_of(shapes, (stencil, extents), device, (most, free));
    let shapes = |kernel| flat_shapes(stencil, extents, kernel).collect();
    let mut all = if packed && flat { of(shapes(pack), most - most / 3) } else { Vec::new() };
    let others = most - all.len();
    all.extend(match stencil.rank() {
        1 => of(line_shapes(stencil, extents).collect(), others),
        2 => of(shapes(plain), others),
        _ => of(deep_shapes(stencil, extents).collect(), others),
    });
    all
}

/// A shape, and what a multiprocessor does by it.
struct Candidate {
    policy: CudaPolicy,
    /// Cells of lanes that are computed in a time.
    speed: f64,
    /// Time that memory takes next to that, for each cell that is stored.
    memory: f64,
    /// The part of a tile's cells that is stored.
    inner: f64,
    /// By what its figure of merit is multiplied, and what is added to it.
    of_kind: [f64; 2],
}

impl Candidate {
    /// Of kernels whose cells are not packed.
    fn new(policy: CudaPolicy, speed: f64, memory: f64, inner: f64) -> Self {
        Self { policy, speed, memory, inner, of_kind: [1.0, 0.0] }
    }

    /// Cells stored in a time, about, if they are so large a part of those that lanes compute.
    fn merit(&self, stored: f64) -> f64 {
        let [factor, addend] = self.of_kind;
        factor / (1.0 / (self.speed * stored) + self.memory) + addend
    }
}

/// Shapes of which the schedule over given extents is computed, the best of those with tiles alone.
const FINALISTS: usize = 24;

/// The best of `all` by their figures of merit.
fn best_of(
    mut all: Vec<Candidate>,
    (stencil, extents): (&Spec, Axes<usize>),
    (capability, sms): ((u32, u32), u32),
    (most, free): (usize, u64),
) -> Vec<CudaPolicy> {
    all.sort_by(|a, b| b.merit(b.inner).total_cmp(&a.merit(a.inner)));
    let fits = |it: &Candidate| {
        let Candidate { policy, .. } = it;
        u64::from(policy.temporal_depth) <= free && ring_fits(stencil, extents, policy, capability)
    };
    let finalists = all.into_iter().filter(fits).take(FINALISTS);
    let mut scheduled: Vec<_> = finalists
        .filter_map(|it| {
            let (policy, stored) = scheduled(stencil, extents, it.policy, sms)?;
            Some((it.merit(stored.unwrap_or(it.inner)), policy))
        })
        .collect();
    scheduled.sort_by(|a, b| b.0.total_cmp(&a.0));
    scheduled.into_iter().map(|(_, policy)| policy).take(most).collect()
}

fn policy(cells: [u32; 3], warps: u32, prefetch: u32, temporal_depth: u32) -> CudaPolicy {
    CudaPolicy {
        kernel: CudaKernel::Temporal,
        cells,
        warps,
        min_blocks: 1,
        chunk: 1,
        prefetch,
        temporal_depth,
        phases: 0,
        contraction: true,
    }
}

impl CudaPolicy {
    /// Fused steps of the shape `[cells along x, cells along y, warps, blocks a multiprocessor, planes ahead, steps]`
    /// with the chunk that suits `extents` on so many multiprocessors; none if no kernel has that shape.
    pub fn fusing(
        stencil: &Spec,
        extents: Axes<usize>,
        [vx, vy, warps, min_blocks, prefetch, depth]: [u32; 6],
        sms: u32,
    ) -> Option<Self> {
        if !fuses(stencil) {
            return None;
        }
        let policy = Self { min_blocks, ..policy([vx, vy, 1], warps, prefetch, depth) };
        scheduled(stencil, extents, policy, sms).map(|(policy, _)| policy)
    }
}

/// Shapes in one dimension.
fn line_shapes(stencil: &Spec, extents: Axes<usize>) -> impl Iterator<Item = Candidate> {
    let bytes = stencil.touched_bytes() as f64;
    let all =
        [16, 8, 4, 2].into_iter().flat_map(|vx| [4, 8, 12, 16, 24, 32].map(|deep| (vx, deep)));
    let all = all.filter(|(vx, depth)| vx * depth <= LARGEST);
    all.filter_map(move |(vx, depth)| {
        let mut policy = policy([vx, 1, 1], WARPS, 1, depth);
        let shape = TemporalShape::of(stencil, &policy, extents)?;
        let margin = shape.lags.iter().flat_map(|lag| lag.wide.iter().flatten()).max();
        let words: usize = shape.fields.iter().map(|&f| stencil.cell.size(f).div_ceil(4)).sum();
        let [fixed, word] = REGISTERS_LINE;
        let registers = fixed + word * words * (vx as usize + margin.unwrap_or(&0));
        let &(blocks, _) = [(8, 64)].iter().chain(&BLOCKS).find(|(_, room)| registers <= *room)?;
        policy.min_blocks = blocks;
        let inner = shape.inner() as f64 / shape.columns as f64;
        let work = (16.0 / f64::from(vx)).powf(NARROW_LINE);
        let memory = BYTE_LINE * bytes / f64::from(depth);
        Some(Candidate::new(policy, 1.0 / work, memory, inner))
    })
}

/// Shapes in two dimensions. Their speed is by the blocks that hide one another's waiting, and the part of a row's time in which
/// it is computed.
fn flat_shapes(
    stencil: &Spec,
    extents: Axes<usize>,
    kernel: CudaKernel,
) -> impl Iterator<Item = Candidate> + use<'_> {
    let bytes = stencil.touched_bytes() as f64;
    let (lanes, deepest): (&[u32], u32) = match kernel {
        CudaKernel::Packed => (&[64, 32, 16, 8], 8),
        _ => (&[16, 8, 4, 2], 6),
    };
    let all = lanes.iter().flat_map(move |&vx| (1..=deepest).map(move |steps| (vx, steps)));
    // Larger ones take tens of seconds to compile.
    let all = all.filter(|(vx, steps)| vx * steps <= LARGEST);
    all.filter_map(move |(vx, steps)| {
        let found = [3, 5, 7, 1].into_iter().find_map(|prefetch| {
            let policy = policy([vx, 1, 1], WARPS, prefetch, steps * WARPS);
            let policy = CudaPolicy { kernel, ..policy };
            Some((policy, TemporalShape::of(stencil, &policy, extents)?))
        });
        let (mut policy, shape) = found?;
        let (rows, cells) = (rows(stencil, &shape), vx as usize / shape.packed);
        let kept = (rows.kept)(cells) * steps as usize;
        let registers = REGISTERS[0] + kept + REGISTERS[1] * rows.words * cells;
        let of = usize::from(!shape.lags.iter().all(|lag| lag.cross));
        let spared = [SPARED, 0][of];
        let &(blocks, _) = BLOCKS.iter().find(|(_, room)| registers <= *room + spared)?;
        policy.min_blocks = blocks;
        let inner = shape.inner() as f64 / shape.columns as f64;
        let bits = if shape.packed > 4 { BIT_SLICED } else { 1.0 };
        let work = bits * (cells * steps as usize * rows.assigned) as f64;
        let busy = f64::from(blocks).powf(HIDING[of]) * work / (work + ROW[of]);
        let memory = BYTE_FLAT[of] * bytes / f64::from(policy.temporal_depth);
        // Cells in bits are several times as fast as those in bytes, and slower in two words a thread than in one: life at
        // 16384² on an H200, 8.7 Tcells/s by 32 steps of one word, 4.9 by 16 steps of two.
        let words = if cells > 1 { 0.5 } else { 1.0 };
        let of_kind = if shape.packed > 4 { [words, 100.0] } else { [1.0, 0.0] };
        Some(Candidate { of_kind, ..Candidate::new(policy, busy, memory, inner) })
    })
}

/// Shapes in three dimensions, likewise: one block a multiprocessor.
fn deep_shapes(stencil: &Spec, extents: Axes<usize>) -> impl Iterator<Item = Candidate> + use<'_> {
    let bytes = stencil.touched_bytes() as f64;
    // Warps, the registers that each thread then has, and how busy they keep a multiprocessor.
    let warps = [(12, 168, 1.0), (16, 128, 0.97), (8, 255, 0.95)];
    // Shuffles and edges are a larger part of the work of the narrowest lanes. Two cells are as good as four: tuning
    // seven points in f32 at 256³, 512³ and 1024³ found two each time.
    let lanes = [(4, 1.0), (2, 1.0), (1, 0.75)];
    let cells = lanes.into_iter().flat_map(|lane| [4, 3, 2, 6, 8].map(|vy| (lane, vy)));
    let all = cells.flat_map(move |cells| warps.map(|warps| (cells, warps)));
    let all = all.flat_map(|(cells, warps)| (1..=6).map(move |depth| (cells, warps, depth)));
    let parts = parts(stencil);
    all.filter_map(move |(((vx, narrow), vy), (warps, room, busy), depth)| {
        let prefetch = if depth == 2 && parts.as_ref().is_some_and(Vec::is_empty) { 3 } else { 2 };
        let policy = policy([vx, vy, 1], warps, prefetch, depth);
        let shape = TemporalShape::with_parts(stencil, &policy, extents, &|| parts.clone())?;
        if registers_of(stencil, &shape, [vx, vy, depth]) > room + SPILLED {
            return None;
        }
        let of = |inner: usize, all: usize| inner as f64 / all as f64;
        let inner = of(shape.inner(), shape.columns) * of(shape.inner_y(), shape.rows);
        let (levels, work) = (f64::from(depth), work_of(stencil, &shape));
        let speed = busy * narrow * levels / (levels * work + PLANE);
        Some(Candidate::new(policy, speed, BYTE * bytes / levels, inner))
    })
}

/// Registers that a thread of a kernel in three dimensions wants, of `[vx, vy]` cells and so many steps.
fn registers_of(stencil: &Spec, shape: &TemporalShape, [vx, vy, depth]: [u32; 3]) -> usize {
    let rows = rows(stencil, shape);
    let (cells, levels) = ((vx * vy) as usize, depth as usize);
    if !shape.parts.is_empty() {
        let kept: usize = shape.parts.iter().map(|stage| stage.words()).sum();
        let [fixed, word] = REGISTERS_PARTIAL;
        return fixed + kept * cells * levels + word * rows.words * cells;
    }
    let kept = (rows.kept)(vx as usize) * vy as usize * levels;
    let halo_rows = 4 * shape.halo_rows * rows.words * vx as usize;
    let [fixed, word, field] = REGISTERS_DEEP;
    fixed + field * shape.fields.len() + kept + word * rows.words * cells + halo_rows
}

/// What a step computes, in levels of a star of seven points.
fn work_of(stencil: &Spec, shape: &TemporalShape) -> f64 {
    let of = |stage: &PartialStage| (stage.operations() * stage.width()) as f64 / OPERATIONS;
    match &shape.parts[..] {
        [] => {
            let taps: usize = stencil.stages.iter().map(|stage| stage.taps().len()).sum();
            let assigned: usize = stencil.stages.iter().map(|stage| stage.writes().len()).sum();
            (taps as f64 / (TAPS * assigned.max(1) as f64)).max(1.0)
        }
        parts => parts.iter().map(of).sum::<f64>().max(1.0),
    }
}

/// The policy with a chunk that fits the extents, by the model of [`shortest_of`], and the part of what its blocks compute until the
/// last has ended that is stored; none of lines, which have no chunks.
fn scheduled(
    stencil: &Spec,
    extents: Axes<usize>,
    policy: CudaPolicy,
    sms: u32,
) -> Option<(CudaPolicy, Option<f64>)> {
    let depth = policy.temporal_depth as usize;
    let shape = TemporalShape::of(stencil, &policy, extents)?;
    if stencil.rank() == 1 {
        return Some((policy, None));
    }
    let layout = Layout::of(stencil, extents, ghosts_of_pass(stencil, depth), [0; 2]).ok()?;
    let [across, down, _] = TimeBlock::new(&layout, &shape, &policy, &whole(&layout)).blocks;
    let slots = (sms * policy.min_blocks) as usize;
    let redundant = shape.overhead() + START;
    let (span, chunk) = shortest_of(extents[0], (across * down) as usize, slots, redundant)?;
    let cells = extents.iter().product::<usize>() / shape.packed;
    let computed = (span * slots * shape.columns * shape.rows) as f64;
    Some((CudaPolicy { chunk: chunk as u32, ..policy }, Some(cells as f64 / computed)))
}
