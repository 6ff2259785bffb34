//! Alignments as PAF and SAM files, and as a picture.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use warpweft::grid::io::write_whole;
use warpweft::{Error, Result};
use warpweft_apps::align::{Aligned, Operation};

use super::pair::{Named, Pair};
use crate::plot;
use crate::run::files::{Format, Saved, found_writable, none_read};

/// Mapping quality that is not known, in both formats.
const UNKNOWN: u8 = 255;

/// What a file of alignments holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Paf,
    Sam,
}

/// The files that a run will write.
pub struct Files {
    outputs: Vec<(PathBuf, Kind)>,
    plot: Option<PathBuf>,
}

impl Files {
    /// As they were named, found writable before any work is done.
    ///
    /// # Errors
    /// An ending that names no format, a file named twice or one of those to be `read`, or a place that
    /// can't be written.
    pub fn prepare(
        outputs: &[PathBuf],
        plot: Option<&Option<PathBuf>>,
        read: &[&PathBuf],
    ) -> Result<Self> {
        let kind = |path: &PathBuf| {
            let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
            match ending.as_deref() {
                Some("paf") => Ok((path.clone(), Kind::Paf)),
                Some("sam") => Ok((path.clone(), Kind::Sam)),
                _ => Err(Error::spec(
                    format!("{} is in no format known here", path.display()),
                    "end it in .paf or .sam",
                )),
            }
        };
        let outputs = outputs.iter().map(kind).collect::<Result<Vec<_>>>()?;
        let plot = plot.map(|path| path.clone().unwrap_or_else(|| PathBuf::from("align.png")));
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        let all = outputs.iter().map(|(path, _)| path).chain(&plot);
        none_read(all.clone(), read)?;
        found_writable(all)?;
        Ok(Self { outputs, plot })
    }

    /// Whether these sequences can be written so.
    ///
    /// # Errors
    /// SAM with a target that has no name of its own; a picture of several pairs.
    pub fn check(&self, queries: &[Named], targets: &[Named]) -> Result<()> {
        let mut names = HashSet::new();
        if self.outputs.iter().any(|(_, kind)| *kind == Kind::Sam) {
            for Named { name, .. } in targets {
                if name.is_empty() || name.starts_with(['*', '=']) || !names.insert(name) {
                    return Err(Error::spec(
                        format!("a target named {name:?}, or two of that name, in a SAM file"),
                        "name every target otherwise, or write .paf",
                    ));
                }
            }
        }
        match (&self.plot, queries.len() * targets.len()) {
            (Some(_), pairs @ 2..) => Err(Error::spec(
                format!("a picture of {pairs} pairs"),
                "give --plot with one query and one target",
            )),
            _ => Ok(()),
        }
    }

    /// Writes all of them.
    pub fn write(&self, pairs: &[Pair<'_>], targets: &[Named], told_apart: bool) -> Saved {
        let mut saved = Saved::default();
        for (path, kind) in &self.outputs {
            saved.add(
                path,
                write_whole(path, |to| match kind {
                    Kind::Paf => paf(to, pairs, told_apart),
                    Kind::Sam => sam(to, pairs, targets, told_apart),
                }),
            );
        }
        if let (Some(path), [pair]) = (&self.plot, pairs) {
            saved.add(path, picture(path, pair));
        }
        saved
    }
}

/// Columns that are no equal letters.
fn distance(path: &Aligned) -> usize {
    path.columns() - path.count(Operation::Equal)
}

/// The pairs that have an alignment.
fn aligned<'p>(pairs: &'p [Pair<'p>]) -> impl Iterator<Item = (&'p Pair<'p>, &'p Aligned)> {
    let path = |pair: &'p Pair<'p>| Some((pair, pair.path.as_ref()?));
    pairs.iter().filter_map(path).filter(|(_, path)| !path.operations.is_empty())
}

/// Pairwise mapping format: a line an alignment, positions from 0.
fn paf(to: &mut dyn Write, pairs: &[Pair<'_>], told_apart: bool) -> io::Result<()> {
    for (Pair { query, target, alignment, .. }, path) in aligned(pairs) {
        writeln!(
            to,
            "{}\t{}\t{}\t{}\t+\t{}\t{}\t{}\t{}\t{}\t{}\t{UNKNOWN}\tAS:i:{}\tNM:i:{}\tcg:Z:{}",
            query.name,
            query.sequence.len(),
            path.query_start,
            alignment.query_end,
            target.name,
            target.sequence.len(),
            path.target_start,
            alignment.target_end,
            path.count(Operation::Equal),
            path.columns(),
            alignment.score,
            distance(path),
            path.cigar(told_apart)
        )?;
    }
    Ok(())
}

/// Sequence alignment map: a header, then a line an alignment, positions from 1.
fn sam(
    to: &mut dyn Write,
    pairs: &[Pair<'_>],
    targets: &[Named],
    told_apart: bool,
) -> io::Result<()> {
    writeln!(to, "@HD\tVN:1.6\tSO:unknown")?;
    for Named { name, sequence } in targets {
        writeln!(to, "@SQ\tSN:{name}\tLN:{}", sequence.len())?;
    }
    writeln!(to, "@PG\tID:warpweft\tPN:warpweft\tVN:{}", env!("CARGO_PKG_VERSION"))?;
    for (Pair { query, target, alignment, .. }, path) in aligned(pairs) {
        let clip = |letters: usize| match letters {
            0 => String::new(),
            letters => format!("{letters}S"),
        };
        let name = if query.name.is_empty() { "*" } else { &query.name };
        write!(
            to,
            "{name}\t0\t{}\t{}\t{UNKNOWN}\t{}{}{}\t*\t0\t0\t",
            target.name,
            path.target_start + 1,
            clip(path.query_start),
            path.cigar(told_apart),
            clip(query.sequence.len() - alignment.query_end)
        )?;
        to.write_all(query.sequence.as_columns())?;
        writeln!(to, "\t*\tAS:i:{}\tNM:i:{}", alignment.score, distance(path))?;
    }
    Ok(())
}

/// The path from its start through the end of each of its operations.
fn picture(path: &Path, pair: &Pair<'_>) -> Result<()> {
    let (query, target) = (&pair.query.sequence, &pair.target.sequence);
    let mut corners = Vec::new();
    if let Some(found) = pair.path.as_ref().filter(|path| !path.operations.is_empty()) {
        let mut at = [found.query_start, found.target_start];
        corners.push(at);
        for (operation, count) in &found.operations {
            at[0] += if *operation == Operation::Deletion { 0 } else { *count };
            at[1] += if *operation == Operation::Insertion { 0 } else { *count };
            corners.push(at);
        }
    }
    let title =
        format!("{} / {}: score {}", pair.query.name, pair.target.name, pair.alignment.score);
    let axes = (["query", "target"], [query.len(), target.len()]);
    plot::path::save(path, &title, axes, &corners)
}
