//! What probes recorded, as a file of a checkpoint: `f64`s, little-endian, probe after probe and record
//! after record.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::hashed::{Reader, Sum, Writer};
use crate::error::Result;
use crate::report::Series;
use crate::stencil::points::{Points, Probe};

/// The name of the file.
const NAME: &str = "probes";

/// A probe, by which its records are found again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Named {
    field: usize,
    at: Vec<Vec<usize>>,
    every: u64,
}

impl<const D: usize> From<&Probe<D>> for Named {
    fn from(Probe { field, at, every }: &Probe<D>) -> Self {
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

/// The file, as a manifest tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ProbesFile {
    #[serde(flatten)]
    sum: Sum,
    of: Vec<Recorded>,
}

impl ProbesFile {
    /// Writes what `probes` recorded into `folder`.
    pub fn write(folder: &Path, probes: &[Named], series: &[Series]) -> io::Result<Self> {
        let mut file = Writer::create(&folder.join(NAME))?;
        let values = series.iter().flat_map(|series| series.values.iter().flatten());
        values.map(|value| value.to_le_bytes()).try_for_each(|bytes| file.put(&bytes))?;
        let told = |(probe, series): (&Named, &Series)| {
            let records = series.values.len() as u64;
            Recorded { probe: probe.clone(), first: series.first, records }
        };
        Ok(Self { sum: file.finish()?, of: probes.iter().zip(series).map(told).collect() })
    }

    /// Reads the file and compares its checksum.
    ///
    /// # Errors
    /// It is missing, cut short or changed.
    pub fn verify(&self, folder: &Path) -> Result<()> {
        Reader::open(folder.join(NAME), &self.sum)?.finish()
    }

    /// Gives the `series` of those of `points` that are in the file what it has of them.
    ///
    /// # Errors
    /// As [`ProbesFile::verify`].
    pub fn read<const D: usize>(
        &self,
        folder: &Path,
        points: &Points<D>,
        series: &mut [Series],
    ) -> Result<()> {
        let mut file = Reader::open(folder.join(NAME), &self.sum)?;
        for Recorded { probe, first, records } in &self.of {
            let cells = probe.at.len();
            let mut left = records.saturating_mul(8 * cells as u64);
            let mut values = Vec::new();
            while let Some(piece) = file.next(left)? {
                left -= piece.len() as u64;
                values.extend(piece.as_chunks().0.iter().map(|&value| f64::from_le_bytes(value)));
            }
            for (_, series) in
                points.probes.iter().zip(&mut *series).filter(|(p, _)| Named::from(*p) == *probe)
            {
                let record = |n: u64| values[n as usize * cells..][..cells].to_vec();
                series.values = (0..*records).map(record).collect();
                series.first = *first;
            }
        }
        file.finish()
    }
}
