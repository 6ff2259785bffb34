//! Farms that take tasks while they run: each input that is submitted has a handle, from which its output comes.

use std::collections::HashMap;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

use crate::drive::{Run, Settings};
use crate::report::Outcome;
use crate::run::unpacked;
use crate::schedule::master::Master;
use crate::spec::chunk::Settled;
use crate::spec::inputs::Inputs;
use crate::spec::task::Task;
use crate::spec::{Farm, OnFailure};
use warpweft_core::error::{Error, Result, no_thread};
use warpweft_core::machine::Machine;

/// A farm at work that takes tasks one by one, from [`Farm::open`]. It ends when it is closed or dropped, after its last
/// task.
pub struct Open<T: Task> {
    intake: Arc<Intake<T>>,
    master: Arc<Master>,
    thread: Option<JoinHandle<Result<Outcome>>>,
    /// How it ended, if tasks that do not return keep its thread.
    stuck: Mutex<Receiver<Result<Outcome>>>,
}

/// The output of a task that was submitted: wait for it on a thread, or `.await` it.
pub struct Handle<O> {
    place: Arc<Place<O>>,
}

/// Inputs that are not done, and where their outputs are waited for.
struct Intake<T: Task> {
    pending: Mutex<Pending<T>>,
    deadline: Option<Instant>,
}

struct Pending<T: Task> {
    /// The number of the next task.
    next: u64,
    tasks: HashMap<u64, Submitted<T>>,
    /// Why nothing is taken any more.
    over: Option<String>,
}

impl<T: Task> Intake<T> {
    fn pending(&self) -> MutexGuard<'_, Pending<T>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left is not run.
    fn refuse(&self, outcome: &Result<Outcome>) {
        self.refuse_for(match outcome {
            Ok(_) if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                "the deadline has passed".into()
            }
            Ok(outcome) if outcome.shares.iter().all(|share| share.lost.is_some()) => {
                "every worker hangs in a task".into()
            }
            Ok(_) => "the farm was closed".into(),
            Err(error) => error.to_string(),
        });
    }

    fn refuse_for(&self, why: String) {
        let mut pending = self.pending();
        let left = std::mem::take(&mut pending.tasks);
        pending.over.get_or_insert_with(|| why.clone());
        drop(pending);
        left.into_values().for_each(|(_, place)| place.fulfil(Err(ended(&why))));
    }
}

/// Refuses what is left when it goes, so that nobody waits for a farm whose thread panicked.
struct RefuseAtEnd<'a, T: Task>(&'a Intake<T>);

impl<T: Task> Drop for RefuseAtEnd<'_, T> {
    fn drop(&mut self) {
        self.0.refuse_for("its farm panicked".into());
    }
}

/// An input, and where its output is waited for.
type Submitted<T> = (<T as Task>::Input, Arc<Place<<T as Task>::Output>>);

/// Where an output is waited for.
struct Place<O> {
    state: Mutex<Waiting<O>>,
    came: Condvar,
}

struct Waiting<O> {
    output: Option<Result<O>>,
    /// It was given to the one that waited.
    taken: bool,
    waker: Option<Waker>,
}

impl<T> Farm<T>
where
    T: Task<Input: Clone + Send> + Send + 'static,
    T::Output: Send + 'static,
{
    /// Starts workers that run what is [submitted](Open::submit), by the target, threads, policy, deadline, trace and limits of
    /// time of `run`, in this process. A task that fails is an error of its handle alone. An open
    /// farm refuses a journal, because not all tasks are known, and several ranks. It also refuses everything that `run` borrows
    /// (progress, an interrupt, functions in its settings), because the farm may outlive it.
    ///
    /// ```
    /// use warpweft::farm::{Run, on_cores};
    /// use warpweft::prelude::*;
    ///
    /// # fn main() -> warpweft::Result<()> {
    /// let farm = Farm::of(on_cores(|k: u64| Ok(k * k))).open(&Machine::detect()?, &Run::default())?;
    /// let handles = [3, 4].map(|k| farm.submit(k));
    /// let [nine, sixteen] = handles.map(|handle| handle.wait());
    /// assert_eq!((nine?, sixteen?), (9, 16));
    /// assert_eq!(farm.close()?.report.done, 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Farm::run_into`], before the first task.
    pub fn open(self, machine: &Machine, run: &Run<'_>) -> Result<Open<T>> {
        if let Some(what) = unsuited(run) {
            let what = format!("an open farm can't have {what}");
            return Err(Error::spec(what, "use `run_into` with all inputs"));
        }
        let pending = Pending { next: 0, tasks: HashMap::new(), over: None };
        let intake = Arc::new(Intake { pending: Mutex::new(pending), deadline: run.deadline });
        let (send, opened) = channel();
        let (farm, machine, taken) =
            (self.on_failure(OnFailure::Skip), machine.clone(), intake.clone());
        let (target, policy, threads) = (run.target, run.policy, run.threads);
        let (deadline, trace) = (run.deadline, run.trace.clone());
        let (task_limit, grace) = (run.settings.task_limit, run.settings.grace);
        let (ended, stuck) = channel();
        let work = move || {
            let told = |outcome: &Result<Outcome>| taken.end(outcome, &ended);
            let settings =
                Settings { task_limit, grace, stuck: Some(&told), ..Settings::default() };
            let run = Run { target, policy, threads, deadline, trace, settings, ..Run::default() };
            let left = RefuseAtEnd(&taken);
            let outcome = taken.work(&farm, &machine, &run, &send);
            left.0.refuse(&outcome);
            outcome
        };
        let spawned = Builder::new().name("farm".into()).spawn(work);
        let thread = spawned.map_err(|error| no_thread("starting a farm", &error))?;
        match opened.recv() {
            Ok(master) => {
                Ok(Open { intake, master, thread: Some(thread), stuck: Mutex::new(stuck) })
            }
            // It ended before: its error says why.
            Err(_) => Err(joined(thread).err().unwrap_or_else(gone)),
        }
    }
}

impl<T: Task> Intake<T>
where
    T::Input: Clone + Send,
    T::Output: Send,
{
    /// Runs the farm until it is closed, and fulfils handles.
    fn work(
        &self,
        farm: &Farm<T>,
        machine: &Machine,
        run: &Run<'_>,
        opened: &Sender<Arc<Master>>,
    ) -> Result<Outcome> {
        // Tasks are those whose inputs are there.
        let there = |k| self.pending().tasks.get(&k).map(|(input, _)| input.clone());
        let inputs = Inputs::while_there(u64::MAX, there);
        let mut sink = |range: Range<u64>, settled: Settled<'_>| match settled {
            Settled::Outputs(outputs) => unpacked(range, outputs, &mut |k, output| {
                self.fulfil(k, Ok(output));
                Ok(())
            }),
            Settled::Failed(failed) => {
                self.fulfil(failed.task, Err(failed.error()));
                Ok(())
            }
            Settled::End => Ok(()),
        };
        let mut open = |master| drop(opened.send(master));
        farm.drive((&inputs, 0), machine, run, &mut sink, Some(&mut open))
    }

    /// The farm has ended so, but its thread can't.
    fn end(&self, outcome: &Result<Outcome>, to: &Sender<Result<Outcome>>) {
        self.refuse(outcome);
        let copy = match outcome {
            Ok(outcome) => Ok(outcome.clone()),
            Err(error) => Err(Error::spec(format!("a farm ended: {error}"), "see there")),
        };
        // A farm that was dropped has no use for it.
        drop(to.send(copy));
    }

    fn fulfil(&self, k: u64, output: Result<T::Output>) {
        let task = self.pending().tasks.remove(&k);
        if let Some((_, place)) = task {
            place.fulfil(output);
        }
    }
}

impl<T: Task> Open<T>
where
    T::Input: Clone + Send,
    T::Output: Send,
{
    /// Adds a task. In errors and timelines, its number is the number of tasks that were submitted before it.
    pub fn submit(&self, input: T::Input) -> Handle<T::Output> {
        let waiting = Mutex::new(Waiting { output: None, taken: false, waker: None });
        let place = Arc::new(Place { state: waiting, came: Condvar::new() });
        let handle = Handle { place: place.clone() };
        let mut pending = self.intake.pending();
        if let Some(why) = &pending.over {
            place.fulfil(Err(ended(why)));
            return handle;
        }
        let number = pending.next;
        pending.next += 1;
        pending.tasks.insert(number, (input, place));
        // Under the lock, so that numbers come in order.
        self.master.add(1);
        handle
    }

    /// Waits for all tasks, and says how the farm went. Tasks that do not return within their limit and
    /// [`Settings::grace`] are not waited for: their threads go on, with what the tasks own.
    ///
    /// # Errors
    /// What ended the farm, such as the loss of all workers.
    pub fn close(mut self) -> Result<Outcome> {
        self.end()
    }
}

impl<T: Task> Open<T> {
    fn end(&mut self) -> Result<Outcome> {
        self.master.close();
        let thread = self.thread.take();
        // The sender goes when the thread ends.
        let stuck = self.stuck.get_mut().unwrap_or_else(PoisonError::into_inner);
        stuck.recv().unwrap_or_else(|_| thread.map_or_else(|| Err(gone()), joined))
    }
}

impl<T: Task> Drop for Open<T> {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Nobody is left to hear of an error but the handles, which have it.
            drop(self.end());
        }
    }
}

impl<O> Handle<O> {
    /// Whether the task is done.
    pub fn is_done(&self) -> bool {
        self.place.state().output.is_some()
    }

    /// The output, once it is there.
    ///
    /// # Errors
    /// [`Error::Task`] for a task that failed; what ended the farm before.
    pub fn wait(self) -> Result<O> {
        let mut state = self.place.state();
        loop {
            if let Some(output) = state.take() {
                return output;
            }
            state = self.place.came.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<O> Future for Handle<O> {
    type Output = Result<O>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<O>> {
        let mut state = self.place.state();
        if let Some(output) = state.take() {
            return Poll::Ready(output);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<O> Waiting<O> {
    /// The output, if it is there: once.
    fn take(&mut self) -> Option<Result<O>> {
        if self.taken {
            let what = "the output of a task was taken before";
            return Some(Err(Error::spec(what, "wait for a handle once")));
        }
        let output = self.output.take();
        self.taken = output.is_some();
        output
    }
}

impl<O> Place<O> {
    fn state(&self) -> MutexGuard<'_, Waiting<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fulfil(&self, output: Result<O>) {
        let mut state = self.state();
        state.output = Some(output);
        let waker = state.waker.take();
        drop(state);
        self.came.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// What `run` asks for that an open farm can't have.
fn unsuited(run: &Run<'_>) -> Option<&'static str> {
    let Settings { scheduler, overdue, stuck, by_gpu, orphaned, .. } = &run.settings;
    let asked = [
        (run.checkpoint.is_some(), "a journal"),
        (run.net.is_some() || orphaned.is_some(), "several ranks"),
        (run.progress.is_some(), "`Run::progress`"),
        (run.interrupt.is_some(), "`Run::interrupt`"),
        (scheduler.is_some(), "`Settings::scheduler`"),
        (overdue.is_some(), "`Settings::overdue`"),
        (stuck.is_some(), "`Settings::stuck`"),
        (by_gpu.is_some(), "`Settings::by_gpu`"),
    ];
    asked.into_iter().find_map(|(is, what)| is.then_some(what))
}

fn joined(thread: JoinHandle<Result<Outcome>>) -> Result<Outcome> {
    thread.join().unwrap_or_else(|_| Err(gone()))
}

/// A farm whose thread panicked.
fn gone() -> Error {
    Error::spec("the thread of a farm panicked", "please report this")
}

/// A task of a farm that takes none any more.
fn ended(why: &str) -> Error {
    Error::spec(format!("a task was not run: {why}"), "submit it to another farm")
}
