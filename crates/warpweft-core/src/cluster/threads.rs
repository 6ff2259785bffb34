//! Ranks as threads. Each runs, ends and fails on its own, and a panic is an error like others. How they
//! communicate is not here.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::{Builder, ScopedJoinHandle, scope};

use crate::error::{Error, Result, no_thread};

/// Runs `work` for each of `ranks` in its own thread and returns the result of each. `ended` is called as
/// each ends, with its error if it failed.
pub(super) fn in_threads<T: Send>(
    ranks: Range<usize>,
    work: impl Fn(usize) -> Result<T> + Sync,
    ended: impl Fn(usize, Option<&Error>) + Sync,
) -> Vec<Result<T>> {
    let one = |rank: usize| {
        let outcome = catch_unwind(AssertUnwindSafe(|| work(rank))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("panicked");
            Err(Error::Rank {
                rank,
                what: text.to_string(),
                hint: "guard the operation in the element function".into(),
            })
        });
        ended(rank, outcome.as_ref().err());
        outcome
    };
    scope(|scope| {
        let (one, ended, count) = (&one, &ended, ranks.len());
        let spawn = |rank: usize| {
            let named = Builder::new().name(format!("rank {rank}"));
            named.spawn_scoped(scope, move || one(rank)).map_err(|error| {
                let error = no_thread(&format!("starting rank {rank}, one of {count}"), &error);
                ended(rank, Some(&error));
                error
            })
        };
        let threads: Vec<_> = ranks.map(spawn).collect();
        let join = |thread: Result<ScopedJoinHandle<'_, Result<T>>>| {
            thread?.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

/// All results, or the error of the rank that failed first.
///
/// # Errors
/// Any error in `outcomes`.
pub(super) fn all_or_cause<T>(outcomes: Vec<Result<T>>) -> Result<Vec<T>> {
    let mut first = None;
    let mut results = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        match outcome {
            Ok(result) => results.push(result),
            // The first error says more than those that it triggers on the other ranks.
            Err(error) if first.is_none() || !is_echo(&error) => first = Some(error),
            Err(_) => {}
        }
    }
    first.map_or(Ok(results), Err)
}

fn is_echo(error: &Error) -> bool {
    matches!(error, Error::Rank { what, .. } if what.starts_with("stopped because"))
}
