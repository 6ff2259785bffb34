//! On rank 0: passes the messages of workers of other ranks to master and committer, and sends them the replies. It never
//! waits for the committer: while that is behind, requests are still answered, and outputs stay in the network. A rank
//! that is lost leaves its tasks to others.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::time::{Duration, Instant};

use super::heartbeat::{Heartbeat, silent};
use super::message::{Down, Up, unreadable};
use super::pause::Pause;
use super::{DOWN, OUTPUTS, UP};
use crate::drive::endpoint::Message;
use crate::schedule::dispatcher::Reply;
use crate::schedule::master::Master;
use crate::spec::worker::Grain;
use warpweft_core::cluster::{Tag, Transport};
use warpweft_core::error::{Error, Result};

/// Between the other ranks and this one's master and committer, on a thread of its own.
pub struct RankServer<'a> {
    /// To the other ranks.
    pub net: &'a dyn Transport,
    /// Gives chunks.
    pub master: &'a Master,
    /// Where each rank's workers begin among all, and where the last one's end.
    pub firsts: &'a [usize],
    /// When the first worker was ready to work.
    pub begun: &'a OnceLock<Instant>,
    /// A rank that sends nothing for so long is lost.
    pub silence: Duration,
    /// The committer has ended.
    pub closed: &'a AtomicBool,
}

/// A worker whose request has no reply yet.
struct Waiting {
    rank: usize,
    worker: usize,
    grain: Grain,
    /// When the request is repeated at the latest, by the master's time.
    until: f64,
}

/// Another rank, as long as something may come of it.
#[derive(Clone, Copy)]
struct Peer {
    rank: usize,
    /// When something came last, or could not be looked for.
    heard: Instant,
    /// It sends no more requests.
    asked: bool,
    /// It sends no more outputs.
    told: bool,
}

/// What there is to serve.
struct Serving {
    peers: Vec<Peer>,
    waiting: Vec<Waiting>,
    /// The master's generation in which these were told to wait.
    seen: usize,
    /// What the committer had no room for, and the rank that is to hear that it was taken.
    held: VecDeque<(Option<usize>, Message)>,
    /// The committer takes nothing any more.
    over: bool,
}

impl RankServer<'_> {
    /// Serves until the workers of all other ranks have ended, and then says that this rank is there until the committer
    /// has ended, too. Errors go to the committer.
    pub fn work(self, committer: SyncSender<Message>) {
        let served = self.carry(&committer);
        if let Err(why) = served {
            // The committer may have gone over another error.
            let _ = committer.send(Message::Broken(why));
            self.master.stop();
        }
        drop(committer);
        self.stay();
    }

    fn carry(&self, committer: &SyncSender<Message>) -> Result<()> {
        let peer = |rank| Peer { rank, heard: Instant::now(), asked: false, told: false };
        let mut serving = Serving {
            peers: (1..self.net.ranks()).map(peer).collect(),
            waiting: Vec::new(),
            seen: self.master.generation(),
            held: VecDeque::new(),
            over: false,
        };
        let (mut cut, mut pause, mut beat) = (false, Pause::new(), Heartbeat::new());
        while !serving.peers.is_empty() || !serving.held.is_empty() {
            let mut came = self.hand_over(&mut serving, committer)?;
            // One message of each at a time, so that none keeps the others waiting.
            for at in 0..serving.peers.len() {
                came |= self.look(&mut serving, at)?;
            }
            self.dismiss(&mut serving);
            self.repeat(&mut serving)?;
            if !cut && self.master.is_over() {
                cut = true;
                self.tell_all(&serving, || Down::Cut)?;
            }
            // To those, too, that have ended: they wait for the farm's end.
            self.beat(&mut beat);
            match came {
                true => pause.renew(),
                false => std::thread::sleep(pause.next()),
            }
        }
        Ok(())
    }

    /// Until the committer has ended: its sink may have much to do.
    fn stay(&self) {
        let (mut beat, mut pause) = (Heartbeat::new(), Pause::new());
        while !self.closed.load(Ordering::Acquire) {
            self.beat(&mut beat);
            std::thread::sleep(pause.next());
        }
    }

    /// Tells all others that this rank is there, if that is due.
    fn beat(&self, beat: &mut Heartbeat) {
        if beat.is_due() {
            for rank in 1..self.net.ranks() {
                // Whatever is wrong, the farm's end says it.
                let _ = self.net.send(rank, DOWN, Down::Alive.pack());
            }
        }
    }

    /// Gives the committer what it has room for; whether it had some.
    fn hand_over(&self, serving: &mut Serving, committer: &SyncSender<Message>) -> Result<bool> {
        let mut came = false;
        while let Some((rank, message)) = serving.held.pop_front() {
            match committer.try_send(message) {
                Err(TrySendError::Full(message)) => {
                    serving.held.push_front((rank, message));
                    return Ok(came);
                }
                Err(TrySendError::Disconnected(_)) if !serving.over => {
                    serving.over = true;
                    self.tell_all(serving, || Down::Over)?;
                }
                Err(TrySendError::Disconnected(_)) | Ok(()) => {}
            }
            came = true;
            if let Some(rank) = rank {
                self.net.send(rank, DOWN, Down::Taken.pack())?;
            }
        }
        Ok(came)
    }

    /// Takes a request and an output of one of the others, if there are some; whether there were.
    fn look(&self, serving: &mut Serving, at: usize) -> Result<bool> {
        let Peer { rank, asked, told, heard } = serving.peers[at];
        let mut came = false;
        for (tag, through) in [(UP, asked), (OUTPUTS, told)] {
            // A committer that is behind lets outputs wait where they are.
            if through || (tag == OUTPUTS && !serving.held.is_empty()) {
                continue;
            }
            let bytes = match self.net.poll(rank, tag) {
                Ok(None) => continue,
                Ok(Some(bytes)) => bytes,
                // Of ranks that all abort none is lost.
                Err(why) if self.net.check().is_ok() && self.net.lost_ranks().contains(&rank) => {
                    self.lose(serving, at, why);
                    return Ok(true);
                }
                Err(why) => return Err(why),
            };
            came = true;
            self.take(serving, at, tag, Up::unpack(rank, &bytes)?)?;
        }
        if came || !serving.held.is_empty() {
            serving.peers[at].heard = Instant::now();
        } else if heard.elapsed() > self.silence {
            self.net.send(rank, DOWN, Down::GivenUp.pack())?;
            self.net.give_up(rank);
            self.lose(serving, at, silent(rank, self.silence));
        }
        Ok(came)
    }

    /// Ranks of which nothing comes any more.
    fn dismiss(&self, serving: &mut Serving) {
        let Serving { peers, held, .. } = serving;
        for Peer { rank, .. } in peers.extract_if(.., |peer| peer.asked && peer.told) {
            let workers = self.firsts[rank]..self.firsts[rank + 1];
            held.extend(workers.map(|worker| (None, Message::Left { worker })));
        }
    }

    fn take(&self, serving: &mut Serving, at: usize, tag: Tag, message: Up) -> Result<()> {
        let rank = serving.peers[at].rank;
        let message = match message {
            Up::Request { worker, grain, took } => {
                self.begun.get_or_init(Instant::now);
                let request = Waiting { rank, worker, grain, until: 0.0 };
                serving.waiting.extend(self.unanswered(request, took)?);
                return Ok(());
            }
            Up::Bye => {
                let peer = &mut serving.peers[at];
                match tag == UP {
                    true => peer.asked = true,
                    false => peer.told = true,
                }
                return Ok(());
            }
            Up::Alive => return Ok(()),
            Up::Interrupted => Message::Interrupted,
            Up::Stuck { worker, task } => {
                Message::Stuck { worker: self.number(rank, worker)?, task }
            }
            Up::Lost { worker, why } => {
                Message::Lost { worker: self.number(rank, worker)?, why: lost(rank, why) }
            }
            Up::Done { worker, range, collected, seconds, late } => {
                let worker = self.number(rank, worker)?;
                let message = Message::Done { worker, range, collected, seconds, late };
                serving.held.push_back((Some(rank), message));
                return Ok(());
            }
        };
        serving.held.push_back((None, message));
        Ok(())
    }

    /// A rank is gone: its workers are, and what they have is free for others.
    fn lose(&self, serving: &mut Serving, at: usize, why: Error) {
        let what = match why {
            Error::Rank { what, .. } => what,
            other => other.to_string(),
        };
        let peer = &mut serving.peers[at];
        let rank = peer.rank;
        (peer.asked, peer.told) = (true, true);
        serving.waiting.retain(|request| request.rank != rank);
        for worker in self.firsts[rank]..self.firsts[rank + 1] {
            let why = lost(rank, what.clone());
            serving.held.push_back((None, Message::Lost { worker, why }));
        }
    }

    /// Repeats the requests to which there may be another reply than when they were seen, or whose time has come.
    fn repeat(&self, serving: &mut Serving) -> Result<()> {
        let (generation, now) = (self.master.generation(), self.master.now());
        let changed = generation != std::mem::replace(&mut serving.seen, generation);
        let due = |request: &Waiting| changed || request.until <= now;
        if serving.waiting.iter().any(due) {
            for request in std::mem::take(&mut serving.waiting) {
                match due(&request) {
                    true => serving.waiting.extend(self.unanswered(request, None)?),
                    false => serving.waiting.push(request),
                }
            }
        }
        Ok(())
    }

    /// Sends the answer to a worker, or gives back its request if there is none yet.
    fn unanswered(&self, request: Waiting, took: Option<(u64, f64)>) -> Result<Option<Waiting>> {
        let Waiting { rank, worker, grain, .. } = request;
        let range = match self.master.try_request(self.number(rank, worker)?, grain, took) {
            Reply::Chunk(range) => Some(range),
            Reply::End => None,
            Reply::Wait(until) => return Ok(Some(Waiting { until, ..request })),
        };
        self.net.send(rank, DOWN, Down::Chunk { worker, range }.pack())?;
        Ok(None)
    }

    /// The number among all of one of a rank's workers.
    fn number(&self, rank: usize, worker: usize) -> Result<usize> {
        let all = self.firsts[rank]..self.firsts[rank + 1];
        all.clone().nth(worker).ok_or_else(|| unreadable(rank))
    }

    fn tell_all(&self, serving: &Serving, what: fn() -> Down) -> Result<()> {
        serving.peers.iter().try_for_each(|peer| self.net.send(peer.rank, DOWN, what().pack()))
    }
}

/// The loss of a worker of another rank.
fn lost(rank: usize, why: String) -> Error {
    Error::Rank { rank, what: why, hint: "check that rank's host".into() }
}
