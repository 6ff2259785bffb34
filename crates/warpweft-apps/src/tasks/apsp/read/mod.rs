//! Graphs from files: DIMACS `.gr`, Matrix Market `.mtx`, or lines of edges; plain or gzip.
//!
//! Which it is, and whether it is compressed, is told by what stands in it, not by the name: by the first line
//! that is not blank, and by the first two bytes.

mod edges;
mod gr;
mod lines;
mod mtx;

use std::io::{BufRead, BufReader, ErrorKind};
use std::path::Path;

use warpweft::error::{Error, Result};
use warpweft::grid::io::Input;
use warpweft::memory::grow;

use self::lines::{Lines, Wrong};
use super::graph::{Arc, Graph, ROOM};
use crate::gzip;

/// Vertices that a graph may have whatever its edges, and how many an edge allows more: memory of 64 MiB, and of a
/// few times the file.
const ALONE: u64 = 8 << 20;
const EACH: u64 = 8;

/// What is read so far: edges, and what the file says of itself.
#[derive(Default)]
struct Reading {
    arcs: Vec<Arc>,
    /// Vertices, once they are known.
    vertices: Option<u32>,
    /// Edges that the file says it has.
    said: Option<u64>,
    /// Whether every edge leads both ways.
    both: bool,
    /// Whether lines of edges have a weight.
    unweighted: bool,
    /// Lines of edges read.
    lines: u64,
}

/// A format, line by line.
trait Format {
    /// What it calls the first vertex.
    const FIRST: u32;
    /// Takes a line that is not blank.
    fn line(&mut self, line: &str, reading: &mut Reading) -> Result<(), String>;
    /// After the last line.
    fn end(&mut self, reading: &mut Reading) -> Result<(), String>;
}

/// The graph in the file at `path`; on standard input for `-`.
///
/// # Errors
/// A file that can't be read, is cut short, is in none of these formats, or breaks its own: with the line.
pub fn read(path: &Path) -> Result<Graph> {
    let failed = |error: std::io::Error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => "check the path",
            _ => "check that the file is a complete graph in text, plain or gzip",
        };
        Error::file(path, error, hint)
    };
    let file: Box<dyn BufRead> = match path.to_str() {
        Some("-") => Box::new(std::io::stdin().lock()),
        _ => Box::new(BufReader::with_capacity(1 << 18, Input::open(path).map_err(failed)?)),
    };
    let wrong = |what: String| Error::file(path, what, FORMATS);
    let parsed = parsed(Lines::of(gzip::plain(file).map_err(failed)?));
    parsed.map_err(|error| match error {
        Wrong::Text(what) => wrong(what),
        Wrong::Read(error) => failed(error),
        Wrong::Other(Error::Spec { what, hint }) => Error::file(path, what, hint),
        Wrong::Other(error) => error,
    })
}

const FORMATS: &str =
    "give DIMACS (.gr), Matrix Market (.mtx), or lines `from to weight` with vertices from 0";

/// The graph in `lines`, whose first one tells the format.
fn parsed(mut lines: Lines) -> Result<Graph, Wrong> {
    if !lines.next()? {
        return Err(Wrong::Text("is empty".into()));
    }
    let first = lines.text();
    if mtx::is_banner(&first) {
        parse(lines, mtx::MatrixMarket::default())
    } else if gr::is_line(&first) {
        parse(lines, gr::Dimacs)
    } else {
        parse(lines, edges::Edges)
    }
}

/// The graph in the line that `lines` is at and those after it.
fn parse<F: Format>(mut lines: Lines, mut format: F) -> Result<Graph, Wrong> {
    let mut reading = Reading::default();
    loop {
        grow(&mut reading.arcs, 2, ROOM).map_err(Wrong::Other)?;
        format.line(&lines.text(), &mut reading).map_err(|what| lines.wrong(&what))?;
        if !lines.next()? {
            break;
        }
    }
    format.end(&mut reading).map_err(Wrong::Text)?;
    if let Some(said) = reading.said.filter(|said| *said != reading.lines) {
        let edges = if reading.lines == 1 { "edge" } else { "edges" };
        return Err(Wrong::Text(format!(
            "has {} {edges}, but its header says {said}",
            reading.lines
        )));
    }
    let vertices = reading.vertices.unwrap_or(0);
    // Each takes memory, with or without edges.
    let most = ALONE + EACH * reading.arcs.len() as u64;
    if u64::from(vertices) > most {
        let edges = reading.arcs.len();
        return Err(Wrong::Text(format!(
            "has {vertices} vertices for {edges} edges (number vertices without gaps)"
        )));
    }
    Graph::new(vertices, &reading.arcs, F::FIRST).map_err(Wrong::Other)
}

impl Reading {
    /// Adds the edge of the words `from to weight`, of vertices counted from `first`.
    fn edge<'a>(
        &mut self,
        first: u32,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Result<(), String> {
        let mut vertex = |name: &str| {
            let word = words.next().ok_or_else(|| format!("no {name} vertex"))?;
            let number: u64 =
                word.parse().map_err(|_| format!("the vertex {word:?} is not a whole number"))?;
            let last = self.vertices.map_or(u64::from(u32::MAX) - 2, |n| u64::from(n + first) - 1);
            match number >= u64::from(first) && number <= last {
                true => Ok((number - u64::from(first)) as u32),
                false => Err(format!("vertex {number} is not among {first} to {last}")),
            }
        };
        let (from, to) = (vertex("first")?, vertex("second")?);
        let weight = match self.unweighted {
            true => 1,
            false => weight(words.next().ok_or("no weight")?)?,
        };
        if let Some(more) = words.next() {
            return Err(format!("{more:?} after the weight"));
        }
        self.lines += 1;
        self.arcs.push(Arc { from, to, weight });
        if self.both && from != to {
            self.arcs.push(Arc { from: to, to: from, weight });
        }
        Ok(())
    }
}

fn too_large(weight: &str) -> String {
    format!("the weight {weight} is too large (at most {})", u32::MAX - 1)
}

/// A weight: a whole number, which may be written as a float is.
fn weight(word: &str) -> Result<u32, String> {
    if let Ok(weight) = word.parse::<u32>() {
        return Some(weight).filter(|w| *w < u32::MAX).ok_or_else(|| too_large(word));
    }
    match word.parse::<f64>() {
        Ok(weight) if weight < 0.0 => Err(format!("the weight {word} is negative")),
        Ok(weight) if weight.is_nan() || weight.fract() != 0.0 => {
            Err(format!("the weight {word} is no whole number (scale and round the weights)"))
        }
        Ok(weight) if weight >= f64::from(u32::MAX) => Err(too_large(word)),
        Ok(weight) => Ok(weight as u32),
        Err(_) => Err(format!("the weight {word:?} is no number")),
    }
}
