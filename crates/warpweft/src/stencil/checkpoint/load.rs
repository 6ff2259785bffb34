//! Reading a checkpoint, whatever parts it was written in.

use std::path::{Path, PathBuf};

use super::hashed::{Reader, damaged};
use super::manifest::{Manifest, PartFile};
use super::{Origin, State, region_of};
use crate::element::CellType;
use crate::error::{Error, Result};
use crate::grid::RawVolume;
use crate::report::Series;
use crate::stencil::points::Points;
use crate::stencil::{Region, Span};

/// Another run than this one, which saved its state.
pub(super) struct Other {
    /// What it is, and where names don't tell, how this one differs.
    pub of: String,
    /// What was given to it that this one was not.
    given: &'static str,
}

impl Other {
    /// The run that wrote `manifest`, if that is another than the one of `origin`.
    pub fn than(manifest: &Manifest, Origin { of, start }: &Origin) -> Option<Self> {
        if manifest.of != *of {
            let name = |of: &str| of.rsplit_once(" (").map_or(of, |(name, _)| name).to_string();
            let (theirs, ours) = (name(&manifest.of), name(of));
            let of = match theirs == ours {
                // Names and extents are the same, but not the hash.
                true => {
                    format!("{ours}, as this run is, but with another parameter, boundary or code")
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
pub(crate) struct Saved<const D: usize> {
    folder: PathBuf,
    cell: CellType,
    manifest: Manifest,
    regions: Vec<Region<D>>,
}

impl<const D: usize> Saved<D> {
    /// Reads the manifest of the checkpoint in `folder`.
    ///
    /// # Errors
    /// [`Error::File`] for damage; [`Error::Spec`] for a checkpoint of another computation, initial
    /// state or format.
    pub fn open(
        folder: &Path,
        origin: &Origin,
        (cell, extents): (CellType, [usize; D]),
    ) -> Result<Self> {
        let manifest = Manifest::read(folder)?;
        if let Some(Other { of, given }) = Other::than(&manifest, origin) {
            return Err(Error::spec(
                format!("{} is a checkpoint of {of}", folder.display()),
                format!(
                    "give the {given} of the run that wrote it, or begin anew in an empty folder"
                ),
            ));
        }
        let mut regions = Vec::new();
        for part in &manifest.parts {
            let region = region_of(&part.low, &part.high)
                .filter(|r: &Region<D>| {
                    (0..D).all(|d| r.low[d] < r.high[d] && r.high[d] <= extents[d])
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

    /// Reads all files and compares their checksums.
    ///
    /// # Errors
    /// A file that is missing, cut short or changed.
    pub fn verify(&self) -> Result<()> {
        let mut parts = self.manifest.parts.iter();
        parts
            .try_for_each(|part| Reader::open(self.folder.join(&part.file), &part.sum)?.finish())?;
        self.manifest.probes.iter().try_for_each(|probes| probes.verify(&self.folder))
    }

    /// What probes recorded until then; the series of those of which the checkpoint
    /// holds none begin after it.
    ///
    /// # Errors
    /// As [`Saved::verify`].
    pub fn recorded(&self, points: &Points<D>) -> Result<Vec<Series>> {
        let mut series = points.series(self.manifest.step);
        if let Some(probes) = &self.manifest.probes {
            probes.read(&self.folder, points, &mut series)?;
        }
        Ok(series)
    }

    fn bytes(&self, part: &PartFile) -> Result<Vec<u8>> {
        let mut file = Reader::open(self.folder.join(&part.file), &part.sum)?;
        let (mut bytes, mut left) = (Vec::new(), part.sum.bytes);
        while let Some(piece) = file.next(left)? {
            left -= piece.len() as u64;
            bytes.extend_from_slice(piece);
        }
        file.finish().map(|()| bytes)
    }

    /// The cells of a box in a part's frame, out of the files that hold some of it.
    ///
    /// # Errors
    /// As [`Saved::verify`]; not enough host memory.
    pub fn cells(&self, span: Span<D>) -> Result<RawVolume<D>> {
        let mut cells = RawVolume::zeroed(self.cell, span.extents())?;
        let extents: [usize; D] = std::array::from_fn(|d| self.manifest.extents[d]);
        for (part, &region) in self.manifest.parts.iter().zip(&self.regions) {
            let overlaps: Vec<_> = shifts(extents)
                .filter_map(|shift| overlap(span, Span::from(region), shift))
                .collect();
            if overlaps.is_empty() {
                continue;
            }
            let held = self.part(part, region)?;
            for (from, to) in overlaps {
                let at = |corner: [isize; D], low: [isize; D]| {
                    std::array::from_fn(|d| (corner[d] - low[d]) as usize)
                };
                let origin = region.low.map(|n| n as isize);
                for field in 0..self.cell.len() {
                    let bytes = held.box_bytes(field, at(from.low, origin), at(from.high, origin));
                    cells.set_box(field, at(to.low, span.low), at(to.high, span.low), &bytes)?;
                }
            }
        }
        Ok(cells)
    }

    /// One part's cells.
    fn part(&self, part: &PartFile, region: Region<D>) -> Result<RawVolume<D>> {
        let bytes = self.bytes(part)?;
        let extents = Span::from(region).extents();
        let mut held = RawVolume::zeroed(self.cell, extents)?;
        let mut rest = bytes.as_slice();
        for (field, info) in self.cell.fields().iter().enumerate() {
            let length = held.len() * info.kind.size();
            let (values, after) = rest
                .split_at_checked(length)
                .filter(|(values, _)| info.kind.allows(values))
                .ok_or_else(|| {
                    damaged(&self.folder.join(&part.file), "holds no values of its fields")
                })?;
            held.set_box(field, [0; D], extents, values)?;
            rest = after;
        }
        Ok(held)
    }
}

/// Every way to move by whole extents, one back and one forth along each axis.
fn shifts<const D: usize>(extents: [usize; D]) -> impl Iterator<Item = [isize; D]> {
    let all = Span { low: [-1; D], high: [2; D] };
    all.iter().map(move |way| std::array::from_fn(|d| way[d] * extents[d] as isize))
}

/// What of `part` lies in `span` when it is moved by `shift`: in the part's place, and where it goes.
fn overlap<const D: usize>(
    span: Span<D>,
    part: Span<D>,
    shift: [isize; D],
) -> Option<(Span<D>, Span<D>)> {
    let moved = part.shifted(shift);
    let to = Span {
        low: std::array::from_fn(|d| span.low[d].max(moved.low[d])),
        high: std::array::from_fn(|d| span.high[d].min(moved.high[d])),
    };
    (to.cells() > 0).then(|| (to.shifted(shift.map(|n| -n)), to))
}
