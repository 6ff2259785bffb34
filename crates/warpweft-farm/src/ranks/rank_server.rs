//! On rank 0: passes the messages of workers of other ranks to master and committer, and sends them the replies.

use std::sync::OnceLock;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use super::message::{Down, Up, unreadable};
use super::pause::Pause;
use super::{DOWN, UP};
use crate::drive::endpoint::Message;
use crate::schedule::dispatcher::Reply;
use crate::schedule::master::Master;
use crate::spec::worker::Grain;
use warpweft_core::cluster::Transport;
use warpweft_core::error::{Error, Result};

/// Between the other ranks and this one's master and committer, on a thread of its own.
pub struct RankServer<'a> {
    /// To the other ranks.
    pub net: &'a dyn Transport,
    /// Gives chunks.
    pub master: &'a Master,
    /// Takes outputs.
    pub committer: SyncSender<Message>,
    /// Where each rank's workers begin among all, and where the last one's end.
    pub firsts: &'a [usize],
    /// When the first worker was ready to work.
    pub begun: &'a OnceLock<Instant>,
}

/// A worker whose request has no reply yet.
struct Waiting {
    rank: usize,
    worker: usize,
    grain: Grain,
    /// When the request is repeated at the latest, by the master's time.
    until: f64,
}

impl RankServer<'_> {
    /// Serves until the workers of all other ranks have ended. Errors go to the committer.
    pub fn work(self) {
        if let Err(why) = self.carry() {
            // The committer may have gone over another error.
            let _ = self.committer.send(Message::Broken(why));
            self.master.stop();
        }
    }

    fn carry(&self) -> Result<()> {
        let mut there: Vec<_> = (1..self.net.ranks()).collect();
        let (mut waiting, mut seen) = (Vec::<Waiting>::new(), self.master.generation());
        let (mut over, mut cut, mut pause) = (false, false, Pause::new());
        while !there.is_empty() {
            let mut came = false;
            // One message of each at a time, so that none keeps the others waiting.
            let mut gone = Vec::new();
            for &rank in &there {
                let Some(bytes) = self.net.poll(rank, UP)? else { continue };
                came = true;
                let message = match Up::unpack(rank, &bytes)? {
                    Up::Request { worker, grain, took } => {
                        self.begun.get_or_init(Instant::now);
                        let request = Waiting { rank, worker, grain, until: 0.0 };
                        waiting.extend(self.unanswered(request, took)?);
                        continue;
                    }
                    Up::Bye => {
                        gone.push(rank);
                        continue;
                    }
                    Up::Interrupted => Message::Interrupted,
                    Up::Late { worker, task } => {
                        Message::Late { worker: self.number(rank, worker)?, task }
                    }
                    Up::Lost { worker, why } => {
                        Message::Lost { worker: self.number(rank, worker)?, why: lost(rank, why) }
                    }
                    Up::Done { worker, range, collected, seconds } => {
                        let worker = self.number(rank, worker)?;
                        Message::Done { worker, range, collected, seconds }
                    }
                };
                let takes = matches!(message, Message::Done { .. });
                // A committer that is behind lets all ranks wait.
                if self.committer.send(message).is_err() && !over {
                    over = true;
                    self.tell_all(&there, || Down::Over)?;
                }
                if takes {
                    self.net.send(rank, DOWN, Down::Taken.pack())?;
                }
            }
            there.retain(|rank| !gone.contains(rank));
            self.repeat(&mut waiting, &mut seen)?;
            if !cut && self.master.is_over() {
                cut = true;
                self.tell_all(&there, || Down::Cut)?;
            }
            match came {
                true => pause.renew(),
                false => std::thread::sleep(pause.next()),
            }
        }
        Ok(())
    }

    /// Repeats the requests to which there may be another reply than when they were `seen`, or whose time has come.
    fn repeat(&self, waiting: &mut Vec<Waiting>, seen: &mut usize) -> Result<()> {
        let (generation, now) = (self.master.generation(), self.master.now());
        let changed = generation != std::mem::replace(seen, generation);
        let due = |request: &Waiting| changed || request.until <= now;
        if waiting.iter().any(due) {
            for request in std::mem::take(waiting) {
                match due(&request) {
                    true => waiting.extend(self.unanswered(request, None)?),
                    false => waiting.push(request),
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

    fn tell_all(&self, there: &[usize], what: fn() -> Down) -> Result<()> {
        there.iter().try_for_each(|&rank| self.net.send(rank, DOWN, what().pack()))
    }
}

/// The loss of a worker of another rank.
fn lost(rank: usize, why: String) -> Error {
    Error::Rank { rank, what: why, hint: "look after that rank's host".into() }
}
