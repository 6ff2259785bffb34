//! Text files that may be compressed by gzip.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// The content of `file`, decompressed if its first two bytes are those of gzip, whatever its name is.
///
/// # Errors
/// The file can't be read.
pub fn plain(mut file: Box<dyn BufRead>) -> io::Result<Box<dyn BufRead>> {
    // A pipe may give them one by one.
    let mut head = Vec::new();
    file.by_ref().take(2).read_to_end(&mut head)?;
    let zipped = head == [0x1f, 0x8b];
    file = Box::new(Cursor::new(head).chain(file));
    if zipped {
        file = Box::new(BufReader::with_capacity(1 << 18, Zipped(MultiGzDecoder::new(file))));
    }
    Ok(file)
}

/// Decompresses, and says what is wrong in the words of gzip.
struct Zipped<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Zipped<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.0.read(to).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                let what = "the gzip data is cut short or damaged, or other bytes follow it";
                io::Error::new(ErrorKind::InvalidData, what)
            }
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> io::Result<String> {
        let mut text = String::new();
        plain(Box::new(Cursor::new(bytes)))?.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn damaged_gzip_is_called_that() {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        to.write_all(b"text").unwrap();
        let zipped = to.finish().unwrap();
        assert_eq!(read(zipped.clone()).unwrap(), "text");
        assert_eq!(read([&zipped[..], &zipped].concat()).unwrap(), "texttext");
        assert_eq!(read(b"\x1f".to_vec()).unwrap(), "\x1f");
        let mut flipped = zipped.clone();
        flipped[14] ^= 1;
        let short = zipped[..zipped.len() - 1].to_vec();
        for wrong in [[&zipped[..], b"more"].concat(), short, flipped] {
            let refusal = read(wrong).unwrap_err().to_string();
            assert!(refusal.contains("gzip data is cut short or damaged"), "{refusal}");
        }
    }
}
