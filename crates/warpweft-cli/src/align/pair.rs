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
}

/// Two sequences and their alignment.
pub struct Pair<'s> {
    /// The rows.
    pub query: &'s Named,
    /// The columns.
    pub target: &'s Named,
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

impl Pair<'_> {
    /// The path, if it was requested and any letters align.
    pub fn hit(&self) -> Option<&Aligned> {
        self.path.as_ref().filter(|path| !path.operations.is_empty())
    }

    /// The object that `--json` lists.
    pub fn to_json(&self, told_apart: bool) -> Value {
        let Alignment { score, query_end, target_end } = self.alignment;
        let mut pair = json!({
            "query": self.query.name,
            "query_length": self.query.sequence.len(),
            "query_end": query_end,
            "target": self.target.name,
            "target_length": self.target.sequence.len(),
            "target_end": target_end,
            "score": score,
        });
        if self.resumed > 0 {
            pair["resumed_from_row"] = self.resumed.into();
        }
        if let Some(path) = &self.path {
            let [gaps, gap_letters] = path.gaps();
            pair["query_start"] = first(path, path.query_start).into();
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
        let Alignment { score, query_end, target_end } = self.alignment;
        let mut numbers = vec![("score", score.into())];
        if self.resumed > 0 {
            numbers.insert(0, ("resumed from row", self.resumed.into()));
        }
        if let Some(path) = &self.path {
            numbers.push(("query start", first(path, path.query_start).into()));
        }
        numbers.push(("query end", query_end.into()));
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
