//! Ranks as threads of this process: the transport of tests, and of one host without MPI.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::threads::{all_or_cause, in_threads};
use super::transport::{Tag, Transport, lost};
use crate::error::{Error, Result};

/// What all ranks share.
struct Exchange {
    ranks: usize,
    deadline: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    queues: HashMap<(usize, usize, Tag), VecDeque<Vec<u8>>>,
    ended: Vec<bool>,
    aborted: Option<(usize, String)>,
    /// Ranks that end are lost, and others go on.
    tolerant: bool,
    given_up: Vec<usize>,
}

impl State {
    /// Whether the others go on without `rank`.
    fn is_lost(&self, rank: usize) -> bool {
        self.tolerant && (self.ended[rank] || self.given_up.contains(&rank))
    }
}

struct Rank<'a> {
    exchange: &'a Exchange,
    rank: usize,
}

impl Exchange {
    /// No call panics while it holds the lock, so the state is consistent even if the lock is poisoned.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn abort(&self, rank: usize, why: &str) {
        self.state().aborted.get_or_insert((rank, why.into()));
        self.changed.notify_all();
    }
}

impl<'a> Rank<'a> {
    /// The next message of `from` with `tag`, if it is there.
    fn next(
        &self,
        mut state: MutexGuard<'a, State>,
        from: usize,
        tag: Tag,
    ) -> Result<(MutexGuard<'a, State>, Option<Vec<u8>>)> {
        self.check_peer(&state, from)?;
        let queue = state.queues.get_mut(&(from, self.rank, tag));
        let message = queue.and_then(VecDeque::pop_front);
        if message.is_none() && state.is_lost(from) {
            return Err(lost(from));
        }
        if message.is_none() && state.ended[from] {
            drop(state);
            return Err(self.give_up(
                tag,
                format!("rank {} ended without sending message {}", tag.sender(from), tag.number()),
                "the ranks disagree on what to exchange; report it",
            ));
        }
        Ok((state, message))
    }

    fn check_peer(&self, state: &State, peer: usize) -> Result<()> {
        if peer >= self.exchange.ranks {
            return Err(Error::Rank {
                rank: self.rank,
                what: format!("a message to or from rank {peer} of {}", self.exchange.ranks),
                hint: "this is a fault of Warpweft: report it".into(),
            });
        }
        match &state.aborted {
            None => Ok(()),
            Some((by, why)) => Err(Error::Rank {
                rank: self.rank,
                what: format!("stopped because rank {by} failed: {why}"),
                hint: format!("see the error of rank {by}"),
            }),
        }
    }

    /// Aborts all ranks because a message will never come.
    fn give_up(&self, tag: Tag, what: String, hint: &str) -> Error {
        let rank = tag.receiver(self.rank);
        self.exchange.abort(rank, &what);
        Error::Rank { rank, what, hint: hint.into() }
    }
}

impl Transport for Rank<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn ranks(&self) -> usize {
        self.exchange.ranks
    }

    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()> {
        let mut state = self.exchange.state();
        self.check_peer(&state, to)?;
        state.queues.entry((self.rank, to, tag)).or_default().push_back(message);
        self.exchange.changed.notify_all();
        Ok(())
    }

    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        let start = Instant::now();
        let mut state = self.exchange.state();
        loop {
            let message;
            (state, message) = self.next(state, from, tag)?;
            if let Some(message) = message {
                return Ok(message);
            }
            let waited = start.elapsed();
            if waited >= self.exchange.deadline {
                drop(state);
                return Err(self.give_up(
                    tag,
                    format!(
                        "waited {:.1} s for message {} of rank {}",
                        waited.as_secs_f64(),
                        tag.number(),
                        tag.sender(from)
                    ),
                    "if that rank is only slow, raise the deadline",
                ));
            }
            state = self
                .exchange
                .changed
                .wait_timeout(state, self.exchange.deadline - waited)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>> {
        self.next(self.exchange.state(), from, tag).map(|(_, message)| message)
    }

    fn check(&self) -> Result<()> {
        self.check_peer(&self.exchange.state(), self.rank)
    }

    fn tolerate_losses(&self) {
        self.exchange.state().tolerant = true;
    }

    fn lost_ranks(&self) -> Vec<usize> {
        let state = self.exchange.state();
        (0..self.exchange.ranks).filter(|&rank| state.is_lost(rank)).collect()
    }

    fn give_up(&self, rank: usize) {
        self.exchange.state().given_up.push(rank);
        self.exchange.changed.notify_all();
    }

    fn abort_for(&self, rank: usize, why: &str) {
        self.exchange.abort(rank, why);
    }
}

/// Runs `work` on `ranks` ranks, each a thread, and returns the result of each.
///
/// A rank that returns an error or panics aborts all others. A rank that is alive but sends nothing for
/// `deadline` also aborts them, so no call waits forever.
pub fn in_process_all<T: Send>(
    ranks: usize,
    deadline: Duration,
    work: impl Fn(&dyn Transport) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let state = Mutex::new(State { ended: vec![false; ranks], ..State::default() });
    let exchange = Exchange { ranks, deadline, state, changed: Condvar::new() };
    let ended = |rank: usize, error: Option<&Error>| {
        if let Some(error) = error {
            exchange.abort(rank, &error.to_string());
        }
        exchange.state().ended[rank] = true;
        exchange.changed.notify_all();
    };
    in_threads(0..ranks, |rank| work(&Rank { exchange: &exchange, rank }), ended)
}

/// Like [`in_process_all`], but returns the results of all ranks, or the error of the rank that failed first.
///
/// # Errors
/// Any error of `work` on any rank; a rank's panic.
pub fn in_process<T: Send>(
    ranks: usize,
    deadline: Duration,
    work: impl Fn(&dyn Transport) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    all_or_cause(in_process_all(ranks, deadline, work))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn messages_with_one_tag_keep_their_order_and_tags_are_apart() {
        let around = in_process(4, SOON, |net| {
            let (rank, ranks) = (net.rank(), net.ranks());
            for i in 0..3 {
                net.send((rank + 1) % ranks, Tag(7), vec![rank as u8, i])?;
            }
            net.send((rank + 1) % ranks, Tag(8), vec![99])?;
            let from = (rank + ranks - 1) % ranks;
            assert_eq!(net.receive(from, Tag(8))?, [99]);
            (0..3).map(|_| Ok(net.receive(from, Tag(7))?[1])).collect::<Result<Vec<u8>>>()
        });
        assert_eq!(around.unwrap(), vec![vec![0, 1, 2]; 4]);
    }

    #[test]
    fn a_rank_that_fails_or_panics_is_an_error_on_every_rank_at_once() {
        for panics in [false, true] {
            let start = Instant::now();
            let all = in_process_all(4, Duration::from_secs(600), |net| {
                if net.rank() == 2 {
                    assert!(!panics, "device 2 vanished");
                    return Err(Error::spec("device 2 vanished", "replace it"));
                }
                net.receive(2, Tag(0))
            });
            assert!(start.elapsed() < Duration::from_secs(60));
            for (rank, outcome) in all.into_iter().enumerate() {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("device 2 vanished"), "{error}");
                assert_eq!(rank != 2, error.contains("because rank 2 failed"), "{error}");
            }
        }
    }

    #[test]
    fn a_look_for_a_message_does_not_wait_and_tells_who_is_gone() {
        let outcome = in_process(2, SOON, |net| {
            if net.rank() == 1 {
                assert_eq!(net.poll(0, Tag(4))?, None);
                net.send(0, Tag(4), vec![7])?;
                return Ok(vec![]);
            }
            loop {
                if let Some(message) = net.poll(1, Tag(4))? {
                    assert_eq!(message, [7]);
                    break;
                }
                std::thread::yield_now();
            }
            loop {
                assert_eq!(net.poll(1, Tag(4))?, None::<Vec<u8>>);
                std::thread::yield_now();
            }
        });
        let error = outcome.map(|_: Vec<Vec<u8>>| ()).unwrap_err().to_string();
        assert!(error.contains("rank 1 ended without sending message 4"), "{error}");
    }

    #[test]
    fn the_cause_is_returned_not_its_echo() {
        let error = in_process(3, SOON, |net| match net.rank() {
            2 => Err(Error::spec("no room", "make room")),
            _ => net.receive(2, Tag(0)),
        });
        assert_eq!(error.unwrap_err().to_string(), "no room; help: make room");
    }

    #[test]
    fn a_message_that_never_comes_is_an_error_not_a_hang() {
        let ended = in_process(2, Duration::from_secs(600), |net| match net.rank() {
            0 => net.receive(1, Tag(3)),
            _ => Ok(vec![]),
        });
        let error = ended.unwrap_err().to_string();
        assert!(error.contains("rank 1 ended without sending message 3"), "{error}");
        // Both ranks are alive, and both wait.
        let silent =
            in_process(2, Duration::from_millis(50), |net| net.receive(1 - net.rank(), Tag(3)));
        let error = silent.unwrap_err().to_string();
        assert!(error.contains("s for message 3 of rank"), "{error}");
        assert!(in_process(1, SOON, |net| net.send(5, Tag(0), vec![])).is_err());
    }
}
