//! A worker's loop on its thread: request, run, hand over. Panics end at the task that has them.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::drive::clocks::{Clocks, was_told};
use crate::drive::endpoint::{Endpoint, Message};
use crate::drive::standing::Returned;
use crate::spec::attempt::{attempt, described};
use crate::spec::chunk::{Collected, PIECE, Results};
use crate::spec::inputs::Inputs;
use crate::spec::lane::Site;
use crate::spec::task::{ChunkExecutor, ChunkOutputs, Task};
use crate::spec::worker::{Grain, Worker};
use warpweft_core::cpu::panic_text;
use warpweft_core::error::{Error, Result};
use warpweft_core::trace::Trace;

/// A wait that is shorter is part of a request, or of handing over.
const NOTICED: Duration = Duration::from_micros(100);

/// A worker's place in a farm.
pub struct WorkerContext<'a> {
    /// Its number.
    pub number: usize,
    /// What it is.
    pub worker: Worker,
    /// Where it requests chunks and sends outputs.
    pub endpoint: Box<dyn Endpoint + 'a>,
    /// Where it records what it did when.
    pub trace: Option<Arc<Trace>>,
    /// Where its lane is, if it is one.
    pub site: Option<Site>,
    /// Of all workers of this process.
    pub clocks: &'a Arc<Clocks>,
    /// When the first worker was ready to work.
    pub begun: &'a OnceLock<Instant>,
}

impl WorkerContext<'_> {
    /// Does its `work`; a worker that panics is lost.
    pub fn guard(&self, work: &(dyn Fn(&WorkerContext<'_>) + Sync)) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(self))) {
            let what = format!("a panic outside of all tasks: {}", panic_text(panic.as_ref()));
            let hint = "correct `on_core_chunks`, `on_gpu` or `grain` if the panic is there, or else report this";
            let why = lost(self.worker, "running a farm".into(), what, hint);
            self.endpoint.send(Message::Lost { worker: self.number, why });
        }
        self.clocks.leaves(self.number);
        self.endpoint.send(Message::Left { worker: self.number });
    }

    /// What runs chunks of `task` on this worker, if they are not run one by one.
    fn executor<'t, T: Task>(&self, task: &'t T) -> Result<Option<Box<dyn ChunkExecutor<T> + 't>>> {
        match (&self.site, task.on_gpu()) {
            (None, _) => Ok(task.on_core_chunks()),
            (Some(site), Some(form)) => site.open().and_then(|lane| form.open(lane)).map(Some),
            // Lanes are made for tasks that have a form for them.
            (Some(_), None) => Err(no_form()),
        }
    }

    /// Runs chunks of `task` until there are no more, or the farm is over.
    pub fn work<T: Task>(&self, task: &T, inputs: &Inputs<'_, T::Input>) {
        let mut executor = match self.executor(task) {
            Ok(executor) => executor,
            Err(why) => {
                self.endpoint.send(Message::Lost { worker: self.number, why });
                return;
            }
        };
        let grain = executor.as_ref().map_or(Grain::ANY, |executor| executor.grain());
        let mut results = Results::default();
        let (mut took, mut output) = (None, 0);
        self.begun.get_or_init(Instant::now);
        let _entered = self.clocks.enter(self.number);
        while let Some(chunk) = self.requested(grain, took) {
            let (mut left, mut busy, mut late) = (chunk.clone(), 0.0, false);
            // Outputs of many bytes are handed over before their chunk ends.
            while !left.is_empty() {
                let from = Instant::now();
                let mut parts =
                    Parts { context: self, at: left.start, from, on_time: 0.0, over: false };
                let outcome = match &mut executor {
                    None => match self.one_by_one(task, inputs, &left, from, &mut results) {
                        Ran::Through(outcome) => outcome,
                        Ran::Late(next) if !self.endpoint.is_over() => {
                            (left.start, late) = (next, true);
                            continue;
                        }
                        Ran::Late(_) | Ran::GivenUp => return,
                    },
                    Some(executor) => {
                        left.end = chunk.end.min(left.start.saturating_add(part(grain, output)));
                        let executor = (task, &mut **executor);
                        together(&mut parts, executor, inputs, &left, &mut results)
                    }
                };
                let seconds = parts.from.elapsed().as_secs_f64();
                busy += seconds + parts.on_time;
                let through = outcome.as_ref().map_or(left.end, |c| parts.at + c.tasks);
                let range = parts.at..through;
                if self.trace.is_some() {
                    self.record(format!("tasks {}..{}", range.start, range.end), parts.from);
                }
                // What an executor has not handed over is dropped with the task that was told to end.
                if parts.over || (was_told() && (executor.is_some() || range.is_empty())) {
                    return;
                }
                left = range.end..chunk.end;
                if range.is_empty() && outcome.is_ok() {
                    // All of it was handed over by the executor.
                    continue;
                }
                output = outcome.as_ref().map_or(0, |c| c.size() as u64 / c.tasks.max(1));
                if !self.settled(range, outcome, seconds) || was_told() {
                    return;
                }
            }
            // A limit says nothing of the worker's speed.
            took = (!late).then_some((chunk.end - chunk.start, busy));
        }
    }

    /// Hands over what the tasks of `range` came to; whether the farm goes on, and this worker.
    fn settled(&self, range: Range<u64>, outcome: Result<Collected>, seconds: f64) -> bool {
        let lost = outcome.is_err();
        let message = match outcome {
            Ok(collected) => self.done(range, collected, seconds),
            Err(why) => Message::Lost { worker: self.number, why },
        };
        self.sent(message) && !lost && !self.endpoint.is_over()
    }

    fn done(&self, range: Range<u64>, collected: Collected, seconds: f64) -> Message {
        Message::Done { worker: self.number, range, collected, seconds, late: false }
    }

    /// The next chunk. The time until it is there is idle time of the timeline, unless it is short.
    fn requested(&self, grain: Grain, took: Option<(u64, f64)>) -> Option<Range<u64>> {
        let from = Instant::now();
        let chunk = self.endpoint.request(self.number, grain, took);
        let name = match from.elapsed() < NOTICED {
            true => "request",
            false => "idle: waits for a chunk",
        };
        if chunk.is_some() || name != "request" {
            self.record(name, from);
        }
        chunk
    }

    /// Hands `message` over, which takes long where the committer is behind; whether the farm goes on.
    fn sent(&self, message: Message) -> bool {
        let from = Instant::now();
        let goes_on = self.endpoint.send(message);
        if from.elapsed() >= NOTICED {
            self.record("idle: waits for the sink", from);
        }
        goes_on
    }

    /// A span of the timeline from `from` until now.
    fn record(&self, name: impl Into<String>, from: Instant) {
        if let Some(trace) = &self.trace {
            trace.add(self.worker.to_string(), name, from);
        }
    }

    /// The first of the tasks of `range`, from now on, until their outputs are a piece, the farm is over, or a task took too
    /// long or was told to end.
    fn one_by_one<T: Task>(
        &self,
        task: &T,
        inputs: &Inputs<'_, T::Input>,
        range: &Range<u64>,
        from: Instant,
        results: &mut Results,
    ) -> Ran {
        let mut through = 0;
        for (k, number) in range.clone().enumerate() {
            let before = results.mark();
            self.clocks.begins(self.number, (range.start, from), number, results);
            let mut returned = None;
            let outcome = attempt(task, inputs, number, |output| {
                let in_time = self.clocks.ends(self.number, results);
                returned = Some(in_time);
                match in_time {
                    Returned::InTime(()) => results.done(k, &output),
                    Returned::Late | Returned::GivenUp => Ok(()),
                }
            });
            match returned.unwrap_or_else(|| self.clocks.ends(self.number, results)) {
                Returned::InTime(()) => {}
                Returned::Late => return Ran::Late(number + 1),
                Returned::GivenUp => return Ran::GivenUp,
            }
            if was_told() {
                results.cut(before);
                break;
            }
            if let Err(why) = outcome {
                results.cut(before);
                // What takes long to make is not made again.
                let words = || task.describe(&inputs.there(number).ok()?);
                let input = inputs.are_known().then(|| described(words)).flatten();
                results.fail(k, &why, input);
            }
            through = k + 1;
            if results.fill_a_piece() || self.endpoint.is_over() {
                break;
            }
        }
        Ran::Through(results.take(through))
    }
}

/// How tasks that are run one by one end.
enum Ran {
    /// The first of them have these results.
    Through(Result<Collected>),
    /// One took too long; all before this one are handed over.
    Late(u64),
    /// One took so long that this worker is given up.
    GivenUp,
}

/// Tasks, in chunks of `grain`, whose outputs of so many bytes are a piece.
fn part(grain: Grain, output: u64) -> u64 {
    let of = grain.of.max(1);
    (PIECE as u64 / output.max(1) / of).max(1).saturating_mul(of)
}

/// The parts of a chunk that its executor hands over before it ends.
struct Parts<'c, 'a> {
    context: &'c WorkerContext<'a>,
    /// The first task that was not handed over, and when it was begun.
    at: u64,
    from: Instant,
    /// Seconds that those before took.
    on_time: f64,
    /// The rest need not be run.
    over: bool,
}

impl Parts<'_, '_> {
    /// Hands over the next tasks; returns whether the farm goes on.
    fn send(&mut self, collected: Collected) -> bool {
        let Self { context, at, from, .. } = self;
        let (range, seconds) = (*at..*at + collected.tasks, from.elapsed().as_secs_f64());
        if context.trace.is_some() {
            context.record(format!("tasks {}..{}", range.start, range.end), *from);
        }
        self.at = range.end;
        self.on_time += seconds;
        let message = context.done(range, collected, seconds);
        self.over |= !context.sent(message) || context.endpoint.is_over();
        self.from = Instant::now();
        !self.over
    }
}

/// Makes the inputs of `range` and runs these tasks together. An input that can't be made ends the part before it; if it is the
/// first, the part is this one task, which has failed.
fn together<T: Task>(
    parts: &mut Parts<'_, '_>,
    (task, executor): (&T, &mut (dyn ChunkExecutor<T> + '_)),
    inputs: &Inputs<'_, T::Input>,
    range: &Range<u64>,
    results: &mut Results,
) -> Result<Collected> {
    let worker = parts.context.worker;
    let mut made = Vec::with_capacity((range.end - range.start) as usize);
    for k in range.clone() {
        match inputs.made(k) {
            Ok(input) => made.push(input),
            Err(why) if made.is_empty() => {
                results.fail(0, &why, None);
                return results.take(1);
            }
            // The next part begins with it.
            Err(_) => break,
        }
    }
    let run = || {
        let mut send = |collected| parts.send(collected);
        let describe = |k: usize| described(|| task.describe(made.get(k)?));
        let mut outputs = ChunkOutputs::new(results, &mut send, &describe);
        executor.run(&made, &mut outputs)?;
        outputs.rest(made.len())
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let stage = format!("running tasks {}..{}", range.start, range.end);
        let what = format!("its executor panicked: {}", panic_text(panic.as_ref()));
        let hint = "correct the executor; the farm can't tell which task of the chunk panicked";
        Err(lost(worker, stage, what, hint))
    })
}

/// Lanes for a task that runs on none.
pub fn no_form() -> Error {
    Error::spec(
        "the farm is to run on GPUs, but its task runs on cores only",
        "give it `Task::on_gpu`, or run it on the cores",
    )
}

fn lost(worker: Worker, stage: String, what: String, hint: &str) -> Error {
    Error::Device { stage, device: worker.to_string(), what, hint: hint.into() }
}
