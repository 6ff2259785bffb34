//! Rank 0, which has ledger, journal and sink: workers of all ranks request chunks from it, and the thread that called
//! `run` commits their outputs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Scope, ScopedJoinHandle, scope};
use std::time::Instant;

use super::Finish;
use super::rank_server::RankServer;
use crate::drive::clocks::Clocks;
use crate::drive::committer::{Committer, Served};
use crate::drive::context::WorkerContext;
use crate::drive::endpoint::{LocalEndpoint, Message};
use crate::drive::local_workers::{LocalWorkers, Threads, bug, spawn};
use crate::drive::roll::Roll;
use crate::drive::table::WorkerTable;
use crate::drive::{AHEAD, Run};
use crate::journal::{Opened, Writer};
use crate::report::{Ended, Failures, Outcome, Share};
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
use warpweft_core::report::counted;

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

    /// Has every worker do its `work`, hands over what comes of it, and has `finish` say how it ended.
    ///
    /// # Errors
    /// As [`Farm::run_into`](super::Farm::run_into).
    pub fn run(
        mut self,
        begin: Instant,
        run: &Run<'_>,
        (sink, skip, describe): (&mut Sink<'_>, Skip, &dyn Fn(u64) -> Option<String>),
        work: &(dyn Fn(&WorkerContext<'_>) + Sync),
        finish: &mut Finish<'_>,
    ) -> Result<Outcome> {
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
            overdue: run.settings.overdue,
            roll: Roll::of(self.table.workers.len()),
            stop: run.stop(),
            shares: self.table.workers.iter().copied().map(Share::new).collect(),
            retries: self.retries,
            attempts: HashMap::new(),
            begun: Instant::now(),
            describe,
            failures: Failures::default(),
            gone: false,
        };
        let (called, begun) = (Instant::now(), OnceLock::new());
        let (send, messages) = sync_channel(AHEAD * self.table.workers.len());
        let (master, closed) = (&*self.master, &AtomicBool::new(false));
        let (this, begun) = (&self, &begun);
        // The closure owns `messages` and all of its senders: once it ends, no worker can block on a send.
        scope(move |scope| {
            // However the committer ends, also by a panic of the sink, the workers end too.
            let stop = Stop(master, &this.local.clocks, closed);
            let (server, threads) = this.start(scope, send, run, (begun, closed), work);
            let served = match &threads {
                Ok(_) => committer.serve(messages),
                Err(_) => Ok(Served::default()),
            };
            stop.cut();
            let through = || threads.as_ref().map_or(true, Threads::are_through);
            let stuck = this.local.clocks.wait(through);
            // Until these have ended, other ranks hear that this one is there. Who does not return is waited for behind this.
            let joined = threads.and_then(|threads| if stuck { Ok(()) } else { threads.join() });
            drop(stop);
            let server = server.map_or(Ok(()), ScopedJoinHandle::join);
            let server = server.map_err(|panic| bug(panic_text(panic.as_ref())));
            let start = begun.get().copied().unwrap_or(called);
            let ended = joined.and(server).and(served);
            let ended =
                ended.and_then(|served| this.ended(&mut committer, served, (begin, start), run));
            finish(ended, stuck)
        })
    }

    /// Starts the workers, and what serves other ranks.
    fn start<'scope, 's: 'scope>(
        &'s self,
        scope: &'scope Scope<'scope, '_>,
        send: SyncSender<Message>,
        run: &'s Run<'_>,
        (begun, closed): (&'s OnceLock<Instant>, &'s AtomicBool),
        work: &'s (dyn Fn(&WorkerContext<'_>) + Sync),
    ) -> (Option<ScopedJoinHandle<'scope, ()>>, Result<Threads<'scope>>) {
        let master = &*self.master;
        let mut server = None;
        if let Some(net) = run.others() {
            let (firsts, silence) = (&self.table.firsts[..], run.settings.silence);
            let serving = RankServer { net, master, firsts, begun, silence, closed };
            let committer = send.clone();
            match spawn(scope, "ranks".into(), move || serving.work(committer)) {
                Ok(thread) => server = Some(thread),
                Err(error) => return (None, Err(error)),
            }
        }
        let endpoint = || Box::new(LocalEndpoint { master, committer: send.clone() }) as Box<_>;
        (server, self.local.spawn(scope, &endpoint, run.trace.as_ref(), begun, work))
    }

    /// How the farm ended that began at the first and had its workers at the second time.
    fn ended(
        &self,
        committer: &mut Committer<'_>,
        served: Served,
        (begin, start): (Instant, Instant),
        run: &Run<'_>,
    ) -> Result<Ended> {
        let seconds = start.elapsed().as_secs_f64();
        let shares = std::mem::take(&mut committer.shares);
        let failures = std::mem::take(&mut committer.failures);
        let (failures, failed) = (failures.count, failures.list());
        if let (Some(first), OnFailure::Stop) = (failed.first(), self.on_failure) {
            return Err(first.error());
        }
        let (ledger, fault) = self.master.end();
        fault.map_or(Ok(()), Err)?;
        let unreached = ledger.free().count() + ledger.out();
        let interrupted = unreached > 0;
        if interrupted && !served.interrupted && !served.stuck {
            return Err(left(unreached, self.tasks));
        }
        let alone = run.net.is_none().then(Launched::unjoined).flatten();
        let stuck = served.stuck.then(|| not_reached(unreached));
        let lost = shares.iter().filter_map(lost).chain(stragglers(&shares, seconds));
        let lost = lost.chain(self.local.keep_blocks());
        let notes = alone.into_iter().chain(stuck).chain(self.notes.iter().cloned()).chain(lost);
        Ok(Ended {
            seconds: [(start - begin).as_secs_f64(), seconds],
            first: self.first,
            committed: served.committed,
            interrupted,
            devices: self.table.devices.clone(),
            ranks: self.table.firsts.len() - 1,
            notes: notes.collect(),
            shares,
            failures,
            failed,
            unreached,
        })
    }
}

/// What is noted of a worker that was lost.
fn lost(share: &Share) -> Option<String> {
    share.lost.as_ref().map(|why| format!("{} was lost: {why}", share.worker))
}

/// What is noted of a farm that ended because no worker was left.
fn not_reached(unreached: u64) -> String {
    format!(
        "{} not reached: every worker was lost, to tasks that do not return or otherwise; help: have tasks return when \
         `farm::is_cancelled()`, or raise `Settings::task_limit`; another run with the same journal computes the rest",
        counted(unreached, "task")
    )
}

/// Tasks that no worker ran although one could: a defect of the farm, which must not look like success.
fn left(left: u64, tasks: u64) -> Error {
    let what = format!("{left} of {tasks} tasks were left by a farm that ended");
    Error::spec(what, "please report this")
}

/// Ends a farm when it goes.
struct Stop<'a>(&'a Master, &'a Clocks, &'a AtomicBool);

impl Stop<'_> {
    /// No task is begun any more, and those that run are told.
    fn cut(&self) {
        self.0.cut();
        self.1.over();
    }
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.cut();
        self.2.store(true, Ordering::Release);
    }
}
