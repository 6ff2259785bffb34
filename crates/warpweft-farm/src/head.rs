//! The process that has ledger, journal and sink: its units and those of other ranks ask it, and the thread that
//! called `run` hands over what comes of them.

use std::sync::OnceLock;
use std::sync::mpsc::sync_channel;
use std::thread::scope;
use std::time::Instant;

use super::clerk::{Clerk, Served, Sink};
use super::desk::Beside;
use super::dispatcher::Dispatcher;
use super::journal::{Opened, Writer};
use super::master::Master;
use super::ranges::Ranges;
use super::ranks::{Porter, Table};
use super::report::{Ended, Failed, Share};
use super::run::{AHEAD, Run};
use super::schedule;
use super::slot::Slot;
use super::spec::OnFailure;
use super::workers::{Workers, bug, spawn};
use warpweft_core::cluster::Launched;
use warpweft_core::cpu::panic_text;
use warpweft_core::error::{Error, Result};

/// A farm where its outputs come together, compiled once for all tasks.
pub struct Head<'a> {
    workers: &'a Workers,
    /// The units of all ranks.
    table: &'a Table,
    master: Master,
    tasks: u64,
    /// Tasks that an earlier run did.
    first: u64,
    journal: Option<Writer>,
    on_failure: OnFailure,
    notes: Vec<String>,
}

impl<'a> Head<'a> {
    /// Of `tasks` tasks, without those that are `kept`, for all units of `table`.
    pub fn new(
        tasks: u64,
        kept: Option<Opened>,
        workers: &'a Workers,
        table: &'a Table,
        on_failure: OnFailure,
        run: &Run<'_>,
    ) -> Self {
        let scheduler = run
            .settings
            .scheduler
            .map_or_else(|| schedule::of(&run.policy.unwrap_or_default()), |own| own());
        let (done, journal, notes) = match kept {
            Some(Opened { done, writer, notes }) => (done, Some(writer), notes),
            None => (Ranges::default(), None, Vec::new()),
        };
        let first = done.count();
        let master = Master::new(Dispatcher::resumed(tasks, done, &table.units, scheduler));
        Self { workers, table, master, tasks, first, journal, on_failure, notes }
    }

    /// Has every unit do its `work`, and hands over what comes of it.
    ///
    /// # Errors
    /// As [`Farm::run_into`](super::Farm::run_into).
    pub fn run(
        mut self,
        begin: Instant,
        run: &Run<'_>,
        sink: &mut Sink<'_>,
        work: &(dyn Fn(&Slot<'_>) + Sync),
    ) -> Result<Ended> {
        let shares: Vec<_> = self.table.units.iter().copied().map(Share::new).collect();
        let (tasks, first) = (self.tasks, self.first);
        let mut journal = self.journal.take();
        let mut clerk = Clerk {
            master: &self.master,
            journal: journal.as_mut(),
            sink,
            on_failure: self.on_failure,
            reporter: run.reporter(tasks),
            first,
            stop: run.stop(),
            shares,
            failed: Vec::new(),
        };
        let (called, begun) = (Instant::now(), OnceLock::new());
        let served = self.serve(&mut clerk, run, &begun, work)?;
        // Cores begin at once; GPUs alone once one of their lanes is open.
        let start = begun.get().copied().unwrap_or(called);
        let seconds = start.elapsed().as_secs_f64();
        let Clerk { shares, mut failed, .. } = clerk;
        failed.sort_by_key(|failed| failed.task);
        if let (Some(first), OnFailure::Stop) = (failed.first(), self.on_failure) {
            let Failed { task, unit, what } = first.clone();
            return Err(Error::Task { task, worker: unit.to_string(), what });
        }
        let (ledger, fault) = self.master.end();
        if let Some(fault) = fault {
            return Err(fault);
        }
        let interrupted = !ledger.is_settled();
        if interrupted && !served.interrupted {
            // Tasks that nobody has, though somebody could: a bug of ours, which must not look like success.
            return Err(Error::spec(
                format!(
                    "{} of {tasks} tasks were left by a farm that ended",
                    ledger.free().count() + ledger.out()
                ),
                "please report this",
            ));
        }
        let alone = run.net.is_none().then(Launched::unjoined).flatten();
        let lost = shares.iter().filter_map(|share| {
            share.lost.as_ref().map(|why| format!("{} was lost: {why}", share.unit))
        });
        Ok(Ended {
            seconds: [(start - begin).as_secs_f64(), seconds],
            first,
            committed: served.committed,
            interrupted,
            devices: self.table.devices.clone(),
            ranks: self.table.firsts.len() - 1,
            notes: alone.into_iter().chain(self.notes.iter().cloned()).chain(lost).collect(),
            shares,
            failed,
        })
    }

    /// All units do their `work` while this thread is the clerk.
    fn serve(
        &self,
        clerk: &mut Clerk<'_>,
        run: &Run<'_>,
        begun: &OnceLock<Instant>,
        work: &(dyn Fn(&Slot<'_>) + Sync),
    ) -> Result<Served> {
        let (send, messages) = sync_channel(AHEAD * self.table.units.len());
        let master = &self.master;
        // The closure owns `messages` and every way to it: whoever still tells when it ends is not waited for.
        scope(move |scope| {
            // Whatever ends the clerk, a panic of the sink too, sends the units home.
            let stop = Stop(master);
            let porter = match run.others() {
                Some(net) => {
                    let firsts = &self.table.firsts;
                    let porter = Porter { net, master, clerk: send.clone(), firsts, begun };
                    Some(spawn(scope, "ranks".into(), move || porter.work())?)
                }
                None => None,
            };
            let desk = || Box::new(Beside { master, clerk: send.clone() }) as Box<_>;
            let threads = self.workers.spawn(scope, &desk, run.trace.as_ref(), begun, work)?;
            drop(send);
            let served = clerk.serve(messages);
            drop(stop);
            threads.join()?;
            if let Some(Err(panic)) = porter.map(|porter| porter.join()) {
                return Err(bug(panic_text(panic.as_ref())));
            }
            served
        })
    }
}

/// Ends a farm when it goes.
struct Stop<'a>(&'a Master);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
