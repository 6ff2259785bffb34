//! The hybrid row- and diagonal-major layout, both ways.

/// Where the cells of a matrix lie: tile-rows one after another, in each its fronts, in each front
/// its rows (Belviranli et al. 2015, section 3.4).
///
/// Columns are counted from the first that is stored. A front of hyper-tiles is as long as a
/// tile-row is high, so that the layout wastes only the corners of each tile-row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Rows of a tile-row.
    pub height: usize,
    /// Columns that a row is behind the one above.
    pub skew: usize,
    /// Fronts of a tile-row.
    pub fronts: usize,
}

impl Layout {
    /// Where cell `[i, x]` is: the paper's `transformIndex`.
    pub fn index(&self, i: usize, x: usize) -> usize {
        let t = i % self.height;
        (i / self.height * self.fronts + x + self.skew * t) * self.height + t
    }

    /// Which cell is at `index`, unless a corner of a tile-row, which holds none.
    pub fn cell(&self, index: usize) -> Option<[usize; 2]> {
        let (line, t) = (index / self.height, index % self.height);
        let x = (line % self.fronts).checked_sub(self.skew * t)?;
        // The last front belongs to the last row.
        let columns = self.fronts - self.skew * (self.height - 1);
        (x < columns).then_some([line / self.fronts * self.height + t, x])
    }

    /// Cells of `tile_rows` tile-rows, corners included.
    pub fn len(&self, tile_rows: usize) -> usize {
        tile_rows * self.fronts * self.height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_its_place_and_every_place_its_cell() {
        for (height, skew, columns, tile_rows) in
            [(1, 1, 5, 3), (4, 1, 9, 2), (32, 2, 70, 3), (32, 1, 1, 2), (8, 5, 33, 1)]
        {
            let layout = Layout { height, skew, fronts: columns + skew * (height - 1) };
            let mut seen = vec![false; layout.len(tile_rows)];
            for i in 0..tile_rows * height {
                for x in 0..columns {
                    let at = layout.index(i, x);
                    assert!(!std::mem::replace(&mut seen[at], true), "{layout:?} {i} {x}");
                    assert_eq!(layout.cell(at), Some([i, x]));
                }
            }
            for (at, seen) in seen.iter().enumerate() {
                assert_eq!(layout.cell(at).is_some(), *seen, "{layout:?} {at}");
            }
        }
    }

    #[test]
    fn neighbours_of_a_front_lie_together() {
        let layout = Layout { height: 64, skew: 2, fronts: 500 };
        for t in 0..63 {
            assert_eq!(layout.index(t + 1, 200 - 2 * (t + 1)), layout.index(t, 200 - 2 * t) + 1);
        }
    }
}
