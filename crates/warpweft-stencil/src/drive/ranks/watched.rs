//! Work of other threads, while the user's progress function is told how far they are: it stays on the user's
//! thread.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::drive::rank_report::RankReport;
use crate::drive::ranks::count::DEADLINE;
use crate::drive::task::{Own, Task};
use crate::run::Run;
use warpweft_core::error::{Result, no_thread};

/// No number of steps.
const UNTOLD: u64 = u64::MAX;
/// Between two looks at progress.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` in a thread, which tells the steps done by what it is given. `done` of `steps` are when it begins;
/// where that is not known the user is told nothing before `work` tells, as it does in the first process alone.
///
/// # Errors
/// Whatever `work` fails with; no thread.
pub(crate) fn watched<T: Send>(
    run: &Run<'_>,
    (done, steps): (Option<u64>, u64),
    work: impl FnOnce(&(dyn Fn(u64) + Sync)) -> Result<T> + Send,
) -> Result<T> {
    let begin = Instant::now();
    let done = AtomicU64::new(done.unwrap_or(UNTOLD));
    let told = |steps| done.store(steps, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let named = std::thread::Builder::new().name("ranks".into());
        let ranks = named.spawn_scoped(scope, || work(&told));
        let ranks = ranks.map_err(|error| no_thread("starting ranks", &error))?;
        while !ranks.is_finished() {
            if let Some(progress) = run.progress {
                let done = done.load(Ordering::Relaxed);
                if done != UNTOLD {
                    progress(done, steps);
                }
            }
            // Short runs end in less than a tick.
            std::thread::sleep(TICK.min(begin.elapsed() / 8 + Duration::from_micros(50)));
        }
        ranks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Task<'_> {
    /// All ranks as threads of this process.
    pub(crate) fn watched(&self, run: &Run<'_>) -> Result<Vec<(Own, RankReport)>> {
        let stop = run.stop();
        watched(run, (Some(self.first.step), self.steps), |told| {
            self.in_process(DEADLINE, told, stop)
        })
    }
}
