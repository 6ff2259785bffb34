//! Rank 0, which has ledger, journal and sink: workers of all ranks request chunks from it, and the thread that called
//! `run` commits their outputs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::thread::scope;
use std::time::Instant;

use super::rank_server::RankServer;
use crate::drive::clocks::Clocks;
use crate::drive::committer::{Committer, Served};
use crate::drive::context::WorkerContext;
use crate::drive::endpoint::LocalEndpoint;
use crate::drive::local_workers::{LocalWorkers, bug, spawn};
use crate::drive::table::WorkerTable;
use crate::drive::{AHEAD, Run};
use crate::journal::{Opened, Writer};
use crate::report::{Ended, Failures, Share};
use crate::schedule;
use crate::schedule::dispatcher::Dispatcher;
use crate::schedule::master::Master;
use crate::schedule::ranges::Ranges;
use crate::spec::OnFailure;
use crate::spec::chunk::{Sink, Skip};
use crate::stragglers::stragglers;
use warpweft_core::cluster::Launched;
use warpweft_core::cpu::panic_text;
use warpweft_core::error::{Error, Result};

/// A farm where its outputs come together, compiled once for all tasks.
pub struct Coordinator<'a> {
    local: &'a LocalWorkers,
    /// The workers of all ranks.
    table: &'a WorkerTable,
    master: Arc<Master>,
    tasks: u64,
    /// Tasks that an earlier run did.
    first: u64,
    journal: Option<Writer>,
    on_failure: OnFailure,
    retries: u32,
    notes: Vec<String>,
}

impl<'a> Coordinator<'a> {
    /// Of `tasks` tasks, without those that are `kept`, for all workers of `table`.
    pub fn new(
        tasks: u64,
        kept: Option<Opened>,
        local: &'a LocalWorkers,
        table: &'a WorkerTable,
        (on_failure, retries): (OnFailure, u32),
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
        let dispatcher = Dispatcher::resumed(tasks, done, &table.workers, scheduler);
        let dispatcher = match run.settings.task_limit {
            Some(_) => dispatcher.limited(),
            None => dispatcher,
        };
        let master = Arc::new(Master::new(dispatcher));
        Self { local, table, master, tasks, first, journal, on_failure, retries, notes }
    }

    /// Lets `taker` add tasks until it closes the farm.
    pub fn open(&self, taker: &mut dyn FnMut(Arc<Master>)) {
        self.master.open();
        taker(self.master.clone());
    }

    /// Has every worker do its `work`, and hands over what comes of it.
    ///
    /// # Errors
    /// As [`Farm::run_into`](super::Farm::run_into).
    pub fn run(
        mut self,
        begin: Instant,
        run: &Run<'_>,
        (sink, skip, describe): (&mut Sink<'_>, Skip, &dyn Fn(u64) -> Option<String>),
        work: &(dyn Fn(&WorkerContext<'_>) + Sync),
    ) -> Result<Ended> {
        let (tasks, first, mut journal) = (self.tasks, self.first, self.journal.take());
        let mut committer = Committer {
            master: &self.master,
            journal: journal.as_mut(),
            sink,
            skip,
            on_failure: self.on_failure,
            reporter: run.reporter(tasks),
            first,
            clocks: &self.local.clocks,
            task_limit: run.settings.task_limit,
            overdue: run.settings.overdue,
            stop: run.stop(),
            shares: self.table.workers.iter().copied().map(Share::new).collect(),
            retries: self.retries,
            attempts: HashMap::new(),
            begun: Instant::now(),
            describe,
            failures: Failures::default(),
        };
        let (called, begun) = (Instant::now(), OnceLock::new());
        let served = self.serve(&mut committer, run, &begun, work)?;
        // Cores begin at once; GPUs alone once one of their lanes is open.
        let start = begun.get().copied().unwrap_or(called);
        let seconds = start.elapsed().as_secs_f64();
        let Committer { shares, failures, .. } = committer;
        let (failures, failed) = (failures.count, failures.list());
        if let (Some(first), OnFailure::Stop) = (failed.first(), self.on_failure) {
            return Err(first.error());
        }
        let (ledger, fault) = self.master.end();
        fault.map_or(Ok(()), Err)?;
        let interrupted = !ledger.is_settled();
        if interrupted && !served.interrupted {
            return Err(left(ledger.free().count() + ledger.out(), tasks));
        }
        let alone = run.net.is_none().then(Launched::unjoined).flatten();
        let lost = shares.iter().filter_map(lost).chain(stragglers(&shares, seconds));
        let lost = lost.chain(self.local.keep_blocks());
        Ok(Ended {
            seconds: [(start - begin).as_secs_f64(), seconds],
            first,
            committed: served.committed,
            interrupted,
            devices: self.table.devices.clone(),
            ranks: self.table.firsts.len() - 1,
            notes: alone.into_iter().chain(self.notes.iter().cloned()).chain(lost).collect(),
            shares,
            failures,
            failed,
        })
    }

    /// All workers do their `work` while this thread is the committer.
    fn serve(
        &self,
        committer: &mut Committer<'_>,
        run: &Run<'_>,
        begun: &OnceLock<Instant>,
        work: &(dyn Fn(&WorkerContext<'_>) + Sync),
    ) -> Result<Served> {
        let (send, messages) = sync_channel(AHEAD * self.table.workers.len());
        let (master, closed) = (&*self.master, &AtomicBool::new(false));
        // The closure owns `messages` and all of its senders: once it ends, no worker can block on a send.
        scope(move |scope| {
            // However the committer ends, also by a panic of the sink, the workers end too.
            let stop = Stop(master, &self.local.clocks, closed);
            let server = match run.others() {
                Some(net) => {
                    let firsts = &self.table.firsts;
                    let silence = run.settings.silence;
                    let server = RankServer { net, master, firsts, begun, silence, closed };
                    let committer = send.clone();
                    Some(spawn(scope, "ranks".into(), move || server.work(committer))?)
                }
                None => None,
            };
            let endpoint = || Box::new(LocalEndpoint { master, committer: send.clone() }) as Box<_>;
            let threads = self.local.spawn(scope, &endpoint, run.trace.as_ref(), begun, work)?;
            drop(send);
            let served = committer.serve(messages);
            drop(stop);
            threads.join()?;
            if let Some(Err(panic)) = server.map(|server| server.join()) {
                return Err(bug(panic_text(panic.as_ref())));
            }
            served
        })
    }
}

/// What is noted of a worker that was lost.
fn lost(share: &Share) -> Option<String> {
    share.lost.as_ref().map(|why| format!("{} was lost: {why}", share.worker))
}

/// Tasks that no worker ran although one could: a defect of the farm, which must not look like success.
fn left(left: u64, tasks: u64) -> Error {
    let what = format!("{left} of {tasks} tasks were left by a farm that ended");
    Error::spec(what, "please report this")
}

/// Ends a farm when it goes.
struct Stop<'a>(&'a Master, &'a Clocks, &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.cut();
        self.1.over();
        self.2.store(true, Ordering::Release);
    }
}
