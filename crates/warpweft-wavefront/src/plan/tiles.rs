//! A domain, its vectors and a policy turned into fronts, tiles and waits. No hardware.

use super::Layout;
use crate::policy::TilePolicy;
use crate::recurrence::{Dependence, Reach, precedences, skew};
use warpweft_core::cuda::SharedMemory;
use warpweft_core::error::{Error, Result};

/// What the vectors alone decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns that a row is behind the one above.
    pub skew: usize,
    /// Rows above that are read, at least one.
    pub above: usize,
    /// Columns outside that are read, before and after the domain.
    pub sides: [usize; 2],
    /// Rows below whose old values are read.
    pub south: usize,
    /// Columns to the east whose old values are read.
    pub old_east: usize,
    /// Columns that a row above must be ahead.
    pub ahead: usize,
    /// Per row above (0: the own), the farthest column east that is read of it, and whether any is.
    pub streams: Vec<(isize, bool)>,
    /// Cells remembered of each.
    pub history: usize,
    /// Fronts kept in shared memory: a power of two.
    pub depth: usize,
    /// Whether tiles may be square: no vector leads east.
    pub square: bool,
}

impl Shape {
    /// Of these vectors.
    ///
    /// # Errors
    /// As [`precedences`].
    pub fn of(dependences: &[Dependence], old: &[Dependence]) -> Result<Self> {
        let order = precedences(dependences, old)?;
        let (reach, before) = (Reach::of(dependences).with(Reach::of(old)), Reach::of(&order));
        let skew = skew(&order)?;
        let above = before.north.max(1);
        let mut streams = vec![(-1, true)];
        let mut history = 1;
        let mut depth = 1;
        for u in 0..=above {
            let row = || dependences.iter().filter(|[di, _]| -di == u as isize).map(|[_, dj]| *dj);
            let east = if u == 0 { -1 } else { row().fold(0, isize::max) };
            if let Some(west) = row().min() {
                history = history.max((east - west + 1) as usize);
            }
            if u > 0 {
                streams.push((east, row().next().is_some()));
                depth = depth.max((skew * u) as isize - east);
            }
        }
        Ok(Self {
            skew,
            above,
            sides: [reach.west, reach.east],
            south: reach.south,
            old_east: Reach::of(old).east,
            ahead: before.east,
            streams,
            history,
            depth: (depth as usize + 1).next_power_of_two(),
            square: before.east == 0,
        })
    }
}

/// A run of the tile kernels, in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the vectors decide.
    pub shape: Shape,
    /// The policy.
    pub policy: TilePolicy,
    /// Rows and columns of the domain.
    pub extents: [usize; 2],
    /// Sweeps one behind the other.
    pub sweeps: usize,
    /// Columns with those outside.
    pub width: usize,
    /// Where cells lie in memory.
    pub layout: Layout,
    /// Fronts between two fetches from memory.
    pub group: usize,
    /// Tiles of a tile-row.
    pub tiles: usize,
    /// Tile-rows of a sweep.
    pub tile_rows: usize,
    /// Tiles whose borders the rings hold: the one being computed and those on their way.
    pub buffered: usize,
    /// Cells of a ring of a row above, a power of two.
    pub ring: usize,
    /// Steps from a tile's to the one below, where steps are global.
    pub lag: usize,
    /// Steps from a sweep to the next.
    pub sweep_lag: usize,
    /// Fronts that the sweep before must be ahead.
    pub sweep_ahead: usize,
}

impl Plan {
    /// The plan for a domain.
    ///
    /// # Errors
    /// Illegal vectors; a tile that no kernel can have, or that these vectors forbid.
    pub fn new(
        extents: [usize; 2],
        sweeps: usize,
        dependences: &[Dependence],
        old: &[Dependence],
        policy: TilePolicy,
    ) -> Result<Self> {
        let shape = Shape::of(dependences, old)?;
        let TilePolicy { method, height, width: tile, blocks } = policy;
        let refuse = |what: String, hint: String| Err(Error::spec(what, hint));
        let most = if method.flags() { 960 } else { 1024 };
        let least = shape.above.max(shape.south + 1).max(32);
        if !(least..=most).contains(&(height as usize)) || height % 32 != 0 {
            return refuse(
                format!("tiles of {height} rows"),
                format!("take a multiple of 32 from {least} to {most}"),
            );
        }
        if shape.above > 32 {
            return refuse(
                format!("a cell that is read {} rows below", shape.above),
                "tiles reach 32 rows".into(),
            );
        }
        let even = shape.depth.max(2);
        if tile == 0 || !(tile as usize).is_multiple_of(even) || tile > 1 << 15 {
            return refuse(
                format!("tiles of {tile} columns"),
                format!("take a multiple of {even} up to {}", 1 << 15),
            );
        }
        if method.equal() && tile != height {
            return refuse(
                format!("tiles of {height} x {tile} cells"),
                "this method's tiles have equal dimensions: take flexible ones".into(),
            );
        }
        if method.square() && !shape.square {
            return refuse(
                "square tiles of cells that read to the north-east".into(),
                "take hyper-tiles, which are skewed".into(),
            );
        }
        if !(1..=32).contains(&blocks) {
            return refuse(format!("{blocks} blocks an SM"), "take 1 to 32".into());
        }
        let (height, tile) = (height as usize, tile as usize);
        let group = [8, 4, 2].into_iter().find(|&g| tile % g == 0 && g >= shape.depth);
        let group = group.unwrap_or(shape.depth);
        let width = shape.sides[0] + extents[1] + shape.sides[1];
        let behind = shape.skew * (height - 1);
        let fronts = (width + behind).next_multiple_of(group);
        let square = method.square();
        let tiles = if square { width } else { fronts }.div_ceil(tile);
        let lag = if square { 1 } else { (shape.ahead + behind).div_ceil(tile) + 1 };
        // Narrow tiles pass faster than a border comes through memory: several at a time.
        let buffered = if tile <= 128 { 4 } else { 2 };
        let sweep_ahead = shape.old_east + shape.skew * shape.south + group;
        Self {
            extents,
            sweeps,
            width,
            layout: Layout { height, skew: shape.skew, fronts },
            group,
            tiles,
            tile_rows: extents[0].div_ceil(height),
            buffered,
            ring: (buffered * tile + 2 * shape.ahead + shape.skew * shape.above + 2 * group + 32)
                .next_power_of_two(),
            lag,
            sweep_lag: lag + sweep_ahead.div_ceil(tile) + 1,
            sweep_ahead,
            shape,
            policy,
        }
        .checked()
    }

    fn checked(self) -> Result<Self> {
        // Flags and fronts are counted in 32 bits, and differences must keep their sign.
        let most = i32::MAX as usize / 2;
        if self.layout.fronts > most || self.steps() > most || self.units() > most {
            return Err(Error::spec(
                format!("{} tile-rows of {} fronts", self.units(), self.layout.fronts),
                "take higher tiles, or fewer sweeps at once",
            ));
        }
        Ok(self)
    }

    /// Refuses more tiles than one of so many blocks can count.
    ///
    /// # Errors
    /// How many there are, and what makes them fewer.
    pub fn countable(&self, blocks: usize) -> Result<()> {
        let tiles = self.units().div_ceil(blocks.max(1)).saturating_mul(self.tiles);
        if tiles > i32::MAX as usize {
            return Err(Error::spec(
                format!("{tiles} tiles for each of {blocks} blocks, which count to {}", i32::MAX),
                "take wider or higher tiles, or fewer sweeps at once",
            ));
        }
        Ok(())
    }

    /// Tile-rows of all sweeps.
    pub fn units(&self) -> usize {
        self.tile_rows * self.sweeps
    }

    /// Steps between barriers, from the first tile to the last.
    pub fn steps(&self) -> usize {
        (self.tile_rows - 1) * self.lag + (self.sweeps - 1) * self.sweep_lag + self.tiles
    }

    /// Tile-rows of the layout: rows below the domain have a place.
    pub fn stored_tile_rows(&self) -> usize {
        (self.extents[0] + self.shape.south).div_ceil(self.layout.height)
    }

    /// Cells before and after a stored matrix that may be read, never used.
    pub fn padding(&self) -> usize {
        let reach = self.shape.sides[0] + self.shape.sides[1] + self.shape.skew * self.shape.south;
        let lines = self.shape.skew * self.layout.height + reach + 2 * self.policy.width as usize;
        (lines + 8 * self.group) * self.layout.height
    }

    /// Cells of a stored matrix with its padding.
    pub fn stored(&self) -> usize {
        // One tile-row more: the last one's neighbour below.
        self.layout.len(self.stored_tile_rows() + 1) + 2 * self.padding()
    }

    /// Column inputs before and after the domain's that may be read, never used.
    pub fn column_padding(&self) -> usize {
        self.shape.skew * self.layout.height
            + self.shape.sides[0]
            + 2 * self.policy.width as usize
            + 4 * self.group
    }

    /// Bytes of shared memory of a block, for cells of so many bytes.
    ///
    /// # Errors
    /// More than a block can have of `shared`.
    pub fn shared(&self, cell: usize, shared: SharedMemory) -> Result<usize> {
        let slots = (self.shape.depth * self.layout.height * cell + 16).next_multiple_of(16);
        let bytes = slots + 2 * self.shape.above * self.ring * cell;
        if bytes > shared.block {
            let TilePolicy { height, width, .. } = self.policy;
            return Err(Error::spec(
                format!(
                    "tiles of {height} x {width} cells of {cell} bytes: {bytes} bytes of shared memory, \
                     limit {}",
                    shared.block
                ),
                "take narrower or lower tiles",
            ));
        }
        Ok(bytes)
    }

    /// Sweeps of one tile-row that are at work at once, where steps are global.
    pub fn live_sweeps(&self) -> usize {
        self.sweeps.min(self.tiles / self.sweep_lag + 2)
    }
}

/// The plan by `policy` for cells of so many bytes, of lower tiles as far as they need it to fit.
///
/// # Errors
/// Those of `plan`.
pub(crate) fn fitting(
    cell: usize,
    mut policy: TilePolicy,
    shared: SharedMemory,
    plan: impl Fn(TilePolicy) -> Result<Plan>,
) -> Result<Plan> {
    loop {
        let found = plan(policy)?;
        if policy.height <= 32 || found.shared(cell, shared).is_ok() {
            return Ok(found);
        }
        policy.height = (policy.height / 2).next_multiple_of(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Method;
    use proptest::prelude::*;

    const SETS: [(&[Dependence], &[Dependence]); 5] = [
        (&[[-1, -1], [-1, 0], [0, -1]], &[]),
        (&[[-2, 0], [-2, 1], [-2, 2], [0, -1], [0, -3], [-1, 1], [-1, -2]], &[]),
        (&[[-1, 0], [0, -1]], &[[0, 0], [0, 1], [1, 0]]),
        (&[[-1, 0], [-2, 1], [0, -2]], &[[0, 0], [2, -3], [0, 2], [1, 1]]),
        (&[[0, -1]], &[]),
    ];

    #[test]
    fn more_tiles_than_a_block_can_count_are_refused() {
        let plan = |size: usize| {
            let policy = TilePolicy { height: 32, width: 32, ..TilePolicy::for_domain(size, 132) };
            Plan::new([size; 2], 1, SETS[0].0, &[], policy).unwrap()
        };
        assert!(plan(1_000_000).countable(132).is_ok());
        let refused = plan(30_000_000).countable(132).unwrap_err().to_string();
        assert!(refused.contains("tiles for each of 132 blocks"), "{refused}");
    }

    /// Tiles that we choose fit whatever a device has; wide cells and far vectors take lower ones.
    #[test]
    fn chosen_tiles_fit_every_device() {
        for (limit, (earlier, old)) in
            [48, 99, 163, 227].iter().flat_map(|limit| SETS.map(|set| (limit << 10, set)))
        {
            let shared = SharedMemory::of_block(limit);
            for (rows, cell) in
                [100, 5_000, 200_000].into_iter().flat_map(|n| [4, 8, 16, 32].map(|c| (n, c)))
            {
                let policy = TilePolicy::for_domain(rows, 132);
                let plan = |policy| Plan::new([rows, 1000], 1, earlier, old, policy);
                let found = fitting(cell, policy, shared, plan).unwrap();
                let bytes = found.shared(cell, shared);
                assert!(
                    bytes.is_ok_and(|bytes| bytes <= limit),
                    "{limit} {cell} {:?}",
                    found.policy
                );
                // Those of an H200 are no lower than they were.
                let usual = cell == 4 && limit >= 99 << 10 && earlier.len() == 3;
                assert!(!usual || found.policy == policy, "{:?}", found.policy);
            }
        }
        let wide =
            Plan::new([9, 9], 1, SETS[0].0, &[], TilePolicy::for_domain(200_000, 132)).unwrap();
        let error = wide.shared(64, SharedMemory::of_block(48 << 10)).unwrap_err().to_string();
        assert!(error.contains("bytes of shared memory, limit 49152"), "{error}");
    }

    /// Which unit, which tile of it and, of hyper-tiles, which front computes column `x` of row `i`.
    fn place(plan: &Plan, sweep: usize, i: usize, x: usize) -> [usize; 3] {
        let Plan { layout, policy, .. } = plan;
        let front = x + layout.skew * (i % layout.height);
        let along = if policy.method.square() { x } else { front };
        [sweep * plan.tile_rows + i / layout.height, along / policy.width as usize, front]
    }

    /// What cell `[i, x]` of `sweep` must come after, as far as it is computed.
    fn before(plan: &Plan, set: usize, sweep: usize, i: usize, x: usize) -> Vec<[usize; 3]> {
        let (earlier, old) = SETS[set];
        let [rows, columns] = plan.extents.map(|n| n as isize);
        let west = plan.shape.sides[0] as isize;
        let cell = |sweep: usize, [di, dj]: Dependence| {
            let (to, y) = (i as isize + di, x as isize + dj);
            let inside = (0..rows).contains(&to) && (west..west + columns).contains(&y);
            inside.then(|| place(plan, sweep, to as usize, y as usize))
        };
        let mut all: Vec<_> = earlier.iter().filter_map(|&v| cell(sweep, v)).collect();
        // The cells that need the old value are computed first.
        all.extend(old.iter().filter(|v| **v != [0, 0]).filter_map(|v| cell(sweep, v.map(|d| -d))));
        if sweep > 0 {
            all.extend(old.iter().filter_map(|&v| cell(sweep - 1, v)));
        }
        all
    }

    /// When, under barriers, a unit's tile has its turn.
    fn step(plan: &Plan, [unit, tile, _]: [usize; 3]) -> usize {
        unit % plan.tile_rows * plan.lag + unit / plan.tile_rows * plan.sweep_lag + tile
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // What `flags.cuh` waits for and `barriers.cuh` steps by, for every cell of small domains.
        #[test]
        fn a_tile_has_its_turn_after_all_that_its_cells_want(
            set in 0usize..5, rows in 1usize..200, columns in 1usize..150, sweeps in 1usize..4,
            warps in 1u32..4, eighths in 1u32..16, number in 0usize..5,
        ) {
            let method = Method::ALL[number];
            let height = 32 * warps;
            let width = if method.equal() { height } else { 8 * eighths };
            let (earlier, old) = SETS[set];
            let sweeps = if old.is_empty() { 1 } else { sweeps };
            let policy = TilePolicy { method, height, width, blocks: 1 };
            let Ok(plan) = Plan::new([rows, columns], sweeps, earlier, old, policy) else {
                prop_assert!(method.square());
                return Ok(());
            };
            let behind = plan.layout.skew * (plan.layout.height - 1);
            for sweep in 0..sweeps {
                for i in 0..rows {
                    for j in 0..columns {
                        let x = j + plan.shape.sides[0];
                        let here = place(&plan, sweep, i, x);
                        prop_assert!(here[1] < plan.tiles);
                        for other in before(&plan, set, sweep, i, x) {
                            if other[0] == here[0] {
                                prop_assert!(other[2] < here[2], "{plan:?} {here:?} {other:?}");
                                continue;
                            }
                            prop_assert!(step(&plan, other) < step(&plan, here));
                            // By flags: what the tile waits for of the unit above, or of the one
                            // below in the sweep before; those waited for units before them.
                            let first = here[1] * width as usize;
                            let above = other[0] / plan.tile_rows == here[0] / plan.tile_rows;
                            let (asked, lead) = if above {
                                (here[0] - 1, plan.shape.ahead + behind)
                            } else {
                                (here[0] - plan.tile_rows, plan.sweep_ahead)
                            };
                            prop_assert!(other[0] <= asked + 1 && asked < here[0]);
                            let through = match method.square() {
                                true => here[1] + lead.div_ceil(width as usize) * usize::from(!above),
                                false => first + width as usize + lead,
                            };
                            let done = if method.square() { other[1] } else { other[2] + 1 };
                            prop_assert!(
                                done <= through.max(plan.layout.fronts * usize::from(through >= plan.layout.fronts)),
                                "{plan:?} {here:?} {other:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
