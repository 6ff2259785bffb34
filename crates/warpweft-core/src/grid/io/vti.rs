//! VTK image data (`.vti`), which ParaView and VisIt open: every field of a volume, cell-centred.
//!
//! Raw appended data, uncompressed. Format: VTK's file formats, "XML file formats", ImageData.

use std::borrow::Cow;
use std::path::Path;

use super::write_whole;
use crate::element::ScalarKind;
use crate::error::{Error, Result};
use crate::grid::RawVolume;

/// Writes all fields of `volume` to the file at `path`. The field of a scalar is called `u`.
///
/// # Errors
/// The file can't be written, or the volume has four dimensions, which the format can't hold.
pub fn write(path: &Path, volume: &RawVolume) -> Result<()> {
    let dims = volume.rank();
    if dims > 3 {
        return Err(Error::file(
            path,
            format!("VTI holds at most 3 dimensions, the volume has {dims}"),
            "write .npy instead",
        ));
    }
    // x is the last axis; missing axes are one cell thick.
    let mut cells = [1; 3];
    for (to, n) in cells.iter_mut().zip(volume.extents().into_iter().rev()) {
        *to = n;
    }
    let extent = format!("0 {} 0 {} 0 {}", cells[0], cells[1], cells[2]);
    let order = if cfg!(target_endian = "little") { "LittleEndian" } else { "BigEndian" };
    let mut text = format!(
        "<?xml version=\"1.0\"?>\n\
         <VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"{order}\" header_type=\"UInt64\">\n\
         <ImageData WholeExtent=\"{extent}\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n\
         <Piece Extent=\"{extent}\">\n<CellData>\n"
    );
    let mut offset = 0;
    for (i, field) in volume.cell_type().fields().iter().enumerate() {
        let name = if field.name.is_empty() { "u" } else { field.name };
        let line = format!(
            "<DataArray type=\"{}\" Name=\"{name}\" format=\"appended\" offset=\"{offset}\"/>\n",
            vtk_name(field.kind)
        );
        text.push_str(&line);
        offset += size_of::<u64>() + data(volume, i).len();
    }
    text.push_str("</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_");
    write_whole(path, |to| {
        to.write_all(text.as_bytes())?;
        for i in 0..volume.cell_type().len() {
            let bytes = data(volume, i);
            to.write_all(&(bytes.len() as u64).to_ne_bytes())?;
            to.write_all(&bytes)?;
        }
        to.write_all(b"\n</AppendedData>\n</VTKFile>\n")
    })
}

/// The bytes of field `i`. Two-byte floats, which the format does not have, are widened to four bytes.
fn data(volume: &RawVolume, i: usize) -> Cow<'_, [u8]> {
    let (kind, bytes) = (volume.cell_type().kind(i), volume.field_bytes(i));
    if !matches!(kind, ScalarKind::F16 | ScalarKind::Bf16) {
        return bytes.into();
    }
    let cells = bytes.chunks_exact(kind.size());
    cells.flat_map(|cell| (kind.to_f64(cell) as f32).to_ne_bytes()).collect::<Vec<_>>().into()
}

fn vtk_name(kind: ScalarKind) -> &'static str {
    match kind {
        ScalarKind::Bool | ScalarKind::U8 => "UInt8",
        ScalarKind::I8 => "Int8",
        ScalarKind::I16 => "Int16",
        ScalarKind::I32 => "Int32",
        ScalarKind::I64 | ScalarKind::Isize => "Int64",
        ScalarKind::U16 => "UInt16",
        ScalarKind::U32 => "UInt32",
        ScalarKind::U64 | ScalarKind::Usize => "UInt64",
        ScalarKind::F16 | ScalarKind::Bf16 | ScalarKind::F32 => "Float32",
        ScalarKind::F64 => "Float64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Volume;

    #[test]
    fn the_data_lie_where_the_header_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.vti");
        write(&path, &Volume::from_fn([2, 3], |[y, x]| (10 * y + x) as i16)).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("WholeExtent=\"0 3 0 2 0 1\""), "{text}");
        assert!(
            text.contains("type=\"Int16\" Name=\"u\" format=\"appended\" offset=\"0\""),
            "{text}"
        );
        let marker = b"<AppendedData encoding=\"raw\">\n_";
        let at = bytes.windows(marker.len()).position(|w| w == marker).unwrap() + marker.len();
        assert_eq!(bytes[at..at + 8], 12u64.to_ne_bytes());
        let data: Vec<u8> = [0i16, 1, 2, 10, 11, 12].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert_eq!(bytes[at + 8..at + 20], data);
    }

    #[test]
    fn four_dimensions_are_refused() {
        let volume = Volume::<f32, 4>::zeroed([1; 4]).unwrap();
        let refusal = write("a.vti".as_ref(), &volume).unwrap_err().to_string();
        assert!(refusal.contains("write .npy instead"), "{refusal}");
    }
}
