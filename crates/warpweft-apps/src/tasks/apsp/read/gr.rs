//! The format of the 9th DIMACS Implementation Challenge: `c` comments, `p sp VERTICES EDGES`, `a FROM TO
//! WEIGHT` with vertices from 1.

use super::{Format, Reading};

/// Whether `line` is one of its.
pub fn is_line(line: &str) -> bool {
    matches!(line.split_ascii_whitespace().next(), Some("c" | "p" | "a"))
}

/// Its lines.
pub struct Dimacs;

impl Format for Dimacs {
    const FIRST: u32 = 1;

    fn line(&mut self, line: &str, reading: &mut Reading) -> Result<(), String> {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("c") => Ok(()),
            Some("p") if reading.vertices.is_some() => Err("a second line `p`".into()),
            Some("p") => {
                let words: Vec<_> = words.collect();
                let [_, vertices, edges] = words[..] else {
                    return Err("write `p sp VERTICES EDGES`".into());
                };
                let number = |what: &str, word: &str| {
                    word.parse::<u32>()
                        .ok()
                        .filter(|n| *n < u32::MAX - 1)
                        .ok_or_else(|| format!("{word:?} is no number of {what} below 2^32 - 2"))
                };
                reading.vertices = Some(number("vertices", vertices)?);
                reading.said = Some(number("edges", edges)?.into());
                Ok(())
            }
            Some("a") if reading.vertices.is_none() => Err("an edge before the line `p`".into()),
            Some("a") => reading.edge(Self::FIRST, words),
            _ => Err(format!("{line:?} begins with neither c, p nor a")),
        }
    }

    fn end(&mut self, reading: &mut Reading) -> Result<(), String> {
        reading.vertices.map(drop).ok_or("has no line `p sp VERTICES EDGES`".into())
    }
}
