//! Text files that may be compressed by gzip.

use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};

use flate2::bufread::GzDecoder;

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
        let zipped = Zipped { member: Some(GzDecoder::new(file)) };
        file = Box::new(BufReader::with_capacity(1 << 18, zipped));
    }
    Ok(file)
}

/// Decompresses one member after another, and says what is wrong in the words of gzip.
struct Zipped<R> {
    /// The member that is read; `None` for a moment between two, and behind the last.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Zipped<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            match member.read(to).map_err(damaged)? {
                0 if !to.is_empty() => self.next()?,
                count => return Ok(count),
            }
        }
        Ok(0)
    }
}

impl<R: BufRead> Zipped<R> {
    /// Goes on with the next member, if there is one.
    fn next(&mut self) -> io::Result<()> {
        let Some(mut from) = self.member.take().map(GzDecoder::into_inner) else { return Ok(()) };
        let zeros = skip_zeros(&mut from).map_err(damaged)?;
        if !from.fill_buf()?.is_empty() {
            // `gzip` ignores bytes after the zeros with a warning; here they are an error.
            if zeros > 0 {
                return Err(damaged(ErrorKind::InvalidData.into()));
            }
            self.member = Some(GzDecoder::new(from));
        }
        Ok(())
    }
}

/// Most zero bytes that may follow the last member. Tapes and some tools fill the last block with zeros.
const MOST_ZEROS: u64 = 16 << 20;

/// Skips the zero bytes that come next; how many they are.
fn skip_zeros(from: &mut impl BufRead) -> io::Result<u64> {
    let mut zeros = 0;
    loop {
        let some = from.fill_buf()?;
        let count = some.iter().take_while(|byte| **byte == 0).count();
        let through = count < some.len() || some.is_empty();
        from.consume(count);
        zeros += count as u64;
        if zeros > MOST_ZEROS {
            return Err(ErrorKind::InvalidData.into());
        }
        if through {
            return Ok(zeros);
        }
    }
}

fn damaged(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
            let what = "the gzip data is cut short or damaged, or other bytes follow it";
            io::Error::new(ErrorKind::InvalidData, what)
        }
        _ => error,
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
        // As `gzip -d` accepts it: the last block of a tape is filled with zeros.
        for zeros in [1, 511, 1 << 20] {
            assert_eq!(read([&zipped[..], &vec![0; zeros]].concat()).unwrap(), "text");
            let two = [&zipped[..], &zipped, &vec![0; zeros]].concat();
            assert_eq!(read(two).unwrap(), "texttext");
        }
        let mut flipped = zipped.clone();
        flipped[14] ^= 1;
        let short = zipped[..zipped.len() - 1].to_vec();
        let behind_zeros = [&zipped[..], &[0; 9], &zipped].concat();
        let zeros = [&zipped[..], &vec![0; MOST_ZEROS as usize + 1]].concat();
        let more = [&zipped[..], b"more"].concat();
        for wrong in [more, short, flipped, behind_zeros, zeros] {
            let refusal = read(wrong).unwrap_err().to_string();
            assert!(refusal.contains("gzip data is cut short or damaged"), "{refusal}");
        }
    }
}
