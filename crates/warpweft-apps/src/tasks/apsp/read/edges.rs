//! Lines of edges: `from to weight`, vertices from 0, separated by blanks or commas; `#` and `%` begin comments.

use super::mtx::is_banner;
use super::{Format, Reading};

/// Its lines.
pub struct Edges;

/// Whether the line is Matrix Market's first but for its signs.
fn names_a_matrix(line: &str) -> bool {
    let name = line.trim_start_matches(['%', '#']).trim_start();
    name.len() < line.len() && name.to_ascii_lowercase().starts_with("matrixmarket")
}

impl Format for Edges {
    const FIRST: u32 = 0;

    fn line(&mut self, line: &str, reading: &mut Reading) -> Result<(), String> {
        // Its sizes would be an edge, and its vertices be counted from 0.
        if is_banner(line) {
            return Err(
                "the line %%MatrixMarket is not the first line; begin the file with it".into()
            );
        }
        if names_a_matrix(line) {
            return Err("a matrix begins with %%MatrixMarket, with two percent signs".into());
        }
        if line.starts_with(['#', '%']) {
            return Ok(());
        }
        let separates = |c: char| c.is_ascii_whitespace() || c == ',';
        reading.edge(Self::FIRST, line.split(separates).filter(|word| !word.is_empty()))
    }

    fn end(&mut self, reading: &mut Reading) -> Result<(), String> {
        let last = reading.arcs.iter().map(|arc| arc.from.max(arc.to)).max();
        reading.vertices = Some(last.ok_or("has no edges")? + 1);
        Ok(())
    }
}
