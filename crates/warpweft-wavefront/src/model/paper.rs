//! Equations 1 to 4 and figure 3 of PeerWave (Belviranli et al. 2015), as printed.

/// A domain, its tiles' height and the two measured costs; table 1 of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PaperModel {
    /// P: SMs.
    pub processors: f64,
    /// W: columns.
    pub columns: f64,
    /// H: rows.
    pub rows: f64,
    /// h_t: rows of a tile.
    pub height: f64,
    /// d: seconds a front.
    pub front: f64,
    /// τ_s: seconds a synchronisation of neighbours.
    pub sync: f64,
}

impl PaperModel {
    /// Equation 1: τ_e, seconds of a tile of `width` columns.
    pub fn tile_seconds(&self, width: f64) -> f64 {
        width * self.front
    }

    /// Equation 2: B, how long an SM's next tile-row is blocked by its last one. Negative where it
    /// is not blocked.
    pub fn blocked_seconds(&self, width: f64) -> f64 {
        let tile = self.tile_seconds(width) + self.sync;
        (self.columns + self.height) / width * tile - self.processors * tile
    }

    /// Equation 3: T_total, the critical path.
    pub fn seconds(&self, width: f64) -> f64 {
        let tile = self.tile_seconds(width) + self.sync;
        let tile_rows = self.rows / self.height;
        tile_rows * (self.height / width + 1.0) * tile
            + self.blocked_seconds(width) * (tile_rows / self.processors - 1.0)
            + (self.columns / width - 1.0) * tile
    }

    /// Equation 4: the width that minimises equation 3.
    ///
    /// Equation 3 is a·w + b/w + c. Its a, worked out from (3), is d·(H/h_t − (H/h_t − P) − 1) =
    /// d·(P − 1); the printed denominator d·h_t·P·(P − 1), over the printed numerator, is the same.
    pub fn best_width(&self) -> f64 {
        let Self { processors: p, columns: w, rows: h, height: t, front, sync } = *self;
        (sync * (h * w + h * t + h * t * p - t * t * p) / (front * t * p * (p - 1.0))).sqrt()
    }
}

/// Figure 3a: tile slots that stay idle under global barriers when a square of `side` × `side` tiles
/// runs on `processors`: on every diagonal, those of its last round that have no tile.
pub fn idle_slots(side: u64, processors: u64) -> u64 {
    let p = processors.max(1);
    let idle = |tiles: u64| (p - tiles % p) % p;
    let diagonals = 2 * side.max(1) - 1;
    (1..=diagonals).map(|d| idle(d.min(diagonals + 1 - d))).sum()
}

/// Figure 3b: [`idle_slots`] over the number of tiles.
pub fn idle_ratio(side: u64, processors: u64) -> f64 {
    idle_slots(side, processors) as f64 / (side * side).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const K40: PaperModel = PaperModel {
        processors: 15.0,
        columns: 46_080.0,
        rows: 46_080.0,
        height: 1024.0,
        front: 2e-6,
        sync: 1e-6,
    };

    #[test]
    fn equation_4_is_the_minimum_of_equation_3() {
        for sync in [1e-7, 1e-6, 5e-6] {
            let model = PaperModel { sync, ..K40 };
            let best = model.best_width();
            for factor in [0.5, 0.9, 1.1, 2.0] {
                assert!(model.seconds(best) < model.seconds(best * factor), "{sync} {factor}");
            }
        }
    }

    #[test]
    fn eight_by_eight_tiles_on_four_processors_leave_the_slots_of_figure_2() {
        // Diagonals of 1 to 8 and back to 1 tiles on 4: 3 2 1 0 3 2 1 0 1 2 3 0 1 2 3.
        assert_eq!(idle_slots(8, 4), 24);
        assert!((idle_ratio(8, 4) - 0.375).abs() < 1e-12);
        assert_eq!(idle_slots(7, 1), 0);
    }

    #[test]
    fn more_tiles_do_not_remove_the_imbalance() {
        let ratios: Vec<f64> = [15, 30, 60, 120].map(|side| idle_ratio(side, 15)).to_vec();
        assert!(ratios.windows(2).all(|pair| pair[1] < pair[0]) && ratios[3] > 0.05, "{ratios:?}");
    }
}
