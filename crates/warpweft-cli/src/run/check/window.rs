//! A box of a volume for a plain loop over many steps. Cells outside its cut sides are unknown, and their
//! influence moves inwards with every step.

use std::ops::Range;
use warpweft::grid::Axes;

use warpweft::stencil::Boundary;

/// Where the compared cells are along every axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// In the middle.
    Middle,
    /// At the upper face; across the seam of a periodic axis.
    Upper,
}

/// A box of a volume.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// The extents of the volume.
    whole: Axes<usize>,
    /// The start of the box; outside the volume beyond a periodic face.
    low: Axes<isize>,
    /// Its extents.
    pub extents: Axes<usize>,
    /// The volume's boundaries where the box ends at its faces; any elsewhere.
    pub faces: Axes<[Boundary; 2]>,
    /// The cells of the box that no unknown cell has influenced.
    right: Vec<Range<usize>>,
}

impl Window {
    /// The whole volume.
    pub fn whole(extents: Axes<usize>, faces: Axes<[Boundary; 2]>) -> Self {
        let dims = extents.rank();
        let right = extents.iter().map(|&n| 0..n).collect();
        Self { whole: extents, low: Axes::filled(dims, 0), extents, faces, right }
    }

    /// The box in which `side` cells along every axis stay correct through `steps` steps that each read
    /// `reach` cells below and above.
    pub fn of(
        whole: Axes<usize>,
        faces: Axes<[Boundary; 2]>,
        reach: Axes<[usize; 2]>,
        (steps, side, part): (usize, usize, Part),
    ) -> Self {
        let dims = whole.rank();
        let mut window = Self::whole(whole, faces);
        for d in 0..dims {
            let n = whole[d];
            let [below, above] = reach[d].map(|reach| reach.saturating_mul(steps));
            let periodic = faces[d][0] == Boundary::Periodic;
            let first = match part {
                Part::Middle => n.saturating_sub(side) / 2,
                Part::Upper if periodic => n.saturating_sub(side / 2),
                Part::Upper => n.saturating_sub(side),
            };
            let last = first.saturating_add(side);
            let (low, high) = match periodic {
                true => (first as isize - below as isize, last.saturating_add(above)),
                false => (first.saturating_sub(below) as isize, last.saturating_add(above).min(n)),
            };
            let extent = (high as isize).saturating_sub(low) as usize;
            if extent >= n {
                continue;
            }
            (window.low[d], window.extents[d]) = (low, extent);
            // Beyond a cut side any plausible values will do.
            let cut = |ends: bool, face: Boundary| if ends { face } else { Boundary::Neumann };
            let ends = [!periodic && low == 0, !periodic && high == n];
            window.faces[d] = [0, 1].map(|side| cut(ends[side], faces[d][side]));
            let begin = (first as isize - low) as usize;
            window.right[d] = begin..begin + side;
        }
        window
    }

    /// Number of compared cells along every axis.
    pub fn compared(&self) -> Axes<usize> {
        Axes::from_fn(self.right.len(), |d| self.right[d].len())
    }

    /// Its cells in row-major order: the index in the volume, and whether it is correct after all steps.
    pub fn cells(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let dims = self.whole.rank();
        let width = self.extents[dims - 1];
        let rows: usize = self.extents[..dims - 1].iter().product();
        (0..rows).flat_map(move |row| {
            let (mut rest, mut first, mut right) = (row, 0, true);
            let mut stride = self.whole[dims - 1];
            for d in (0..dims - 1).rev() {
                let here = rest % self.extents[d];
                rest /= self.extents[d];
                first += stride * self.index(d, here);
                stride *= self.whole[d];
                right &= self.right[d].contains(&here);
            }
            (0..width).map(move |here| {
                let at = first + self.index(dims - 1, here);
                (at, right && self.right[dims - 1].contains(&here))
            })
        })
    }

    /// The index in the volume of the box's cell `here` along axis `d`.
    fn index(&self, d: usize, here: usize) -> usize {
        let (n, at) = (self.whole[d] as isize, self.low[d] + here as isize);
        (if (0..n).contains(&at) { at } else { at.rem_euclid(n) }) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Boundary::{Neumann, Periodic};

    #[test]
    fn boxes_end_with_the_volume_or_keep_their_distance_from_cuts() {
        let faces = [[Neumann; 2], [Periodic; 2]];
        let of = |part| Window::of([40, 50].into(), faces.into(), [[1, 2]; 2].into(), (3, 8, part));
        let middle = of(Part::Middle);
        assert_eq!((middle.low, middle.extents), ([13, 18].into(), [17, 17].into()));
        assert_eq!(
            (middle.faces, middle.right.clone()),
            ([[Neumann; 2]; 2].into(), vec![3..11, 3..11])
        );
        let upper = of(Part::Upper);
        assert_eq!(
            (upper.low, upper.extents, upper.compared()),
            ([29, 43].into(), [11, 17].into(), [8, 8].into())
        );
        let cells: Vec<_> = upper.cells().filter(|(_, right)| *right).map(|(at, _)| at).collect();
        assert_eq!((cells.len(), cells[0], cells[63]), (64, 32 * 50 + 46, 39 * 50 + 3));
        // A box as large as the volume is the volume.
        let all =
            Window::of([40, 16].into(), faces.into(), [[1, 2]; 2].into(), (3, 8, Part::Upper));
        assert_eq!((all.low[1], all.extents[1], all.faces[1]), (0, 16, [Periodic; 2]));
        assert_eq!(all.compared(), [8, 16]);
    }
}
