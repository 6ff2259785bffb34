//! Matrix Market's coordinate format: an entry `i j weight` is an edge from i to j, vertices from 1; without
//! values every edge has weight 1 (Boisvert, Pozo and Remington, NISTIR 5935, 1996).

use super::{Format, Reading};

/// Whether `line` is its first one, by its first word, whose case the format leaves open.
pub fn is_banner(line: &str) -> bool {
    let word = line.as_bytes().get(..14);
    word.is_some_and(|word| word.eq_ignore_ascii_case(b"%%MatrixMarket"))
}

/// Its lines.
#[derive(Default)]
pub struct MatrixMarket {
    header: bool,
}

impl Format for MatrixMarket {
    const FIRST: u32 = 1;

    fn line(&mut self, line: &str, reading: &mut Reading) -> Result<(), String> {
        if !std::mem::replace(&mut self.header, true) {
            return header(line, reading);
        }
        if line.starts_with('%') {
            return Ok(());
        }
        let words = line.split_ascii_whitespace();
        if reading.vertices.is_some() {
            return reading.edge(Self::FIRST, words);
        }
        let sizes: Option<Vec<u32>> = words.map(|word| word.parse().ok()).collect();
        match sizes.as_deref() {
            Some(&[rows, columns, entries]) if rows == columns && rows < u32::MAX - 1 => {
                reading.vertices = Some(rows);
                reading.said = Some(entries.into());
                Ok(())
            }
            Some(&[rows, columns, _]) => Err(format!(
                "a matrix of {rows} rows and {columns} columns is not square, so it is not a graph"
            )),
            _ => Err("write `ROWS COLUMNS ENTRIES`, below 2^32".into()),
        }
    }

    fn end(&mut self, reading: &mut Reading) -> Result<(), String> {
        reading.vertices.map(drop).ok_or("has no line `ROWS COLUMNS ENTRIES`".into())
    }
}

fn header(line: &str, reading: &mut Reading) -> Result<(), String> {
    let words: Vec<_> = line.split_ascii_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<_> = words.iter().skip(1).map(String::as_str).collect();
    let ["matrix", "coordinate", values, symmetry] = words[..] else {
        return Err("write `%%MatrixMarket matrix coordinate integer general`".into());
    };
    reading.unweighted = match values {
        "pattern" => true,
        "integer" | "real" => false,
        other => return Err(format!("values that are {other}, not integer, real or pattern")),
    };
    reading.both = match symmetry {
        "general" => false,
        "symmetric" => true,
        other => return Err(format!("a matrix that is {other}, not general or symmetric")),
    };
    Ok(())
}
