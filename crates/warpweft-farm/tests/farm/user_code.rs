//! Panics and bytes of user code other than the task itself: inputs, checks, packing.

use warpweft::farm::{
    ChunkExecutor, ChunkOutputs, ChunkSize, Flush, Inputs, Journal, OnFailure, Packed, Policy, Run,
    on_cores,
};
use warpweft::prelude::*;

fn machine() -> Machine {
    Machine::detect().unwrap()
}

/// Adds one to each input of a chunk, and checks what it is given.
struct Together;
impl Task for Together {
    type Input = u64;
    type Output = Fragile;
    fn on_core(&self, k: u64) -> Result<Fragile, Failure> {
        Ok(Fragile(k + 1))
    }
    fn on_core_chunks(&self) -> Option<Box<dyn ChunkExecutor<Self> + '_>> {
        Some(Box::new(Self))
    }
}
impl ChunkExecutor<Self> for Together {
    fn run(
        &mut self,
        inputs: &[u64],
        outputs: &mut ChunkOutputs<'_, Self>,
    ) -> warpweft::Result<()> {
        for (k, &input) in inputs.iter().enumerate() {
            outputs.done(k, &Fragile(input + 1));
        }
        Ok(())
    }
}

/// A number whose bytes can't be written if it is 31, and not be read back if it is 51.
#[derive(Debug, PartialEq)]
struct Fragile(u64);
impl Packed for Fragile {
    fn pack(&self, to: &mut Vec<u8>) {
        to.push(7);
        assert!(self.0 != 31, "no bytes for 31");
        self.0.pack(to);
    }
    fn unpack(from: &mut &[u8]) -> Option<Self> {
        (u8::unpack(from)? == 7).then_some(())?;
        u64::unpack(from).filter(|k| *k != 51).map(Self)
    }
    fn form() -> String {
        "a fragile number".into()
    }
}

/// Of tasks that run together as of those that run alone: an input that can't be made, a check that panics, bytes that
/// can't be written.
#[test]
fn user_code_that_panics_costs_one_task_and_no_worker() {
    let inputs = || Inputs::by(50, |k| if k % 20 == 5 { panic!("no input {k}") } else { k });
    let accept = |found: &Fragile| match found.0 {
        11 => panic!("no check of 11"),
        21 => Err("not 21".into()),
        _ => Ok(()),
    };
    let policy = Policy { chunk: ChunkSize::Tasks(16), ..Policy::default() };
    let run = Run { policy: Some(policy), threads: Some(2), ..Run::default() };
    let together = Farm::of(Together).accept(accept).on_failure(OnFailure::Skip);
    let alone = Farm::of(on_cores(|k: u64| Ok(Fragile(k + 1)))).accept(accept);
    let ran = [
        together.run_with(inputs(), &machine(), &run).unwrap(),
        alone.on_failure(OnFailure::Skip).run_with(inputs(), &machine(), &run).unwrap(),
    ];
    for (found, outcome) in ran {
        let failed: Vec<_> = outcome.failed.iter().map(|f| (f.task, f.what.as_str())).collect();
        let expect = [
            (5, "it panicked: no input 5"),
            (10, "it panicked: no check of 11"),
            (20, "not 21"),
            (25, "it panicked: no input 25"),
            (30, "it panicked: no bytes for 31"),
            (45, "it panicked: no input 45"),
        ];
        assert_eq!(failed, expect);
        for (k, found) in (0..50).zip(found) {
            let fine = expect.iter().all(|(task, _)| *task != k);
            assert_eq!(found, fine.then_some(Fragile(k + 1)));
        }
        assert!(outcome.shares.iter().all(|share| share.lost.is_none()));
    }
}

/// A journal would be refused by every later run.
#[test]
fn outputs_that_are_not_read_back_do_not_get_into_a_journal() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("kept");
    let journal =
        Journal { directory, of: "numbers".into(), resume: false, flush: Flush::EveryChunk };
    let policy = Policy { chunk: ChunkSize::Tasks(10), ..Policy::default() };
    let run = Run {
        checkpoint: Some(&journal),
        threads: Some(1),
        policy: Some(policy),
        ..Run::default()
    };
    let farm = Farm::of(on_cores(|k: u64| Ok(Fragile(k + 1)))).on_failure(OnFailure::Skip);
    let (_, outcome) = farm.run_with(0..60u64, &machine(), &run).unwrap();
    let [thirty, fifty] = &outcome.failed[..] else { panic!("{:?}", outcome.failed) };
    assert_eq!((thirty.task, fifty.task), (30, 50));
    let why = "its output can't be read back as a fragile number";
    assert!(fifty.what.starts_with(why), "{}", fifty.what);
    let again = Journal { resume: true, ..journal };
    let done = again.done::<Fragile>(60).unwrap();
    assert_eq!(done.iter().collect::<Vec<_>>(), [0..30, 31..50, 51..60]);
}
