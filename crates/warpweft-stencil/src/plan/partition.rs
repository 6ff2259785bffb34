//! A volume cut into parts, one a device or rank: pure geometry, no data and no devices.
//!
//! Parts form a grid, numbered in row-major order. An axis with one part is *uncut*: its faces
//! are the volume's own, and its ghost cells come from the boundary. On a *cut* axis a part has
//! neighbours, and ghost cells come from them; the ends of a periodic axis are neighbours too.

use super::Region;
use super::halo::{Margin, Span};
use crate::spec::boundary::{Boundaries, Boundary, Face};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across, axis_name};

/// How a volume's cells are shared out over a grid of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Per axis, where parts begin, and last the extent: `parts + 1` ascending numbers from 0.
    cuts: Vec<Vec<usize>>,
    periodic: Axes<bool>,
}

impl Partition {
    /// A grid of parts as even as the extents allow: extents of parts along an axis differ by at
    /// most one, the larger first.
    ///
    /// # Errors
    /// No parts along an axis, or more parts than cells; a grid or boundaries of another number of axes.
    pub fn grid(
        extents: impl Into<Axes<usize>>,
        parts: impl Into<Axes<usize>>,
        boundaries: &Boundaries,
    ) -> Result<Self> {
        let (extents, parts) = (extents.into(), parts.into());
        let dims = extents.rank();
        if parts.rank() != dims {
            return Err(Error::spec(
                format!("a grid of {} subdomains over {dims} axes", across(&parts)),
                "name the number of subdomains along every axis",
            ));
        }
        let periodic = periodic(boundaries, dims)?;
        let mut cuts = vec![Vec::new(); dims];
        for d in 0..dims {
            cuts[d] = weighted_cuts((d, dims), extents[d], &vec![1.0; parts[d]])?;
        }
        Ok(Self { cuts, periodic })
    }

    /// Slabs across `axis` whose extents are in proportion to `weights`, e.g. measured speeds.
    /// A weight of 0 is refused: leave the device out instead.
    ///
    /// # Errors
    /// An axis that is not there; no weights, or more than cells along the axis; a weight that is
    /// not positive and finite; boundaries of another number of axes.
    pub fn slabs(
        extents: impl Into<Axes<usize>>,
        axis: usize,
        weights: &[f64],
        boundaries: &Boundaries,
    ) -> Result<Self> {
        let extents = extents.into();
        let dims = extents.rank();
        if axis >= dims {
            return Err(Error::spec(
                format!("cut axis {axis} of a volume of {dims} dimensions"),
                format!("choose an axis from 0 to {}", dims - 1),
            ));
        }
        let periodic = periodic(boundaries, dims)?;
        let mut cuts: Vec<_> = extents.iter().map(|&n| vec![0, n]).collect();
        cuts[axis] = weighted_cuts((axis, dims), extents[axis], weights)?;
        Ok(Self { cuts, periodic })
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.cuts.len()
    }

    /// The extents of the whole volume.
    pub fn extents(&self) -> Axes<usize> {
        let dims = self.rank();
        Axes::from_fn(dims, |d| self.cuts[d][self.cuts[d].len() - 1])
    }

    /// Parts along each axis.
    pub fn parts_per_axis(&self) -> Axes<usize> {
        let dims = self.rank();
        Axes::from_fn(dims, |d| self.cuts[d].len() - 1)
    }

    /// Number of parts.
    pub fn parts(&self) -> usize {
        self.parts_per_axis().iter().product()
    }

    /// Whether parts meet across `axis`.
    pub fn is_cut(&self, axis: usize) -> bool {
        self.cuts[axis].len() > 2
    }

    /// The position of `part` in the grid of parts.
    pub fn position(&self, part: usize) -> Axes<usize> {
        let dims = self.rank();
        let grid = self.parts_per_axis();
        let mut at = Axes::filled(dims, 0);
        let mut rest = part;
        for d in (0..dims).rev() {
            at[d] = rest % grid[d];
            rest /= grid[d];
        }
        at
    }

    /// The part at a position of the grid; `None` where the grid has no such position.
    pub fn part_at(&self, position: Axes<usize>) -> Option<usize> {
        let grid = self.parts_per_axis();
        let there = position.rank() == grid.rank()
            && position.iter().zip(grid.iter()).all(|(n, of)| n < of);
        there.then(|| position.iter().zip(grid.iter()).fold(0, |part, (n, of)| part * of + n))
    }

    /// The cells that `part` owns. Every cell is owned by exactly one part.
    pub fn region(&self, part: usize) -> Region {
        let dims = self.rank();
        let at = self.position(part);
        Region {
            low: Axes::from_fn(dims, |d| self.cuts[d][at[d]]),
            high: Axes::from_fn(dims, |d| self.cuts[d][at[d] + 1]),
        }
    }

    /// The part beyond a face of `part`, if the axis is cut and there is one.
    pub fn neighbour(&self, part: usize, axis: usize, face: Face) -> Option<usize> {
        let last = self.cuts[axis].len() - 2;
        if last == 0 {
            return None;
        }
        let mut at = self.position(part);
        at[axis] = match face {
            Face::Low if at[axis] > 0 => at[axis] - 1,
            Face::Low if self.periodic[axis] => last,
            Face::High if at[axis] < last => at[axis] + 1,
            Face::High if self.periodic[axis] => 0,
            _ => return None,
        };
        self.part_at(at)
    }

    /// What `part` owns, grown by `margin` wherever a neighbour is, in the part's own frame: on a
    /// periodic axis indices run on below 0 and beyond the extent instead of wrapping.
    ///
    /// # Panics
    /// A margin of another number of axes.
    pub fn grown(&self, part: usize, margin: &Margin) -> Span {
        let dims = self.rank();
        assert_eq!(
            margin.rank(),
            dims,
            "a margin of {} axes around a part of {dims}",
            margin.rank()
        );
        let mut span = Span::from(self.region(part));
        for d in 0..dims {
            if self.neighbour(part, d, Face::Low).is_some() {
                span.low[d] -= margin[d][0] as isize;
            }
            if self.neighbour(part, d, Face::High).is_some() {
                span.high[d] += margin[d][1] as isize;
            }
        }
        span
    }

    /// The smallest extent that any part has along `axis`.
    pub fn smallest(&self, axis: usize) -> usize {
        self.cuts[axis].windows(2).map(|ends| ends[1] - ends[0]).min().unwrap_or(0)
    }

    /// Whether the axis repeats.
    pub fn is_periodic(&self, axis: usize) -> bool {
        self.periodic[axis]
    }
}

/// Which of the `dims` axes repeat.
fn periodic(boundaries: &Boundaries, dims: usize) -> Result<Axes<bool>> {
    if boundaries.rank() != dims {
        return Err(Error::spec(
            format!("boundaries of {} axes for a volume of {dims}", boundaries.rank()),
            "give the boundaries of every axis",
        ));
    }
    Ok(boundaries.0.map(|faces| faces[0] == Boundary::Periodic))
}

/// Splits `n` cells in proportion to `weights` by largest remainders, each part at least one cell.
fn weighted_cuts((axis, dims): (usize, usize), n: usize, weights: &[f64]) -> Result<Vec<usize>> {
    if weights.is_empty() || weights.len() > n {
        let hint = match n {
            0 => "give it cells".into(),
            n => format!("use 1 to {n} subdomains there"),
        };
        let what = format!(
            "{} subdomains along axis {}, which has {n} cells",
            weights.len(),
            axis_name(axis, dims)
        );
        return Err(Error::spec(what, hint));
    }
    if let Some(weight) = weights.iter().find(|w| !(w.is_finite() && **w > 0.0)) {
        return Err(Error::spec(
            format!("a subdomain of weight {weight} along axis {}", axis_name(axis, dims)),
            "give every subdomain a positive weight, or leave it out",
        ));
    }
    // One cell each first, so that a slow device keeps a part; the rest by weight.
    let total: f64 = weights.iter().sum();
    let spare = (n - weights.len()) as f64;
    let shares: Vec<f64> =
        weights.iter().map(|w| (w / total * n as f64 - 1.0).clamp(0.0, spare)).collect();
    let mut extents: Vec<usize> = shares.iter().map(|share| 1 + *share as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| shares[b].fract().total_cmp(&shares[a].fract()).then(a.cmp(&b)));
    let mut given: usize = extents.iter().sum();
    for &part in order.iter().cycle() {
        match given.cmp(&n) {
            std::cmp::Ordering::Less => (extents[part], given) = (extents[part] + 1, given + 1),
            std::cmp::Ordering::Greater if extents[part] > 1 => {
                (extents[part], given) = (extents[part] - 1, given - 1);
            }
            std::cmp::Ordering::Greater => {}
            std::cmp::Ordering::Equal => break,
        }
    }
    let mut cuts = vec![0];
    let mut end = 0;
    for extent in extents {
        end += extent;
        cuts.push(end);
    }
    Ok(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn faces<const D: usize>(periodic: [bool; D]) -> Boundaries {
        Boundaries(
            Axes::of(periodic).map(|p| [if p { Boundary::Periodic } else { Boundary::Neumann }; 2]),
        )
    }

    proptest! {
        #[test]
        fn parts_cover_every_cell_exactly_once(
            extents in prop::array::uniform3(1usize..9),
            share in prop::array::uniform3(1usize..9),
            periodic in prop::array::uniform3(any::<bool>()),
        ) {
            let parts: [usize; 3] = std::array::from_fn(|d| share[d].min(extents[d]));
            let partition = Partition::grid(extents, parts, &faces(periodic)).unwrap();
            let mut owners = vec![0; extents.iter().product()];
            for part in 0..partition.parts() {
                let Region { low, high } = partition.region(part);
                for z in low[0]..high[0] {
                    for y in low[1]..high[1] {
                        for x in low[2]..high[2] {
                            owners[(z * extents[1] + y) * extents[2] + x] += 1;
                        }
                    }
                }
            }
            prop_assert!(owners.iter().all(|&n| n == 1));
            for d in 0..3 {
                let sizes: Vec<_> = (0..partition.parts())
                    .map(|p| partition.region(p).high[d] - partition.region(p).low[d]).collect();
                prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            }
        }

        #[test]
        fn neighbours_are_mutual(
            parts in prop::array::uniform2(1usize..5),
            periodic in prop::array::uniform2(any::<bool>()),
        ) {
            let partition = Partition::grid([8, 8], parts, &faces(periodic)).unwrap();
            for part in 0..partition.parts() {
                for axis in 0..2 {
                    if let Some(low) = partition.neighbour(part, axis, Face::Low) {
                        prop_assert_eq!(partition.neighbour(low, axis, Face::High), Some(part));
                        prop_assert!(partition.is_cut(axis));
                    }
                }
            }
        }

        #[test]
        fn slabs_follow_their_weights(n in 8usize..2000, weights in prop::collection::vec(0.01f64..10.0, 1..8)) {
            let partition = Partition::slabs([n, 3], 0, &weights, &faces([false; 2])).unwrap();
            let total: f64 = weights.iter().sum();
            let floor = weights.iter().filter(|w| **w / total * (n as f64) < 1.0).count() as f64;
            for (part, weight) in weights.iter().enumerate() {
                let region = partition.region(part);
                let extent = (region.high[0] - region.low[0]) as f64;
                // Parts raised to their one cell are paid for by the others.
                prop_assert!((extent - weight / total * n as f64).abs() <= 1.0 + floor, "{partition:?}");
            }
        }
    }

    #[test]
    fn boundaries_and_positions_of_another_number_of_axes_are_refused() {
        let flat = faces([true; 2]);
        let told = "boundaries of 2 axes for a volume of 3";
        let grid = Partition::grid([4; 3], [2, 1, 1], &flat).unwrap_err().to_string();
        let slabs = Partition::slabs([4; 3], 0, &[1.0; 2], &flat).unwrap_err().to_string();
        assert!(grid.contains(told) && slabs.contains(told), "{grid}; {slabs}");
        let partition = Partition::grid([4, 6], [2, 3], &flat).unwrap();
        let found = |at: &[usize]| partition.part_at(Axes::from_fn(at.len(), |d| at[d]));
        assert_eq!([found(&[1, 2]), found(&[0, 1])], [Some(5), Some(1)]);
        assert_eq!([found(&[1]), found(&[1, 2, 0]), found(&[2, 0]), found(&[0, 3])], [None; 4]);
    }

    #[test]
    #[should_panic(expected = "a margin of 3 axes around a part of 2")]
    fn a_margin_of_another_number_of_axes_is_a_mistake() {
        let partition = Partition::grid([4, 6], [2, 3], &faces([true; 2])).unwrap();
        partition.grown(0, &Axes::filled(3, [1; 2]));
    }

    #[test]
    fn more_parts_than_cells_and_weightless_parts_are_refused() {
        let error = Partition::grid([4, 4], [5, 1], &faces([false; 2])).unwrap_err().to_string();
        assert!(error.contains("5 subdomains along axis y, which has 4 cells"), "{error}");
        let error = Partition::slabs([4], 0, &[1.0, 0.0], &faces([false])).unwrap_err().to_string();
        assert!(error.contains("a subdomain of weight 0 along axis x"), "{error}");
        assert!(Partition::slabs([4], 1, &[1.0], &faces([false])).is_err());
    }
}
