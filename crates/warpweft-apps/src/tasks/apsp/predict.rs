//! What planes of bits must move, at least, by how far vertices are from a few sources.

/// Seconds for `sources` sources at once in a graph of so many vertices and edges, on a device that moves `bandwidth`
/// bytes a second. `levels[d]`: vertices at distance d from a source, on average.
///
/// A level of a source's plane in a row of S sources holds a bit for some of them if the vertex is at that distance
/// from any: for sources that are independent, L = Σ_d 1 − (1 − h_d / n)^S levels a row. Every edge reads such rows of
/// S / 8 bytes once, and every vertex writes them, reads and writes what it has seen: S / 8 · L · (m + 3 n) bytes.
/// Of sources whose neighbourhoods are alike, L is less, and so is the time.
pub fn predict(levels: &[f64], vertices: f64, edges: f64, sources: f64, bandwidth: f64) -> f64 {
    let rows: f64 = levels.iter().map(|h| 1.0 - (1.0 - h / vertices).max(0.0).powf(sources)).sum();
    sources / 8.0 * rows * (edges + 3.0 * vertices) / bandwidth
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_a_level_for_every_distance_that_any_of_its_sources_has() {
        // One source, three levels of its own: a row has one of them.
        let one = predict(&[1.0, 3.0, 4.0], 8.0, 16.0, 1.0, 1.0);
        assert!((one - (16.0 + 24.0) / 8.0).abs() < 1e-12);
        // Many: all of them.
        let many = predict(&[1.0, 3.0, 4.0], 8.0, 16.0, 4096.0, 40.0);
        assert!((many - 512.0 * 3.0).abs() < 1e-9);
    }
}
