//! The outputs of one chunk, in any order, on their way to the committer.

use std::ops::Range;
use std::sync::Arc;

use super::bytes::Bytes;
use crate::report::Failed;
use warpweft_core::element::Packed;
use warpweft_core::error::{Error, Result};

/// Takes the result of each task once, and [`Settled::End`] when the farm ends. After an error of the sink or the journal, it is not called again.
pub type Sink<'a> = dyn FnMut(Range<u64>, Settled<'_>) -> Result<()> + 'a;

/// What tasks next to one another came to.
#[derive(Clone, Copy, Debug)]
pub enum Settled<'a> {
    /// Their outputs, packed, one after another.
    Outputs(&'a [u8]),
    /// One task failed for good.
    Failed(&'a Failed),
    /// Nothing more comes, of no task.
    End,
}

/// The bytes that so many outputs have, of the first ones; the last of them is that of the task before the one that is
/// named.
pub type Skip = fn(&[u8], u64, u64) -> Result<usize>;

/// The results of the tasks of a chunk so far.
#[derive(Debug, Default)]
pub struct Results {
    bytes: Vec<u8>,
    /// Where each output begins, by task: as they come, which is in order unless the executor has another.
    begins: Vec<(usize, usize)>,
    failed: Vec<(usize, Fault)>,
    /// Bytes that those take, about.
    words: usize,
}

/// How a task failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Why: tasks one after another that fail alike share the text, so that millions of them cost little.
    pub why: Arc<str>,
    /// Its input in words, as the worker that ran it has them.
    pub input: Option<String>,
}

/// The results of all tasks of a chunk, or of the first ones.
#[derive(Debug, Default, PartialEq)]
pub struct Collected {
    /// How many those are.
    pub tasks: u64,
    /// The outputs in the order of the tasks, without those that failed.
    pub bytes: Bytes,
    /// Where in `bytes` tasks next to one another have theirs: everything in one piece, unless tasks between
    /// failed or a piece grew beyond [`PIECE`]. What an executor lends is one piece.
    pub pieces: Vec<Piece>,
    /// Those that failed, by their place in the chunk, in order.
    pub failed: Vec<(usize, Fault)>,
}

/// What a task fails with whose output can't be read back. `form` names the type.
fn unread(form: &str) -> String {
    format!(
        "its output can't be read back as {form}: `Packed::unpack` must take exactly the bytes that `pack` appends"
    )
}

/// Outputs of tasks next to one another.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// The tasks, by their place in the chunk.
    pub tasks: Range<usize>,
    /// Their outputs.
    pub bytes: Range<usize>,
}

/// A piece of so many bytes ends: each worker has a few of them in memory, and a journal is brought to the disk after
/// each where it is flushed for every chunk.
pub const PIECE: usize = 8 << 20;

impl Results {
    /// What is there so far, to be [`cut`](Results::cut) back to.
    pub fn mark(&self) -> (usize, usize) {
        (self.bytes.len(), self.begins.len())
    }

    /// Forgets the outputs since a mark.
    pub fn cut(&mut self, (bytes, outputs): (usize, usize)) {
        self.bytes.truncate(bytes);
        self.begins.truncate(outputs);
    }

    /// Task `k` has this output.
    ///
    /// # Errors
    /// It is not read back from its bytes; the caller [cuts](Results::cut) them off.
    #[inline]
    pub fn done<O: Packed>(&mut self, k: usize, output: &O) -> Result<(), String> {
        let from = self.bytes.len();
        output.pack(&mut self.bytes);
        let mut packed = &self.bytes[from..];
        match O::unpack(&mut packed) {
            Some(_) if packed.is_empty() => {
                self.begins.push((k, from));
                Ok(())
            }
            _ => Err(unread(&O::form())),
        }
    }

    /// Whether what is there is enough for a piece.
    pub fn fill_a_piece(&self) -> bool {
        self.bytes.len() + self.words >= PIECE
    }

    /// Task `k`, of this `input` in words, has no output.
    pub fn fail(&mut self, k: usize, why: &str, input: Option<String>) {
        let alike = self.failed.last().filter(|(_, last)| *last.why == *why);
        let own = alike.map_or(why.len(), |_| 0) + input.as_ref().map_or(0, String::len);
        self.words += size_of::<(usize, Fault)>() + own;
        let why = alike.map_or_else(|| why.into(), |(_, last)| last.why.clone());
        self.failed.push((k, Fault { why, input }));
    }

    /// All of `tasks` tasks; ready for the next chunk.
    ///
    /// # Errors
    /// A task has two results, or none, or is not of this chunk.
    pub fn take(&mut self, tasks: usize) -> Result<Collected> {
        let Self { mut bytes, mut begins, mut failed, words: _ } = std::mem::take(self);
        failed.sort_by_key(|(k, _)| *k);
        if !begins.is_sorted() {
            (bytes, begins) = in_order(&bytes, &begins);
        }
        let pieces = pieces(&begins, bytes.len());
        let known = begins.len() + failed.len();
        // Both lists are in order: each number once, and as many as there are.
        let apart = |numbers: &mut dyn Iterator<Item = usize>| numbers.is_sorted_by(|a, b| a < b);
        let done = || begins.iter().map(|(k, _)| *k);
        let mut whole =
            known == tasks && apart(&mut done()) && apart(&mut failed.iter().map(|(k, _)| *k));
        whole &= done().next_back().is_none_or(|k| k < tasks);
        for (k, _) in &failed {
            whole &= *k < tasks && begins.binary_search_by_key(k, |(k, _)| *k).is_err();
        }
        if !whole {
            return Err(Error::spec(
                format!(
                    "{} outputs and {} failures for a chunk of {tasks} tasks",
                    begins.len(),
                    failed.len()
                ),
                "call `done` or `failed` of `outputs` once for every task, by its place in the chunk",
            ));
        }
        // The next chunk's are likely as many.
        begins.clear();
        self.begins = begins;
        Ok(Collected { tasks: tasks as u64, bytes: bytes.into(), pieces, failed })
    }
}

impl Collected {
    /// Bytes that it takes, about.
    pub fn size(&self) -> usize {
        let words = |fault: &Fault| fault.why.len() + fault.input.as_ref().map_or(0, String::len);
        self.bytes.len() + self.failed.iter().map(|(_, fault)| 80 + words(fault)).sum::<usize>()
    }

    /// The outputs of so many tasks in memory of an executor.
    pub fn lent(tasks: usize, bytes: impl AsRef<[u8]> + Send + 'static) -> Self {
        let bytes = Bytes::Lent(Box::new(bytes));
        let pieces = vec![Piece { tasks: 0..tasks, bytes: 0..bytes.len() }];
        Self { tasks: tasks as u64, bytes, pieces, failed: Vec::new() }
    }
}

/// The pieces of outputs of which each begins where it is said.
fn pieces(begins: &[(usize, usize)], end: usize) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (k, begin) in begins.iter().copied() {
        match pieces.last_mut() {
            Some(last) if last.tasks.end == k && begin - last.bytes.start < PIECE => {
                last.tasks.end += 1;
            }
            _ => pieces.push(Piece { tasks: k..k + 1, bytes: begin..end }),
        }
    }
    for k in 1..pieces.len() {
        pieces[k - 1].bytes.end = pieces[k].bytes.start;
    }
    pieces
}

/// The outputs in the order of their tasks, and where each begins.
fn in_order(bytes: &[u8], begins: &[(usize, usize)]) -> (Vec<u8>, Vec<(usize, usize)>) {
    let ends = begins.iter().skip(1).map(|(_, begin)| *begin).chain([bytes.len()]);
    let mut outputs: Vec<_> =
        begins.iter().zip(ends).map(|((k, begin), end)| (*k, &bytes[*begin..end])).collect();
    outputs.sort_by_key(|(k, _)| *k);
    let mut sorted = Vec::with_capacity(bytes.len());
    let begins = outputs.into_iter().map(|(k, output)| {
        let begin = sorted.len();
        sorted.extend_from_slice(output);
        (k, begin)
    });
    let begins = begins.collect();
    (sorted, begins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkOutputs, Task, on_cores};

    fn collected(tasks: usize, order: &[usize], failed: &[usize]) -> Result<Collected> {
        fn of<T: Task<Output = u8>>(
            _: &T,
            results: &mut Results,
            order: &[usize],
            failed: &[usize],
        ) {
            let mut send = |_| true;
            let describe = |k: usize| (k > 1).then(|| format!("input {k}"));
            let mut chunk = ChunkOutputs::<T>::new(results, &mut send, &describe);
            order.iter().for_each(|&k| chunk.done(k, &(10 + k as u8)));
            failed.iter().for_each(|&k| chunk.failed(k, &format!("no {k}").into()));
        }
        let mut results = Results::default();
        of(&on_cores(|n: u8| Ok(n)), &mut results, order, failed);
        results.take(tasks)
    }

    #[test]
    fn outputs_come_out_in_the_order_of_their_tasks() {
        for order in [[0, 1, 2], [2, 0, 1], [2, 1, 0]] {
            let all = collected(3, &order, &[]).unwrap();
            assert_eq!(all.bytes[..], [10, 11, 12]);
            assert_eq!(all.pieces, [Piece { tasks: 0..3, bytes: 0..3 }]);
        }
        let some = collected(5, &[4, 0, 2], &[3, 1]).unwrap();
        assert_eq!(some.bytes[..], [10, 12, 14]);
        let piece = |k: usize, at: usize| Piece { tasks: k..k + 1, bytes: at..at + 1 };
        assert_eq!(some.pieces, [piece(0, 0), piece(2, 1), piece(4, 2)]);
        let fault = |why: &str, input: Option<&str>| Fault {
            why: why.into(),
            input: input.map(String::from),
        };
        assert_eq!(some.failed, [(1, fault("no 1", None)), (3, fault("no 3", Some("input 3")))]);
    }

    /// A chunk whose middle is lent: what comes before is handed over first, and places count on.
    #[test]
    fn what_is_lent_is_handed_over_in_its_place() {
        fn of<T: Task<Output = u8>>(_: &T, wrong: bool) -> Result<(Vec<Collected>, Collected)> {
            let (mut results, mut sent) = (Results::default(), Vec::new());
            let mut send = |collected| {
                sent.push(collected);
                sent.len() < 4
            };
            let mut chunk = ChunkOutputs::<T>::new(&mut results, &mut send, &|_| None);
            chunk.failed(0, &"no 0".into());
            if !wrong {
                chunk.done(1, &11);
            }
            assert!(chunk.hand_over(2..4, [12u8, 13])?);
            assert!(chunk.hand_over(4..4, [])?, "nothing is handed over");
            assert!(chunk.hand_over(4..5, vec![14u8])?);
            assert!(!chunk.hand_over(5..6, vec![15u8])?, "the farm is over");
            chunk.done(6, &16);
            let rest = chunk.rest(7)?;
            Ok((sent, rest))
        }
        let task = on_cores(|n: u8| Ok(n));
        let (sent, rest) = of(&task, false).unwrap();
        let all: Vec<_> = sent.iter().map(|part| (part.tasks, part.bytes.to_vec())).collect();
        assert_eq!(all, [(2, vec![11]), (2, vec![12, 13]), (1, vec![14]), (1, vec![15])]);
        assert_eq!(sent[0].failed, [(0, Fault { why: "no 0".into(), input: None })]);
        assert_eq!(sent[1].pieces, [Piece { tasks: 0..2, bytes: 0..2 }]);
        assert_eq!((rest.tasks, &rest.bytes[..]), (1, &[16][..]));
        let refusal = of(&task, true).unwrap_err().to_string();
        assert!(refusal.contains("0 outputs and 1 failures for a chunk of 2 tasks"), "{refusal}");
    }

    #[test]
    fn a_task_told_twice_or_never_is_an_error() {
        for (order, failed) in
            [(&[0, 0, 1][..], &[][..]), (&[0, 1], &[]), (&[0, 1, 2], &[2]), (&[0, 1, 3], &[])]
        {
            let refusal = collected(3, order, failed).unwrap_err().to_string();
            assert!(refusal.contains("for a chunk of 3 tasks"), "{refusal}");
        }
    }
}
