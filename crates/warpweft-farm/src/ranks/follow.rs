//! On all ranks but the first: the workers of this one, and the thread that listens for them.

use std::sync::OnceLock;
use std::thread::scope;
use std::time::{Duration, Instant};

use super::heartbeat::{Heartbeat, silent};
use super::message::{Down, Up, closed};
use super::pause::{FIRST, Pause};
use super::remote_endpoint::RemoteEndpoint;
use super::{DOWN, Finish, OUTPUTS, UP};
use crate::drive::clocks::Clocks;
use crate::drive::context::WorkerContext;
use crate::drive::endpoint::Endpoint;
use crate::drive::local_workers::{LocalWorkers, Threads};
use crate::drive::{AHEAD, Run};
use crate::report::Outcome;
use warpweft_core::cluster::Transport;
use warpweft_core::error::Result;

/// Rank 0 answers an interrupt within this time, unless it is busy or lost.
const ANSWER: Duration = Duration::from_millis(300);

/// Has every worker of this rank do its `work` until rank 0 reports how the farm ended.
///
/// # Errors
/// The farm's; a rank that has aborted.
pub fn follow(
    net: &dyn Transport,
    local: &LocalWorkers,
    run: &Run<'_>,
    work: &(dyn Fn(&WorkerContext<'_>) + Sync),
    finish: &mut Finish<'_>,
) -> Result<Outcome> {
    let workers = local.table.workers.len();
    let endpoint = RemoteEndpoint::new(net, workers, AHEAD * workers);
    let begun = OnceLock::new();
    scope(|scope| {
        let over = Over(&endpoint, &local.clocks);
        let each = || Box::new(&endpoint) as Box<_>;
        let spawned = local.spawn(scope, &each, run.trace.as_ref(), &begun, work);
        let (mut threads, spawned) = match spawned {
            Ok(threads) => (Some(threads), Ok(())),
            Err(error) => (None, Err(error)),
        };
        let follower = Follower { net, run, endpoint: &endpoint, clocks: &local.clocks };
        let how = spawned.and_then(|()| follower.listen(&mut threads));
        // However this ends, also by an error of another rank, the workers end too, and `stuck` is called before tasks that were
        // given up are waited for.
        drop(over);
        let stuck = local.clocks.wait(|| threads.as_ref().is_none_or(Threads::are_through));
        finish(how.and_then(|how| closed(net.rank(), &how)), stuck)
    })
}

/// The thread of a rank that listens to rank 0.
struct Follower<'a, 'n, 'r> {
    net: &'n dyn Transport,
    run: &'a Run<'r>,
    endpoint: &'a RemoteEndpoint<'n>,
    clocks: &'a Clocks,
}

impl Follower<'_, '_, '_> {
    /// Does what rank 0 says until it reports how the farm ended, and takes `threads` that are through.
    fn listen(&self, threads: &mut Option<Threads<'_>>) -> Result<Vec<u8>> {
        let Self { net, run, endpoint, clocks } = *self;
        let silence = run.settings.silence;
        let (mut at_work, mut interrupted, mut asked) = (true, false, None);
        let (mut pause, mut beat, mut heard) = (Pause::new(), Heartbeat::new(), Instant::now());
        loop {
            if let Some(bytes) = net.poll(0, DOWN)? {
                pause.renew();
                (heard, asked) = (Instant::now(), None);
                if let Some(how) = self.heed(Down::unpack(&bytes)?)? {
                    return Ok(how);
                }
                continue;
            }
            if let Some(ended) = threads.take_if(|threads| threads.are_through()) {
                ended.join()?;
            }
            if at_work && (threads.is_none() || clocks.all_gone()) {
                at_work = false;
                net.send(0, OUTPUTS, Up::Bye.pack())?;
                net.send(0, UP, Up::Bye.pack())?;
            }
            if heard.elapsed() > silence {
                net.give_up(0);
                return Err(silent(0, silence));
            }
            if at_work && beat.is_due() {
                net.send(0, UP, Up::Alive.pack())?;
            }
            for message in clocks.look() {
                endpoint.send(message);
            }
            // After `Bye` rank 0 no longer listens to this rank.
            if !interrupted && at_work && run.stopped() {
                interrupted = true;
                net.send(0, UP, Up::Interrupted.pack())?;
                asked = Some(Instant::now());
            }
            let late = asked.take_if(|asked| asked.elapsed() > ANSWER);
            late.and(run.settings.orphaned).iter().for_each(|orphaned| orphaned());
            endpoint.rest(pause.next(), FIRST);
        }
    }

    /// Does what rank 0 says; how the farm ended, once it has.
    fn heed(&self, message: Down) -> Result<Option<Vec<u8>>> {
        let Self { net, run, endpoint, clocks } = *self;
        match message {
            Down::Chunk { worker, range } => endpoint.reply(worker, range),
            Down::Taken => endpoint.taken(),
            Down::Over => {
                endpoint.over();
                clocks.over();
            }
            Down::Cut => {
                endpoint.cut();
                clocks.over();
            }
            Down::Alive => {}
            Down::GivenUp => {
                net.give_up(net.rank());
                return Err(silent(net.rank(), run.settings.silence));
            }
            Down::Closed(how) => return Ok(Some(how)),
        }
        Ok(None)
    }
}

/// Ends the wait of all workers when it goes.
struct Over<'a, 'n>(&'a RemoteEndpoint<'n>, &'a Clocks);

impl Drop for Over<'_, '_> {
    fn drop(&mut self) {
        self.0.over();
        self.1.over();
    }
}
