//! A journal's frames: `[bytes u64][first task u64][tasks u64][outputs][16 bytes]`, little endian, the last being
//! the head of SHA-256(the frame before's last 16 bytes ‖ this frame before them).
//!
//! The chain, and not a checksum alone: after a crash a file may hold blocks of an earlier file, each whole
//! with its own checksum, and none of them continues this one.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use sha2::{Digest, Sha256};

/// What a frame is chained by.
pub type Link = [u8; 16];

/// Bytes before the outputs.
pub const HEAD: usize = 24;

/// Outputs of more bytes than this are summed before they get room: few frames are so long, and damaged lengths
/// may be of any size.
const LONG: u64 = 128 << 20;

/// The first link, of the header's text.
pub fn link(text: &str) -> Link {
    head_of(Sha256::digest(text).as_slice())
}

fn head_of(sum: &[u8]) -> Link {
    let mut link = Link::default();
    link.copy_from_slice(&sum[..16]);
    link
}

/// A frame of the outputs of `tasks` as it stands in the file, after the frame that ends in `before`.
pub fn frame(tasks: &Range<u64>, outputs: &[u8], before: &Link) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEAD + outputs.len() + before.len());
    for number in [outputs.len() as u64, tasks.start, tasks.end - tasks.start] {
        frame.extend_from_slice(&number.to_le_bytes());
    }
    frame.extend_from_slice(outputs);
    let link = chained(before, &frame);
    frame.extend_from_slice(&link);
    frame
}

/// The last 16 bytes of a frame.
pub fn end_of(frame: &[u8]) -> Link {
    head_of(frame.get(frame.len().saturating_sub(16)..).unwrap_or(&[0; 16]))
}

/// The link of a frame that has all but its link, after the one that ends in `before`.
pub fn chained(before: &Link, frame: &[u8]) -> Link {
    head_of(Sha256::new().chain_update(before).chain_update(frame).finalize().as_slice())
}

/// What a frame begins with: the bytes of its outputs, its first task, and how many tasks it has.
pub fn numbers(frame: &[u8]) -> [u64; 3] {
    [0, 8, 16].map(|at| {
        frame[at..at + 8].iter().rev().fold(0u64, |number, byte| number << 8 | u64::from(*byte))
    })
}

/// The frames of a file, one after another, up to the first that does not chain.
pub struct Frames<R> {
    from: R,
    /// Bytes that the file still has.
    left: u64,
    /// Bytes of the frames that were read.
    read: u64,
    link: Link,
}

impl<R: Read + Seek> Frames<R> {
    /// Of a file of `bytes` bytes that begins after `link`.
    pub fn new(from: R, bytes: u64, link: Link) -> Self {
        Self { from, left: bytes, read: 0, link }
    }

    /// Bytes of the frames that were read, and the last one's link.
    pub fn end(&self) -> (u64, Link) {
        (self.read, self.link)
    }

    /// The next frame's tasks and outputs; `None` where no more chain.
    ///
    /// # Errors
    /// The file can't be read; no memory for a frame that chains.
    pub fn next(&mut self) -> io::Result<Option<(Range<u64>, Vec<u8>)>> {
        let mut frame = vec![0; HEAD];
        if self.left < (HEAD + 16) as u64 {
            return Ok(None);
        }
        self.from.read_exact(&mut frame)?;
        let [bytes, first, count] = numbers(&frame);
        let whole = bytes.saturating_add((HEAD + 16) as u64);
        let tasks = first.checked_add(count).filter(|_| count > 0).map(|end| first..end);
        let Some(tasks) = tasks.filter(|_| whole <= self.left) else { return Ok(None) };
        if bytes > LONG && !self.chains(&frame, bytes)? {
            return Ok(None);
        }
        let room = frame.try_reserve_exact(bytes as usize);
        room.map_err(|_| {
            let what = format!("no memory for outputs of {bytes} bytes");
            io::Error::new(io::ErrorKind::OutOfMemory, what)
        })?;
        frame.resize(HEAD + bytes as usize, 0);
        self.from.read_exact(&mut frame[HEAD..])?;
        let mut link = Link::default();
        self.from.read_exact(&mut link)?;
        if link != chained(&self.link, &frame) {
            return Ok(None);
        }
        self.left -= whole;
        self.read += whole;
        self.link = link;
        frame.drain(..HEAD);
        Ok(Some((tasks, frame)))
    }

    /// Whether the frame of this head and so many bytes of outputs, which come next, chains; they come again.
    fn chains(&mut self, head: &[u8], bytes: u64) -> io::Result<bool> {
        let mut sum = Sha256::new().chain_update(self.link).chain_update(head);
        let mut some = vec![0; 1 << 20];
        let mut left = bytes;
        while left > 0 {
            let some = &mut some[..left.min(1 << 20) as usize];
            self.from.read_exact(some)?;
            sum.update(&*some);
            left -= some.len() as u64;
        }
        let mut link = Link::default();
        self.from.read_exact(&mut link)?;
        self.from.seek(SeekFrom::Current(-((bytes + 16) as i64)))?;
        Ok(link == head_of(sum.finalize().as_slice()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file of frames, and where each ends.
    fn file(outputs: &[Vec<u8>], start: &Link) -> (Vec<u8>, Vec<usize>) {
        let (mut all, mut ends, mut before) = (Vec::new(), Vec::new(), *start);
        for (k, outputs) in outputs.iter().enumerate() {
            let next = frame(&(3 * k as u64..3 * k as u64 + 2), outputs, &before);
            before = end_of(&next);
            all.extend(next);
            ends.push(all.len());
        }
        (all, ends)
    }

    fn read(bytes: &[u8], start: &Link) -> Vec<(Range<u64>, Vec<u8>)> {
        let mut frames = Frames::new(io::Cursor::new(bytes), bytes.len() as u64, *start);
        std::iter::from_fn(|| frames.next().unwrap()).collect()
    }

    #[test]
    fn every_truncation_and_every_flipped_byte_ends_the_file_before_it() {
        let start = link("a");
        let outputs = [vec![1, 2, 3], vec![], vec![9; 40]];
        let (all, ends) = file(&outputs, &start);
        let whole = |until: usize| ends.iter().filter(|end| **end <= until).count();
        for cut in 0..=all.len() {
            assert_eq!(read(&all[..cut], &start).len(), whole(cut), "cut at {cut}");
        }
        for at in 0..all.len() {
            let mut wrong = all.clone();
            wrong[at] ^= 0x10;
            assert_eq!(read(&wrong, &start).len(), whole(at), "flipped at {at}");
        }
        assert!(read(&all, &link("b")).is_empty());
        let expect: Vec<_> = outputs
            .into_iter()
            .enumerate()
            .map(|(k, o)| (3 * k as u64..3 * k as u64 + 2, o))
            .collect();
        assert_eq!(read(&all, &start), expect);
    }

    /// Zeros without end, and the most that was asked of them at once.
    struct Zeros {
        head: io::Cursor<Vec<u8>>,
        most: usize,
    }
    impl Read for Zeros {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.most = self.most.max(to.len());
            match self.head.read(to)? {
                0 => {
                    to.fill(0);
                    Ok(to.len())
                }
                some => Ok(some),
            }
        }
    }
    impl Seek for Zeros {
        fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
            Ok(0)
        }
    }

    #[test]
    fn a_damaged_length_gets_no_room() {
        let bytes = LONG + 1;
        let mut head = bytes.to_le_bytes().to_vec();
        head.extend([0u64, 1].iter().flat_map(|number| number.to_le_bytes()));
        let mut file = Zeros { head: io::Cursor::new(head), most: 0 };
        let mut frames = Frames::new(&mut file, 2 * LONG, link("a"));
        assert_eq!(frames.next().unwrap(), None);
        assert_eq!(frames.end(), (0, link("a")));
        assert_eq!(file.most, 1 << 20);
    }

    #[test]
    fn a_long_frame_is_read() {
        let outputs = vec![7; LONG as usize + 1];
        let (all, _) = file(&[vec![1], outputs, vec![2]], &link("a"));
        let mut frames = Frames::new(io::Cursor::new(&all), all.len() as u64, link("a"));
        let lengths = std::iter::from_fn(|| frames.next().unwrap()).map(|(_, bytes)| bytes.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [1, LONG as usize + 1, 1]);
    }

    proptest! {
        /// A disk that lost its power keeps what was synced, and of the rest any blocks, whole, zero, torn or of
        /// an earlier file: S ⊆ D ⊆ W, and what is read is what was written.
        #[test]
        fn nothing_synced_is_lost_and_nothing_wrong_is_read(
            outputs in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..12),
            earlier in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 1..12),
            synced in 0usize..13,
            fates in prop::collection::vec((0u8..5, 0usize..16), 100),
            length in 0usize..2000,
        ) {
            let start = link("this run");
            let (all, ends) = file(&outputs, &start);
            let (stale, _) = file(&earlier, &link("an earlier run"));
            let safe = synced.checked_sub(1).and_then(|k| ends.get(k)).copied().unwrap_or(0);
            let mut disk = all.clone();
            for (block, (fate, torn)) in (safe..all.len()).step_by(16).zip(&fates) {
                let end = (block + 16).min(all.len());
                match fate {
                    0 => disk[block..end].fill(0),
                    1 => disk[(block + torn).min(end)..end].fill(0xa5),
                    2 => for at in block..end {
                        disk[at] = stale.get(at).copied().unwrap_or(0);
                    },
                    _ => {}
                }
            }
            disk.truncate(safe.max(length));
            let found = read(&disk, &start);
            prop_assert!(found.len() >= ends.iter().filter(|end| **end <= safe).count());
            prop_assert!(found.len() <= outputs.len());
            for (k, (_, bytes)) in found.iter().enumerate() {
                prop_assert_eq!(bytes, &outputs[k]);
            }
        }
    }
}
