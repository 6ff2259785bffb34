//! The endpoint of a worker whose master is on another rank.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::message::Up;
use super::{OUTPUTS, UP};
use crate::drive::endpoint::{Endpoint, Message};
use crate::spec::worker::Grain;
use warpweft_core::cluster::Transport;

/// A worker whose chunks take less asks for the next one before it runs the last.
const AHEAD_BELOW: f64 = 0.05;

/// The replies of rank 0 to the workers of a rank, and how many of their results are on their way there. Workers send
/// their own messages; the thread that receives from rank 0 fills this in.
pub struct RemoteEndpoint<'a> {
    net: &'a dyn Transport,
    state: Mutex<State>,
    changed: Condvar,
    /// Workers end after the task that they run.
    cut: AtomicBool,
}

struct State {
    /// By worker: the reply to its request.
    replies: Vec<Option<Option<Range<u64>>>>,
    /// By worker: whether its next request is made already.
    ahead: Vec<bool>,
    /// Workers whose requests have no reply yet.
    requesting: usize,
    /// How many more outputs may be on their way; those of late tasks do not wait for room.
    room: i64,
    /// The farm is over: no replies, and results are not received.
    over: bool,
}

impl<'a> RemoteEndpoint<'a> {
    /// For so many workers, with so much on its way at most.
    pub fn new(net: &'a dyn Transport, workers: usize, room: usize) -> Self {
        let state = State {
            replies: vec![None; workers],
            ahead: vec![false; workers],
            requesting: 0,
            room: room as i64,
            over: false,
        };
        Self { net, state: Mutex::new(state), changed: Condvar::new(), cut: AtomicBool::new(false) }
    }

    /// `worker` gets `range`, or nothing more. Of a worker that is not there nothing is kept.
    pub fn reply(&self, worker: usize, range: Option<Range<u64>>) {
        self.change(|state| {
            if let Some(reply) = state.replies.get_mut(worker) {
                *reply = Some(range);
            }
        });
    }

    /// A result has arrived.
    pub fn taken(&self) {
        self.change(|state| state.room += 1);
    }

    /// No request gets a reply any more, and nothing is sent.
    pub fn over(&self) {
        self.cut.store(true, Ordering::Relaxed);
        self.change(|state| state.over = true);
    }

    /// No request gets a reply any more, and workers end after the task that they run.
    pub fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
        self.change(|state| state.replies.fill(Some(None)));
    }

    /// Sleeps so long, or until a worker makes a request; not longer than `short` while one waits for a reply.
    pub fn rest(&self, long: Duration, short: Duration) {
        let state = self.state();
        let pause = if state.requesting > 0 { long.min(short) } else { long };
        // Woken or timed out: its caller looks again.
        drop(self.changed.wait_timeout(state, pause));
    }

    /// Nothing panics while it is held.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until `ready` gives something; `None` once all is over.
    fn wait<R>(&self, mut ready: impl FnMut(&mut State) -> Option<R>) -> Option<R> {
        let mut state = self.state();
        while !state.over {
            if let Some(found) = ready(&mut state) {
                return Some(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        None
    }

    fn send_up(&self, message: Up) -> bool {
        let tag = match message {
            Up::Done { .. } | Up::Lost { .. } | Up::Stuck { .. } => OUTPUTS,
            _ => UP,
        };
        // The receiving thread finds out what is wrong with the other ranks.
        self.net.send(0, tag, message.pack()).is_ok()
    }
}

impl Endpoint for &RemoteEndpoint<'_> {
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        let asked = self.state().ahead.get_mut(worker).is_some_and(std::mem::take);
        if self.is_over() || !(asked || self.send_up(Up::Request { worker, grain, took })) {
            return None;
        }
        self.change(|state| state.requesting += 1);
        let reply = self.wait(|state| state.replies.get_mut(worker).and_then(Option::take));
        self.state().requesting -= 1;
        // Rank 0 replies while this chunk is run. Long ones are better left to whichever worker is free first.
        if took.is_some_and(|(_, seconds)| seconds < AHEAD_BELOW) && matches!(reply, Some(Some(_)))
        {
            let took = took.filter(|_| asked);
            if self.send_up(Up::Request { worker, grain, took }) {
                self.change(|state| state.ahead[worker] = true);
            }
        }
        reply.flatten()
    }

    fn is_over(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }

    fn send(&self, message: Message) -> bool {
        let up = match message {
            Message::Done { worker, range, collected, seconds, late } => {
                let room = |state: &mut State| (state.room > 0 || late).then(|| state.room -= 1);
                if self.wait(room).is_none() {
                    return false;
                }
                Up::Done { worker, range, collected, seconds, late }
            }
            Message::Lost { worker, why } => Up::Lost { worker, why: why.to_string() },
            Message::Stuck { worker, task } => Up::Stuck { worker, task },
            Message::Interrupted => Up::Interrupted,
            // The receiving thread has this error, and tells when all have left.
            Message::Broken(_) | Message::Left { .. } => return false,
        };
        self.send_up(up)
    }
}
