//! Reading a checkpoint, whatever parts it was written in.

use std::path::{Path, PathBuf};

use super::hashed::{Reader, damaged};
use super::manifest::{Manifest, PartFile};
use super::{Origin, State, folder_name, region_of};
use crate::spec::points::Points;
use crate::{Region, Span};
use warpweft_core::element::CellType;
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{Axes, RawVolume, rows};
use warpweft_core::report::Series;

/// Another run than this one, which saved its state.
pub(super) struct Other {
    /// What it is, and where names don't tell, how this one differs.
    pub of: String,
    /// What was given to it that this one was not.
    given: &'static str,
}

impl Other {
    /// The run that wrote `manifest`, if that is another than the one of `origin`.
    pub fn than(manifest: &Manifest, Origin { of, parts, start }: &Origin) -> Option<Self> {
        if manifest.of != *of {
            let name = |of: &str| of.rsplit_once(" (").map_or(of, |(name, _)| name).to_string();
            let (theirs, ours) = (name(&manifest.of), name(of));
            let of = match theirs == ours {
                // Names and extents are the same, but not the hash.
                true => {
                    let other = manifest.computed.iter().zip(parts).find(|(a, b)| a != b);
                    let how = other.map_or("code".into(), |((name, theirs), (_, ours))| {
                        format!("{name} ({theirs}, this run has {ours})")
                    });
                    format!("{ours}, as this run is, but with other {how}")
                }
                false => format!("{theirs}, this run is {ours}"),
            };
            return Some(Self { of, given: "arguments" });
        }
        (manifest.start != *start).then(|| Self {
            of: format!(
                "a run from another initial state (hash {}, this run's is {start})",
                manifest.start
            ),
            given: "seed or the input",
        })
    }
}

/// A checkpoint that is there.
#[derive(Debug)]
pub(crate) struct Saved {
    folder: PathBuf,
    cell: CellType,
    manifest: Manifest,
    regions: Vec<Region>,
}

impl Saved {
    /// Reads the manifest of the checkpoint in `folder`.
    ///
    /// # Errors
    /// [`Error::File`] for damage; [`Error::Spec`] for a checkpoint of another computation, initial
    /// state or format.
    pub fn open(
        folder: &Path,
        origin: &Origin,
        (cell, extents): (CellType, Axes<usize>),
    ) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        if let Some(Other { of, given }) = Other::than(&manifest, origin) {
            return Err(Error::spec(
                format!("{} is a checkpoint of {of}", folder.display()),
                format!(
                    "use the {given} of the run that wrote it, or start a new run in an empty folder"
                ),
            ));
        }
        if folder.file_name().is_some_and(|name| *name != *folder_name(manifest.step)) {
            return Err(damaged(folder, format!("its manifest is of step {}", manifest.step)));
        }
        let mut regions = Vec::new();
        for part in &manifest.parts {
            let region = region_of(&part.low, &part.high)
                .filter(|r: &Region| {
                    r.rank() == extents.rank()
                        && (0..r.rank()).all(|d| r.low[d] < r.high[d] && r.high[d] <= extents[d])
                })
                .ok_or_else(|| damaged(folder, format!("{} lies outside the volume", part.file)))?;
            regions.push(region);
        }
        let cells: usize = regions.iter().map(|region| Span::from(*region).cells()).sum();
        if cells != extents.iter().product::<usize>() || manifest.fields.len() != cell.len() {
            return Err(damaged(folder, format!("its parts hold {cells} cells")));
        }
        Ok(Self { folder: folder.to_path_buf(), cell, manifest, regions })
    }

    /// Where the run was.
    pub fn state(&self) -> State {
        State { step: self.manifest.step, residual: self.manifest.residual.map(f64::from_bits) }
    }

    /// Reads all cells and compares their checksums.
    ///
    /// # Errors
    /// A file that is missing, cut short or changed.
    pub fn verify(&self) -> Result<()> {
        let mut parts = self.manifest.parts.iter();
        parts.try_for_each(|part| Reader::open(self.folder.join(&part.file), &part.sum)?.finish())
    }

    /// What probes recorded until then; the series of those of which the checkpoint
    /// holds none begin after it.
    ///
    /// # Errors
    /// As [`Saved::verify`], of their file; other records than there can be.
    pub fn recorded(&self, points: &Points) -> Result<Vec<Series>> {
        let mut series = points.series(self.manifest.step);
        if let Some(probes) = &self.manifest.probes {
            probes.read((&self.folder, self.manifest.step), points, &mut series)?;
        }
        Ok(series)
    }

    /// The cells of a box in a part's frame, out of the files that hold some of it.
    ///
    /// # Errors
    /// As [`Saved::verify`]; not enough host memory.
    pub fn cells(&self, span: Span) -> Result<RawVolume> {
        let dims = span.rank();
        let mut cells = RawVolume::zeroed(self.cell, span.extents())?;
        let extents: Axes<usize> = Axes::from_fn(dims, |d| self.manifest.extents[d]);
        for (part, &region) in self.manifest.parts.iter().zip(&self.regions) {
            let overlaps: Vec<_> = shifts(extents)
                .filter_map(|shift| overlap(span, Span::from(region), shift))
                .collect();
            if overlaps.is_empty() {
                continue;
            }
            self.copy((part, region), &overlaps, (&mut cells, span))?;
        }
        Ok(cells)
    }

    /// Copies what lies in `overlaps` of one part's file, which is read in pieces, into the `cells` of `span`.
    fn copy(
        &self,
        (part, region): (&PartFile, Region),
        overlaps: &[(Span, Span)],
        (cells, span): (&mut RawVolume, Span),
    ) -> Result<()> {
        let mut file = Reader::open(self.folder.join(&part.file), &part.sum)?;
        let of_part = Span::from(region);
        for (field, info) in self.cell.fields().iter().enumerate() {
            let size = info.kind.size();
            // Where rows begin in the part, how long they are and where they go, all in bytes.
            let rows = |(from, to): &(Span, Span)| {
                let from = rows_of(from, &of_part).zip(rows_of(to, &span));
                from.map(move |((from, cells), (to, _))| [from, cells, to].map(|n| n * size))
                    .peekable()
            };
            let mut rows: Vec<_> = overlaps.iter().map(rows).collect();
            let into = cells.field_bytes_mut(field);
            let (mut at, end) = (0, of_part.cells() * size);
            while let Some(piece) = file.next((end - at) as u64)? {
                if !info.kind.allows(piece) {
                    let path = self.folder.join(&part.file);
                    return Err(damaged(&path, "holds no values of its fields"));
                }
                let next = at + piece.len();
                for rows in &mut rows {
                    while let Some(&[from, length, to]) = rows.peek().filter(|row| row[0] < next) {
                        let (low, high) = (from.max(at), (from + length).min(next));
                        into[to + low - from..to + high - from]
                            .copy_from_slice(&piece[low - at..high - at]);
                        if from + length > next {
                            break;
                        }
                        rows.next();
                    }
                }
                at = next;
            }
        }
        file.finish()
    }
}

/// Index of the first cell and length of each row of `span` in a box that holds it, in order.
fn rows_of(span: &Span, within: &Span) -> impl Iterator<Item = (usize, usize)> + use<> {
    let dims = span.rank();
    let at = |corner: Axes<isize>| Axes::from_fn(dims, |d| (corner[d] - within.low[d]) as usize);
    rows(within.extents(), at(span.low), at(span.high))
}

/// Every way to move by whole extents, one back and one forth along each axis.
fn shifts(extents: Axes<usize>) -> impl Iterator<Item = Axes<isize>> {
    let dims = extents.rank();
    let all = Span { low: Axes::filled(dims, -1), high: Axes::filled(dims, 2) };
    all.iter().map(move |way| Axes::from_fn(dims, |d| way[d] * extents[d] as isize))
}

/// What of `part` lies in `span` when it is moved by `shift`: in the part's place, and where it goes.
fn overlap(span: Span, part: Span, shift: Axes<isize>) -> Option<(Span, Span)> {
    let dims = span.rank();
    let moved = part.shifted(shift);
    let to = Span {
        low: Axes::from_fn(dims, |d| span.low[d].max(moved.low[d])),
        high: Axes::from_fn(dims, |d| span.high[d].min(moved.high[d])),
    };
    (to.cells() > 0).then(|| (to.shifted(shift.map(|n| -n)), to))
}
