//! Ranks whose processes end in the middle of a farm: the others do their tasks, every task once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpweft::cluster::{Tag, Transport, in_process_all};
use warpweft::farm::{ChunkSize, Flush, Journal, Outcome, Policy, Run, Settings, on_cores};
use warpweft::prelude::*;

/// A rank of which nothing is left after so many messages: what it does then neither succeeds nor reaches others.
struct Mortal<'a> {
    net: &'a dyn Transport,
    left: AtomicU64,
    /// It stays where it is, and is silent.
    hangs: bool,
}

impl Mortal<'_> {
    fn lives(&self) -> Result<()> {
        match self.left.load(Ordering::Relaxed) {
            0 if self.hangs => Ok(()),
            0 => Err(Error::Rank { rank: 2, what: "killed".into(), hint: "none".into() }),
            _ => Ok(()),
        }
    }
}

impl Transport for Mortal<'_> {
    fn rank(&self) -> usize {
        self.net.rank()
    }
    fn ranks(&self) -> usize {
        self.net.ranks()
    }
    fn send(&self, to: usize, tag: Tag, message: Vec<u8>) -> Result<()> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        match left {
            Ok(_) => self.net.send(to, tag, message),
            Err(_) => self.lives(),
        }
    }
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>> {
        self.lives()?;
        self.net.receive(from, tag)
    }
    fn poll(&self, from: usize, tag: Tag) -> Result<Option<Vec<u8>>> {
        self.lives()?;
        self.net.poll(from, tag)
    }
    fn abort_for(&self, _: usize, _: &str) {}
    fn tolerate_losses(&self) {
        self.net.tolerate_losses();
    }
    fn lost_ranks(&self) -> Vec<usize> {
        self.net.lost_ranks()
    }
    fn give_up(&self, rank: usize) {
        self.net.give_up(rank);
    }
}

/// Rank 2 of three is lost after `messages` messages; all outputs are there, once, and the note names the rank.
fn farmed_without_rank_2(messages: u64, hangs: bool) -> Duration {
    let begin = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let found = Mutex::new(vec![None; 2000]);
    let policy = Policy { chunk: ChunkSize::Tasks(5), ..Policy::default() };
    let journal = Journal {
        directory: folder.path().join("kept"),
        of: "squares".into(),
        resume: false,
        flush: Flush::Every(1.0),
    };
    let all = in_process_all(3, Duration::from_secs(600), |net| {
        let farm = Farm::of(on_cores(|k: u64| {
            std::thread::sleep(Duration::from_micros(300));
            Ok(k * k)
        }));
        let left = AtomicU64::new(if net.rank() == 2 { messages } else { u64::MAX });
        let mortal = Mortal { net, left, hangs };
        let settings = Settings { silence: Duration::from_secs(3), ..Settings::default() };
        let run = Run {
            policy: Some(policy),
            threads: Some(1),
            checkpoint: Some(&journal),
            net: Some(&mortal),
            settings,
            ..Run::default()
        };
        let machine = Machine::detect()?;
        let farmed = farm.run_into(0..2000u64, &machine, &run, &mut |k, square| {
            assert!(found.lock().unwrap()[k as usize].replace(square).is_none(), "{k} twice");
            Ok(())
        });
        // The process of rank 2 is gone, which is no error of the others.
        match (net.rank(), farmed) {
            (2, Err(_)) => Ok(None),
            (2, Ok(_)) => panic!("rank 2 should be lost"),
            (_, farmed) => farmed.map(Some),
        }
    });
    let outcomes: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    for outcome in outcomes.iter().flatten() {
        assert_eq!((outcome.report.done, outcome.report.interrupted), (2000, false));
        let notes = outcome.report.notes.join("; ");
        assert!(notes.contains("node 2 core 0 was lost: rank 2: "), "{notes}");
    }
    assert_eq!(outcomes.iter().flatten().count(), 2);
    let found = found.into_inner().unwrap();
    assert!((0..2000u64).all(|k| found[k as usize] == Some(k * k)));
    let kept = Journal { resume: true, ..journal }.done::<u64>(2000).unwrap();
    assert_eq!(kept.count(), 2000);
    begin.elapsed()
}

/// Rank 0 has an error and waits for a task of its own: until it can say so, the others hear that it is there.
#[test]
fn the_error_of_a_rank_with_a_long_task_is_heard() {
    let all = in_process_all(2, Duration::from_secs(60), |net| {
        let farm = Farm::of(on_cores(|k: u64| {
            std::thread::sleep(Duration::from_millis(if net.rank() == 0 { 6000 } else { 1 }));
            Ok(k)
        }));
        let settings = Settings { silence: Duration::from_secs(3), ..Settings::default() };
        let run = Run { threads: Some(1), net: Some(net), settings, ..Run::default() };
        let mut full = |_, _| Err(Error::spec("the disk is full", "make room"));
        farm.run_into(0..50u64, &Machine::detect()?, &run, &mut full)
    });
    for outcome in all {
        let refusal = outcome.unwrap_err().to_string();
        assert!(refusal.contains("the disk is full"), "{refusal}");
    }
}

/// A rank that ends by an error waits for tasks that hang no longer than one that ends well.
#[test]
fn a_rank_that_is_cut_off_is_told_of_tasks_that_hang() {
    let (begin, released, told) = (Instant::now(), AtomicBool::new(false), AtomicU64::new(0));
    let all = in_process_all(2, Duration::from_secs(60), |net| {
        let mortal = Mortal { net, left: AtomicU64::new(u64::MAX), hangs: false };
        let farm = Farm::of(on_cores(|k: u64| {
            if net.rank() == 1 {
                mortal.left.store(0, Ordering::Relaxed);
            }
            while net.rank() == 1 && !released.load(Ordering::Relaxed) {
                assert!(begin.elapsed() < Duration::from_secs(20), "it is waited for");
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_millis(5));
            Ok(k)
        }));
        let stuck = |outcome: &Result<Outcome>| {
            assert!(outcome.is_err());
            told.fetch_add(1, Ordering::Relaxed);
            released.store(true, Ordering::Relaxed);
        };
        let settings = Settings {
            silence: Duration::from_secs(3),
            task_limit: Some(Duration::from_millis(500)),
            grace: Duration::from_millis(60),
            stuck: Some(&stuck),
            ..Settings::default()
        };
        let run = Run { threads: Some(1), net: Some(&mortal), settings, ..Run::default() };
        let farmed = farm.run_into(0..50u64, &Machine::detect()?, &run, &mut |_, _| Ok(()));
        assert_eq!(farmed.is_err(), net.rank() == 1, "{farmed:?}");
        Ok(farmed.ok())
    });
    let outcomes: Vec<_> = all.into_iter().filter_map(Result::unwrap).collect();
    assert_eq!((outcomes.len(), outcomes[0].report.done), (1, 50));
    assert_eq!(told.into_inner(), 1);
}

#[test]
fn a_rank_that_ends_leaves_its_tasks_to_others() {
    for messages in [12, 30, 100] {
        let took = farmed_without_rank_2(messages, false);
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}

#[test]
fn a_rank_that_is_silent_is_given_up() {
    let took = farmed_without_rank_2(40, true);
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(20), "{took:?}");
}
