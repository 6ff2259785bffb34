//! The files of a run: initial states and results, with formats by file name.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use warpweft::element::ScalarKind;
use warpweft::grid::io::{
    Claim, Picture, check_folder, check_writable, middle_range, npy, png, vti,
};
use warpweft::grid::{Axes, RawVolume, across};
use warpweft::prelude::*;

use super::check::cells::{cell_of, replace};
use super::check::numbers;
use super::options::Options;
use crate::arguments::Precision;
use crate::output::note;
use crate::plot::Look;
use crate::{place, requested, world};

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
        let endings: Vec<_> = known.iter().map(|format| format.ending()).collect();
        ending(path, &endings).map(|number| known[number])
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Npy => "npy",
            Self::Png => "png",
            Self::Vti => "vti",
        }
    }
}

/// The index in `known` of the ending of `path`, ignoring case.
///
/// # Errors
/// It is none of them.
pub fn ending(path: &Path, known: &[&str]) -> Result<usize> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    known.iter().position(|known| ending.as_deref() == Some(*known)).ok_or_else(|| {
        let endings: Vec<_> = known.iter().map(|known| format!(".{known}")).collect();
        Error::spec(
            format!("{} is in no format known here", path.display()),
            format!("end it in {}", endings.join(" or ")),
        )
    })
}

/// The output files of a run.
pub struct Outputs {
    /// Results with their formats.
    pub results: Vec<(PathBuf, Format)>,
    /// The plot.
    pub plot: Option<PathBuf>,
    /// The timeline.
    pub trace: Option<PathBuf>,
}

impl Outputs {
    /// The files of the options, checked for write access before any work is done.
    ///
    /// # Errors
    /// An ending that names no format, a file named twice, or a place that can't be written, also for
    /// checkpoints.
    pub fn prepare(app: &str, options: &Options) -> Result<Self> {
        if !place::speaks() {
            return Ok(Self { results: Vec::new(), plot: None, trace: None });
        }
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
        if let Some(trace) = options.trace.as_ref().filter(|path| !is_device(path)) {
            ending(trace, &["json"])?;
        }
        let outputs = Self { results, plot, trace: options.trace.clone() };
        found_writable(outputs.all())?;
        none_read(outputs.all(), options.input.as_slice())?;
        options.checkpoint.as_ref().map_or(Ok(()), |folder| free(folder))?;
        Ok(outputs)
    }

    /// Every file.
    fn all(&self) -> impl Iterator<Item = &PathBuf> + Clone {
        self.results.iter().map(|(path, _)| path).chain(&self.plot).chain(&self.trace)
    }
}

/// Whether a run can lock the folder at `path`; if locks are not supported, that is noted.
///
/// # Errors
/// It can't be written, or another run has locked it.
fn free(path: &Path) -> Result<()> {
    check_folder(path)?;
    if path.is_dir() {
        Claim::of(path)?.note(path).iter().for_each(|what| note(what));
    }
    Ok(())
}

/// The files that were written, and the errors of those that were not. A failure does not affect other files.
#[derive(Default)]
pub struct Saved {
    /// Names of written files, in order.
    pub written: Vec<String>,
    /// The errors of the other files.
    pub failures: Vec<Error>,
}

impl Saved {
    /// Records the outcome of writing `path`.
    pub fn add(&mut self, path: &Path, outcome: Result<()>) {
        match outcome {
            Ok(()) => {
                requested::written(path);
                self.written.push(path.display().to_string());
            }
            Err(error) => self.failures.push(error),
        }
    }
}

/// How a file is written.
pub type Write<'a> = Box<dyn FnOnce() -> Result<()> + 'a>;

/// Files to be written: first the regular ones, then pipes and devices, since nobody may be at the other end of a pipe.
#[derive(Default)]
pub struct Saving<'a> {
    files: Vec<(&'a Path, Write<'a>)>,
    pipes: Vec<(&'a Path, Write<'a>)>,
}

impl<'a> Saving<'a> {
    /// `path` is to be written by `write`.
    pub fn add(&mut self, path: &'a Path, write: impl FnOnce() -> Result<()> + 'a) {
        let list = if is_device(path) { &mut self.pipes } else { &mut self.files };
        list.push((path, Box::new(write)));
    }

    /// Writes the regular files that were added since the last call.
    pub fn save_files(&mut self, saved: &mut Saved) {
        self.files.drain(..).for_each(|(path, write)| saved.add(path, write()));
    }

    /// Writes all files; those that were written before are in `saved`.
    pub fn save(mut self, mut saved: Saved) -> Saved {
        self.save_files(&mut saved);
        let pipes = self.pipes;
        let write = || pipes.into_iter().for_each(|(path, write)| saved.add(path, write()));
        world::while_writing(write);
        saved
    }
}

/// Writes a result to `path`: the field of `look`, or all fields in VTI; pictures as `look` says.
///
/// # Errors
/// The file can't be written.
pub fn write(
    path: &Path,
    format: Format,
    volume: &RawVolume,
    look: &dyn Fn() -> Result<Look>,
) -> Result<()> {
    match format {
        Format::Npy => npy::write(path, volume, look()?.field),
        Format::Vti => vti::write(path, volume),
        Format::Png => {
            let Look { field, range, colours } = look()?;
            let [least, greatest] = middle_range(volume, field)?;
            let level = (range[1] - range[0]) / 255.0;
            if least < range[0] - level || greatest > range[1] + level {
                note(&format!(
                    "{} has 256 levels from {} to {}, and values are {least} to {greatest}; --plot shows all",
                    path.display(),
                    range[0],
                    range[1]
                ));
            }
            png::write(path, &Picture::of_middle(volume, field, range, colours)?)
        }
    }
}

/// Checks that all of `paths` can be written and are different files. They count as requested from then on.
///
/// # Errors
/// A file named twice, or a place that can't be written.
pub fn found_writable<'a>(paths: impl Iterator<Item = &'a PathBuf> + Clone) -> Result<()> {
    each_once(paths.clone())?;
    paths.clone().try_for_each(|path| check_writable(path))?;
    requested::request(paths);
    Ok(())
}

/// Refuses to write to a file that is still to be read.
///
/// # Errors
/// One of `paths` is one of `read`.
pub fn none_read<'a, P: AsRef<Path>>(
    paths: impl Iterator<Item = &'a PathBuf>,
    read: &[P],
) -> Result<()> {
    for path in paths {
        let same = |other: &&Path| other.is_file() && place(other) == place(path);
        if let Some(other) = read.iter().map(AsRef::as_ref).find(same) {
            return Err(Error::spec(
                format!("{} is an input and an output", other.display()),
                "give the output another name",
            ));
        }
    }
    Ok(())
}

/// Refuses to write two results to one file.
fn each_once<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    let mut seen = HashSet::new();
    for path in paths {
        if is_device(path) {
            continue;
        }
        if !seen.insert(place(path)) {
            return Err(Error::spec(
                format!("{} is to be written twice", path.display()),
                "give each output a file of its own",
            ));
        }
    }
    Ok(())
}

/// Whether `path` is a device or a pipe, which may be written several times.
fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|known| !known.is_file() && !known.is_dir())
}

/// The canonical form of `path`.
fn place(path: &Path) -> PathBuf {
    if let Ok(place) = path.canonicalize() {
        return place;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// The extents of the initial state in `options`, else those of `--size` or the default.
pub fn extents(options: &Options, default: Axes<usize>) -> Result<Axes<usize>> {
    let shape = options.input.as_ref().map(|path| shape_of(path)).transpose()?;
    options.extents(shape.as_ref().map(|(shape, _)| shape.as_slice()), default)
}

/// The extents and scalar of an initial state in a file.
pub fn shape_of(path: &Path) -> Result<(Vec<usize>, Option<ScalarKind>)> {
    let (shape, kind) = match Format::of(path, &[Format::Npy, Format::Png])? {
        Format::Npy => npy::header(path).map(|header| (header.shape, Some(header.kind)))?,
        _ => png::read(path).map(|picture| (picture.extents().to_vec(), None))?,
    };
    match shape.contains(&0) {
        true => Err(Error::file(
            path,
            format!("is of shape {}", across(&shape)),
            "give at least one cell",
        )),
        false => Ok((shape, kind)),
    }
}

/// The width of floats: as requested, else that of the input, else `default`.
pub fn precision(
    options: &Options,
    asked: Option<Precision>,
    default: Precision,
) -> Result<Precision> {
    let known = [Precision::F32, Precision::F64];
    let Some(path) = &options.input else { return Ok(asked.unwrap_or(default)) };
    let (_, held) = shape_of(path)?;
    let of = scalar(path, held, asked.map(Precision::kind), &known.map(Precision::kind))?;
    let named = known.into_iter().find(|known| Some(known.kind()) == of);
    Ok(named.or(asked).unwrap_or(default))
}

/// The scalar type of cells that start with the contents of the file at `path`; a picture allows any.
///
/// # Errors
/// The file holds none of `known`, or another type than requested.
pub fn scalar(
    path: &Path,
    held: Option<ScalarKind>,
    asked: Option<ScalarKind>,
    known: &[ScalarKind],
) -> Result<Option<ScalarKind>> {
    let Some(held) = held else { return Ok(asked) };
    let convert =
        |to: ScalarKind| format!("convert it with `array.astype('{}')`", npy::numpy_name(to));
    if !known.contains(&held) {
        let names: Vec<_> = known.iter().map(|kind| kind.name()).collect();
        let what = format!("holds {}, and cells are {}", held.name(), names.join(" or "));
        return Err(Error::file(path, what, convert(asked.unwrap_or(known[0]))));
    }
    match asked.filter(|&asked| asked != held) {
        None => Ok(Some(held)),
        Some(asked) => Err(Error::file(
            path,
            format!("holds {}, but --dtype is {}", held.name(), asked.name()),
            format!("leave --dtype out, or {}", convert(asked)),
        )),
    }
}

/// The initial state in a file: an array of `kind`, or the greys of a picture, converted by `grey`.
pub fn read(path: &Path, dims: usize, kind: ScalarKind, grey: fn(u8) -> f64) -> Result<RawVolume> {
    match Format::of(path, &[Format::Npy, Format::Png])? {
        Format::Npy => {
            let volume = npy::read_raw(path, cell_of(kind), dims)?;
            numbers::all_in(path, &volume).map(|()| volume)
        }
        _ => {
            let picture = png::read(path)?;
            if picture.rank() != dims {
                let what = format!(
                    "a picture has two dimensions and can't be an initial state with {dims}"
                );
                return Err(Error::file(path, what, "give a .npy file"));
            }
            let mut volume = RawVolume::zeroed(cell_of(kind), picture.extents())?;
            replace(&mut volume, 0, &mut picture.as_slice().iter().map(|&level| grey(level)));
            Ok(volume)
        }
    }
}
