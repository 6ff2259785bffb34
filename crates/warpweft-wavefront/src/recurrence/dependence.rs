//! Which dependence vectors a wavefront can honour, and at what skew.

use warpweft_core::error::{Error, Result};

/// From a cell to one it reads: `[rows, columns]`.
pub type Dependence = [isize; 2];

/// The least skew σ for which every vector points to an earlier front, where cell `[i, j]` is
/// computed on front `j + σ·i`.
///
/// # Errors
/// An empty set; a vector to a cell that no order of rows computes earlier: to a later row, or to
/// the same row and not to the west. The vector is named.
pub fn skew(dependences: &[Dependence]) -> Result<usize> {
    if dependences.is_empty() {
        return Err(Error::spec("no dependence", "read at least one earlier cell"));
    }
    let mut skew = 1;
    for &[di, dj] in dependences {
        if di > 0 || di == 0 && dj >= 0 {
            return Err(Error::spec(
                format!("dependence [{di}, {dj}] reads a cell that is not computed earlier"),
                "read rows above (negative first offset), or the same row to the west",
            ));
        }
        if di < 0 && dj > 0 {
            // The least σ with dj + σ·di ≤ -1.
            skew = skew.max((dj - di) / -di);
        }
    }
    Ok(skew as usize)
}

/// What an order of cells must honour: the cells read, and that no cell is overwritten before those
/// that want its old value have read it (`old` backwards).
///
/// # Errors
/// As [`skew`], and an old value of a cell that is computed earlier, named.
pub fn precedences(dependences: &[Dependence], old: &[Dependence]) -> Result<Vec<Dependence>> {
    legal(dependences, old)?;
    let mut all = dependences.to_vec();
    for &[di, dj] in old {
        if [di, dj] != [0, 0] && !all.contains(&[-di, -dj]) {
            all.push([-di, -dj]);
        }
    }
    Ok(all)
}

/// Whether there are [`precedences`].
///
/// # Errors
/// As there.
pub(crate) fn legal(dependences: &[Dependence], old: &[Dependence]) -> Result<()> {
    if let Some([di, dj]) = old.iter().find(|[di, dj]| *di < 0 || *di == 0 && *dj < 0) {
        return Err(Error::spec(
            format!(
                "the function reads the old value of cell [{di}, {dj}], which is computed earlier"
            ),
            "read its new value, or the old value of the cell itself or of a later cell",
        ));
    }
    skew(dependences).map(drop)
}

/// How far vectors reach from a cell, in rows and columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Rows above.
    pub north: usize,
    /// Rows below.
    pub south: usize,
    /// Columns before.
    pub west: usize,
    /// Columns after.
    pub east: usize,
}

impl Reach {
    /// Of all `vectors` together.
    pub fn of(vectors: &[Dependence]) -> Self {
        vectors.iter().fold(Self::default(), |reach, &[di, dj]| Self {
            north: reach.north.max(di.min(0).unsigned_abs()),
            south: reach.south.max(di.max(0).unsigned_abs()),
            west: reach.west.max(dj.min(0).unsigned_abs()),
            east: reach.east.max(dj.max(0).unsigned_abs()),
        })
    }

    /// Of both reaches together.
    pub fn with(self, other: Self) -> Self {
        Self {
            north: self.north.max(other.north),
            south: self.south.max(other.south),
            west: self.west.max(other.west),
            east: self.east.max(other.east),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vector_points_to_an_earlier_front_and_no_smaller_skew_would_do() {
        let honours = |vectors: &[Dependence], skew: isize| {
            vectors.iter().all(|&[di, dj]| dj + skew * di < 0)
        };
        let sets: [&[Dependence]; 5] = [
            &[[-1, -1], [-1, 0], [0, -1]],
            &[[-1, 1], [0, -1]],
            &[[-2, 3], [-1, 0]],
            &[[-2, 2], [0, -2]],
            &[[-3, 7], [-1, 1]],
        ];
        for vectors in sets {
            let skew = skew(vectors).unwrap() as isize;
            assert!(honours(vectors, skew), "{vectors:?} {skew}");
            assert!(skew == 1 || !honours(vectors, skew - 1), "{vectors:?} {skew}");
        }
    }

    #[test]
    fn old_values_order_cells_backwards_and_reaches_are_the_farthest() {
        let all = precedences(&[[-1, 0], [0, -1]], &[[0, 0], [1, 0], [2, -3]]).unwrap();
        assert_eq!(all, [[-1, 0], [0, -1], [-2, 3]]);
        assert_eq!(skew(&all).unwrap(), 2);
        assert_eq!(Reach::of(&all), Reach { north: 2, south: 0, west: 1, east: 3 });
        let error = precedences(&[[-1, 0]], &[[0, -1]]).unwrap_err().to_string();
        assert!(error.contains("[0, -1]"), "{error}");
    }

    #[test]
    fn illegal_vectors_are_named() {
        for vector in [[1, 0], [0, 0], [0, 1], [1, -5]] {
            let error = skew(&[[-1, 0], vector]).unwrap_err().to_string();
            assert!(error.contains(&format!("{vector:?}")), "{error}");
        }
    }
}
