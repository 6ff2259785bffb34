//! How many vertices are at each distance from a source, and what follows from it: mean distance, closeness, harmonic
//! centrality. Counts are whole numbers, so every form and any number of workers gives the same bits.

use warpweft::prelude::*;

use super::tentative::{Reach, UNREACHED};

/// Distances that are counted at most, by every form: beyond, a list a source would be as long as a row of distances.
pub const SPREAD_MOST: u32 = 1 << 20;

/// How many vertices are at each distance, from the row of all distances.
///
/// # Errors
/// A distance of [`SPREAD_MOST`] or more.
pub fn spread(reach: Reach, distances: &[u32]) -> Result<Vec<u32>, Failure> {
    if reach.farthest >= SPREAD_MOST {
        return Err(too_far(reach.farthest).into());
    }
    let mut counts = vec![0u32; reach.farthest as usize + 1];
    for &distance in distances.iter().filter(|distance| **distance != UNREACHED) {
        counts[distance as usize] += 1;
    }
    Ok(counts)
}

/// Why a source has no statistics.
pub(super) fn too_far(farthest: u32) -> String {
    let most = SPREAD_MOST - 1;
    format!(
        "a distance is {farthest}, but the statistics count distances up to {most} only; scale the weights down, or request no statistics"
    )
}

/// What is known of a source whose counts are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Centrality {
    /// The largest distance.
    pub eccentricity: u32,
    /// The mean distance of the other vertices that a path leads to; `None` if there are none.
    pub mean: Option<f64>,
    /// (r - 1) / n' · (r - 1) / Σ d for r reached vertices of n' + 1, as Wasserman and Faust have it for graphs in which some
    /// vertices are not reached; 0 if none is.
    pub closeness: f64,
    /// Σ 1 / d over all other vertices, 0 for those that no path leads to and for those at distance 0. Added from the nearest on.
    pub harmonic: f64,
}

impl Centrality {
    /// Of a source in a graph of `vertices` vertices with so many at each distance.
    pub fn of(reach: Reach, counts: &[u32], vertices: u32) -> Self {
        let others = f64::from(reach.reached.saturating_sub(1));
        let mean = (others > 0.0).then(|| reach.total as f64 / others);
        let closeness = match reach.total {
            0 => 0.0,
            total => others / f64::from(vertices - 1) * (others / total as f64),
        };
        let terms = (1..).zip(counts.iter().skip(1));
        // An empty `sum` of floats is -0.
        let harmonic = terms.map(|(d, &count): (u64, _)| f64::from(count) / d as f64);
        let harmonic = harmonic.fold(0.0, |sum, term| sum + term);
        Self { eccentricity: reach.farthest, mean, closeness, harmonic }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path of four vertices with edges of 2, and one that is not reached.
    #[test]
    fn a_path_has_the_centrality_of_its_definition() {
        let row = [0, 2, 4, 6, UNREACHED];
        let reach = Reach { reached: 4, farthest: 6, total: 12 };
        let counts = spread(reach, &row).unwrap();
        assert_eq!(counts, [1, 0, 1, 0, 1, 0, 1]);
        let found = Centrality::of(reach, &counts, 5);
        assert_eq!((found.eccentricity, found.mean), (6, Some(4.0)));
        assert!((found.closeness - 3.0 / 4.0 * (3.0 / 12.0)).abs() < 1e-15);
        assert!((found.harmonic - (1.0 / 2.0 + 1.0 / 4.0 + 1.0 / 6.0)).abs() < 1e-15);
        let alone = Centrality::of(Reach { reached: 1, farthest: 0, total: 0 }, &[1], 1);
        assert_eq!((alone.mean, alone.closeness, alone.harmonic), (None, 0.0, 0.0));
        assert!(alone.harmonic.is_sign_positive());
        let far = Reach { reached: 2, farthest: SPREAD_MOST, total: u64::from(SPREAD_MOST) };
        let refused = spread(far, &[0, SPREAD_MOST]).unwrap_err().to_string();
        assert!(refused.contains("a distance is 1048576"), "{refused}");
    }
}
