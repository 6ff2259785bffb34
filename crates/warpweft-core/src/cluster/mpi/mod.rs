//! Ranks as processes that MPI started: a transport over Open MPI, MPICH or its kin.
//!
//! The library is loaded when ranks are detected, not linked (ADR 6): one program serves every MPI,
//! and needs none to build or to run alone. Not here: the library's functions (`abi`).

mod abi;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use self::abi::{Message, Polled, Room, Wire};
use super::launched::{Launched, Launcher};
use super::transport::{Remote, Shared, Tag, Transport, wrong_length};
use crate::error::{Error, Result};

/// A rank that is alive but says nothing for this long is given up.
const DEADLINE: Duration = Duration::from_secs(600);
/// Longest part of a message: MPI counts in 31 bits. A message is its parts of this length and a
/// shorter one, which may be empty.
const PART: usize = 1 << 30;
/// The message that tells of a rank's failure; the largest tag that every library must take.
const ABORT: Tag = Tag(0x7fff);
/// The message of a rank that leaves.
const GONE: Tag = Tag(0x7ffe);
/// Looks for a message without a pause, then with other processes let on in between, then asleep.
const SPINS: u32 = 2_000;
const YIELDS: Duration = Duration::from_millis(20);
const NAP: Duration = Duration::from_micros(100);
/// Looks between two looks for news of a failure.
const NEWS: u32 = 32;
/// How long a rank that leaves waits for the others, of which one may still be writing what all came to.
const LEAVING: Duration = Duration::from_secs(24 * 3600);
/// How long a failing rank waits for its news to be on its way.
const GRACE: Duration = Duration::from_secs(2);

/// This process's end of MPI, for as long as it takes part: dropped, it [leaves](Mpi::leave).
pub struct Mpi {
    wire: Box<dyn Wire>,
    aborted: Mutex<Option<(usize, String)>>,
    /// Ranks that leave: nothing more comes from them.
    gone: Mutex<BTreeSet<usize>>,
    left: AtomicBool,
    polls: AtomicU32,
}

impl Mpi {
    /// Joins the ranks started with this one, once for as long as the process lives: MPI can't be begun
    /// again. `$WARPWEFT_MPI` names the library to load; if it is not set, the launcher's own is looked for.
    ///
    /// # Errors
    /// No library that can be loaded, with those tried; one that is not the launcher's; ranks that were
    /// left before.
    pub fn join(launched: &Launched) -> Result<Self> {
        let chosen = std::env::var("WARPWEFT_MPI").ok().filter(|name| !name.is_empty());
        let names: Vec<&str> = match &chosen {
            Some(name) => vec![name],
            None => libraries(launched.launcher).to_vec(),
        };
        let mut refused = Vec::new();
        for name in names {
            match abi::open(name) {
                Ok(wire) => return Self::checked(wire, launched, name),
                Err(why) => refused.push(why),
            }
        }
        Err(unusable(
            launched,
            format!("no MPI library can be used: {}", refused.join("; ")),
            "install the launcher's library, or set WARPWEFT_MPI to its path",
        ))
    }

    fn checked(wire: Box<dyn Wire>, launched: &Launched, name: &str) -> Result<Self> {
        let (rank, ranks) = wire.place();
        if ranks != launched.ranks {
            return Err(unusable(
                launched,
                format!("{name} knows of {ranks} ranks: it belongs to another launcher"),
                "start it with that library's mpirun, or set WARPWEFT_MPI to the launcher's library",
            ));
        }
        if rank >= ranks {
            return Err(unusable(
                launched,
                format!("{name} calls this rank {rank} of {ranks}"),
                "start it with that library's mpirun",
            ));
        }
        Launched::settle();
        Ok(Self {
            wire,
            aborted: Mutex::new(None),
            gone: Mutex::default(),
            left: AtomicBool::new(false),
            polls: AtomicU32::new(0),
        })
    }

    /// The library, as reports call it.
    pub fn library(&self) -> String {
        let version = self.wire.version();
        let first = version.lines().next().unwrap_or_default();
        let words = first.split_whitespace().take_while(|word| !word.starts_with("package:"));
        words.collect::<Vec<_>>().join(" ").trim_end_matches(',').replace("Version: ", "")
    }

    /// Whether the library says that it takes device memory.
    pub fn cuda_aware(&self) -> bool {
        self.wire.cuda_aware()
    }

    /// Leaves the ranks in good order: waits for what was sent, and a day for the others to leave; those that
    /// wait for more of this rank are told that nothing comes. What is dropped leaves too, but has nobody to
    /// tell what went wrong.
    ///
    /// # Errors
    /// A rank has aborted, as one does that misses this one; ranks that do not leave, by their numbers;
    /// messages that nobody receives.
    pub fn leave(&self) -> Result<()> {
        self.leave_within(LEAVING)
    }

    fn leave_within(&self, patience: Duration) -> Result<()> {
        if self.left.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // The end of a program may be an error of this rank alone: that others failed for it is news to it.
        let rank: Shared = Arc::new(self.rank().to_le_bytes());
        let rank = Message::Host(rank);
        self.others().try_for_each(|to| self.begin(to, GONE, &rank))?;
        let begin = Instant::now();
        while self.gone().len() + 1 < self.ranks() {
            self.check()?;
            if begin.elapsed() > patience {
                return Err(self.left_alone(patience));
            }
            std::thread::sleep(NAP);
        }
        // Who left because it had aborted said so before, and may not come to the end of MPI.
        self.hear()?;
        self.told()?;
        self.flush()?;
        self.wire.finalize().map_err(|why| self.fault(why))
    }

    /// Ends every rank, with this status; returns only if MPI fails to. The news of
    /// [`Transport::abort`] get a moment to arrive, so that ranks which are waiting can tell.
    pub fn end_all(&self, status: u8) {
        let begin = Instant::now();
        while begin.elapsed() < GRACE && self.wire.reap().is_ok_and(|left| left > 0) {
            std::thread::sleep(NAP);
        }
        // Time for those ranks to print what they were told.
        std::thread::sleep(Duration::from_millis(300));
        self.wire.abort(status.into());
    }

    fn fault(&self, what: String) -> Error {
        Error::Rank {
            rank: self.rank(),
            what: format!("MPI failed: {what}"),
            hint: "look at what mpirun says about the ranks and the network".into(),
        }
    }

    fn reaped(&self) -> Result<usize> {
        self.wire.reap().map_err(|why| self.fault(why))
    }

    /// Fails once any rank has aborted.
    fn news(&self) -> Result<()> {
        if self.polls.fetch_add(1, Ordering::Relaxed).is_multiple_of(NEWS) {
            self.hear()?;
        }
        self.told()
    }

    /// Looks who has aborted or left.
    fn hear(&self) -> Result<()> {
        let mut news = Vec::new();
        let polled = self.wire.poll(None, ABORT, Room::Append(&mut news));
        if let Polled::Received(_) = polled.map_err(|why| self.fault(why))? {
            let text = String::from_utf8_lossy(&news).into_owned();
            let (rank, why) = text.split_once('\n').unwrap_or(("?", &text));
            self.set_aborted(rank.parse().unwrap_or(usize::MAX), why);
        }
        loop {
            let mut rank = Vec::new();
            let polled = self.wire.poll(None, GONE, Room::Append(&mut rank));
            let Polled::Received(_) = polled.map_err(|why| self.fault(why))? else { return Ok(()) };
            let rank = rank.try_into().map_or(usize::MAX, usize::from_le_bytes);
            self.gone().insert(rank);
        }
    }

    /// Fails if any rank is known to have aborted.
    fn told(&self) -> Result<()> {
        match &*self.aborted.lock().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((by, why)) => Err(Error::Rank {
                rank: self.rank(),
                what: format!("stopped because rank {by} failed: {why}"),
                hint: format!("see the error of rank {by}"),
            }),
        }
    }

    fn gone(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The other ranks.
    fn others(&self) -> impl Iterator<Item = usize> {
        let mine = self.rank();
        (0..self.ranks()).filter(move |&rank| rank != mine)
    }

    fn set_aborted(&self, rank: usize, why: &str) -> bool {
        let mut aborted = self.aborted.lock().unwrap_or_else(PoisonError::into_inner);
        let first = aborted.is_none();
        aborted.get_or_insert((rank, why.into()));
        first
    }

    /// Looks for a message until it is there, no longer than the process is, from which it is to come; or until
    /// all that was sent is on its way.
    fn wait<T>(
        &self,
        message: Option<(usize, Tag)>,
        mut look: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<T> {
        let begin = Instant::now();
        let mut looks = 0u32;
        loop {
            self.news()?;
            // Known before the look: what it sent before it went is there.
            let gone = message.filter(|(from, _)| self.gone().contains(from));
            if let Some(found) = look(self)? {
                return Ok(found);
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
                    None => (self.rank(), "the messages sent to be on their way".into()),
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

    /// Aborts everyone over a message which will not come.
    fn left_early(&self, gone: usize, tag: Tag) -> Error {
        let (rank, from) = (tag.receiver(self.rank()), tag.sender(gone));
        let what = format!("rank {from} has left before it sent {}", Self::awaited(gone, tag));
        self.abort_for(rank, &what);
        let hint = format!("see the error of rank {from}, or let all ranks do the same runs");
        Error::Rank { rank, what, hint }
    }

    /// Some have not left so long after this rank did.
    fn left_alone(&self, patience: Duration) -> Error {
        let gone = self.gone();
        let here: Vec<_> = self
            .others()
            .filter(|rank| !gone.contains(rank))
            .map(|rank| rank.to_string())
            .collect();
        let (ranks, have) = if here.len() == 1 { ("rank", "has") } else { ("ranks", "have") };
        Error::Rank {
            rank: self.rank(),
            what: format!(
                "{ranks} {} {have} not left {:.0} s after this one",
                here.join(", "),
                patience.as_secs_f64()
            ),
            hint: "look for a rank that hangs; what this one came to is done".into(),
        }
    }

    /// Takes the next part of a message, if it has come.
    fn part(&self, from: usize, tag: Tag, message: &mut Vec<u8>) -> Result<Polled> {
        let polled = self.wire.poll(Some(from), tag, Room::Append(message));
        polled.map_err(|why| self.fault(why))
    }

    /// Waits for all further parts of a message.
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
            self.wire.start(to, tag, message, part).map_err(|why| self.fault(why))?;
        }
        Ok(())
    }

    fn send_kept(&self, to: usize, tag: Tag, message: &Message) -> Result<()> {
        self.check_peer(to)?;
        self.news()?;
        self.begin(to, tag, message)?;
        self.reaped().map(|_| ())
    }

    /// Receives a message of `bytes` bytes; `poll` looks for its part from some byte on.
    fn receive_parts(
        &self,
        (from, tag): (usize, Tag),
        bytes: usize,
        mut poll: impl FnMut(&Self, usize) -> std::result::Result<Polled, String>,
    ) -> Result<()> {
        self.check_peer(from)?;
        let mut filled = 0;
        self.wait(Some((from, tag)), |mpi| {
            match poll(mpi, filled).map_err(|why| mpi.fault(why))? {
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
        self.wire.place().0
    }

    fn ranks(&self) -> usize {
        self.wire.place().1
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
            mpi.wire.poll(Some(from), tag, Room::Device(to, filled))
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
        // Known before the look: what it sent before it went is there.
        let gone = self.gone().contains(&from);
        let mut message = Vec::new();
        match self.part(from, tag, &mut message)? {
            Polled::Received(bytes) if bytes < PART => Ok(Some(message)),
            // The others are on their way.
            Polled::Received(_) => self.rest(from, tag, &mut message).map(|()| Some(message)),
            _ if gone => Err(self.left_early(from, tag)),
            _ => Ok(None),
        }
    }

    fn receive_into(&self, from: usize, tag: Tag, to: &mut [u8]) -> Result<()> {
        self.receive_parts((from, tag), to.len(), |mpi, filled| {
            mpi.wire.poll(Some(from), tag, Room::Into(&mut to[filled..]))
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
        self.wire.open_lanes(lanes).map_err(|why| self.fault(why))
    }

    fn abort_for(&self, rank: usize, why: &str) {
        if !self.set_aborted(rank, why) {
            return;
        }
        let news: Shared = Arc::new(format!("{rank}\n{why}").into_bytes());
        let news = Message::Host(news);
        for to in self.others() {
            // Whoever can't be told is ended with all others by `end_all`.
            let _ = self.begin(to, ABORT, &news);
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // A panic ends the process, and mpirun those that are left.
        if std::thread::panicking() {
            return;
        }
        // Nobody is left to be told; the launcher sees ranks that end without leaving.
        let _ = self.leave();
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} of {} by {}", self.rank(), self.ranks(), self.library())
    }
}

/// The names under which a launcher's library is found.
fn libraries(launcher: Launcher) -> &'static [&'static str] {
    const OPEN: [&str; 2] = ["libmpi.so.40", "libmpi.so"];
    const MPICH: [&str; 4] = ["libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"];
    const ALL: [&str; 4] = ["libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"];
    match launcher {
        Launcher::OpenMpi => &OPEN,
        Launcher::Pmi => &MPICH,
        Launcher::Pmix => &ALL,
    }
}

fn unusable(launched: &Launched, what: String, hint: &str) -> Error {
    Error::Rank {
        rank: launched.rank,
        what: format!("joining the other ranks: {what}"),
        hint: hint.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    /// The middle one of three ranks, of which only the first ever leaves.
    struct Hung(AtomicBool);

    impl Wire for Hung {
        fn place(&self) -> (usize, usize) {
            (1, 3)
        }
        fn start(&self, _: usize, _: Tag, _: &Message, _: Range<usize>) -> Result<(), String> {
            Ok(())
        }
        fn reap(&self) -> Result<usize, String> {
            Ok(0)
        }
        fn poll(&self, _: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, String> {
            let Room::Append(message) = room else { return Ok(Polled::Nothing) };
            if tag != GONE || self.0.swap(true, Ordering::Relaxed) {
                return Ok(Polled::Nothing);
            }
            message.extend(0usize.to_le_bytes());
            Ok(Polled::Received(message.len()))
        }
        fn open_lanes(&self, _: usize) -> Result<(), String> {
            Ok(())
        }
        fn version(&self) -> String {
            "none".into()
        }
        fn cuda_aware(&self) -> bool {
            false
        }
        fn finalize(&self) -> Result<(), String> {
            Err("it would wait for all".into())
        }
        fn abort(&self, _: i32) {}
    }

    #[test]
    fn who_does_not_leave_is_named_and_not_waited_for_forever() {
        let mpi = Mpi {
            wire: Box::new(Hung(AtomicBool::new(false))),
            aborted: Mutex::new(None),
            gone: Mutex::default(),
            left: AtomicBool::new(false),
            polls: AtomicU32::new(0),
        };
        let error = mpi.leave_within(Duration::from_millis(200)).unwrap_err().to_string();
        assert!(error.contains("rank 2 has not left") && error.contains("rank 1"), "{error}");
        // It has left for good, and dropping it waits for nobody.
        assert!(mpi.leave().is_ok());
    }
}
