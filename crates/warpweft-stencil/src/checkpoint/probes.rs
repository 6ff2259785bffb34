//! What probes recorded, in files next to the checkpoints: `f64`s, little-endian, in the order of the steps and,
//! of one step, of the probes. A file only grows, by what was recorded since it last did, and a checkpoint names
//! as much of it as there was; the checkpoints that are kept have a file each, so that damage to one spares the
//! other.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::format::{KEPT, numbered};
use super::hashed::{Growing, Reader, Sum, damaged};
use crate::spec::points::{Points, RawProbe};
use warpweft_core::error::Result;
use warpweft_core::memory::check_room;
use warpweft_core::report::Series;

/// What names of files begin with; a number follows.
const NAME: &str = "probes-";

/// A probe, by which its records are found again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Named {
    field: usize,
    at: Vec<Vec<usize>>,
    every: u64,
}

impl From<&RawProbe> for Named {
    fn from(RawProbe { field, at, every }: &RawProbe) -> Self {
        Self { field: *field, at: at.iter().map(|at| at.to_vec()).collect(), every: *every }
    }
}

/// One probe's records in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Recorded {
    probe: Named,
    /// The step of the first.
    first: u64,
    /// How many there are, each of a value a cell.
    records: u64,
}

/// What is in a file, as a manifest tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ProbesFile {
    /// Its name, in the folder of the checkpoints.
    pub file: String,
    #[serde(flatten)]
    sum: Sum,
    of: Vec<Recorded>,
}

impl ProbesFile {
    /// Whether a run can have written this: the file is in the folder of the checkpoints, and every probe has a period.
    pub fn is_possible(&self) -> bool {
        numbered(&self.file, NAME) && self.of.iter().all(|of| of.probe.every > 0)
    }

    /// Gives the `series` of those of `points` that are in the file what it has of them, for the checkpoint of
    /// `step` in `folder`.
    ///
    /// # Errors
    /// A file that is missing, cut short or changed; other records than there can be.
    pub fn read(
        &self,
        (folder, step): (&Path, u64),
        points: &Points,
        series: &mut [Series],
    ) -> Result<()> {
        let path = folder.with_file_name(&self.file);
        let most = |of: &Recorded| of.records <= step;
        let length = |of: &Recorded| of.records.checked_mul(8 * of.probe.at.len() as u64);
        let lengths = self.of.iter().map(length).try_fold(0u64, |all, n| all.checked_add(n?));
        if !self.of.iter().all(most) || lengths != Some(self.sum.bytes) {
            return Err(damaged(&path, "holds other records than its checkpoint tells"));
        }
        // Records of no cells take no room in the file.
        let records = self.of.iter().fold(0u64, |all, of| all.saturating_add(of.records));
        check_room(records.saturating_mul(64).saturating_add(self.sum.bytes), "record less often")?;
        let mut file = Reader::begin_of(path, &self.sum)?;
        let (mut values, mut left) = (Vec::new(), self.sum.bytes);
        while let Some(piece) = file.next(left)? {
            left -= piece.len() as u64;
            values.extend(piece.as_chunks().0.iter().map(|&value| f64::from_le_bytes(value)));
        }
        file.finish()?;
        let mut values = values.into_iter();
        let mut found = vec![Vec::new(); self.of.len()];
        let of = self.of.iter().map(|of| (of.first, of.probe.every, 0..of.records));
        for (probe, _) in ordered(of) {
            found[probe].push(values.by_ref().take(self.of[probe].probe.at.len()).collect());
        }
        for (Recorded { probe, first, .. }, found) in self.of.iter().zip(found) {
            let same = |(p, _): &(&RawProbe, &mut Series)| Named::from(*p) == *probe;
            for (_, series) in points.probes.iter().zip(&mut *series).filter(same) {
                series.values.clone_from(&found);
                series.first = *first;
            }
        }
        Ok(())
    }
}

/// The files of one run.
#[derive(Debug)]
pub(super) struct Records {
    probes: Vec<Named>,
    files: Vec<Growth>,
    saves: usize,
}

/// One file, and how many records of each probe are in it.
#[derive(Debug)]
struct Growth {
    name: String,
    file: Growing,
    written: Vec<u64>,
}

impl Records {
    pub fn of(points: &Points) -> Self {
        let probes = points.probes.iter().map(Named::from).collect();
        Self { probes, files: Vec::new(), saves: 0 }
    }

    /// Adds to a file in `folder`, that of the checkpoints, what of `series` is not in it yet; none if there
    /// are no probes.
    pub fn save(&mut self, folder: &Path, series: &[Series]) -> io::Result<Option<ProbesFile>> {
        if self.probes.is_empty() {
            return Ok(None);
        }
        let turn = self.saves % KEPT;
        if turn == self.files.len() {
            let last = files(folder)?.into_iter().map(|(number, _)| number).max();
            let name = format!("{NAME}{}", last.map_or(0, |last| last + 1));
            let (file, written) = (Growing::new(folder.join(&name)), vec![0; series.len()]);
            self.files.push(Growth { name, file, written });
        }
        let Growth { name, file, written } = &mut self.files[turn];
        let new = series.iter().zip(&*written);
        let new = new.map(|(of, &from)| (of.first, of.every, from..of.values.len() as u64));
        let mut bytes = Vec::new();
        for (probe, record) in ordered(new) {
            let values = &series[probe].values[record as usize];
            bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        }
        let sum = file.append(&bytes)?;
        *written = series.iter().map(|of| of.values.len() as u64).collect();
        self.saves += 1;
        let told = |((probe, series), &records): ((&Named, &Series), &u64)| Recorded {
            probe: probe.clone(),
            first: series.first,
            records,
        };
        let of = self.probes.iter().zip(series).zip(&*written).map(told).collect();
        Ok(Some(ProbesFile { file: name.clone(), sum, of }))
    }
}

/// Probe and number of every record, in the order of a file: `(first, every, numbers)` of each probe.
/// Takes memory for the probes only. O(records · log probes).
fn ordered(of: impl Iterator<Item = (u64, u64, Range<u64>)>) -> impl Iterator<Item = (usize, u64)> {
    let of: Vec<_> = of.collect();
    let begins: Vec<_> = of.iter().map(|(.., numbers)| numbers.start).collect();
    let next = move |probe: usize, n: u64| {
        let (first, every, numbers) = &of[probe];
        let step = first.saturating_add(n.saturating_mul(*every));
        (n < numbers.end).then_some(Reverse((step, probe, n)))
    };
    let begins = begins.into_iter().enumerate();
    let mut heap: BinaryHeap<_> = begins.filter_map(|(probe, n)| next(probe, n)).collect();
    std::iter::from_fn(move || {
        let Reverse((_, probe, n)) = heap.pop()?;
        heap.extend(next(probe, n + 1));
        Some((probe, n))
    })
}

/// The files in the folder of the checkpoints, with their numbers.
pub(super) fn files(folder: &Path) -> io::Result<Vec<(u64, String)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let name = name.to_str().and_then(|name| Some((name.strip_prefix(NAME)?, name)));
        files.extend(name.and_then(|(number, name)| Some((number.parse().ok()?, name.into()))));
    }
    Ok(files)
}
