//! The shape of a kernel that fuses several steps: what host and kernel agree on.

use super::partial::{PartialStage, keeps_planes, parts, used_fields};
use crate::cuda::memory::layout::axes;
use crate::spec::proof::guard::Guard;
use crate::{Boundary, CudaKernel, CudaPolicy, Spec, Stage};
use warpweft_core::element::Unit;
use warpweft_core::grid::Axes;

/// Lanes of a warp.
const LANES: usize = 32;
/// Bytes of a sector of memory.
const SECTOR: usize = 32;

/// What lies beyond a face, as `face_kind` of levels.cuh numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum FaceKind {
    /// Ghost cells that are computed like any others.
    Open = 0,
    /// One value.
    Dirichlet = 1,
    /// The cells before the face, in reverse.
    Neumann = 2,
    /// The same without the last.
    Mirror = 3,
    /// What a function says.
    Function = 4,
}

impl FaceKind {
    const fn copies(self) -> bool {
        matches!(self, Self::Neumann | Self::Mirror)
    }
}

/// How a level of one stage takes rows in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lag {
    /// Rows before the one that is computed which it needs.
    pub low: usize,
    /// Rows after it.
    pub high: usize,
    /// Whether no tap is off the cell along two axes.
    pub cross: bool,
    /// Per field, cells next to a lane's own along x, `[below, above]`.
    pub wide: Vec<[usize; 2]>,
    /// Per field, whether rows next to a lane's own are read.
    pub tall: Vec<bool>,
}

/// What the host must know of a kernel that fuses several steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemporalShape {
    /// Fields that any stage uses, ascending.
    pub fields: Vec<usize>,
    /// Fields that any stage assigns, ascending.
    pub writes: Vec<usize>,
    /// Of every stage.
    pub lags: Vec<Lag>,
    /// Along z, y and x.
    pub faces: [[FaceKind; 2]; 3],
    /// How far a step reads along each, all stages together, `[below, above]`.
    pub reach: [[usize; 2]; 3],
    /// Steps of a pass.
    pub depth: usize,
    /// Levels of a warp.
    pub levels: usize,
    /// Rows that a level keeps, and rows between two barriers.
    pub kept: usize,
    /// See `kept`.
    pub group: usize,
    /// Cells that are stored at once, for the narrowest field.
    pub unit: usize,
    /// Cells that rows of a region begin at a multiple of.
    pub align: usize,
    /// Cells next to those that a tile stores, along x.
    pub overlap: [usize; 2],
    /// The same along y.
    pub overlap_y: [usize; 2],
    /// Cells of a tile along x.
    pub columns: usize,
    /// Rows of a tile along y.
    pub rows: usize,
    /// Rows next to a lane's own that it needs, on either side: those of other warps.
    pub halo_rows: usize,
    /// The stages taken apart by planes, where levels keep that and no planes (partial.cuh).
    pub parts: Vec<PartialStage>,
    /// Planes ahead of the one that a level of such parts takes in, and behind it, which faces copy there.
    pub copies: [usize; 2],
    /// Whether any face is a function.
    pub functions: bool,
    /// Whether functions ask for their cell's index or the step.
    pub knows: bool,
    /// What keeps functions from being called for cells that need not be computed; known where the text is.
    pub guard: Guard,
    /// Whether blocks at closed faces go first (`block_place` in levels.cuh): where at most a quarter of the tiles are there.
    pub faces_first: bool,
    /// Rounds for which lanes ask functions of faces along x at once (functions.cuh), and the rows of a level that they
    /// ask for.
    pub batch: u8,
    /// See `batch`.
    pub asked_rows: u8,
    /// Bytes of shared memory for cells beyond faces along x that are functions (staged.cuh).
    pub staged: usize,
    /// Cells of the last lane of a row, from 1.
    pub last: usize,
    /// Dynamic shared memory in bytes.
    pub shared: usize,
    /// Cells that are one element of rows; all counts along x but [`TemporalShape::reach`] are of elements.
    pub packed: usize,
}

/// Packed cells of a word, each in a byte.
const BYTES: usize = 4;
/// Packed cells of a word, each in a bit.
const BITS: usize = 32;

/// [`TemporalShape::reach`].
fn reach(stencil: &Spec) -> [[usize; 2]; 3] {
    let reach = stencil.reach();
    let [_, z, y, x] = axes(stencil.rank());
    [z, y, x].map(|axis| axis.map_or([0; 2], |axis| reach[axis]))
}

/// The kind of every face along z, y and x.
fn faces(stencil: &Spec) -> [[FaceKind; 2]; 3] {
    let [_, z, y, x] = axes(stencil.rank());
    let mut kinds = [[FaceKind::Open; 2]; 3];
    for (to, axis) in [z, y, x].into_iter().enumerate() {
        let Some(axis) = axis else { continue };
        for (kind, boundary) in kinds[to].iter_mut().zip(stencil.boundaries.0[axis]) {
            *kind = match boundary {
                Boundary::Periodic => FaceKind::Open,
                Boundary::Dirichlet(_) => FaceKind::Dirichlet,
                Boundary::Neumann => FaceKind::Neumann,
                Boundary::Mirror => FaceKind::Mirror,
                Boundary::Function => FaceKind::Function,
            };
        }
    }
    kinds
}

/// Whether several steps of `stencil` can be fused: in one and two dimensions with any footprint, in three with stars and
/// with functions that can be taken apart by planes, with any fields, stages and faces. Functions of faces can't fault, and
/// have no loops until a condition is met; of element functions see [`Guard::fits`].
pub fn fuses(stencil: &Spec) -> bool {
    // Functions of faces are asked for cells beyond the volume that no step may read, where nothing may be reported nor go on
    // for ever.
    let mut unit = Unit::new();
    for (_, _, function) in stencil.function_faces() {
        function.cuda(&mut unit);
    }
    matches!(stencil.rank(), 1..=3)
        && !stencil.written_fields().is_empty()
        && !unit.faults()
        && !unit.loops()
        && fits_guarded(stencil)
        && parts(stencil).is_some()
}

/// Whether functions that may fault or loop are called for the right cells alone: not where they are taken apart by planes, as
/// parts do what stands behind a condition, and leave out what no result needs.
fn fits_guarded(stencil: &Spec) -> bool {
    let guard = Guard::of(stencil);
    guard.fits(stencil) && (!guard.any() || keeps_planes(stencil))
}

/// Cells that kernels of `policy` hold in a word: in its bits where a lane has as many, else in its bytes.
fn packed_by(policy: &CudaPolicy) -> usize {
    match policy.kernel {
        CudaKernel::Packed if policy.cells[0] as usize >= BITS => BITS,
        CudaKernel::Packed => BYTES,
        _ => 1,
    }
}

/// Whether kernels of `policy` compute cells that are at most `largest` at first.
pub fn packs_cells(stencil: &Spec, policy: &CudaPolicy, largest: u8) -> bool {
    match (packed_by(policy), stencil.packs(largest)) {
        (1, _) => true,
        (BITS, most) => most == Some(1),
        (_, most) => most.is_some(),
    }
}

/// Whether cells of the only field can share words as `policy` says: small values, whole words in a row, and no face
/// along x that copies cells. A volume's own values are looked at when they are there.
fn packs(
    stencil: &Spec,
    (extents, policy): (Axes<usize>, &CudaPolicy),
    faces: &[[FaceKind; 2]; 3],
) -> bool {
    let [_, _, _, x] = axes(stencil.rank());
    let (packed, depth) = (packed_by(policy), policy.temporal_depth as usize);
    let whole = |cells: usize| cells.is_multiple_of(packed);
    // Ghost cells are whole words, and where words are longer than vectors, those of whole lanes.
    let ghosts = if packed == BITS { policy.cells[0] as usize } else { packed };
    let periodic = faces[2].contains(&FaceKind::Open);
    let deep = reach(stencil)[2].map(|cells| cells * depth);
    stencil.rank() == 2
        && x.is_some_and(|x| whole(extents[x]))
        && !faces[2].iter().any(|kind| kind.copies())
        && !stencil.has_functions()
        && (!periodic || deep.iter().all(|cells| cells.is_multiple_of(ghosts)))
        && stencil.packs(1).is_some_and(|most| packed == BYTES || most == 1)
}

/// The lag of `stage`; faces along z that copy need the rows that they copy first, if levels keep these.
fn lag_of(stage: &dyn Stage, faces: &[[FaceKind; 2]; 3], planes: bool) -> Lag {
    let [_, z, y, x] = axes(stage.rank());
    let fields = stage.cell_type().len();
    let (wide, tall) = (vec![[0; 2]; fields], vec![false; fields]);
    // Rows next to a warp's own are of a plane that was written a round before.
    let ahead = usize::from(stage.rank() > 2 && planes);
    let mut lag = Lag { low: 0, high: ahead, cross: true, wide, tall };
    for tap in stage.taps() {
        let [z, y, x] = [z, y, x].map(|axis| axis.map_or(0, |axis| tap.offset[axis]));
        lag.low = lag.low.max(-z.min(0) as usize);
        lag.high = lag.high.max(z.max(0) as usize);
        lag.cross &= [z, y, x].iter().filter(|&&offset| offset != 0).count() < 2;
        lag.tall[tap.field] |= y != 0;
        let wide = &mut lag.wide[tap.field];
        *wide = [wide[0].max(-x.min(0) as usize), wide[1].max(x.max(0) as usize)];
    }
    lag.high = match faces[0][0] {
        _ if !planes => lag.high,
        FaceKind::Neumann => lag.high.max(lag.low.saturating_sub(1)),
        FaceKind::Mirror => lag.high.max(lag.low),
        _ => lag.high,
    };
    if faces[2].iter().any(|kind| kind.copies()) {
        lag.wide.iter_mut().for_each(|wide| *wide = [wide[0].max(wide[1]); 2]);
    }
    lag
}

/// Those of all stages, in words of so many cells along x.
fn lags_of(stencil: &Spec, faces: &[[FaceKind; 2]; 3], planes: bool, packed: usize) -> Vec<Lag> {
    let of = |stage| {
        let mut lag = lag_of(stage, faces, planes);
        lag.wide.iter_mut().flatten().for_each(|cells| *cells = cells.div_ceil(packed));
        lag
    };
    stencil.stages.iter().map(|stage| of(&**stage)).collect()
}

/// Cells next to those that a tile stores, for lanes of `vx` cells that begin at multiples of these in every tile.
fn overlap_of(reached: [usize; 2], unit: usize, vx: usize) -> [usize; 2] {
    let [below, above] = reached.map(|cells| cells.next_multiple_of(unit));
    [below, (below + above).next_multiple_of(vx) - below]
}

/// Planes ahead of the one that a level takes in, and behind it, which faces along z copy there.
fn copies_of(lags: &[Lag], faces: &[[FaceKind; 2]; 3]) -> [usize; 2] {
    let low = lags.iter().map(|lag| lag.low).max().unwrap_or(0);
    let high = lags.iter().map(|lag| lag.high).max().unwrap_or(0);
    let far = |side: usize, reach: usize| match faces[0][side] {
        FaceKind::Neumann => (2 * reach).saturating_sub(1),
        FaceKind::Mirror => 2 * reach,
        _ => 0,
    };
    [far(0, low), far(1, high)]
}

/// Rows that a level of this lag keeps: copies at a face come from as far behind as the ghost is ahead.
fn kept_of(lag: &Lag, faces: &[[FaceKind; 2]; 3]) -> usize {
    let below = if faces[0][0].copies() { 2 * lag.low } else { 0 };
    let above = if faces[0][1].copies() { 2 * lag.high } else { 0 };
    // Edges of a plane are read before those of the next in its place are written.
    let edges = if lag.tall.contains(&true) { lag.high + 1 } else { 0 };
    (lag.low + lag.high).max(below).max(above).max(edges)
}

/// Rows that levels keep: the most of any stage. What functions say beyond faces along x comes to shared memory a plane ahead, next
/// to what is read (staged.cuh).
fn kept_by(stencil: &Spec, lags: &[Lag], faces: &[[FaceKind; 2]; 3]) -> Option<usize> {
    let told = faces[2].contains(&FaceKind::Function);
    let least = if stencil.rank() == 3 && keeps_planes(stencil) && told { 2 } else { 1 };
    Some(lags.iter().map(|lag| kept_of(lag, faces)).max()?.max(least))
}

/// Rows next to a lane's own that any stage reads, in three dimensions.
fn halo_rows_of(stencil: &Spec) -> usize {
    let offsets = stencil.stages.iter().flat_map(|stage| stage.taps());
    match stencil.rank() {
        1 | 2 => 0,
        _ => offsets.map(|tap| tap.offset[1].unsigned_abs()).max().unwrap_or(0),
    }
}

impl TemporalShape {
    /// For a volume of `extents`; `None` where no tile of `policy` is possible: it is all overlap, or higher than
    /// the volume, or a warp has no whole steps.
    pub fn of(stencil: &Spec, policy: &CudaPolicy, extents: Axes<usize>) -> Option<Self> {
        Self::with_parts(stencil, policy, extents, &|| parts(stencil))
    }

    /// The same where the stages' [`parts`] may be known already.
    pub fn with_parts(
        stencil: &Spec,
        policy: &CudaPolicy,
        extents: Axes<usize>,
        parts: &dyn Fn() -> Option<Vec<PartialStage>>,
    ) -> Option<Self> {
        let (faces, fields, packed) = (faces(stencil), used_fields(stencil), packed_by(policy));
        let (depth, warps) = (policy.temporal_depth as usize, policy.warps as usize);
        let [vx, vy, _] = policy.cells.map(|cells| cells as usize);
        let (flat, vx, planes) = (stencil.rank() < 3, vx / packed, keeps_planes(stencil));
        // Warps share the steps of a row, or each has rows of its own.
        let sharing = if stencil.rank() == 2 { warps } else { 1 };
        (packed == 1 || packs(stencil, (extents, policy), &faces)).then_some(())?;
        let lags = lags_of(stencil, &faces, planes, packed);
        let kept = kept_by(stencil, &lags, &faces)?;
        let smallest = packed * fields.iter().map(|&f| stencil.cell.size(f)).min()?;
        let unit = (16 / smallest).clamp(1, vx.max(1));
        let (reach, row) = (reach(stencil), extents[stencil.rank() - 1] / packed);
        let reached = reach[2].map(|cells| (cells * depth).div_ceil(packed));
        let mut shape = Self {
            writes: stencil.written_fields(),
            levels: depth / sharing * lags.len(),
            align: (SECTOR / smallest).max(unit),
            halo_rows: halo_rows_of(stencil),
            rows: if flat { 1 } else { warps * vy },
            overlap_y: reach[1].map(|cells| cells * depth),
            last: if row.is_multiple_of(vx) { vx } else { row % vx },
            overlap: overlap_of(reached, unit, vx),
            copies: copies_of(&lags, &faces),
            parts: Vec::new(),
            functions: stencil.has_functions(),
            knows: stencil.knows().anything(),
            guard: Guard::default(),
            faces_first: false,
            batch: 1,
            asked_rows: 1,
            staged: 0,
            shared: 0,
            packed,
            columns: LANES * vx,
            fields,
            lags,
            faces,
            reach,
            depth,
            kept,
            group: if kept == 1 { 2 } else { kept },
            unit,
        };
        let slots = policy.prefetch as usize + 1;
        let rounds = stencil.rank() != 2
            || (depth.is_multiple_of(warps) && slots.is_multiple_of(shape.group));
        if depth == 0 || !rounds || vx == 0 || vx * smallest < 4 || !shape.tiles(vx, vy, extents) {
            return None;
        }
        shape.faces_first = shape.few_at_faces(extents);
        shape.parts = parts()?;
        shape.shared = shape.shared_bytes(stencil, slots, warps);
        shape.tells(vy, stencil).then_some(shape)
    }

    /// Arranges for what functions of faces say to come to lanes of `vy` rows, if there are any; whether that is possible.
    fn tells(&mut self, vy: usize, stencil: &Spec) -> bool {
        if !self.functions || !self.stages(stencil.rank()) {
            return !self.functions || self.asks(vy, stencil.rank() == 2);
        }
        self.staged = self.staged_bytes(stencil);
        self.shared += self.staged;
        true
    }

    /// Whether tiles, in so many dimensions, stage what functions say of cells beyond faces along y and x (staged.cuh).
    pub fn stages(&self, dims: usize) -> bool {
        self.functions && dims == 3 && self.parts.is_empty()
    }

    /// [`TemporalShape::staged`].
    fn staged_bytes(&self, stencil: &Spec) -> usize {
        if !self.faces[2].contains(&FaceKind::Function) {
            return 0;
        }
        let margin = self.lags.iter().flat_map(|lag| lag.wide.iter().flatten()).max();
        let cell: usize = self.fields.iter().map(|&f| stencil.cell.size(f).max(4)).sum();
        let cells = self.kept * 2 * margin.unwrap_or(&0) * self.levels * self.rows;
        (cells * cell).next_multiple_of(128)
    }

    /// Makes as many rounds as there are lanes for ask functions of faces at once where they go in `groups` (rows.cuh), in lanes
    /// of `vy` rows; whether that is possible.
    fn asks(&mut self, vy: usize, groups: bool) -> bool {
        let rows = match self.rows {
            1 => 1,
            _ if self.parts.is_empty() => vy,
            // Boxes read next to the cells beyond a face along x, too.
            _ => vy + 2 * self.halo_rows,
        };
        // At most as many as there are lanes.
        self.asked_rows = rows.min(LANES) as u8;
        let fits = |rounds: usize| rounds * self.levels * rows <= LANES;
        self.batch = if groups && fits(self.kept) { self.kept as u8 } else { 1 };
        fits(self.batch.into())
    }

    /// Whether tiles of lanes of `vx` by `vy` cells have cells to store, and rows enough at closed faces.
    fn tiles(&self, vx: usize, vy: usize, extents: Axes<usize>) -> bool {
        let wide = self.lags.iter().flat_map(|lag| lag.wide.iter().flatten()).all(|&n| n <= vx);
        let across = self.columns > self.overlap[0] + self.overlap[1];
        if self.rows == 1 && self.halo_rows == 0 && extents.rank() < 3 {
            return wide && across;
        }
        // Closed faces along y are at the ends of tiles, and a mirror's source is among the rows before it.
        let closed = self.closed(1, 0) || self.closed(1, 1);
        let mirrors = self.faces[1].contains(&FaceKind::Mirror);
        let fits = !closed || (extents[1] >= self.rows && (self.halo_rows < vy || !mirrors));
        let down = self.rows > self.overlap_y[0] + self.overlap_y[1] && self.halo_rows <= vy;
        wide && across && down && fits
    }

    /// Dynamic shared memory for `slots` planes in flight.
    fn shared_bytes(&self, stencil: &Spec, slots: usize, warps: usize) -> usize {
        let sizes = || self.fields.iter().map(|&f| stencil.cell.size(f) * self.packed);
        let ring: usize = sizes().map(|size| self.columns * size).sum();
        let register = |size: usize| if self.packed > 1 { 4 } else { size.max(4) };
        let hand: usize = sizes().map(|size| self.columns * register(size)).sum();
        match stencil.rank() {
            1 => 0,
            2 => slots * ring + (warps - 1) * 2 * self.group * hand,
            _ if !self.parts.is_empty() => {
                let height = self.rows + 2 * self.halo_rows;
                let copied: usize = self.copies.iter().sum();
                height * ((slots + copied) * ring + (self.levels - 1) * (2 + copied) * hand)
            }
            _ => {
                let beyond = self.faces[1].contains(&FaceKind::Function);
                let edges = self.levels * (warps + usize::from(beyond)) * 2 * self.halo_rows;
                slots * ring * self.rows + self.kept * edges * hand
            }
        }
    }

    /// Whether launches are told more than what faces hold.
    pub fn framed(&self) -> bool {
        self.functions || self.knows || self.guard.any()
    }

    /// Rounds after which a level takes in what the one before it has made.
    pub fn delay(&self) -> usize {
        if self.parts.is_empty() { 0 } else { 1 + self.copies[0] }
    }

    /// Rows of lag of a warp, which runs so many steps.
    pub fn lag(&self) -> usize {
        let rounds = (self.delay() * self.levels).saturating_sub(usize::from(self.delay() > 0));
        rounds + self.levels / self.lags.len() * self.lags.iter().map(|lag| lag.high).sum::<usize>()
    }

    /// Cells along x that tiles advance by.
    pub fn inner(&self) -> usize {
        self.columns - self.overlap[0] - self.overlap[1]
    }

    /// Rows before the end that the high face along z copies.
    pub fn copied(&self) -> usize {
        let high = self.lags.iter().map(|lag| lag.high).max().unwrap_or(0);
        match self.faces[0][1] {
            FaceKind::Neumann => high,
            FaceKind::Mirror => high + 1,
            _ => 0,
        }
    }

    /// Groups of rows that the loop of most rows unrolls: a few rows, so that bookkeeping is shared.
    pub fn unrolled(&self) -> usize {
        if self.group <= 2 { 2 } else { 1 }
    }

    /// Rows that tiles advance by along y.
    pub fn inner_y(&self) -> usize {
        self.rows - self.overlap_y[0] - self.overlap_y[1]
    }

    /// Planes that a chunk goes through next to those that it stores.
    pub fn overhead(&self) -> usize {
        let steps = self.levels / self.lags.len();
        let warps = self.depth / steps;
        let below: usize = self.lags.iter().map(|lag| lag.low).sum();
        self.depth * below + warps * self.lag() + (warps - 1) * self.group
    }

    /// Whether a face along z (0), y or x is closed at its low (0) or high end.
    pub fn closed(&self, axis: usize, side: usize) -> bool {
        self.faces[axis][side] != FaceKind::Open
    }
}
