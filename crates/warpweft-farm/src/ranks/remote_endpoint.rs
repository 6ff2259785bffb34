//! The endpoint of a worker whose master is on another rank.

use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::UP;
use super::message::Up;
use crate::drive::endpoint::{Endpoint, Message};
use crate::spec::worker::Grain;
use warpweft_core::cluster::Transport;

/// What the workers of a rank have been told by the first one, and how much of theirs is on its way there. Workers send for
/// themselves; the thread that listens to the first rank fills this in.
pub struct RemoteEndpoint<'a> {
    net: &'a dyn Transport,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By worker: what came for one that asked.
    answers: Vec<Option<Option<Range<u64>>>>,
    /// Workers that have asked and know nothing yet.
    asking: usize,
    /// How many more outputs may be on their way.
    room: usize,
    /// Nobody answers or takes anything any more.
    over: bool,
}

impl<'a> RemoteEndpoint<'a> {
    /// For so many workers, with so much on its way at most.
    pub fn new(net: &'a dyn Transport, workers: usize, room: usize) -> Self {
        let state = State { answers: vec![None; workers], asking: 0, room, over: false };
        Self { net, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// `worker` gets `range`, or nothing more. Of a worker that is not there nothing is kept.
    pub fn answer(&self, worker: usize, range: Option<Range<u64>>) {
        self.change(|state| {
            if let Some(answer) = state.answers.get_mut(worker) {
                *answer = Some(range);
            }
        });
    }

    /// Something that was told has arrived.
    pub fn taken(&self) {
        self.change(|state| state.room += 1);
    }

    /// Nobody is answered any more.
    pub fn over(&self) {
        self.change(|state| state.over = true);
    }

    /// Sleeps so long, or until a worker asks; not longer than `short` while one does.
    pub fn rest(&self, long: Duration, short: Duration) {
        let state = self.state();
        let pause = if state.asking > 0 { long.min(short) } else { long };
        // Whoever wakes it or not: its caller looks again.
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

    fn send(&self, told: Up) -> bool {
        // Whoever listens finds out what is wrong with the other ranks.
        self.net.send(0, UP, told.pack()).is_ok()
    }
}

impl Endpoint for &RemoteEndpoint<'_> {
    fn request(&self, worker: usize, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        if self.state().over || !self.send(Up::Request { worker, grain, took }) {
            return None;
        }
        self.change(|state| state.asking += 1);
        let answer = self.wait(|state| state.answers.get_mut(worker).and_then(Option::take));
        self.state().asking -= 1;
        answer.flatten()
    }

    fn tell(&self, message: Message) -> bool {
        let told = match message {
            Message::Done { worker, range, collected, seconds } => {
                let room = |state: &mut State| {
                    state.room = state.room.checked_sub(1)?;
                    Some(())
                };
                if self.wait(room).is_none() {
                    return false;
                }
                Up::Done { worker, range, collected, seconds }
            }
            Message::Lost { worker, why } => Up::Lost { worker, why: why.to_string() },
            Message::Interrupted => Up::Interrupted,
            // Of whom it is known elsewhere.
            Message::Broken(_) => return false,
        };
        self.send(told)
    }
}
