//! Several ranks in each process: threads that share their process's transport, e.g. one for each GPU of a
//! node that runs one process. The transport itself is not here.

use super::collective::agree;
use super::threads::{all_or_cause, in_threads};
use super::transport::{Endpoints, Shared, Tag, Transport};
use crate::error::{Error, Result};

/// The largest number of ranks of one process: every pair of them in two processes has a lane.
pub const MOST: usize = 16;

/// One of the ranks of this process. Messages go to the process of the other rank, on the lane of the two;
/// this includes messages within a process. They are never in GPU memory, because MPI libraries expect one
/// GPU a process.
struct Member<'a> {
    net: &'a dyn Transport,
    /// Ranks of each process.
    each: usize,
    /// Its index among them.
    place: usize,
}

impl Member<'_> {
    /// The process and the tag of a message to rank `to`.
    fn out(&self, to: usize, tag: Tag) -> (usize, Tag) {
        let Self { each, place, .. } = *self;
        (to / each, tag.between(Endpoints { each, from: place, to: to % each }))
    }

    /// The process and the tag of a message from rank `from`.
    fn inward(&self, from: usize, tag: Tag) -> (usize, Tag) {
        let Self { each, place, .. } = *self;
        (from / each, tag.between(Endpoints { each, from: from % each, to: place }))
    }

    /// An error of the process, with the number of this rank.
    fn named<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|error| match error {
            Error::Rank { what, hint, .. } => Error::Rank { rank: self.rank(), what, hint },
            other => other,
        })
    }
}

impl Transport for Member<'_> {
    fn rank(&self) -> usize {
        self.net.rank() * self.each + self.place
    }

    fn ranks(&self) -> usize {
        self.net.ranks() * self.each
    }

    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()> {
        let (to, tag) = self.out(to, tag);
        self.named(self.net.send(to, tag, message))
    }

    fn send_shared(&self, to: usize, tag: Tag, message: Shared) -> Result<()> {
        let (to, tag) = self.out(to, tag);
        self.named(self.net.send_shared(to, tag, message))
    }

    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        let (from, tag) = self.inward(from, tag);
        self.named(self.net.receive(from, tag))
    }

    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>> {
        let (from, tag) = self.inward(from, tag);
        self.named(self.net.poll(from, tag))
    }

    fn receive_into(&self, from: usize, tag: Tag, to: &mut [u8]) -> Result<()> {
        let (from, tag) = self.inward(from, tag);
        self.named(self.net.receive_into(from, tag, to))
    }

    fn check(&self) -> Result<()> {
        self.named(self.net.check())
    }

    fn flush(&self) -> Result<()> {
        self.named(self.net.flush())
    }

    fn open_lanes(&self, _: usize) -> Result<()> {
        let hint = "call `thread_group` once, with the number of all ranks of a process";
        Err(Error::spec("a `thread_group` inside a rank of another `thread_group`", hint))
    }

    fn abort_for(&self, rank: usize, why: &str) {
        self.net.abort_for(rank, why);
    }
}

/// Runs `work` on `each` ranks in every process of `net`, each on its own thread. Ranks `r * each .. (r + 1) * each` are those of
/// process `r`. Returns the results of this process's ranks, in order. `net` must be able to send to itself. If a rank returns
/// while another still waits for a message from it, only the network's deadline ends the wait, because the network knows
/// only processes.
///
/// ```
/// use std::time::Duration;
/// use warpweft::cluster::{gather, in_process, thread_group};
///
/// # fn main() -> warpweft::Result<()> {
/// // Two processes, here threads themselves, of three ranks each.
/// let ranks = in_process(2, Duration::from_secs(60), |net| {
///     thread_group(net, 3, |net| Ok(gather(net, vec![net.rank() as u8])?.concat()))
/// })?;
/// assert_eq!(ranks[0][0], [0, 1, 2, 3, 4, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// `each` is 0 or more than 16, or differs between processes. An error or a panic of `work` on any rank; it ends all ranks
/// of all processes.
pub fn thread_group<T: Send>(
    net: &dyn Transport,
    each: usize,
    work: impl Fn(&dyn Transport) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    // Opening lanes is collective, so all processes must have agreed before.
    agree(net, "ranks a process of", &each.to_string())?;
    if !(1..=MOST).contains(&each) {
        return Err(Error::spec(
            format!("{each} ranks in each of {} processes", net.ranks()),
            format!("use 1 to {MOST} a process, or start more processes"),
        ));
    }
    if each > 1 {
        net.open_lanes(1 + each * each)?;
    }
    let first = net.rank() * each;
    let ended = |rank: usize, error: Option<&Error>| {
        if let Some(error) = error {
            net.abort_for(rank, &error.to_string());
        }
    };
    let member = |rank: usize| work(&Member { net, each, place: rank - first });
    all_or_cause(in_threads(first..first + each, member, ended))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::super::{broadcast, gather, in_process, in_process_all};
    use super::*;

    const SOON: Duration = Duration::from_secs(60);

    #[test]
    fn every_pair_of_ranks_has_its_own_messages() {
        let ranks = in_process(3, SOON, |net| {
            thread_group(net, 4, |net| {
                let (rank, ranks) = (net.rank(), net.ranks());
                // To every rank, itself included, under one tag; read in another order than sent.
                for to in 0..ranks {
                    net.send(to, Tag(3), vec![rank as u8, to as u8, 0])?;
                    net.send_shared(to, Tag(3), Arc::new(vec![rank as u8, to as u8, 1]))?;
                }
                for from in (0..ranks).rev() {
                    assert_eq!(net.receive(from, Tag(3))?, [from as u8, rank as u8, 0]);
                    let mut second = [0; 3];
                    net.receive_into(from, Tag(3), &mut second)?;
                    assert_eq!(second, [from as u8, rank as u8, 1]);
                    assert_eq!(net.poll(from, Tag(3))?, None);
                }
                let all = gather(net, vec![rank as u8])?.concat();
                assert_eq!(broadcast(net, all)?, (0..ranks as u8).collect::<Vec<_>>());
                Ok(rank)
            })
        });
        assert_eq!(ranks.unwrap(), [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
    }

    #[test]
    fn one_that_fails_or_panics_is_named_on_every_rank_of_every_process() {
        for panics in [false, true] {
            let all = in_process_all(3, Duration::from_secs(600), |net| {
                thread_group(net, 2, |net| {
                    if net.rank() == 3 {
                        assert!(!panics, "device 2 vanished");
                        return Err(Error::spec("device 2 vanished", "replace it"));
                    }
                    net.receive(3, Tag(0))
                })
            });
            for (process, outcome) in all.into_iter().enumerate() {
                let error = outcome.unwrap_err().to_string();
                assert!(error.contains("device 2 vanished"), "{error}");
                // In its own process the cause precedes the errors that it triggers.
                assert_eq!(process != 1, error.contains("because rank 3 failed"), "{error}");
            }
        }
    }

    #[test]
    fn a_missing_message_is_named_by_the_numbers_of_ranks() {
        let brief = Duration::from_millis(200);
        let all = in_process_all(2, brief, |net| {
            thread_group(net, 4, |net| match net.rank() {
                5 => net.receive(6, Tag(2)).map(drop),
                _ => net.receive(5, Tag(0)).map(drop),
            })
        });
        let errors: Vec<_> = all.into_iter().map(|it| it.unwrap_err().to_string()).collect();
        let known = ["s for message 2 of rank 6", "s for message 0 of rank 5"];
        for error in &errors {
            assert!(known.iter().any(|known| error.contains(known)), "{error}");
        }
    }

    #[test]
    fn a_thread_group_in_a_thread_group_is_refused() {
        let ranks = in_process(2, SOON, |net| {
            thread_group(net, 2, |net| thread_group(net, 2, |net| net.check()))
        });
        let error = ranks.map(drop).unwrap_err().to_string();
        assert!(error.contains("inside a rank of another `thread_group`"), "{error}");
    }

    #[test]
    fn endpoints_are_read_back_from_a_tag() {
        assert_eq!(Tag(0x7fff).endpoints(), Endpoints { each: 1, from: 0, to: 0 });
        assert_eq!((Tag(5).lane(), Tag(5).sender(7)), (0, 7));
        for (each, from, to) in [(2, 1, 0), (3, 0, 2), (16, 15, 15), (16, 0, 0)] {
            let endpoints = Endpoints { each, from, to };
            let tag = Tag(0x7001).between(endpoints);
            assert_eq!((tag.endpoints(), tag.number()), (endpoints, 0x7001));
            assert_eq!((tag.sender(3), tag.receiver(2)), (3 * each + from, 2 * each + to));
            assert!((1..=each * each).contains(&tag.lane()));
        }
    }

    #[test]
    fn processes_agree_on_how_many_ranks_each_has() {
        let all =
            in_process_all(2, SOON, |net| thread_group(net, 1 + net.rank(), |net| net.check()));
        for error in all.into_iter().map(|outcome| outcome.map(drop).unwrap_err().to_string()) {
            assert!(error.contains("ranks a process of 2, rank 0 has 1"), "{error}");
        }
        for each in [0, MOST + 1] {
            let error = in_process(2, SOON, |net| thread_group(net, each, |net| net.check()));
            let error = error.map(drop).unwrap_err().to_string();
            assert!(error.contains(&format!("{each} ranks in each of 2 processes")), "{error}");
        }
    }
}
