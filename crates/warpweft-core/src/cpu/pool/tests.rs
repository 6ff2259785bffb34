//! Pools: workers that wait for one another, sleep, panic and are pinned.

use super::*;
use crate::cpu::{Barrier, Progress};

/// Core 0 is allowed wherever tests run unless a harness says otherwise; repeats oversubscribe.
fn pool(count: usize) -> Pool {
    let allowed = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    Pool::new(&vec![allowed; count]).unwrap()
}

#[test]
fn workers_on_one_core_may_wait_on_one_another() {
    let pool = pool(4);
    let flags: [Progress; 4] = Default::default();
    for round in 1..50 {
        pool.run(|worker| {
            // A chain: each worker waits for the one before, in any order of starting.
            if worker.index > 0 {
                flags[worker.index - 1].wait_for(round, worker.abort)?;
            }
            flags[worker.index].publish(round);
            Ok(())
        })
        .unwrap();
    }
}

/// How often this thread has slept to wait for something; a yield does not count.
#[cfg(target_os = "linux")]
fn sleeps() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    line.unwrap().trim().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn who_waits_long_sleeps() {
    let (pool, barrier) = (pool(2), Barrier::new(2));
    let [about_to, flag]: [Progress; 2] = Default::default();
    let slept = AtomicUsize::new(0);
    pool.run(|worker| {
        if worker.index == 0 {
            for wait in 1..=2 {
                about_to.wait_for(wait, worker.abort)?;
                std::thread::sleep(std::time::Duration::from_millis(300));
                match wait {
                    1 => flag.publish(1),
                    _ => barrier.wait(worker.abort)?,
                }
            }
            return Ok(());
        }
        for wait in 1..=2 {
            about_to.publish(wait);
            let before = sleeps();
            match wait {
                1 => flag.wait_for(1, worker.abort).map(|_| ())?,
                _ => barrier.wait(worker.abort)?,
            }
            slept.fetch_add(usize::from(sleeps() > before), Ordering::Relaxed);
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(slept.into_inner(), 2);
}

#[test]
fn a_panic_is_an_error_and_the_pool_lives_on() {
    let pool = pool(3);
    let barrier = Barrier::new(3);
    let error = pool
        .run(|worker| {
            if worker.index == 1 {
                std::panic::resume_unwind(Box::new("division by zero"));
            }
            barrier.wait(worker.abort)
        })
        .unwrap_err();
    assert_eq!(error, WorkerPanic { worker: 1, message: "division by zero".into() });
    let sum = AtomicUsize::new(0);
    pool.run(|worker| {
        sum.fetch_add(worker.share(100).len(), Ordering::Relaxed);
        Ok(())
    })
    .unwrap();
    assert_eq!(sum.into_inner(), 100);
}

#[test]
fn a_joined_pool_computes_on_the_thread_that_asks_unless_that_watches() {
    let allowed = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    for count in [1, 3] {
        let pool = Pool::joined(&[allowed], count).unwrap();
        let (here, barrier) = (std::thread::current().id(), Barrier::new(count));
        let on_this_thread = || {
            let (sum, own) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let body = |worker: &Worker<'_>| {
                barrier.wait(worker.abort)?;
                sum.fetch_add(worker.share(100).len(), Ordering::Relaxed);
                let mine = std::thread::current().id() == here;
                own.fetch_add(usize::from(mine), Ordering::Relaxed);
                assert!(worker.index > 0 || mine, "worker 0 elsewhere");
                Ok(())
            };
            (pool.run(body), sum.into_inner(), own.into_inner())
        };
        for _ in 0..50 {
            assert_eq!(on_this_thread(), (Ok(()), 100, 1));
        }
        let watched = AtomicUsize::new(0);
        let body = |worker: &Worker<'_>| {
            assert_ne!(std::thread::current().id(), here);
            watched.fetch_add(1 + worker.index, Ordering::Relaxed);
            barrier.wait(worker.abort)
        };
        pool.run_watched(Duration::from_secs(1), &|| false, body).unwrap();
        assert_eq!(watched.into_inner(), count * (count + 1) / 2);
        for which in 0..count {
            let never = Progress::default();
            let error = pool.run(|worker| {
                if worker.index == which {
                    std::panic::resume_unwind(Box::new("division by zero"));
                }
                never.wait_for(1, worker.abort).map(|_| ())
            });
            assert_eq!(error.unwrap_err().worker, which);
            assert_eq!(on_this_thread().1, 100, "the pool lives on");
        }
    }
}

#[test]
fn workers_are_pinned_where_they_take_all_cores() {
    assert_eq!(places(&[3, 5], 2).unwrap(), [Some(3), Some(5)]);
    assert_eq!(places(&[3, 5], 3).unwrap(), [Some(3), Some(5), Some(3)]);
    assert_eq!(places(&[3, 5, 6], 2).unwrap(), [None, None]);
    let error = places(&[3], usize::MAX).unwrap_err().to_string();
    assert!(error.contains("use 4096 or fewer"), "{error}");
    assert!(Pool::over(&[1_000_000, 1_000_001], 1).is_ok());
    assert!(Pool::over(&[1_000_000, 1_000_001], 2).is_err());
    assert!(Pool::over(&[0, 1], 0).is_err() && Pool::over(&[], 1).is_err());
}

#[test]
fn a_core_that_is_not_there_is_named() {
    let Err(error) = Pool::new(&[1_000_000]) else { panic!("core 1000000 was accepted") };
    assert!(error.to_string().contains("core 1000000"), "{error}");
}
