//! Block sizes refined while real tasks run: the table's first, then others that fill the device as well, until one is
//! known to be the fastest. One search for each kernel and kind of GPU of a process, kept in the tuning cache.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warpweft_core::error::Result;
use warpweft_core::tune::{Entry, Measured, TuningCache, median};

/// Block sizes that are tried.
const BLOCKS: [u32; 8] = [64, 96, 128, 192, 256, 384, 512, 1024];
/// Measurements of a candidate.
const ROUNDS: usize = 3;
/// A candidate fills at least this fraction of what the best one does.
const FILLED: f64 = 0.6;
/// A candidate that takes so much longer in its first measurement is not measured again.
const GIVE_UP: f64 = 1.3;
/// One must be so much faster than the table's to replace it: less is noise.
const GAIN: f64 = 0.98;

/// The search for one kernel on one kind of GPU.
#[derive(Clone, Debug)]
pub struct BlockSearch {
    /// With the seconds of a unit of work that were measured; the table's first.
    candidates: Vec<(u32, Vec<f64>)>,
    settled: Option<u32>,
    /// Found by an earlier run.
    known: bool,
}

impl BlockSearch {
    /// A search that starts with the block size `prior`. `filled` gives the occupancy of a block size, 0 if it can't be launched.
    pub fn new(prior: u32, filled: impl Fn(u32) -> f64) -> Self {
        let most = BLOCKS.iter().map(|&block| filled(block)).fold(filled(prior), f64::max);
        let others = BLOCKS.into_iter().filter(|&block| block != prior);
        let others = others.filter(|&block| filled(block) >= FILLED * most && filled(block) > 0.0);
        let possible = (filled(prior) > 0.0).then_some(prior).into_iter().chain(others);
        let candidates: Vec<_> = possible.map(|block| (block, Vec::new())).collect();
        let settled = match candidates[..] {
            [] => Some(prior),
            [(only, _)] => Some(only),
            _ => None,
        };
        Self { candidates, settled, known: false }
    }

    /// A search that already ended with `block`.
    pub fn known(block: u32) -> Self {
        Self { candidates: Vec::new(), settled: Some(block), known: true }
    }

    /// The block that the next launches are to have.
    pub fn next(&self) -> u32 {
        let open = self.candidates.iter().filter(|(_, times)| times.len() < ROUNDS);
        // In turns, so that a device that slows down slows all of them.
        let next = open.min_by_key(|(_, times)| times.len()).map(|(block, _)| *block);
        self.settled.or(next).unwrap_or(256)
    }

    /// Launches of `block` threads took so many seconds for a unit of work.
    pub fn took(&mut self, block: u32, seconds: f64) {
        if self.settled.is_some() {
            return;
        }
        let best = self.best().map_or(f64::INFINITY, |(_, best)| best);
        if let Some((_, times)) = self.candidates.iter_mut().find(|(known, _)| *known == block) {
            times.push(seconds);
            if times.len() == 1 && seconds > GIVE_UP * best {
                times.resize(ROUNDS, seconds);
            }
        }
        if self.candidates.iter().all(|(_, times)| times.len() >= ROUNDS) {
            let prior = self.candidates[0].clone();
            let (block, time) = self.best().unwrap_or((prior.0, 0.0));
            let keeps = time > GAIN * median(&prior.1);
            self.settled = Some(if keeps { prior.0 } else { block });
        }
    }

    /// What was found, once all candidates are measured.
    pub fn settled(&self) -> Option<u32> {
        self.settled
    }

    /// How much faster the block that was found is than the table's.
    pub fn gain(&self) -> Option<f64> {
        let time = |block: u32| {
            let (_, times) = self.candidates.iter().find(|(known, _)| *known == block)?;
            (!times.is_empty()).then(|| median(times))
        };
        Some(time(self.candidates.first()?.0)? / time(self.settled?)?)
    }

    /// The candidates with the median seconds of a unit of work.
    pub fn measured(&self) -> Vec<(u32, f64)> {
        let there = self.candidates.iter().filter(|(_, times)| !times.is_empty());
        there.map(|(block, times)| (*block, median(times))).collect()
    }

    fn best(&self) -> Option<(u32, f64)> {
        self.measured().into_iter().min_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// The searches of a process, by kernel and kind of GPU.
#[derive(Debug, Default)]
pub struct Searches {
    all: Mutex<HashMap<String, Arc<Mutex<BlockSearch>>>>,
    /// Where results are kept; the user's folder if `None`.
    folder: Option<PathBuf>,
}

impl Searches {
    /// With results kept in `folder`.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder: Some(folder), ..Self::default() }
    }

    /// What a result is kept under.
    fn key(kernel: &str, gpu: &str) -> String {
        format!("block of kernel {kernel} on {gpu}")
    }

    fn cache(&self) -> TuningCache {
        self.folder.as_deref().map_or_else(TuningCache::user, TuningCache::open)
    }

    /// The search for `kernel` on GPUs called `gpu`, which all of them share: the one that runs, one that an earlier run
    /// has ended with a block that is `possible`, or a new one. The kernel may have been changed since.
    pub fn search(
        &self,
        kernel: &str,
        gpu: &str,
        possible: impl Fn(u32) -> bool,
        new: impl FnOnce() -> BlockSearch,
    ) -> Arc<Mutex<BlockSearch>> {
        let key = Self::key(kernel, gpu);
        let mut all = locked(&self.all);
        if let Some(search) = all.get(&key) {
            return search.clone();
        }
        let known = self.cache().policy::<u32>(&key).filter(|&block| possible(block));
        let known = known.map(BlockSearch::known);
        let search = Arc::new(Mutex::new(known.unwrap_or_else(new)));
        all.insert(key, search.clone());
        search
    }

    /// Keeps what was found since the beginning for later runs.
    ///
    /// # Errors
    /// The cache can't be written.
    pub fn keep(&self) -> Result<()> {
        let all = locked(&self.all);
        let mut cache = self.cache();
        for (key, search) in all.iter() {
            let search = locked(search);
            let (Some(block), false) = (search.settled, search.known) else { continue };
            let Some((_, times)) = search.candidates.iter().find(|(known, _)| *known == block)
            else {
                continue;
            };
            if times.is_empty() {
                continue;
            }
            let seconds = median(times);
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            let measured = Measured { median: seconds, least, runs: times.len() };
            let tried = search.candidates.len();
            let entry = Entry { policy: block.into(), measured, rate: 1.0 / seconds, tried };
            cache.keep(key, entry)?;
        }
        Ok(())
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::occupancy::tests::{ampere, hopper};
    use super::super::{Characterisation, Family, KernelTable, Needs, occupancy};
    use super::*;
    use warpweft_core::machine::Gpu;

    /// Runs a search to its end where a block takes the seconds that `time` says.
    fn settle(search: &Mutex<BlockSearch>, time: impl Fn(u32) -> f64) -> (u32, usize) {
        let mut launches = 0;
        loop {
            let mut search = locked(search);
            if let Some(block) = search.settled() {
                return (block, launches);
            }
            let block = search.next();
            search.took(block, time(block));
            launches += 1;
        }
    }

    #[test]
    fn each_family_of_a_process_gets_its_own_block_which_later_runs_know() {
        let folder = tempfile::tempdir().unwrap();
        let words: Characterisation = "scatter low high low".parse().unwrap();
        let table = KernelTable::shipped().unwrap();
        let needs = Needs { registers: 40, shared: 0 };
        let begin = |gpu: &Gpu| {
            let (_, prior) = table.setting(&words, Family::of(gpu.capability));
            BlockSearch::new(prior.block, |block| occupancy(gpu, needs, block))
        };
        // Two GPUs of Ampere and one of Hopper.
        let gpus = [ampere(0), hopper(1), ampere(2)];
        let best = |gpu: &Gpu| if gpu.capability.0 == 8 { 512 } else { 96 };
        let all = Searches::in_folder(folder.path().into());
        let searches =
            gpus.each_ref().map(|gpu| all.search("relax", &gpu.name, |_| true, || begin(gpu)));
        assert!(
            Arc::ptr_eq(&searches[0], &searches[2]) && !Arc::ptr_eq(&searches[0], &searches[1])
        );
        for (search, gpu) in searches.iter().zip(&gpus) {
            let time = |block: u32| 1.0 + (f64::from(block) / f64::from(best(gpu))).ln().abs();
            let (found, launches) = settle(search, time);
            assert_eq!(found, best(gpu), "{}", gpu.name);
            assert!(launches <= 8 * ROUNDS, "{launches}");
        }
        assert!(locked(&searches[1]).gain().unwrap() > 1.2);
        all.keep().unwrap();
        let later = Searches::in_folder(folder.path().into());
        for gpu in &gpus {
            let kept = || unreachable!("it is kept");
            let search = later.search("relax", &gpu.name, |block| block == best(gpu), kept);
            assert_eq!(locked(&search).settled(), Some(best(gpu)));
        }
        // The kernel was changed, and what is kept is no block for it any more.
        let changed = Searches::in_folder(folder.path().into());
        for gpu in &gpus[..2] {
            let search =
                changed.search("relax", &gpu.name, |block| block != best(gpu), || begin(gpu));
            assert_eq!(locked(&search).settled(), None);
        }
    }

    #[test]
    fn noise_does_not_replace_the_tables_block_nor_is_one_tried_that_can_not_be() {
        let hopper = hopper(0);
        // 128 registers: blocks of 1024 threads don't fit.
        let needs = Needs { registers: 128, shared: 0 };
        let search = Mutex::new(BlockSearch::new(256, |block| occupancy(&hopper, needs, block)));
        let tried = Mutex::new(Vec::new());
        let noisy = |block: u32| {
            locked(&tried).push(block);
            1.0 - 0.01 * f64::from(block % 3)
        };
        assert_eq!(settle(&search, noisy).0, 256);
        assert!(!locked(&tried).contains(&1024) && locked(&tried)[0] == 256);
        // Nothing else fits.
        let only = BlockSearch::new(256, |block| f64::from(u8::from(block == 256)));
        assert_eq!((only.settled(), only.next()), (Some(256), 256));
    }
}
