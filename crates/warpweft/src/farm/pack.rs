//! The outputs of one pack, in any order, on their way to whoever hands them over.

use std::marker::PhantomData;

use super::task::{Failure, Task};
use crate::element::Packed;
use crate::error::{Error, Result};

/// Where a [`PackExecutor`](super::PackExecutor) tells what came of each task of its pack.
pub struct Pack<'a, T: Task + ?Sized> {
    results: &'a mut Results,
    task: PhantomData<fn(&T)>,
}

impl<'a, T: Task + ?Sized> Pack<'a, T> {
    /// For the tasks of `results`.
    pub(super) fn new(results: &'a mut Results) -> Self {
        Self { results, task: PhantomData }
    }

    /// Task `k`, by its place in the pack, has this output.
    #[inline]
    pub fn done(&mut self, k: usize, output: &T::Output) {
        let from = self.results.bytes.len();
        output.pack(&mut self.results.bytes);
        self.results.told(k, from);
    }

    /// Task `k`, by its place in the pack, has none, for this reason.
    pub fn failed(&mut self, k: usize, why: &Failure) {
        self.results.fail(k, why.to_string());
    }
}

/// What came of the tasks of a pack so far.
#[derive(Debug, Default)]
pub struct Results {
    bytes: Vec<u8>,
    /// Where each output begins, by task: as they come, which is in order unless the executor has another.
    begins: Vec<(usize, usize)>,
    failed: Vec<(usize, String)>,
}

/// What came of all tasks of a pack.
#[derive(Debug, Default, PartialEq)]
pub struct Collected {
    /// The outputs in the order of the tasks, without those that failed.
    pub bytes: Vec<u8>,
    /// Those that failed, by their place in the pack, in order.
    pub failed: Vec<(usize, String)>,
}

impl Results {
    fn told(&mut self, k: usize, from: usize) {
        self.begins.push((k, from));
    }

    /// Task `k` has no output.
    pub fn fail(&mut self, k: usize, why: String) {
        self.failed.push((k, why));
    }

    /// All of `tasks` tasks; ready for the next pack.
    ///
    /// # Errors
    /// A task was told twice, or never, or is not of this pack.
    pub fn take(&mut self, tasks: usize) -> Result<Collected> {
        let Self { bytes, begins, mut failed } = std::mem::take(self);
        failed.sort_by_key(|(k, _)| *k);
        let collected = match begins.is_sorted() {
            true => bytes,
            false => in_order(&bytes, &begins),
        };
        let mut told = begins.iter().map(|(k, _)| *k).chain(failed.iter().map(|(k, _)| *k));
        // Most packs are whole and in order.
        let plain = failed.is_empty() && begins.len() == tasks;
        let whole = match plain && begins.iter().enumerate().all(|(at, (k, _))| at == *k) {
            true => true,
            false => {
                let mut seen = vec![false; tasks];
                let once = told
                    .all(|k| seen.get_mut(k).is_some_and(|seen| !std::mem::replace(seen, true)));
                once && seen.iter().all(|seen| *seen)
            }
        };
        match whole {
            true => {
                // The next pack's are likely as many.
                self.begins = begins;
                self.begins.clear();
                Ok(Collected { bytes: collected, failed })
            }
            false => Err(Error::spec(
                format!(
                    "{} outputs and {} failures told of a pack of {tasks} tasks",
                    begins.len(),
                    failed.len()
                ),
                "tell `outputs` of every task once, by its place in the pack",
            )),
        }
    }
}

/// The outputs in the order of their tasks.
fn in_order(bytes: &[u8], begins: &[(usize, usize)]) -> Vec<u8> {
    let ends = begins.iter().skip(1).map(|(_, begin)| *begin).chain([bytes.len()]);
    let mut pieces: Vec<_> =
        begins.iter().zip(ends).map(|((k, begin), end)| (*k, &bytes[*begin..end])).collect();
    pieces.sort_by_key(|(k, _)| *k);
    pieces.into_iter().flat_map(|(_, piece)| piece).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::farm::on_cores;

    fn told(tasks: usize, order: &[usize], failed: &[usize]) -> Result<Collected> {
        fn of<T: Task<Output = u8>>(
            _: &T,
            results: &mut Results,
            order: &[usize],
            failed: &[usize],
        ) {
            let mut pack = Pack::<T>::new(results);
            order.iter().for_each(|&k| pack.done(k, &(10 + k as u8)));
            failed.iter().for_each(|&k| pack.failed(k, &format!("no {k}").into()));
        }
        let mut results = Results::default();
        of(&on_cores(|n: u8| Ok(n)), &mut results, order, failed);
        results.take(tasks)
    }

    #[test]
    fn outputs_come_out_in_the_order_of_their_tasks() {
        for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(told(3, &order, &[]).unwrap().bytes, [10, 11, 12]);
        }
        let some = told(5, &[4, 0, 2], &[3, 1]).unwrap();
        assert_eq!(some.bytes, [10, 12, 14]);
        assert_eq!(some.failed, [(1, "no 1".into()), (3, "no 3".into())]);
    }

    #[test]
    fn a_task_told_twice_or_never_is_an_error() {
        for (order, failed) in
            [(&[0, 0, 1][..], &[][..]), (&[0, 1], &[]), (&[0, 1, 2], &[2]), (&[0, 1, 3], &[])]
        {
            let refusal = told(3, order, failed).unwrap_err().to_string();
            assert!(refusal.contains("of a pack of 3 tasks"), "{refusal}");
        }
    }
}
