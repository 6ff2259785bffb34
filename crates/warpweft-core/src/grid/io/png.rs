//! PNG pictures: reads grey values, writes colours.

use std::io::BufReader;
use std::path::Path;

use super::{Input, Picture, write_whole};
use crate::error::{Error, Result};
use crate::grid::Volume;

/// Bytes that one byte of deflated data stands for, at most.
const MOST_PACKED: u64 = 1032;

/// The grey values, 0 to 255, of the picture at `path`, rows from the top.
///
/// Colours become grey by Rec. 601 luma, as common tools do; transparency is ignored.
///
/// # Errors
/// The file can't be read, is not PNG, is damaged, or has 16 bits per sample.
pub fn read(path: &Path) -> Result<Volume<u8, 2>> {
    let Decoded { extents, samples, line, bytes } = decoded(path)?;
    Volume::try_from_fn(extents, |[y, x]| {
        let pixel = &bytes[y * line + x * samples..][..samples];
        match *pixel {
            [r, g, b, ..] => {
                let luma = 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b);
                ((luma + 500) / 1000) as u8
            }
            [grey, ..] => grey,
            [] => 0,
        }
    })
}

/// Red, green and blue, 0 to 255, of the picture at `path`: three planes, rows from the top. A grey picture has the same
/// in all of them; transparency is ignored.
///
/// # Errors
/// As [`read`].
pub fn read_colours(path: &Path) -> Result<Volume<u8, 3>> {
    let Decoded { extents: [height, width], samples, line, bytes } = decoded(path)?;
    Volume::try_from_fn([3, height, width], |[channel, y, x]| {
        let pixel = &bytes[y * line + x * samples..][..samples];
        pixel[if samples < 3 { 0 } else { channel }]
    })
}

/// A picture in memory.
struct Decoded {
    /// Height and width.
    extents: [usize; 2],
    /// Bytes of a pixel and of a line.
    samples: usize,
    line: usize,
    bytes: Vec<u8>,
}

fn decoded(path: &Path) -> Result<Decoded> {
    let bad = |error: png::DecodingError| {
        use png::DecodingError::{Format, IoError, LimitsExceeded, Parameter};
        let what = match error {
            IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                "ends early".into()
            }
            IoError(error) => error.to_string(),
            LimitsExceeded => "is larger than memory".into(),
            // The decoder's message for these is meant for its own developers.
            Format(_) | Parameter(_) => "is not a PNG file, or is damaged".to_string(),
        };
        Error::file(path, what, "give a whole PNG file")
    };
    let file = Input::open(path).map_err(|error| Error::file(path, error, "check the path"))?;
    let known = file.metadata().map_err(|error| Error::file(path, error, "check the path"))?;
    let mut options = png::DecodeOptions::default();
    options.set_ignore_adler32(false);
    let mut decoder = png::Decoder::new_with_options(BufReader::new(file), options);
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().map_err(bad)?;
    if reader.info().bit_depth == png::BitDepth::Sixteen {
        return Err(Error::file(
            path,
            "has 16 bits per sample; reading it would lose 8 of them",
            "save it with 8 bits, or its samples as .npy of float32",
        ));
    }
    if known.is_file() {
        check_size(path, reader.info(), known.len())?;
    }
    let mut bytes = Vec::new();
    // A damaged header may request any amount of memory.
    reader
        .output_buffer_size()
        .filter(|&size| bytes.try_reserve_exact(size).is_ok())
        .map(|size| bytes.resize(size, 0))
        .ok_or_else(|| Error::file(path, "is larger than memory", "cut it down"))?;
    let frame = reader.next_frame(&mut bytes).map_err(bad)?;
    // Up to the checksums at the end.
    reader.finish().map_err(bad)?;
    let samples = frame.color_type.samples();
    let extents = [frame.height as usize, frame.width as usize];
    Ok(Decoded { extents, samples, line: frame.line_size, bytes })
}

/// Refuses a picture of more pixels than a file of `bytes` bytes can hold.
fn check_size(path: &Path, info: &png::Info<'_>, bytes: u64) -> Result<()> {
    let (width, height) = (info.width, info.height);
    let pixels = u64::from(width) * u64::from(height);
    let packed = pixels.saturating_mul(info.bits_per_pixel() as u64) / 8;
    if packed / MOST_PACKED <= bytes {
        return Ok(());
    }
    let what = format!(
        "says that it has {width} x {height} pixels, more than a file of {bytes} bytes can hold"
    );
    Err(Error::file(path, what, "give a whole PNG file"))
}

/// Writes `picture` to the file at `path`.
///
/// # Errors
/// The file can't be written.
pub fn write(path: &Path, picture: &Picture) -> Result<()> {
    write_whole(path, |to| {
        let mut encoder = png::Encoder::new(to, picture.width as u32, picture.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(picture.pixels.as_flattened())?;
        writer.finish()?;
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_that_its_file_cannot_hold_is_refused_and_so_is_a_wrong_checksum() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.png");
        write(&path, &Picture { width: 2, height: 1, pixels: vec![[7; 3], [9; 3]] }).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path).unwrap_err().to_string()
        };
        // Width and height of the header, whose checksum is over its name too.
        let mut large = whole.clone();
        large[16..24].copy_from_slice(&[0, 1, 0x11, 0x70, 0, 1, 0x11, 0x70]);
        let sum = crc(&large[12..29]);
        large[29..33].copy_from_slice(&sum.to_be_bytes());
        let told = refused(&large);
        assert!(told.contains("70000 x 70000 pixels, more than a file of"), "{told}");
        // The last four bytes of the data, before its own checksum and the end.
        let data = whole.len() - 12 - 4;
        let begin = whole.windows(4).position(|name| name == b"IDAT").unwrap();
        let mut wrong = whole.clone();
        wrong[data - 1] ^= 1;
        let sum = crc(&wrong[begin..data]);
        wrong[data..data + 4].copy_from_slice(&sum.to_be_bytes());
        let told = refused(&wrong);
        assert!(told.contains("is damaged"), "{told}");
    }

    /// The checksum of a chunk (ISO 3309).
    fn crc(bytes: &[u8]) -> u32 {
        let one = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
        !bytes.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| one(sum)))
    }

    #[test]
    fn a_picture_comes_back_as_its_luma() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.png");
        let pixels =
            vec![[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [9; 3]];
        write(&path, &Picture { width: 3, height: 2, pixels }).unwrap();
        let grey = read(&path).unwrap();
        assert_eq!(grey.extents(), [2, 3]);
        assert_eq!(grey.as_slice(), [0, 255, 76, 150, 29, 9]);
        let colours = read_colours(&path).unwrap();
        assert_eq!(colours.extents(), [3, 2, 3]);
        assert_eq!(colours.as_slice()[..6], [0, 255, 255, 0, 0, 9]);
        assert_eq!(colours.as_slice()[12..], [0, 255, 0, 0, 255, 9]);
    }

    #[test]
    fn samples_of_16_bits_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep.png");
        let mut encoder = png::Encoder::new(std::fs::File::create(&path).unwrap(), 2, 1);
        encoder.set_depth(png::BitDepth::Sixteen);
        encoder.set_color(png::ColorType::Grayscale);
        encoder.write_header().unwrap().write_image_data(&[1, 2, 3, 4]).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("16 bits per sample"), "{error}");
    }

    #[test]
    fn damaged_files_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.png");
        write(&path, &Picture::filled(40, 30, [1, 2, 3]).unwrap()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for bytes in [&whole[..whole.len() / 2], &whole[..4], b"not a picture", b""] {
            std::fs::write(&path, bytes).unwrap();
            let refusal = read(&path).unwrap_err().to_string();
            assert!(refusal.contains("a.png") && refusal.contains("whole PNG"), "{refusal}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("check the path"));
    }
}
