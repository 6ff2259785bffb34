//! Which dependence vectors a wavefront can honour, and at what skew.

use crate::error::{Error, Result};

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

/// Whether the executors of this version run the vectors: north, west and north-west.
///
/// # Errors
/// As [`skew`], and any other vector, named.
pub(super) fn check(dependences: &[Dependence]) -> Result<()> {
    let skew = skew(dependences)?;
    match dependences.iter().find(|v| !matches!(v, [-1, -1] | [-1, 0] | [0, -1])) {
        None => Ok(()),
        Some(vector) => Err(Error::spec(
            format!("dependence {vector:?} (skew {skew}) is legal but not supported"),
            "depend on [-1, -1], [-1, 0] and [0, -1] only",
        )),
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
    fn illegal_vectors_are_named() {
        for vector in [[1, 0], [0, 0], [0, 1], [1, -5]] {
            let error = skew(&[[-1, 0], vector]).unwrap_err().to_string();
            assert!(error.contains(&format!("{vector:?}")), "{error}");
        }
    }
}
