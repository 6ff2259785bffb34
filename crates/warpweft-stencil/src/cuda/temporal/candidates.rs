//! Which shapes of fused steps suit a stencil: the first choice, and what a tuner should try.
//!
//! The rule rests on measurements on one H200: a block has four warps, each of which keeps the rows of as many
//! levels as registers allow; fewer registers a thread leave room for more blocks on a multiprocessor.

use super::block::TimeBlock;
use super::shape::{TemporalShape, fuses};
use crate::cuda::launch::boxes::whole;
use crate::cuda::memory::layout::Layout;
use crate::cuda::policy::chunks::chunks_of;
use crate::{CudaKernel, CudaPolicy, Spec};
use warpweft_core::grid::Axes;

/// Warps of a block.
const WARPS: u32 = 4;
/// Registers of a thread beside those of levels, and for each word of a row.
const REGISTERS: [usize; 2] = [40, 3];
/// Blocks of four warps an SM, and the registers that each thread then has.
const BLOCKS: [(u32, usize); 4] = [(5, 96), (4, 128), (3, 168), (2, 255)];
/// Rows that a chunk costs beside those that it computes.
const START: usize = 6;

/// What a lane's rows take.
struct Rows {
    /// Words of a cell of all fields.
    words: usize,
    /// Words that a level keeps, for lanes of `vx` cells.
    kept: Box<dyn Fn(usize) -> usize>,
}

fn rows(stencil: &Spec, shape: &TemporalShape) -> Rows {
    let word = |f: usize| stencil.cell.size(f).div_ceil(4);
    let words = shape.fields.iter().map(|&f| word(f)).sum();
    let levels: Vec<_> = shape
        .lags
        .iter()
        .zip(&stencil.stages)
        .map(|(lag, stage)| {
            let fields = shape.fields.iter().map(|&f| {
                let off = stage.taps().iter().any(|tap| tap.field == f && tap.offset[0] != 0);
                let rows = if off { lag.low + lag.high } else { lag.high };
                let beside = if lag.cross { 0 } else { lag.wide[f].iter().sum() };
                (word(f) * rows, beside)
            });
            fields.collect::<Vec<_>>()
        })
        .collect();
    let kept = move |vx: usize| {
        let of = |level: &Vec<(usize, usize)>| {
            level.iter().map(|(rows, beside)| rows * (vx + beside)).sum::<usize>()
        };
        levels.iter().map(of).max().unwrap_or(0)
    };
    Rows { words, kept: Box::new(kept) }
}

/// The shapes of fused steps to try for `stencil` over `extents` on a device of so many multiprocessors, the most
/// promising first; none where steps of it can't be fused.
pub fn temporal_shapes(stencil: &Spec, extents: Axes<usize>, sms: u32) -> Vec<CudaPolicy> {
    if !fuses(stencil) {
        return Vec::new();
    }
    let mut all: Vec<(f64, CudaPolicy)> = match stencil.rank() {
        2 => flat_shapes(stencil, extents).collect(),
        _ => deep_shapes(stencil, extents).collect(),
    };
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let placed = all.into_iter().filter_map(|(_, policy)| chunked(stencil, extents, policy, sms));
    placed.take(8).collect()
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

/// Shapes in two dimensions with figures of merit: the part of a tile's cells that is stored, and how
/// well it hides what it waits for.
fn flat_shapes(
    stencil: &Spec,
    extents: Axes<usize>,
) -> impl Iterator<Item = (f64, CudaPolicy)> + use<'_> {
    let lanes = [16, 8, 4, 2].into_iter();
    let all = lanes.flat_map(|vx| [4, 3, 2, 1].map(|steps| (vx, steps)));
    all.filter_map(move |(vx, steps)| {
        let found = [3, 5, 7, 1].into_iter().find_map(|prefetch| {
            let policy = policy([vx, 1, 1], WARPS, prefetch, steps * WARPS);
            Some((policy, TemporalShape::of(stencil, &policy, extents)?))
        });
        let (mut policy, shape) = found?;
        let (rows, cells) = (rows(stencil, &shape), vx as usize);
        let registers =
            REGISTERS[0] + (rows.kept)(cells) * shape.levels + REGISTERS[1] * rows.words * cells;
        let &(blocks, _) = BLOCKS.iter().find(|(_, room)| registers <= *room)?;
        policy.min_blocks = blocks;
        let inner = shape.inner() as f64 / shape.columns as f64;
        // A level costs its cells, and a constant beside; memory is visited once for all steps.
        let beside = 1.0 + 1.5 / f64::from(vx);
        let memory = 1.0 + 0.6 / f64::from(policy.temporal_depth);
        let busy = [0.0, 0.75, 0.9, 0.96, 1.0, 1.0][blocks as usize];
        Some((inner * busy / beside / memory, policy))
    })
}

/// Shapes in three dimensions: one block a multiprocessor.
fn deep_shapes(
    stencil: &Spec,
    extents: Axes<usize>,
) -> impl Iterator<Item = (f64, CudaPolicy)> + use<'_> {
    // Warps, the registers that each thread then has, and how busy they keep a multiprocessor.
    let warps = [(12, 168, 1.0), (16, 128, 0.97), (8, 255, 0.85)];
    let cells = [4, 2, 1].into_iter().flat_map(|vx| [4, 3, 2, 6, 8].map(|vy| (vx, vy)));
    let all = cells.flat_map(move |cells| warps.map(|warps| (cells, warps)));
    let all = all.flat_map(|(cells, warps)| [4, 3, 2, 1].map(|depth| (cells, warps, depth)));
    all.filter_map(move |((vx, vy), (warps, room, busy), depth)| {
        let prefetch = if depth > 3 { 3 } else { 2 };
        let policy = policy([vx, vy, 1], warps, prefetch, depth);
        let shape = TemporalShape::of(stencil, &policy, extents)?;
        let (rows, cells) = (rows(stencil, &shape), (vx * vy) as usize);
        let kept = (rows.kept)(vx as usize) * vy as usize * shape.levels;
        let beside = 4 * shape.beside * rows.words * vx as usize;
        if REGISTERS[0] + kept + REGISTERS[1] * rows.words * cells + beside > room {
            return None;
        }
        let of = |inner: usize, all: usize| inner as f64 / all as f64;
        let inner = of(shape.inner(), shape.columns) * of(shape.inner_y(), shape.rows);
        // A visit to memory costs about as much as two levels.
        Some((inner * busy / (1.0 + 1.5 / f64::from(depth)), policy))
    })
}

/// The policy with a chunk that fits the extents, by the model of [`chunks_of`].
fn chunked(
    stencil: &Spec,
    extents: Axes<usize>,
    policy: CudaPolicy,
    sms: u32,
) -> Option<CudaPolicy> {
    let depth = policy.temporal_depth as usize;
    let shape = TemporalShape::of(stencil, &policy, extents)?;
    let layout = Layout::of(stencil, extents, super::ghosts(stencil, depth), [0; 2]).ok()?;
    let [across, down, _] = TimeBlock::new(&layout, &shape, &policy, &whole(&layout)).blocks;
    let slots = (sms * policy.min_blocks) as usize;
    let best = chunks_of(extents[0], (across * down) as usize, slots, shape.overhead() + START);
    Some(CudaPolicy { chunk: *best.first()?, ..policy })
}
