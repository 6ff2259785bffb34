//! Tile plans: what is refused, what fits, and that every tile has its turn after all that it needs.

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
            assert!(bytes.is_ok_and(|bytes| bytes <= limit), "{limit} {cell} {:?}", found.policy);
            // Those of an H200 are no lower than they were.
            let usual = cell == 4 && limit >= 99 << 10 && earlier.len() == 3;
            assert!(!usual || found.policy == policy, "{:?}", found.policy);
        }
    }
    let wide = Plan::new([9, 9], 1, SETS[0].0, &[], TilePolicy::for_domain(200_000, 132)).unwrap();
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
