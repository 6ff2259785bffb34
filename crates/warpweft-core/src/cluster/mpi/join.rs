//! Joining the ranks that a launcher started, and leaving them in good order.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::api::{Message, MpiApi};
use super::news::GONE;
use super::{Mpi, NAP, world};
use crate::cluster::launched::{Launched, Launcher};
use crate::cluster::transport::{Shared, Transport};
use crate::error::{Error, Result};

/// How long a rank that leaves waits for the others, of which one may still be writing what all came to.
const LEAVING: Duration = Duration::from_secs(24 * 3600);
/// How long a failing rank waits for its news to be on its way.
const GRACE: Duration = Duration::from_secs(2);

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
            match world::open(name) {
                Ok(api) => return Self::checked(api, launched, name),
                Err(why) => refused.push(why),
            }
        }
        Err(unusable(
            launched,
            format!("no MPI library can be used: {}", refused.join("; ")),
            "install the launcher's library, or set WARPWEFT_MPI to its path",
        ))
    }

    fn checked(api: Box<dyn MpiApi>, launched: &Launched, name: &str) -> Result<Self> {
        let (rank, ranks) = api.rank_and_ranks();
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
            api,
            aborted: Mutex::new(None),
            gone: Mutex::default(),
            left: AtomicBool::new(false),
            polls: AtomicU32::new(0),
        })
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
        self.receive_news()?;
        self.check_aborted()?;
        self.flush()?;
        self.api.finalize().map_err(|why| self.fault(why))
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

    /// Ends every rank, with this status; returns only if MPI fails to. The news of
    /// [`Transport::abort`] get a moment to arrive, so that ranks which are waiting can tell.
    pub fn end_all(&self, status: u8) {
        let begin = Instant::now();
        while begin.elapsed() < GRACE && self.api.reap().is_ok_and(|left| left > 0) {
            std::thread::sleep(NAP);
        }
        // Time for those ranks to print what they were told.
        std::thread::sleep(Duration::from_millis(300));
        self.api.abort(status.into());
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
    use crate::cluster::mpi::api::{Polled, Room};
    use crate::cluster::transport::Tag;

    /// The middle one of three ranks, of which only the first ever leaves.
    struct Hung(AtomicBool);

    impl MpiApi for Hung {
        fn rank_and_ranks(&self) -> (usize, usize) {
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
            api: Box::new(Hung(AtomicBool::new(false))),
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
