//! Joins the ranks that a launcher started, and leaves them in order.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::api::{Message, MpiApi};
use super::news::GONE;
use super::{Mpi, NAP, world};
use crate::cluster::launched::{Launched, Launcher};
use crate::cluster::transport::{Shared, Transport};
use crate::error::{Error, Result};

/// How long a rank that leaves waits for the others; one may still be writing the result.
const LEAVING: Duration = Duration::from_secs(24 * 3600);
/// The longest pause between two looks for ranks that left, since one may work for hours.
const LONGEST_NAP: Duration = Duration::from_millis(5);
/// How long a failing rank waits for its error message to be sent.
const GRACE: Duration = Duration::from_secs(2);

impl Mpi {
    /// Joins the ranks that were started with this one. A process can do this once, because MPI can't be
    /// initialised again. `$WARPWEFT_MPI` names the library to load; by default it is the launcher's own.
    ///
    /// # Errors
    /// No library can be loaded (the error lists those tried); it is not the launcher's; the ranks were left
    /// before.
    pub fn join(launched: &Launched) -> Result<Self> {
        let chosen = std::env::var("WARPWEFT_MPI").ok().filter(|name| !name.is_empty());
        let names = match &chosen {
            Some(name) => vec![name.clone()],
            None => places(libraries(launched.launcher), |name| std::env::var_os(name)),
        };
        let mut refused = Vec::new();
        for name in names {
            match world::open(&name) {
                Ok(api) => return Self::checked(api, launched, &name),
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
            tolerant: AtomicBool::new(false),
            lost: Mutex::default(),
        })
    }

    /// Leaves the MPI run in an orderly way: waits until all sent messages have arrived, and up to a day for the other ranks to
    /// leave. Ranks that still wait for messages from this one get an error. Dropping the value also leaves, but can't
    /// report errors.
    ///
    /// # Errors
    /// A rank has aborted, e.g. because it waited for this one; ranks that do not leave, by number; messages
    /// that nobody receives.
    pub fn leave(&self) -> Result<()> {
        self.leave_within(LEAVING)
    }

    fn leave_within(&self, patience: Duration) -> Result<()> {
        if self.left.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        // The program may end with an error of this rank alone; the others learn of it here.
        let rank: Shared = Arc::new(self.rank().to_le_bytes());
        let rank = Message::Host(rank);
        self.others().try_for_each(|to| self.begin(to, GONE, &rank))?;
        let begin = Instant::now();
        let mut nap = NAP;
        while !self.gone_or_lost() {
            self.check()?;
            if begin.elapsed() > patience {
                return Err(self.left_alone(patience));
            }
            std::thread::sleep(nap);
            nap = (2 * nap).min(LONGEST_NAP);
        }
        // A rank that left because it had aborted said so before, and may not reach MPI's finalisation.
        self.receive_news()?;
        self.check_aborted()?;
        if !self.lost().is_empty() {
            // Open MPI's finalisation hangs in some of these cases; `mpirun` takes processes that end without it.
            self.drain();
            return Ok(());
        }
        self.flush()?;
        match self.api.finalize() {
            // A rank that is lost in this moment has done its work.
            Err(_) if self.tolerant.load(Ordering::Relaxed) => Ok(()),
            outcome => outcome.map_err(|why| self.fault(why)),
        }
    }

    /// Whether every other rank has left or is lost.
    fn gone_or_lost(&self) -> bool {
        let (gone, lost) = (self.gone(), self.lost());
        self.others().all(|rank| gone.contains(&rank) || lost.contains(&rank))
    }

    /// Gives messages a moment to arrive.
    fn drain(&self) {
        let begin = Instant::now();
        while begin.elapsed() < GRACE && self.api.reap().is_ok_and(|left| left > 0) {
            std::thread::sleep(NAP);
        }
    }

    /// The error if some ranks have not left long after this one.
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
                "{ranks} {} {have} not left MPI {:.0} s after this rank",
                here.join(", "),
                patience.as_secs_f64()
            ),
            hint: "look for a rank that hangs; the work of this rank is complete".into(),
        }
    }

    /// Ends every rank with this status. Returns only if MPI can't do so, if the other ranks go on
    /// without this one, or if a rank is lost. Abort messages get a moment to arrive, so that
    /// waiting ranks can print their error.
    pub fn end_all(&self, status: u8) {
        if self.lost().contains(&self.rank()) {
            return;
        }
        self.drain();
        // Others that are left find it out by themselves; Open MPI's `mpirun` may hang when it is to abort after a loss.
        if !self.lost().is_empty() {
            return;
        }
        // Time for those ranks to print the error.
        std::thread::sleep(Duration::from_millis(300));
        self.api.abort(status.into());
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // After a panic the process ends, and `mpirun` ends the others.
        if std::thread::panicking() {
            return;
        }
        // No one can receive an error; the launcher sees ranks that end without leaving.
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

/// Where a library of these names may be: in the folders of the system's loader, then in the active environment.
/// Never in the current folder.
fn places(names: &[&str], variable: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| variable(name));
    let folders = active.map(PathBuf::from).filter(|folder| folder.is_absolute());
    let folders: Vec<_> = folders.map(|folder| folder.join("lib")).collect();
    let inside = folders.iter().flat_map(|folder| {
        let there = names.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
        there.map(|path| path.display().to_string())
    });
    names.iter().map(|name| (*name).to_string()).chain(inside).collect()
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
    use crate::cluster::mpi::api::{Fault, Polled, Room};
    use crate::cluster::transport::Tag;

    /// The middle one of three ranks, of which only the first ever leaves.
    struct Hung(AtomicBool);

    impl MpiApi for Hung {
        fn rank_and_ranks(&self) -> (usize, usize) {
            (1, 3)
        }
        fn start(&self, _: usize, _: Tag, _: &Message, _: Range<usize>) -> Result<(), Fault> {
            Ok(())
        }
        fn reap(&self) -> Result<usize, Fault> {
            Ok(0)
        }
        fn is_lost(&self, _: usize) -> bool {
            false
        }
        fn acknowledge_losses(&self) {}
        fn poll(&self, _: Option<usize>, tag: Tag, room: Room<'_>) -> Result<Polled, Fault> {
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
    fn the_active_environment_is_searched_after_the_system() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lib/libmpi.so.12");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "").unwrap();
        let found = |value: OsString| {
            places(&["libmpi.so.12", "libmpi.so"], |name| {
                (name == "VIRTUAL_ENV").then(|| value.clone())
            })
        };
        let expect = ["libmpi.so.12", "libmpi.so"].map(String::from);
        let inside = [&expect[..], &[file.display().to_string()]].concat();
        assert_eq!(found(folder.path().into()), inside);
        assert_eq!(found(".".into()), expect);
    }

    #[test]
    fn who_does_not_leave_is_named_and_not_waited_for_forever() {
        let mpi = Mpi {
            api: Box::new(Hung(AtomicBool::new(false))),
            aborted: Mutex::new(None),
            gone: Mutex::default(),
            left: AtomicBool::new(false),
            polls: AtomicU32::new(0),
            tolerant: AtomicBool::new(false),
            lost: Mutex::default(),
        };
        let error = mpi.leave_within(Duration::from_millis(200)).unwrap_err().to_string();
        assert!(error.contains("rank 2 has not left") && error.contains("rank 1"), "{error}");
        // It has left, so dropping it waits for no one.
        assert!(mpi.leave().is_ok());
    }
}
