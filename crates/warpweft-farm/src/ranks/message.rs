//! The messages between rank 0 and the other ranks, as bytes.

use std::ops::Range;

use super::DOWN;
use crate::report::Ended;
use crate::spec::bytes::Bytes;
use crate::spec::chunk::{Collected, Fault, Piece};
use crate::spec::worker::Grain;
use warpweft_core::cluster::Transport;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};

/// From a rank to the first. Workers are numbered within their rank.
#[derive(Debug, PartialEq)]
pub enum Up {
    /// A worker requests a chunk.
    Request { worker: usize, grain: Grain, took: Option<(u64, f64)> },
    /// A worker ran these tasks, the last of them for longer than it may if that is said.
    Done { worker: usize, range: Range<u64>, collected: Collected, seconds: f64, late: bool },
    /// A worker is gone, for this reason.
    Lost { worker: usize, why: String },
    /// A worker does not return from a task.
    Stuck { worker: usize, task: u64 },
    /// The rank was interrupted.
    Interrupted,
    /// The rank is there.
    Alive,
    /// All of its workers have ended.
    Bye,
}

/// From the first rank to another.
#[derive(Debug, PartialEq)]
pub enum Down {
    /// The reply to the request of a worker; no chunk if there are no more for it.
    Chunk { worker: usize, range: Option<Range<u64>> },
    /// The committer has received the results of a worker.
    Taken,
    /// Nobody takes anything any more.
    Over,
    /// Workers end after the task that they run, and hand over what they have.
    Cut,
    /// Rank 0 is there.
    Alive,
    /// The rank that gets this is taken for lost.
    GivenUp,
    /// How the farm ended, for all ranks.
    Closed(Vec<u8>),
}

/// What is known of a chunk's outputs besides their bytes: ranges of tasks and of bytes, and the failures.
type Ranges = (Vec<(usize, usize, usize, usize)>, Vec<(usize, String, Option<String>)>);

impl Up {
    /// As bytes.
    pub fn pack(self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Self::Request { worker, grain: Grain { of, most }, took } => {
                (0u8, worker, of, most, took).pack(&mut to);
            }
            Self::Done { worker, range, collected, seconds, late } => {
                let Collected { bytes, pieces, failed, .. } = collected;
                to.reserve(bytes.len() + 40 * (pieces.len() + failed.len() + 2));
                (1u8, worker, range.start, range.end, seconds, late).pack(&mut to);
                let ranges = |Piece { tasks, bytes }: Piece| {
                    (tasks.start, tasks.end, bytes.start, bytes.end)
                };
                let words = |(k, Fault { why, input })| (k, String::from(&*why), input);
                let failed: Vec<_> = failed.into_iter().map(words).collect();
                (pieces.into_iter().map(ranges).collect::<Vec<_>>(), failed).pack(&mut to);
                to.extend_from_slice(&bytes);
            }
            Self::Lost { worker, why } => (2u8, worker, why).pack(&mut to),
            Self::Interrupted => to.push(3),
            Self::Bye => to.push(4),
            Self::Alive => to.push(6),
            Self::Stuck { worker, task } => (5u8, worker, task).pack(&mut to),
        }
        to
    }

    /// From bytes of `rank`.
    ///
    /// # Errors
    /// Bytes that no rank of this program sends.
    pub fn unpack(rank: usize, mut from: &[u8]) -> Result<Self> {
        Self::read(&mut from).ok_or_else(|| unreadable(rank))
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::unpack(from)? {
            0 => {
                let (worker, of, most, took) = Packed::unpack(from)?;
                Self::Request { worker, grain: Grain { of, most }, took }
            }
            1 => {
                let (worker, start, end, seconds, late) = Packed::unpack(from)?;
                let (ranges, failed): Ranges = Packed::unpack(from)?;
                let tasks = u64::checked_sub(end, start)?;
                let count = usize::try_from(tasks).ok()?;
                let pieces = ranges
                    .into_iter()
                    .map(|(first, last, from, to)| Piece { tasks: first..last, bytes: from..to });
                let pieces: Vec<_> = pieces.collect();
                let bytes = Bytes::from(std::mem::take(from).to_vec());
                let whole =
                    |range: &Range<usize>, of: usize| range.start <= range.end && range.end <= of;
                let fits =
                    |piece: &Piece| whole(&piece.tasks, count) && whole(&piece.bytes, bytes.len());
                (pieces.iter().all(fits) && each_once(&pieces, &failed, count)).then_some(())?;
                let fault = |(k, why, input): (_, String, _)| (k, Fault { why: why.into(), input });
                let failed = failed.into_iter().map(fault).collect();
                let collected = Collected { tasks, bytes, pieces, failed };
                Self::Done { worker, range: start..end, collected, seconds, late }
            }
            2 => {
                let (worker, why) = Packed::unpack(from)?;
                Self::Lost { worker, why }
            }
            3 => Self::Interrupted,
            4 => Self::Bye,
            6 => Self::Alive,
            5 => {
                let (worker, task) = Packed::unpack(from)?;
                Self::Stuck { worker, task }
            }
            _ => return None,
        })
    }
}

impl Down {
    /// As bytes.
    pub fn pack(self) -> Vec<u8> {
        let mut to = Vec::new();
        match self {
            Self::Chunk { worker, range } => {
                (0u8, worker, range.map(|range| (range.start, range.end))).pack(&mut to);
            }
            Self::Taken => to.push(1),
            Self::Over => to.push(2),
            Self::Cut => to.push(4),
            Self::Alive => to.push(5),
            Self::GivenUp => to.push(6),
            Self::Closed(how) => {
                to.push(3);
                to.extend(how);
            }
        }
        to
    }

    /// From bytes of the first rank.
    ///
    /// # Errors
    /// Bytes that no rank of this program sends.
    pub fn unpack(mut from: &[u8]) -> Result<Self> {
        Self::read(&mut from).ok_or_else(|| unreadable(0))
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        Some(match u8::unpack(from)? {
            0 => {
                let (worker, range): (_, Option<(u64, u64)>) = Packed::unpack(from)?;
                Self::Chunk { worker, range: range.map(|(start, end)| start..end) }
            }
            1 => Self::Taken,
            2 => Self::Over,
            3 => Self::Closed(from.to_vec()),
            4 => Self::Cut,
            5 => Self::Alive,
            6 => Self::GivenUp,
            _ => return None,
        })
    }
}

/// Whether each of `tasks` tasks has outputs in one piece, or has failed: both lists are in order.
fn each_once(pieces: &[Piece], failed: &[(usize, String, Option<String>)], tasks: usize) -> bool {
    let (mut next, mut failed) = (0, failed.iter().map(|(k, ..)| *k).peekable());
    for piece in pieces {
        while failed.next_if_eq(&next).is_some() {
            next += 1;
        }
        if piece.tasks.start != next || piece.tasks.is_empty() {
            return false;
        }
        next = piece.tasks.end;
    }
    while failed.next_if_eq(&next).is_some() {
        next += 1;
    }
    next == tasks && failed.next().is_none()
}

/// Bytes that can't be read as what they should be.
pub fn unreadable(rank: usize) -> Error {
    Error::Rank {
        rank,
        what: "a message of a farm that can't be read".into(),
        hint: "start every rank with the same program".into(),
    }
}

/// How a farm ended, for the other ranks.
#[derive(serde::Serialize, serde::Deserialize)]
enum Closing {
    Ended(Box<Ended>),
    /// With the failure of a task.
    Task {
        task: u64,
        worker: String,
        what: String,
    },
    /// With another error of the first rank.
    Failed(String),
}

/// Tells all other ranks how the farm ended.
pub fn close(net: &dyn Transport, outcome: &Result<Ended>) {
    let closing = match outcome {
        Ok(ended) => Closing::Ended(Box::new(ended.clone())),
        Err(Error::Task { task, worker, what }) => {
            Closing::Task { task: *task, worker: worker.clone(), what: what.clone() }
        }
        Err(error) => Closing::Failed(error.to_string()),
    };
    let how = serde_json::to_vec(&closing).unwrap_or_default();
    for rank in 1..net.ranks() {
        // A rank that cannot be reached has got the news of a failure before.
        let _ = net.send(rank, DOWN, Down::Closed(how.clone()).pack());
    }
}

/// How the farm ended, as rank 0 reports it to `rank`.
///
/// # Errors
/// The farm's.
pub fn closed(rank: usize, how: &[u8]) -> Result<Ended> {
    match serde_json::from_slice(how).map_err(|_| unreadable(0))? {
        Closing::Ended(ended) => Ok(*ended),
        Closing::Task { task, worker, what } => Err(Error::Task { task, worker, what }),
        Closing::Failed(what) => Err(Error::Rank {
            rank,
            what: format!("stopped because rank 0 failed: {what}"),
            hint: "see the error of rank 0".into(),
        }),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_tell_is_read_as_it_was_meant() {
        let piece = |k: usize| Piece { tasks: k..k + 1, bytes: k..k + 1 };
        let collected = Collected {
            tasks: 3,
            bytes: vec![7, 9].into(),
            pieces: vec![piece(0), Piece { tasks: 2..3, bytes: 1..2 }],
            failed: vec![(1, Fault { why: "no luck".into(), input: Some("seven".into()) })],
        };
        let up = [
            || Up::Request { worker: 3, grain: Grain { of: 32, most: 96 }, took: Some((64, 0.5)) },
            || Up::Request { worker: 0, grain: Grain::ANY, took: None },
            || Up::Lost { worker: 1, why: "the device is gone".into() },
            || Up::Stuck { worker: 2, task: 77 },
            || Up::Interrupted,
            || Up::Bye,
            || Up::Alive,
        ];
        for message in up {
            assert_eq!(Up::unpack(1, &message().pack()).unwrap(), message());
        }
        let late = true;
        let done =
            |collected| Up::Done { worker: 2, range: 40..43, collected, seconds: 0.25, late };
        let copy = Collected {
            pieces: collected.pieces.clone(),
            bytes: vec![7, 9].into(),
            failed: collected.failed.clone(),
            tasks: 3,
        };
        let bytes = done(collected).pack();
        assert_eq!(Up::unpack(1, &bytes).unwrap(), done(copy));
        // Whatever is cut off.
        for length in 0..bytes.len() {
            assert!(Up::unpack(1, &bytes[..length]).is_err(), "{length} of {}", bytes.len());
        }
        let down = [
            || Down::Chunk { worker: 5, range: Some(7..9) },
            || Down::Chunk { worker: 5, range: None },
            || Down::Taken,
            || Down::Over,
            || Down::Cut,
            || Down::Alive,
            || Down::GivenUp,
            || Down::Closed(vec![1, 2]),
        ];
        for message in down {
            assert_eq!(Down::unpack(&message().pack()).unwrap(), message());
        }
        assert!(Up::unpack(1, &[9]).is_err() && Down::unpack(&[9]).is_err());
    }

    /// A task of which nothing is said, or twice something, or in another order.
    #[test]
    fn outputs_of_a_chunk_name_each_task_once() {
        let piece = |k: usize| Piece { tasks: k..k + 1, bytes: k..k + 1 };
        let is_read = |pieces: Vec<Piece>, failed: &[usize]| {
            let fault = Fault { why: "no luck".into(), input: None };
            let failed = failed.iter().map(|k| (*k, fault.clone())).collect();
            let collected = Collected { tasks: 3, bytes: vec![7, 9].into(), pieces, failed };
            let (seconds, late) = (0.25, false);
            let done = Up::Done { worker: 2, range: 40..43, collected, seconds, late };
            Up::unpack(1, &done.pack()).is_ok()
        };
        assert!(is_read(vec![piece(0)], &[1, 2]) && is_read(vec![], &[0, 1, 2]));
        for failed in [&[][..], &[1], &[2], &[0, 1], &[2, 1], &[1, 1, 2]] {
            assert!(!is_read(vec![piece(0)], failed), "{failed:?}");
        }
        assert!(!is_read(vec![piece(1), piece(0)], &[2]));
    }
}
