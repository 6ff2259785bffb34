//! Fields that are brought from a grid to one of twice or half its spacing, as multigrid methods do: which grids fit, and
//! the values, by plain loops. Not here: sessions, or the kernels that do the same on a GPU (`cuda::transfer`).
//!
//! Vertices are counted from 1, a coarse vertex `i` lies on the fine one `2 i`, and fields are 0 outside: an axis of `n`
//! coarse vertices has `2 n + 1` fine ones. Arithmetic is in `f64`; the order of sums is fixed, so that kernels have the
//! same bits.

use warpweft_core::element::ScalarKind;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, across, over_parts};

/// Values that a thread computes at a time, at least.
const SHARE: usize = 1 << 14;

/// From which grid to which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// To the coarser: the weighted mean of the 3 fine vertices around a coarse one along each axis.
    Restrict,
    /// To the finer: what lies between coarse vertices is interpolated linearly, and added.
    Prolong,
}

/// The extents of a transfer along z, y and x, 1 along axes that there are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    pub fine: [usize; 3],
    pub coarse: [usize; 3],
}

/// As device memory has them: the first of two axes is z.
fn placed(extents: &Axes<usize>) -> [usize; 3] {
    match extents[..] {
        [x] => [1, 1, x],
        [z, x] => [z, 1, x],
        _ => [extents[0], extents[1], extents[2]],
    }
}

impl Transfer {
    /// The grids of a transfer between volumes of these extents.
    ///
    /// # Errors
    /// Extents that do not fit together; more than three axes.
    pub fn grids(self, from: Axes<usize>, to: Axes<usize>) -> Result<Grids> {
        let [fine, coarse] = if self == Self::Restrict { [from, to] } else { [to, from] };
        let rank = fine.rank();
        let fits = (0..rank).all(|d| Some(fine[d]) == coarse[d].checked_mul(2).map(|n| n + 1));
        if rank != coarse.rank() || rank > 3 || !fits {
            return Err(Error::spec(
                format!("a grid of {} and a coarser one of {}", across(&fine), across(&coarse)),
                "take 2 n + 1 fine cells along each of one to three axes for n coarse ones",
            ));
        }
        Ok(Grids { fine: placed(&fine), coarse: placed(&coarse) })
    }

    /// The values after it, from those of the field that is brought and the old ones.
    pub fn values(self, grids: &Grids, from: &[f64], old: &[f64]) -> Vec<f64> {
        let len = if self == Self::Restrict { grids.coarse } else { grids.fine }.iter().product();
        let part = |part: std::ops::Range<usize>| -> Vec<f64> {
            part.map(|index| match self {
                Self::Restrict => grids.restricted(from, index),
                Self::Prolong => old[index] + grids.prolonged(from, index),
            })
            .collect()
        };
        over_parts(len, SHARE, part).concat()
    }
}

impl Grids {
    /// Whether the grids differ along an axis.
    fn refined(&self, axis: usize) -> bool {
        self.fine[axis] > self.coarse[axis]
    }

    /// The mean of the fine vertices around a coarse one.
    fn restricted(&self, fine: &[f64], index: usize) -> f64 {
        let [_, ny, nx] = self.coarse;
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        // The vertices along an axis with their weights.
        let along = |axis: usize| {
            let weights: &[(usize, f64)] =
                if self.refined(axis) { &[(0, 0.25), (1, 0.5), (2, 0.25)] } else { &[(0, 1.0)] };
            let first = if self.refined(axis) { 2 * at[axis] } else { at[axis] };
            weights.iter().map(move |&(k, weight)| (first + k, weight))
        };
        let mut sum = 0.0;
        for (z, wz) in along(0) {
            for (y, wy) in along(1) {
                for (x, wx) in along(2) {
                    sum += wz * wy * wx * fine[(z * self.fine[1] + y) * self.fine[2] + x];
                }
            }
        }
        sum
    }

    /// What lies between coarse vertices at a fine one: the mean of 8, which partly coincide.
    fn prolonged(&self, coarse: &[f64], index: usize) -> f64 {
        let [_, ny, nx] = self.fine;
        let at = [index / (ny * nx), index / nx % ny, index % nx];
        let vertex = |axis: usize, side: usize| {
            if self.refined(axis) { (at[axis] + 1 + side) / 2 } else { at[axis] + 1 }
        };
        let mut sum = 0.0;
        for corner in 0..8 {
            let at: [usize; 3] = std::array::from_fn(|axis| vertex(axis, corner >> (2 - axis) & 1));
            if (0..3).all(|d| (1..=self.coarse[d]).contains(&at[d])) {
                let [z, y, x] = at.map(|i| i - 1);
                sum += coarse[(z * self.coarse[1] + y) * self.coarse[2] + x];
            }
        }
        sum * 0.125
    }
}

/// The numbers that these bytes of a field are.
///
/// # Errors
/// A field that is not of `f32` or `f64`.
pub fn numbers(kind: ScalarKind, bytes: &[u8]) -> Result<Vec<f64>> {
    let number = |kind| match kind {
        ScalarKind::F32 => Some(4),
        ScalarKind::F64 => Some(8),
        _ => None,
    };
    match number(kind) {
        Some(4) => {
            Ok(bytes.as_chunks().0.iter().map(|&word| f32::from_ne_bytes(word).into()).collect())
        }
        Some(_) => Ok(bytes.as_chunks().0.iter().map(|&word| f64::from_ne_bytes(word)).collect()),
        None => Err(Error::spec(
            format!("a field of {} on grids of two spacings", kind.name()),
            "take a field of f32 or f64",
        )),
    }
}

/// The bytes of a field of `f32` or `f64`.
pub fn bytes(kind: ScalarKind, numbers: &[f64]) -> Vec<u8> {
    match kind {
        ScalarKind::F32 => numbers.iter().flat_map(|&v| (v as f32).to_ne_bytes()).collect(),
        _ => numbers.iter().flat_map(|v| v.to_ne_bytes()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_lines_stay_what_they_are() {
        let grids = Transfer::Restrict.grids([7, 5].into(), [3, 2].into()).unwrap();
        assert_eq!(grids, Grids { fine: [7, 1, 5], coarse: [3, 1, 2] });
        // A linear function of the vertices' places.
        let fine: Vec<f64> =
            (0..35).map(|i| (i / 5 + 1) as f64 + 10.0 * (i % 5 + 1) as f64).collect();
        let coarse = Transfer::Restrict.values(&grids, &fine, &[]);
        let expect: Vec<f64> =
            (0..6).map(|i| 2.0 * (i / 2 + 1) as f64 + 20.0 * (i % 2 + 1) as f64).collect();
        assert_eq!(coarse, expect);
        let back = Transfer::Prolong.values(&grids, &coarse, &vec![1.0; 35]);
        // Inside the outermost coarse vertices; beyond them is 0.
        for z in 1..6 {
            for x in 1..4 {
                assert_eq!(back[z * 5 + x], 1.0 + fine[z * 5 + x], "at {z}, {x}");
            }
        }
        assert_eq!(back[0], 1.0 + coarse[0] / 4.0);
    }

    #[test]
    fn grids_that_do_not_fit_are_named() {
        for (fine, coarse) in [([8, 7], [4, 3]), ([7, 7], [3, 4]), ([7, usize::MAX], [3, 1])] {
            let error = Transfer::Restrict.grids(fine.into(), coarse.into()).unwrap_err();
            assert!(error.to_string().contains("2 n + 1"), "{error}");
        }
        assert!(Transfer::Prolong.grids([3].into(), [3, 3].into()).is_err());
        assert!(numbers(ScalarKind::I32, &[]).unwrap_err().to_string().contains("i32"));
    }
}
