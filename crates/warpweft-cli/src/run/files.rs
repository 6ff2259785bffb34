//! The files of a run: initial states in, results out, by the ending of their name.

use std::path::{Path, PathBuf};

use warpweft::element::Scalar;
use warpweft::grid::io::{Picture, check_writable, npy, png, vti};
use warpweft::prelude::*;

use super::options::Options;
use crate::plot::Look;

/// A format by its ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NumPy.
    Npy,
    /// A picture.
    Png,
    /// VTK image data.
    Vti,
}

impl Format {
    /// The format of `path`.
    ///
    /// # Errors
    /// Its ending is not one of `known`.
    pub fn of(path: &Path, known: &[Self]) -> Result<Self> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        known.iter().copied().find(|format| ending.as_deref() == Some(format.ending())).ok_or_else(
            || {
                let endings: Vec<_> =
                    known.iter().map(|format| format!(".{}", format.ending())).collect();
                Error::spec(
                    format!("{} is in no format known here", path.display()),
                    format!("end it in {}", endings.join(" or ")),
                )
            },
        )
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Png => "png",
            Self::Vti => "vti",
        }
    }
}

/// What a run will write.
pub struct Outputs {
    /// Results with their formats.
    pub results: Vec<(PathBuf, Format)>,
    /// The plot.
    pub plot: Option<PathBuf>,
    /// The timeline.
    pub trace: Option<PathBuf>,
}

impl Outputs {
    /// The files that `options` ask for, each found writable before any work is done.
    ///
    /// # Errors
    /// An ending that names no format, or a place that can't be written.
    pub fn prepare(app: &str, options: &Options) -> Result<Self> {
        let known = [Format::Npy, Format::Vti, Format::Png];
        let results: Vec<_> = options
            .output
            .iter()
            .map(|path| Ok((path.clone(), Format::of(path, &known)?)))
            .collect::<Result<_>>()?;
        let plot = options
            .plot
            .as_ref()
            .map(|path| path.clone().unwrap_or_else(|| PathBuf::from(format!("{app}.png"))));
        if let Some(plot) = &plot {
            Format::of(plot, &[Format::Png])?;
        }
        let outputs = Self { results, plot, trace: options.trace.clone() };
        outputs.all().try_for_each(|path| check_writable(path))?;
        Ok(outputs)
    }

    /// Every file.
    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        self.results.iter().map(|(path, _)| path).chain(&self.plot).chain(&self.trace)
    }

    /// Saves the results, the plot and the timeline not among them.
    ///
    /// # Errors
    /// A file can't be written.
    pub fn save<T: Scalar, const D: usize>(&self, volume: &Volume<T, D>, look: Look) -> Result<()> {
        self.results.iter().try_for_each(|(path, format)| match format {
            Format::Npy => npy::write(path, volume, 0),
            Format::Vti => vti::write(path, volume),
            Format::Png => {
                png::write(path, &Picture::of_middle(volume, 0, look.range, look.colours)?)
            }
        })
    }
}

/// The extents and scalar of an initial state in a file.
pub fn shape_of(path: &Path) -> Result<(Vec<usize>, Option<warpweft::element::ScalarKind>)> {
    match Format::of(path, &[Format::Npy, Format::Png])? {
        Format::Npy => npy::header(path).map(|header| (header.shape, Some(header.kind))),
        _ => png::read(path).map(|picture| (picture.extents().to_vec(), None)),
    }
}

/// The initial state in a file: an array of `T`, or the greys of a picture, converted by `grey`.
pub fn read<T: Scalar, const D: usize>(path: &Path, grey: fn(u8) -> T) -> Result<Volume<T, D>> {
    match Format::of(path, &[Format::Npy, Format::Png])? {
        Format::Npy => npy::read(path),
        _ => {
            let picture = png::read(path)?;
            let extents = picture.extents().as_slice().try_into().map_err(|_| {
                Error::file(
                    path,
                    format!("a picture can't start {D} dimensions"),
                    "give a .npy file",
                )
            })?;
            let mut cells = picture.as_slice().iter();
            Volume::try_from_fn(extents, |_| grey(cells.next().copied().unwrap_or_default()))
        }
    }
}
