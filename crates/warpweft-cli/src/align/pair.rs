//! One aligned pair, for the report.

use serde_json::{Value, json};
use warpweft::report::counted;
use warpweft_apps::align::{Aligned, Alignment, Operation, Sequence};

use crate::run::values::bare;

/// Named results of a run, and further lines of its report.
pub type Answer = (Vec<(&'static str, Value)>, Vec<(&'static str, String)>);

/// Largest number of CIGAR letters in the report.
const SHOWN: usize = 60;

/// A checked sequence and its name.
pub struct Named {
    /// The first word of its header.
    pub name: String,
    /// Its letters.
    pub sequence: Sequence,
    /// Its reverse complement, if that is aligned.
    pub reverse: Option<Sequence>,
    /// A quality for each letter, of FASTQ.
    pub quality: Option<Vec<u8>>,
}

/// Two sequences and their alignment.
pub struct Pair<'s> {
    /// The rows.
    pub query: &'s Named,
    /// The columns.
    pub target: &'s Named,
    /// Whether the reverse complement of the query is aligned.
    pub minus: bool,
    /// Score and ends.
    pub alignment: Alignment,
    /// The path, unless only the score was requested.
    pub path: Option<Aligned>,
    /// Number of rows (letters of the query) that an earlier run computed, if this one was resumed.
    pub resumed: usize,
}

/// The position, from 1, of the first aligned letter after `before` letters; 0 if there is none.
fn first(path: &Aligned, before: usize) -> usize {
    if path.operations.is_empty() { 0 } else { before + 1 }
}

impl<'s> Pair<'s> {
    /// The pair before it is aligned.
    pub fn new(query: &'s Named, target: &'s Named, minus: bool) -> Self {
        let alignment = Alignment { score: 0, query_end: 0, target_end: 0 };
        Self { query, target, minus, alignment, path: None, resumed: 0 }
    }

    /// What is aligned with what.
    pub fn sequences(&self) -> (&'s Sequence, &'s Sequence) {
        let reverse = self.query.reverse.as_ref().filter(|_| self.minus);
        (reverse.unwrap_or(&self.query.sequence), &self.target.sequence)
    }

    /// The qualities of the query's letters, in the order in which they are aligned.
    pub fn quality(&self) -> Option<Vec<u8>> {
        let mut quality = self.query.quality.clone()?;
        if self.minus {
            quality.reverse();
        }
        Some(quality)
    }

    /// `+`, or `-` of a reverse complement.
    pub fn strand(&self) -> char {
        if self.minus { '-' } else { '+' }
    }

    /// Letters of the query before `at` letters of what is aligned, in the order of its file.
    fn on_file(&self, at: usize) -> usize {
        if self.minus { self.query.sequence.len() - at } else { at }
    }

    /// Letters of the query, in the order of its file, before the alignment and up to its end.
    pub fn query_range(&self, path: &Aligned) -> [usize; 2] {
        let [start, end] = [path.query_start, self.alignment.query_end].map(|at| self.on_file(at));
        [start.min(end), start.max(end)]
    }

    /// Where the alignment begins and ends in the query, positions from 1, as far as that is known: of a
    /// reverse complement, the end that scores tell is the beginning on the file.
    fn query_places(&self) -> [Option<usize>; 2] {
        let end = self.alignment.query_end;
        match &self.path {
            Some(path) if path.operations.is_empty() => [Some(0), Some(0)],
            Some(path) => {
                let [start, end] = self.query_range(path);
                [Some(start + 1), Some(end)]
            }
            None if end == 0 => [None, Some(0)],
            None if self.minus => [Some(self.on_file(end) + 1), None],
            None => [None, Some(end)],
        }
    }

    /// The path, if it was requested and any letters align.
    pub fn hit(&self) -> Option<&Aligned> {
        self.path.as_ref().filter(|path| !path.operations.is_empty())
    }

    /// The object that `--json` lists.
    pub fn to_json(&self, told_apart: bool) -> Value {
        let Alignment { score, target_end, .. } = self.alignment;
        let [query_start, query_end] = self.query_places();
        let mut pair = json!({
            "query": self.query.name,
            "query_length": self.query.sequence.len(),
            "query_end": query_end,
            "strand": self.strand().to_string(),
            "target": self.target.name,
            "target_length": self.target.sequence.len(),
            "target_end": target_end,
            "score": score,
        });
        if self.resumed > 0 {
            pair["resumed_from_row"] = self.resumed.into();
        }
        if let Some(start) = query_start {
            pair["query_start"] = start.into();
        }
        if let Some(path) = &self.path {
            let [gaps, gap_letters] = path.gaps();
            pair["target_start"] = first(path, path.target_start).into();
            pair["columns"] = path.columns().into();
            pair["matches"] = path.count(Operation::Equal).into();
            pair["mismatches"] = path.count(Operation::Different).into();
            pair["identity"] = path.identity().into();
            pair["gaps"] = gaps.into();
            pair["gap_letters"] = gap_letters.into();
            pair["cigar"] = path.cigar(told_apart).into();
        }
        pair
    }

    /// The results of a single pair, by name.
    pub fn numbers(&self) -> Vec<(&'static str, Value)> {
        let Alignment { score, target_end, .. } = self.alignment;
        let [query_start, query_end] = self.query_places();
        let mut numbers = vec![("score", score.into())];
        if self.resumed > 0 {
            numbers.insert(0, ("resumed from row", self.resumed.into()));
        }
        if self.minus {
            numbers.push(("strand", self.strand().to_string().into()));
        }
        numbers.extend(query_start.map(|start| ("query start", start.into())));
        numbers.extend(query_end.map(|end| ("query end", end.into())));
        if let Some(path) = &self.path {
            numbers.push(("target start", first(path, path.target_start).into()));
        }
        numbers.push(("target end", target_end.into()));
        if let Some(path) = &self.path {
            let [gaps, letters] = path.gaps();
            numbers.push(("identity", path.identity().into()));
            numbers.push(("gaps", gaps.into()));
            numbers.push(("letters in gaps", letters.into()));
        }
        numbers
    }

    /// The same in one line.
    pub fn line(&self) -> String {
        let numbers: Vec<_> =
            self.numbers().iter().map(|(name, value)| format!("{name} {}", bare(value))).collect();
        format!("{} and {}: {}", self.query.name, self.target.name, numbers.join(", "))
    }

    /// A line with the CIGAR, or its beginning, if there is one.
    pub fn cigar(&self, told_apart: bool) -> Option<(&'static str, String)> {
        let path = self.hit()?;
        let text = path.cigar(told_apart);
        // All letters of a CIGAR are one byte long.
        Some((
            "cigar",
            match text.get(..SHOWN).filter(|_| text.len() > SHOWN) {
                Some(shown) => {
                    let rest = counted((text.len() - SHOWN) as u64, "further character");
                    format!("{shown}... ({rest}: see --output, --json)")
                }
                None => text,
            },
        ))
    }
}
