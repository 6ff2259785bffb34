//! Ranks as processes that MPI started: a transport over Open MPI, MPICH or a derivative.
//!
//! The library is loaded when ranks are detected, not linked (ADR 6). One program works with every MPI, and
//! needs none to build or to run alone. This module sends and receives messages; `join` joins and leaves,
//! `news` handles ranks that failed or left, and `api`, `symbols` and `world` call the library.

mod api;
mod join;
mod news;
mod symbols;
mod world;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::api::{Fault, Message, MpiApi, Polled, Room};
use super::transport::{Remote, Shared, Tag, Transport, lost, wrong_length};
use crate::error::{Error, Result};

/// A rank that is alive but sends nothing for this long is given up.
const DEADLINE: Duration = Duration::from_secs(600);
/// The longest part of a message, because MPI counts in 31 bits. A message consists of parts of this length
/// and a shorter last one, which may be empty.
const PART: usize = 1 << 30;
/// Number of polls without a pause; then the thread yields between polls, then sleeps.
const SPINS: u32 = 2_000;
const YIELDS: Duration = Duration::from_millis(20);
const NAP: Duration = Duration::from_micros(100);

/// This process's end of MPI, while it takes part. Dropping it [leaves](Mpi::leave).
pub struct Mpi {
    api: Box<dyn MpiApi>,
    aborted: Mutex<Option<(usize, String)>>,
    /// Ranks that have left: they send nothing more.
    gone: Mutex<BTreeSet<usize>>,
    left: AtomicBool,
    polls: AtomicU32,
    /// Whether the others go on without a rank that is lost.
    tolerant: AtomicBool,
    /// Ranks that are lost.
    lost: Mutex<BTreeSet<usize>>,
}

impl Mpi {
    /// The library's name, for reports.
    pub fn library(&self) -> String {
        let version = self.api.version();
        let first = version.lines().next().unwrap_or_default();
        let words = first.split_whitespace().take_while(|word| !word.starts_with("package:"));
        words.collect::<Vec<_>>().join(" ").trim_end_matches(',').replace("Version: ", "")
    }

    /// Whether the library says that it supports device memory.
    pub fn cuda_aware(&self) -> bool {
        self.api.cuda_aware()
    }

    fn fault(&self, what: String) -> Error {
        Error::Rank {
            rank: self.rank(),
            what: format!("MPI failed: {what}"),
            hint: "look at what mpirun says about the ranks and the network".into(),
        }
    }

    fn reaped(&self) -> Result<usize> {
        self.api.reap().map_err(|why| self.fault_with(self.rank(), why))
    }

    /// The error of a call that exchanges a message with `peer`.
    fn fault_with(&self, peer: usize, why: Fault) -> Error {
        match why {
            Fault::Other(why) => self.fault(why),
            Fault::Lost => self.lose(peer).err().unwrap_or_else(|| lost(peer)),
        }
    }

    /// The other ranks.
    fn others(&self) -> impl Iterator<Item = usize> {
        let mine = self.rank();
        (0..self.ranks()).filter(move |&rank| rank != mine)
    }

    /// Polls until a message is there, but no longer than the sending process takes part; or until all
    /// messages are sent.
    fn wait<T>(
        &self,
        message: Option<(usize, Tag)>,
        mut look: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let begin = Instant::now();
        let mut looks = 0u32;
        loop {
            self.news()?;
            // Read before the poll: what it sent before it left has arrived.
            let gone = message.filter(|(from, _)| self.gone().contains(from));
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            if let Some((from, _)) = message.filter(|(from, _)| self.lost().contains(from)) {
                return Err(lost(from));
            }
            if let Some((gone, tag)) = gone {
                return Err(self.left_early(gone, tag));
            }
            self.reaped()?;
            looks = looks.saturating_add(1);
            if looks < SPINS {
                std::hint::spin_loop();
                continue;
            }
            let waited = begin.elapsed();
            if waited > DEADLINE {
                let (rank, what) = match message {
                    None => (self.rank(), "its own messages to be sent".into()),
                    Some((from, tag)) => (tag.receiver(self.rank()), Self::awaited(from, tag)),
                };
                let what = format!("waited {:.0} s for {what}", waited.as_secs_f64());
                self.abort_for(rank, &what);
                return Err(Error::Rank {
                    rank,
                    what,
                    hint: "look for a rank that hangs, or give ranks more equal work".into(),
                });
            }
            if waited < YIELDS { std::thread::yield_now() } else { std::thread::sleep(NAP) }
        }
    }

    /// Aborts all ranks because a message will never come.
    fn left_early(&self, gone: usize, tag: Tag) -> Error {
        let (rank, from) = (tag.receiver(self.rank()), tag.sender(gone));
        let what = format!("rank {from} has left before it sent {}", Self::awaited(gone, tag));
        self.abort_for(rank, &what);
        let hint = format!(
            "see the error of rank {from}; if it has none, make sure that all ranks make the same calls"
        );
        Error::Rank { rank, what, hint }
    }

    /// Receives the next part of a message, if it has arrived.
    fn part(&self, from: usize, tag: Tag, message: &mut Vec<u8>) -> Result<Polled> {
        let polled = self.api.poll(Some(from), tag, Room::Append(message));
        polled.map_err(|why| self.fault_with(from, why))
    }

    /// Receives all further parts of a message.
    fn rest(&self, from: usize, tag: Tag, message: &mut Vec<u8>) -> Result<()> {
        self.wait(Some((from, tag)), |mpi| match mpi.part(from, tag, message)? {
            Polled::Received(bytes) if bytes < PART => Ok(Some(())),
            _ => Ok(None),
        })
    }

    fn check_peer(&self, peer: usize) -> Result<()> {
        if peer < self.ranks() {
            return Ok(());
        }
        Err(Error::Rank {
            rank: self.rank(),
            what: format!("a message to or from rank {peer} of {}", self.ranks()),
            hint: "this is a fault of Warpweft: report it".into(),
        })
    }

    fn begin(&self, to: usize, tag: Tag, message: &Message) -> Result<()> {
        let length = message.len();
        for start in (0..=length).step_by(PART) {
            let part = start..(start + PART).min(length);
            match self.api.start(to, tag, message, part) {
                Err(Fault::Lost) => return self.lose(to),
                started => started.map_err(|why| self.fault_with(to, why))?,
            }
        }
        Ok(())
    }

    fn send_kept(&self, to: usize, tag: Tag, message: &Message) -> Result<()> {
        self.check_peer(to)?;
        self.news()?;
        if self.lost().contains(&to) {
            return Ok(());
        }
        self.begin(to, tag, message)?;
        self.reaped().map(|_| ())
    }

    /// Receives a message of `bytes` bytes; `poll` polls for its part from a given byte on.
    fn receive_parts(
        &self,
        (from, tag): (usize, Tag),
        bytes: usize,
        mut poll: impl FnMut(&Self, usize) -> std::result::Result<Polled, Fault>,
    ) -> Result<()> {
        self.check_peer(from)?;
        let mut filled = 0;
        self.wait(Some((from, tag)), |mpi| {
            match poll(mpi, filled).map_err(|why| mpi.fault_with(from, why))? {
                Polled::Nothing => Ok(None),
                Polled::TooLong(more) => Err(mpi.wrong_length((from, tag), filled + more, bytes)),
                Polled::Received(more) => {
                    filled += more;
                    Ok((more < PART).then_some(()))
                }
            }
        })?;
        if filled != bytes {
            return Err(self.wrong_length((from, tag), filled, bytes));
        }
        Ok(())
    }

    fn awaited(from: usize, tag: Tag) -> String {
        format!("message {} of rank {}", tag.number(), tag.sender(from))
    }

    fn wrong_length(&self, (from, tag): (usize, Tag), found: usize, expected: usize) -> Error {
        wrong_length(tag.receiver(self.rank()), tag.sender(from), found, expected)
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.api.rank_and_ranks().0
    }

    fn ranks(&self) -> usize {
        self.api.rank_and_ranks().1
    }

    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()> {
        self.send_shared(to, tag, Arc::new(message))
    }

    fn send_shared(&self, to: usize, tag: Tag, message: Shared) -> Result<()> {
        self.send_kept(to, tag, &Message::Host(message))
    }

    fn takes_remote(&self) -> bool {
        self.cuda_aware()
    }

    fn send_remote(&self, to: usize, tag: Tag, message: Arc<dyn Remote>) -> Result<()> {
        self.send_kept(to, tag, &Message::Device(message))
    }

    fn receive_remote(&self, from: usize, tag: Tag, to: &dyn Remote) -> Result<()> {
        self.receive_parts((from, tag), to.bytes(), |mpi, filled| {
            mpi.api.poll(Some(from), tag, Room::Device(to, filled))
        })
    }

    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.check_peer(from)?;
        let mut message = Vec::new();
        self.rest(from, tag, &mut message)?;
        Ok(message)
    }

    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>> {
        self.check_peer(from)?;
        self.news()?;
        self.reaped()?;
        // Read before the poll: what it sent before it left has arrived.
        let gone = self.gone().contains(&from);
        let mut message = Vec::new();
        match self.part(from, tag, &mut message)? {
            Polled::Received(bytes) if bytes < PART => Ok(Some(message)),
            // The other parts will follow.
            Polled::Received(_) => self.rest(from, tag, &mut message).map(|()| Some(message)),
            _ if self.lost().contains(&from) => Err(lost(from)),
            _ if gone => Err(self.left_early(from, tag)),
            _ => Ok(None),
        }
    }

    fn receive_into(&self, from: usize, tag: Tag, to: &mut [u8]) -> Result<()> {
        self.receive_parts((from, tag), to.len(), |mpi, filled| {
            mpi.api.poll(Some(from), tag, Room::Into(&mut to[filled..]))
        })
    }

    fn check(&self) -> Result<()> {
        self.news()?;
        self.reaped().map(|_| ())
    }

    fn flush(&self) -> Result<()> {
        self.wait(None, |mpi| Ok((mpi.reaped()? == 0).then_some(())))
    }

    fn open_lanes(&self, lanes: usize) -> Result<()> {
        self.api.open_lanes(lanes).map_err(|why| self.fault(why))
    }

    fn tolerate_losses(&self) {
        self.tolerant.store(true, Ordering::Relaxed);
    }

    fn lost_ranks(&self) -> Vec<usize> {
        self.lost().iter().copied().collect()
    }

    fn give_up(&self, rank: usize) {
        // If losses are not tolerated, every later call says so.
        let _ = self.lose(rank);
    }

    fn abort_for(&self, rank: usize, why: &str) {
        self.tell_abort(rank, why);
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {} by {}", self.rank(), self.ranks(), self.library())
    }
}
