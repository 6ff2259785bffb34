//! Alignments as PAF, SAM and BLAST's tables, and as a picture.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use warpweft::grid::io::write_whole;
use warpweft::report::counted;
use warpweft::{Error, Result};
use warpweft_apps::align::{Aligned, Operation, Scope, Scoring, Sequence};

use super::blast;
use super::pair::{Named, Pair};
use crate::output::note;
use crate::plot;
use crate::run::files::{Format, Saved, Saving, found_writable, none_read};

/// The mapping quality "unknown" in both formats.
const UNKNOWN: u8 = 255;

/// Flags of a SAM line: an unmapped query, and a line that is not the query's primary one.
const UNMAPPED: u16 = 0x4;
const SECONDARY: u16 = 0x100;
/// Flag of a line whose letters are the reverse complement of the query's.
const REVERSE: u16 = 0x10;

/// The format of a file of alignments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Paf,
    Sam,
    /// BLAST's tabular format.
    Table,
}

/// The files that a run will write.
pub struct Files {
    outputs: Vec<(PathBuf, Kind)>,
    plot: Option<PathBuf>,
}

impl Files {
    /// The files of the options, checked for write access before any work is done.
    ///
    /// # Errors
    /// An ending that names no format, a file named twice or also in `read`, or a place that can't be
    /// written.
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
                Some("tsv" | "m8") => Ok((path.clone(), Kind::Table)),
                _ => Err(Error::spec(
                    format!("{} is in no format known here", path.display()),
                    "end it in .paf, .sam, .tsv or .m8",
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

    /// The one file of a run that writes its alignments as they are found.
    ///
    /// # Errors
    /// Others than one PAF file: other formats begin with all targets, or count their letters.
    pub fn streamed(&self) -> Result<&Path> {
        match &self.outputs[..] {
            [(path, Kind::Paf)] => Ok(path),
            _ => Err(Error::spec(
                "--stream needs exactly one --output, a .paf file",
                "give --output once, with a name that ends in .paf",
            )),
        }
    }

    /// Checks that the formats can hold these sequences.
    ///
    /// # Errors
    /// SAM with a query whose name it can't hold, or two targets with one name; a picture of several pairs.
    pub fn check(&self, queries: &[Named], targets: &[Named]) -> Result<()> {
        let mut names = HashSet::new();
        if self.outputs.iter().any(|(_, kind)| *kind == Kind::Sam) {
            let mut queried = HashSet::new();
            for Named { name, .. } in queries {
                if !is_query_name(name) || !queried.insert(name) {
                    return Err(Error::spec(
                        format!(
                            "SAM does not allow the query name {name:?}, or two queries have this name"
                        ),
                        "rename the query, or write .paf",
                    ));
                }
            }
            for Named { name, .. } in targets {
                if !is_target_name(name) || !names.insert(name) {
                    return Err(Error::spec(
                        format!(
                            "SAM does not allow the target name {name:?}, or two targets have this name"
                        ),
                        "rename the target, or write .paf",
                    ));
                }
            }
        }
        match (&self.plot, queries.len().saturating_mul(targets.len())) {
            (Some(_), pairs @ 2..) => Err(Error::spec(
                format!("--plot shows one pair, but there are {pairs}"),
                "give --plot with one query and one target",
            )),
            _ => Ok(()),
        }
    }

    /// Writes all files, and notes which pairs have no alignment in them.
    pub fn write(
        &self,
        pairs: &[Pair<'_>],
        targets: &[Named],
        of: (&Scoring, Scope),
        told_apart: bool,
    ) -> Saved {
        let mut saving = Saving::default();
        if self.plot.is_some() || !self.outputs.is_empty() {
            unaligned(pairs).iter().for_each(|what| note(what));
        }
        for (path, kind) in &self.outputs {
            saving.add(path, move || {
                write_whole(path, |to| match kind {
                    Kind::Paf => paf(to, pairs, told_apart),
                    Kind::Sam => sam(to, pairs, targets, told_apart),
                    Kind::Table => blast::table(to, pairs, targets, of),
                })
            });
        }
        if let (Some(path), [pair]) = (&self.plot, pairs) {
            saving.add(path, || picture(path, pair));
        }
        saving.save(Saved::default())
    }
}

/// Whether SAM allows this name of a query: `[!-?A-~]{1,254}` (SAM 1.6, §1.4).
fn is_query_name(name: &str) -> bool {
    (1..=254).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic() && b != b'@')
}

/// Whether SAM allows this name of a target: graphic characters without quotes, brackets, commas and
/// backslashes, not starting with `*` or `=` (SAM 1.6, §1.2.1).
fn is_target_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['*', '='])
        && name.bytes().all(|b| b.is_ascii_graphic() && !b"\\,\"'`()[]{}<>".contains(&b))
}

/// Number of columns without equal letters.
fn distance(path: &Aligned) -> usize {
    path.columns() - path.count(Operation::Equal)
}

/// The note about pairs without an alignment; it names the first.
fn unaligned(pairs: &[Pair<'_>]) -> Option<String> {
    let mut none = pairs.iter().filter(|pair| pair.hit().is_none());
    let Pair { query, target, .. } = none.next()?;
    let more = match none.count() as u64 {
        0 => String::new(),
        more => format!(", nor any of {}", counted(more, "further pair")),
    };
    let (query, target) = (&query.name, &target.name);
    Some(format!(
        "no alignment of {query} and {target} scores above 0{more}: there is none to write"
    ))
}

/// Pairwise mapping format: a line an alignment, positions from 0.
pub fn paf(to: &mut dyn Write, pairs: &[Pair<'_>], told_apart: bool) -> io::Result<()> {
    for pair @ Pair { query, target, alignment, .. } in pairs {
        let Some(path) = pair.hit() else { continue };
        let [query_start, query_end] = pair.query_range(path);
        writeln!(
            to,
            "{}\t{}\t{query_start}\t{query_end}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{UNKNOWN}\tAS:i:{}\tNM:i:{}\tcg:Z:{}",
            query.name,
            query.sequence.len(),
            pair.strand(),
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

/// Sequence alignment map: a header, then one line for each alignment, positions from 1. A query's primary
/// line is that with the best score; among equals, that of the first target.
fn sam(
    to: &mut dyn Write,
    pairs: &[Pair<'_>],
    targets: &[Named],
    told_apart: bool,
) -> io::Result<()> {
    writeln!(to, "@HD\tVN:1.6\tSO:unknown")?;
    for Named { name, sequence, .. } in targets {
        writeln!(to, "@SQ\tSN:{name}\tLN:{}", sequence.len())?;
    }
    writeln!(to, "@PG\tID:warpweft\tPN:warpweft\tVN:{}", env!("CARGO_PKG_VERSION"))?;
    // Pairs come query by query.
    for of_query in pairs.chunk_by(|a, b| std::ptr::eq(a.query, b.query)) {
        let best = of_query.iter().filter_map(|pair| Some((pair, pair.hit()?.alignment.score)));
        // `max_by_key` takes the last of equals, so the order is reversed.
        match best.rev().max_by_key(|(_, score)| *score) {
            None => unmapped(to, of_query[0].query)?,
            Some((primary, _)) => {
                for pair in of_query {
                    mapped(to, pair, std::ptr::eq(pair, primary), told_apart)?;
                }
            }
        }
    }
    Ok(())
}

/// What SAM writes of a sequence: X for the `*` of proteins, which SAM does not allow in letters (SAM 1.6, §1.4).
fn letters(sequence: &Sequence) -> Cow<'_, [u8]> {
    let mut text = sequence.text();
    if text.contains(&b'*') {
        text.to_mut()
            .iter_mut()
            .filter(|letter| **letter == b'*')
            .for_each(|letter| *letter = b'X');
    }
    text
}

/// The line of an unmapped query.
fn unmapped(to: &mut dyn Write, query: &Named) -> io::Result<()> {
    write!(to, "{}\t{UNMAPPED}\t*\t0\t0\t*\t*\t0\t0\t", query.name)?;
    to.write_all(&letters(&query.sequence))?;
    to.write_all(b"\t")?;
    to.write_all(query.quality.as_deref().unwrap_or(b"*"))?;
    writeln!(to)
}

/// The line of a pair, if it has an alignment. Lines that are not primary omit the letters (SAM 1.6, section
/// 2: multiple mapping).
fn mapped(to: &mut dyn Write, pair: &Pair<'_>, primary: bool, told_apart: bool) -> io::Result<()> {
    let Some(path) = pair.hit() else { return Ok(()) };
    let Pair { query, target, alignment, .. } = pair;
    let strand = if pair.minus { REVERSE } else { 0 };
    let clip = |letters: usize| match letters {
        0 => String::new(),
        letters => format!("{letters}S"),
    };
    write!(
        to,
        "{}\t{}\t{}\t{}\t{UNKNOWN}\t{}{}{}\t*\t0\t0\t",
        query.name,
        strand | if primary { 0 } else { SECONDARY },
        target.name,
        path.target_start + 1,
        clip(path.query_start),
        path.cigar(told_apart),
        clip(query.sequence.len() - alignment.query_end)
    )?;
    let (letters, quality) = match primary {
        true => (letters(pair.sequences().0), pair.quality()),
        false => (b"*".into(), None),
    };
    to.write_all(&letters)?;
    to.write_all(b"\t")?;
    to.write_all(quality.as_deref().unwrap_or(b"*"))?;
    writeln!(to, "\tAS:i:{}\tNM:i:{}", alignment.score, distance(path))
}

/// Draws the path from its start through the end of each operation.
fn picture(path: &Path, pair: &Pair<'_>) -> Result<()> {
    let (query, target) = pair.sequences();
    let mut corners = Vec::new();
    if let Some(found) = pair.hit() {
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
