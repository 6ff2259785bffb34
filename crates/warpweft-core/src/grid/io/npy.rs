//! NumPy's NPY format, versions 1 to 3: one array of scalars in C order.
//!
//! NumPy itself has no `bf16`. Such arrays have the type string `<V2`, as `numpy.save` writes those of the
//! package ml_dtypes; `numpy.load(path).view(ml_dtypes.bfloat16)` reads them.
//!
//! This is own code, because the crates for it need a C compiler or have their own array type. Format:
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

use std::io::{BufReader, Read};
use std::path::Path;

use super::{Input, write_whole};
use crate::element::{CellType, Scalar, ScalarKind};
use crate::error::{Error, Result};
use crate::grid::{Axes, RawVolume, Volume};

const SIGNATURE: &[u8] = b"\x93NUMPY";

/// The header of an NPY file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The scalar type; NumPy's 64-bit integers are `i64` and `u64`.
    pub kind: ScalarKind,
    /// The extents, slowest axis first.
    pub shape: Vec<usize>,
    swapped: bool,
    data_at: u64,
}

/// The header of the file at `path`.
///
/// # Errors
/// The file can't be read, is not NPY, is truncated, or holds what a volume can't: Fortran order, structured
/// or other types.
pub fn header(path: &Path) -> Result<Header> {
    open(path).map(|(header, _)| header)
}

/// The array in the file at `path`.
///
/// # Errors
/// See [`header`]; another type than `T`, or not `D` axes.
pub fn read<T: Scalar, const D: usize>(path: &Path) -> Result<Volume<T, D>> {
    read_raw(path, CellType::of::<T>(), D).map(Volume::from_raw)
}

/// Like [`read`]: a volume of `dims` axes with cells of the scalar type `cell`.
///
/// # Errors
/// See [`read`].
pub fn read_raw(path: &Path, cell: CellType, dims: usize) -> Result<RawVolume> {
    let (header, mut data) = open(path)?;
    let kind = cell.kind(0);
    let wanted = stored(kind);
    if header.kind != wanted {
        return Err(Error::file(
            path,
            format!("holds {}, but {} is wanted", header.kind.name(), wanted.name()),
            format!("convert it with `array.astype('{}')`", numpy_name(wanted)),
        ));
    }
    let extents = Axes::from_slice(&header.shape).filter(|shape| shape.rank() == dims);
    let extents = extents.ok_or_else(|| {
        let axes = if dims == 1 { "1 axis".to_string() } else { format!("{dims} axes") };
        Error::file(
            path,
            format!("has shape {:?}, and not {axes}", header.shape),
            format!("reshape it to {axes}"),
        )
    })?;
    let mut volume = RawVolume::zeroed(cell, extents)
        .map_err(|error| Error::file(path, error, "save an array that fits"))?;
    fill(volume.field_bytes_mut(0), kind, header.swapped, &mut data)
        .map_err(|error| Error::file(path, error, "write the file again"))?;
    Ok(volume)
}

/// Writes field number `field` of `volume` to the file at `path`.
///
/// # Errors
/// The file can't be written, or there is no such field.
pub fn write(path: &Path, volume: &RawVolume, field: usize) -> Result<()> {
    let Some(info) = volume.cell_type().fields().get(field) else {
        return Err(Error::spec(
            format!("field {field} of a cell with {} fields", volume.cell_type().len()),
            "name one that exists",
        ));
    };
    let mut shape: String = volume.extents().iter().map(|n| format!("{n}, ")).collect();
    if volume.rank() > 1 {
        shape.truncate(shape.len() - 2);
    }
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
        descriptor(info.kind),
        shape.trim_end(),
    );
    // The data begins at a multiple of 64 bytes; the header ends with a newline.
    let unpadded = SIGNATURE.len() + 4 + text.len() + 1;
    text.push_str(&" ".repeat(unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    write_whole(path, |to| {
        to.write_all(SIGNATURE)?;
        to.write_all(&[1, 0])?;
        to.write_all(&(text.len() as u16).to_le_bytes())?;
        to.write_all(text.as_bytes())?;
        to.write_all(volume.field_bytes(field))
    })
}

/// Opens the file, reads its header and checks that its data is complete.
fn open(path: &Path) -> Result<(Header, impl Read)> {
    let no_file = |error: std::io::Error| Error::file(path, error, "check the path");
    let not_npy = |what: &str| Error::file(path, what, "give a file that `numpy.save` wrote");
    let file = Input::open(path).map_err(no_file)?;
    let length = file.metadata().map_err(no_file)?.len();
    let mut data = BufReader::with_capacity(1 << 20, file);

    let mut start = [0; 8];
    let short = |_| not_npy("ends inside the NPY header");
    data.read_exact(&mut start).map_err(|error| {
        if length < 8 { not_npy("is not in the NPY format") } else { no_file(error) }
    })?;
    if !start.starts_with(SIGNATURE) {
        return Err(not_npy("is not in the NPY format"));
    }
    let (header_length, header_at) = if start[6] == 1 {
        let mut bytes = [0; 2];
        data.read_exact(&mut bytes).map_err(short)?;
        (u64::from(u16::from_le_bytes(bytes)), 10)
    } else {
        let mut bytes = [0; 4];
        data.read_exact(&mut bytes).map_err(short)?;
        (u64::from(u32::from_le_bytes(bytes)), 12)
    };
    let data_at = header_at + header_length;
    if data_at > length {
        return Err(not_npy("ends inside the NPY header"));
    }
    let mut text = vec![0; header_length as usize];
    data.read_exact(&mut text).map_err(short)?;
    let header = parse(path, &String::from_utf8_lossy(&text), data_at)?;

    // Checked before anything is allocated: a damaged header may request any amount of memory.
    let bytes = header
        .shape
        .iter()
        .try_fold(header.kind.size() as u64, |bytes, &n| bytes.checked_mul(n as u64));
    let there = length - data_at;
    if bytes.is_none_or(|bytes| bytes > there) {
        return Err(Error::file(
            path,
            format!(
                "is truncated: shape {:?} of {} needs {} bytes of data, {there} are there",
                header.shape,
                header.kind.name(),
                bytes.map_or_else(|| "more than 2^64".into(), |bytes| bytes.to_string()),
            ),
            "write the file again",
        ));
    }
    Ok((header, data))
}

/// The dictionary of a header: `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse(path: &Path, text: &str, data_at: u64) -> Result<Header> {
    let bad = |what: String, hint: &str| Error::file(path, what, hint);
    let value = |key: &str| {
        let after = text.split_once(&format!("'{key}'"))?.1;
        Some(after.trim_start().strip_prefix(':')?.trim_start())
    };
    let missing = |key: &str| {
        let what = format!("has an NPY header without '{key}'");
        bad(what, "give a file that `numpy.save` wrote")
    };

    let twice = |key: &&str| text.matches(&format!("'{key}'")).count() > 1;
    if let Some(key) = ["descr", "fortran_order", "shape"].iter().find(|key| twice(key)) {
        let what = format!("has an NPY header with '{key}' twice");
        return Err(bad(what, "give a file that `numpy.save` wrote"));
    }
    let descr = value("descr").ok_or_else(|| missing("descr"))?;
    let descr = descr.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    let Some((descr, _)) = descr else {
        return Err(bad("holds structured cells".into(), "save each field as an array of its own"));
    };
    let (order, name) = match descr.chars().next() {
        Some(c @ ('<' | '>' | '|' | '=')) => (c, &descr[1..]),
        _ => ('=', descr),
    };
    let Some(kind) = kind_of(name) else {
        return Err(bad(
            format!("holds scalars of type '{descr}'"),
            "convert it, for example with `array.astype('float32')`",
        ));
    };
    let foreign = if cfg!(target_endian = "little") { '>' } else { '<' };

    let fortran = value("fortran_order").ok_or_else(|| missing("fortran_order"))?;
    if !fortran.starts_with("False") {
        return Err(bad(
            "is in Fortran order".into(),
            "save `numpy.ascontiguousarray(array)` instead",
        ));
    }
    let shape = value("shape")
        .and_then(|rest| rest.strip_prefix('(')?.split_once(')'))
        .ok_or_else(|| missing("shape"))?
        .0;
    let shape: Vec<usize> = shape
        .split(',')
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(|n| n.parse().map_err(|_| bad(format!("has extent '{n}'"), "write the file again")))
        .collect::<Result<_>>()?;
    Ok(Header { kind, shape, swapped: order == foreign, data_at })
}

/// What NumPy calls `name`.
fn kind_of(name: &str) -> Option<ScalarKind> {
    Some(match name {
        "b1" => ScalarKind::Bool,
        "i1" => ScalarKind::I8,
        "i2" => ScalarKind::I16,
        "i4" => ScalarKind::I32,
        "i8" => ScalarKind::I64,
        "u1" => ScalarKind::U8,
        "u2" => ScalarKind::U16,
        "u4" => ScalarKind::U32,
        "u8" => ScalarKind::U64,
        "f4" => ScalarKind::F32,
        "f8" => ScalarKind::F64,
        "f2" => ScalarKind::F16,
        // NumPy has no name for it; this is what the package ml_dtypes writes.
        "V2" => ScalarKind::Bf16,
        _ => return None,
    })
}

/// NPY has no pointer-sized integers.
fn stored(kind: ScalarKind) -> ScalarKind {
    match kind {
        ScalarKind::Isize => ScalarKind::I64,
        ScalarKind::Usize => ScalarKind::U64,
        other => other,
    }
}

/// The type string of a header, in the byte order of this machine.
fn descriptor(kind: ScalarKind) -> String {
    let class = match stored(kind) {
        ScalarKind::Bool => 'b',
        ScalarKind::F16 | ScalarKind::F32 | ScalarKind::F64 => 'f',
        ScalarKind::Bf16 => 'V',
        ScalarKind::I8 | ScalarKind::I16 | ScalarKind::I32 | ScalarKind::I64 => 'i',
        _ => 'u',
    };
    let order = match kind.size() {
        1 => '|',
        _ if cfg!(target_endian = "little") => '<',
        _ => '>',
    };
    format!("{order}{class}{}", kind.size())
}

/// The name of a scalar type in `numpy.dtype`.
pub fn numpy_name(kind: ScalarKind) -> String {
    match kind {
        ScalarKind::Bool => "bool".into(),
        ScalarKind::F16 => "float16".into(),
        ScalarKind::Bf16 => "bfloat16".into(),
        ScalarKind::F32 => "float32".into(),
        ScalarKind::F64 => "float64".into(),
        other => other.name().replacen('u', "uint", 1).replacen(
            'i',
            "int",
            usize::from(!other.name().starts_with('u')),
        ),
    }
}

/// Reads cells of `kind` in order, as bytes that must be valid.
fn fill(
    cells: &mut [u8],
    kind: ScalarKind,
    swapped: bool,
    data: &mut dyn Read,
) -> std::io::Result<()> {
    // The bytes may not be valid cells, so they are read into a separate buffer first.
    let mut block = vec![0; kind.size() * 16_384];
    for cells in cells.chunks_mut(block.len()) {
        let block = &mut block[..cells.len()];
        data.read_exact(block)?;
        if kind == ScalarKind::Bool {
            block.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        } else if swapped {
            block.chunks_exact_mut(kind.size()).for_each(<[u8]>::reverse);
        }
        cells.copy_from_slice(block);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.save` of `numpy.array([[1.5, -2], [3, 4]], 'f4')`, with `patch` applied to its text.
    fn saved(patch: (&str, &str)) -> (tempfile::TempDir, std::path::PathBuf) {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
        let text = format!("{:117}\n", text.replace(patch.0, patch.1));
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(text.as_bytes());
        for value in [1.5f32, -2.0, 3.0, 4.0] {
            bytes.extend(value.to_le_bytes());
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        std::fs::write(&path, bytes).unwrap();
        (directory, path)
    }

    fn refusal(patch: (&str, &str)) -> String {
        let (_directory, path) = saved(patch);
        read::<f32, 2>(&path).unwrap_err().to_string()
    }

    #[test]
    fn a_key_that_is_there_twice_is_refused() {
        let told = refusal(("'shape': (2, 2)", "'shape': (2, 2), 'shape': (4, 1)"));
        assert!(told.contains("with 'shape' twice"), "{told}");
    }

    #[test]
    fn what_numpy_saves_is_read() {
        let (_directory, path) = saved(("", ""));
        assert_eq!(read::<f32, 2>(&path).unwrap().as_slice(), [1.5, -2.0, 3.0, 4.0]);
        let (_directory, path) = saved((
            "<f4', 'fortran_order': False, 'shape': (2, 2)",
            ">u2', 'shape': (8,), 'fortran_order': False",
        ));
        let swapped = read::<u16, 1>(&path).unwrap();
        assert_eq!(swapped.as_slice()[..2], [0x0000, 0xc03f]);
    }

    #[test]
    fn what_is_written_begins_as_numpy_writes_it_and_comes_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        let line = Volume::from_fn([3], |[x]| x as i64 - 1);
        write(&path, &line, 0).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(
            b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }  "
        ));
        assert_eq!((bytes.len(), bytes[127]), (128 + 24, b'\n'));
        assert_eq!(read::<i64, 1>(&path).unwrap().as_slice(), [-1, 0, 1]);

        let flags = Volume::from_fn([2, 1, 1, 3], |[w, .., x]| (w + x) % 2 == 0);
        write(&path, &flags, 0).unwrap();
        let header = header(&path).unwrap();
        assert_eq!((header.kind, header.shape), (ScalarKind::Bool, vec![2, 1, 1, 3]));
        assert_eq!(read::<bool, 4>(&path).unwrap().as_slice(), flags.as_slice());
    }

    #[test]
    fn nan_and_infinity_come_back_bit_for_bit() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.npy");
        let odd = [f64::from_bits(0x7ff8_0000_dead_beef), f64::NEG_INFINITY, -0.0];
        write(&path, &Volume::from_fn([3], |[x]| odd[x]), 0).unwrap();
        let back = read::<f64, 1>(&path).unwrap();
        assert!(back.as_slice().iter().zip(odd).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_value_and_a_hint() {
        for (patch, expect) in [
            (("<f4", "<f8"), "truncated: shape [2, 2] of f64 needs 32 bytes of data, 16 are there"),
            (
                ("<f4", "<i4"),
                "holds i32, but f32 is wanted; help: convert it with `array.astype('float32')`",
            ),
            (("<f4", "<c8"), "scalars of type '<c8'"),
            (("'<f4'", "[('a', '<f4')]"), "structured cells"),
            (("False", "True"), "Fortran order; help: save `numpy.ascontiguousarray(array)`"),
            (("(2, 2)", "(4,)"), "has shape [4], and not 2 axes; help: reshape it to 2 axes"),
            (("(2, 2)", "()"), "has shape [], and not 2 axes"),
            (("(2, 2)", "(1, 1, 2, 1, 2)"), "has shape [1, 1, 2, 1, 2], and not 2 axes"),
            (("(2, 2)", "(0, 2)"), "extent 0 on axis y"),
            (("(2, 2)", "(-2, 2)"), "extent '-2'"),
            (("(2, 2)", "(99999999999, 99999999999)"), "needs more than 2^64 bytes"),
            (("shape", "shade"), "without 'shape'"),
        ] {
            let refusal = refusal(patch);
            assert!(refusal.contains(expect), "{refusal:?} should contain {expect:?}");
        }
    }

    #[test]
    fn missing_truncated_and_foreign_files_are_told_apart() {
        let (_directory, path) = saved(("", ""));
        let whole = std::fs::read(&path).unwrap();
        for (length, expect) in [
            (4, "not in the NPY format"),
            (9, "ends inside the NPY header"),
            (100, "ends inside the NPY header"),
            (130, "truncated"),
        ] {
            std::fs::write(&path, &whole[..length]).unwrap();
            let refusal = read::<f32, 2>(&path).unwrap_err().to_string();
            assert!(refusal.contains(expect), "{length}: {refusal}");
        }
        std::fs::write(&path, b"P6 640 480 255 ...").unwrap();
        assert!(header(&path).unwrap_err().to_string().contains("not in the NPY format"));
        std::fs::remove_file(&path).unwrap();
        assert!(header(&path).unwrap_err().to_string().contains("check the path"));
    }

    #[test]
    fn types_are_named_as_numpy_names_them() {
        let names = [ScalarKind::U8, ScalarKind::I16, ScalarKind::Bool].map(numpy_name);
        assert_eq!(names, ["uint8", "int16", "bool"]);
    }
}
