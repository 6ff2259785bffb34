//! Algorithm 2 played on the host: when every tile begins, who waits, and for how long.

use serde::Serialize;

/// How tiles depend on one another, in tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Tile-rows of a sweep.
    pub tile_rows: usize,
    /// Sweeps one behind the other.
    pub sweeps: usize,
    /// Blocks, to which tile-rows go round robin.
    pub blocks: usize,
    /// Tiles of a tile-row.
    pub tiles: usize,
    /// Tile c of a tile-row wants tile c + lag − 1 of the one above (or its last).
    pub lag: usize,
    /// Tile c wants tile c + sweep_lead of the tile-row below, of the sweep before.
    pub sweep_lead: usize,
    /// Steps from a sweep's tile to the next sweep's, where all blocks meet after each step.
    pub sweep_lag: usize,
    /// Whether blocks wait for their neighbours only, or for all.
    pub flags: bool,
}

/// What a schedule takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Seconds from the first tile's begin to the last one's end.
    pub seconds: f64,
    /// Mean seconds a block idles where fewer tile-rows are at work than there are blocks.
    pub corner: f64,
    /// .. and elsewhere.
    pub intermediate: f64,
}

impl Schedule {
    /// Tile-rows at work on the diagonal of tile `c` of tile-row `r`, as `idle.cuh` counts them.
    fn at_work(&self, r: usize, c: usize) -> usize {
        let diagonal = r * self.lag + c;
        let last = (diagonal / self.lag).min(self.tile_rows - 1);
        let first = (diagonal + 1).saturating_sub(self.tiles).div_ceil(self.lag);
        last + 1 - first.min(last)
    }

    /// Plays it: a tile takes `tile` seconds, and where blocks wait for all, a meeting `meeting`.
    ///
    /// Complexity: one step a tile, one tile-row of times a tile-row of a sweep.
    pub fn play(&self, tile: f64, meeting: f64) -> Timeline {
        if self.flags { self.play_flags(tile) } else { self.play_barriers(tile, meeting) }
    }

    fn play_flags(&self, tile: f64) -> Timeline {
        let Self { tile_rows, sweeps, blocks, tiles, lag, sweep_lead, .. } = *self;
        let busy = blocks.min(tile_rows);
        // When a block is free, and when the tiles of the last rows ended.
        let mut free = vec![0.0f64; blocks];
        let mut ends = vec![vec![0.0f64; tiles]; tile_rows];
        let (mut corner, mut intermediate) = (0.0, 0.0);
        for unit in 0..tile_rows * sweeps {
            let (sweep, r) = (unit / tile_rows, unit % tile_rows);
            let block = unit % blocks;
            let mut now = free[block];
            for c in 0..tiles {
                let mut ready = now;
                if r > 0 {
                    ready = ready.max(ends[r - 1][(c + lag - 1).min(tiles - 1)]);
                }
                if sweep > 0 {
                    let below = (r + 1).min(tile_rows - 1);
                    ready = ready.max(ends[below][(c + sweep_lead).min(tiles - 1)]);
                }
                if self.at_work(r, c) < busy {
                    corner += ready - now;
                } else {
                    intermediate += ready - now;
                }
                now = ready + tile;
                ends[r][c] = now;
            }
            free[block] = now;
        }
        let seconds = free.iter().copied().fold(0.0, f64::max);
        corner += free.iter().map(|end| seconds - end).sum::<f64>();
        let mean = |sum: f64| sum / blocks as f64;
        Timeline { seconds, corner: mean(corner), intermediate: mean(intermediate) }
    }

    fn play_barriers(&self, tile: f64, meeting: f64) -> Timeline {
        let Self { tile_rows, sweeps, blocks, tiles, lag, sweep_lag, .. } = *self;
        let busy = blocks.min(tile_rows);
        let steps = (tile_rows - 1) * lag + (sweeps - 1) * sweep_lag + tiles;
        let mut line = Timeline::default();
        let mut work = vec![0usize; blocks];
        for step in 0..steps {
            work.fill(0);
            let mut active = 0;
            for sweep in 0..sweeps {
                let Some(at) = step.checked_sub(sweep * sweep_lag) else { break };
                let first = (at + 1).saturating_sub(tiles).div_ceil(lag);
                for r in first..tile_rows.min(at / lag + 1) {
                    work[(sweep * tile_rows + r) % blocks] += 1;
                    active += 1;
                }
            }
            let longest = work.iter().copied().max().unwrap_or(0);
            let step_seconds = longest as f64 * tile + meeting;
            let idle: usize = work.iter().map(|tiles| longest - tiles).sum();
            let waits = idle as f64 * tile / blocks as f64 + meeting;
            line.seconds += step_seconds;
            if active < busy {
                line.corner += waits;
            } else {
                line.intermediate += waits;
            }
        }
        line
    }

    /// The end of [`Schedule::play`] under flags, of one sweep, in tiles: the paper's critical path.
    ///
    /// Tile-row r begins `lag` tiles after the one above, or when its block is free. So either the
    /// rows' lags add up and no block is ever late (P·lag ≥ tiles), or every round of P tile-rows
    /// takes all tiles of a tile-row.
    pub fn critical_tiles(&self) -> usize {
        let last = self.tile_rows - 1;
        if self.blocks * self.lag >= self.tiles {
            return last * self.lag + self.tiles;
        }
        last % self.blocks * self.lag + (last / self.blocks + 1) * self.tiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(
        tile_rows: usize,
        blocks: usize,
        tiles: usize,
        lag: usize,
        flags: bool,
    ) -> Schedule {
        let (sweep_lead, sweep_lag) = (1, lag + 2);
        Schedule { tile_rows, sweeps: 1, blocks, tiles, lag, sweep_lead, sweep_lag, flags }
    }

    #[test]
    fn figure_2_loses_a_quarter_to_barriers() {
        // 8 × 8 square tiles on 4 SMs: 18 rounds of tiles with barriers.
        let barriers = schedule(8, 4, 8, 1, false).play(1.0, 0.0);
        assert_eq!(barriers.seconds, 22.0);
        let flags = schedule(8, 4, 8, 1, true).play(1.0, 0.0);
        assert_eq!(flags.seconds, 19.0);
        assert!(flags.intermediate < barriers.intermediate);
    }

    proptest! {
        #[test]
        fn the_critical_path_is_what_playing_takes(
            tile_rows in 1usize..40, blocks in 1usize..20, tiles in 1usize..60, lag in 1usize..9,
        ) {
            // The last tile-rows' lag is bounded by the tiles there are.
            let schedule = schedule(tile_rows, blocks.min(tile_rows), tiles.max(lag), lag, true);
            let line = schedule.play(1.0, 0.0);
            prop_assert_eq!(line.seconds, schedule.critical_tiles() as f64);
            let busy = tile_rows * schedule.tiles;
            let idle = line.corner + line.intermediate;
            let blocks = schedule.blocks as f64;
            prop_assert!((idle + busy as f64 / blocks - line.seconds).abs() < 1e-9);
        }

        #[test]
        fn flags_never_take_longer_than_barriers(
            tile_rows in 1usize..30, blocks in 1usize..20, tiles in 1usize..40, lag in 1usize..6,
        ) {
            let of = |flags| schedule(tile_rows, blocks, tiles.max(lag), lag, flags);
            prop_assert!(of(true).play(1.0, 0.0).seconds <= of(false).play(1.0, 0.0).seconds);
        }
    }
}
