//! Every order of what workers, their watcher and the committer do where tasks have a limit of time: whatever happens when,
//! the farm ends, and each task has one result or is not reached because no worker was left.
//!
//! [`Standing`], [`Roll`] and the dispatcher are the ones of the farm. A step is what happens under one lock or by one message.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use super::roll::Roll;
use super::standing::{Found, Limit, Returned, Running, Standing};
use crate::schedule::dispatcher::{Dispatcher, Reply};
use crate::schedule::ledger::{Again, Ledger};
use crate::schedule::{Request, Scheduler};
use crate::spec::worker::{Grain, Worker};

const WORKERS: usize = 2;

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Returns,
    Fails,
    /// Until it is told to return.
    Hangs,
    Never,
}

/// What is explored.
#[derive(Clone, Copy, Debug)]
struct Case {
    kinds: [Kind; 3],
    retries: u32,
    chunk: u64,
    backups: bool,
    /// Any task may take too long, and any that does may return too late.
    slow: bool,
    /// A task is found late by a look without the lock, which a flag tells afterwards.
    flag: bool,
    /// A worker is given up before what it handed over is received.
    unread: bool,
}

struct Chunks {
    of: u64,
    backups: bool,
}

impl Scheduler for Chunks {
    fn next(&mut self, request: &Request<'_>) -> Option<Range<u64>> {
        let free = request.free.iter().next()?;
        Some(free.start..free.end.min(free.start + self.of))
    }
    fn backups(&self) -> bool {
        self.backups
    }
}

/// Tasks, and whether each has an output.
type Results = Vec<(u64, bool)>;

/// Where a worker is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum At {
    Asks,
    /// Whether it has not been woken.
    Waits(bool),
    Begins(Range<u64>, u64, Results),
    Runs(u64, u64),
    /// Whether it leaves then.
    Hands(Range<u64>, Results, bool),
    Leaves,
    Gone,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Message {
    Done(usize, Range<u64>, Results),
    Left(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Worker(usize),
    Receive,
    Look(usize),
    /// The two halves of a look without the lock.
    Read(usize),
    Mark(usize),
}

/// All that the next steps depend on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    at: [At; WORKERS],
    standing: [Standing<Results>; WORKERS],
    late: [bool; WORKERS],
    read: [Option<(u64, u64, Results)>; WORKERS],
    channel: VecDeque<Message>,
    roll: Roll,
    over: bool,
    /// By task: whether it has an output.
    results: [Option<bool>; 3],
    /// By task: how often it was begun, has failed, and has returned in time.
    begun: [u32; 3],
    attempts: [u32; 3],
    returned: [bool; 3],
}

struct Model {
    case: Case,
    state: State,
    dispatcher: Dispatcher,
}

fn of(case: Case) -> Box<dyn Scheduler> {
    Box::new(Chunks { of: case.chunk, backups: case.backups })
}

impl Model {
    fn new(case: Case) -> Self {
        let workers: Vec<_> = Worker::cores(0, WORKERS).collect();
        let dispatcher = Dispatcher::new(3, &workers, of(case)).limited();
        let state = State {
            at: [At::Asks, At::Asks],
            standing: [Standing::Idle, Standing::Idle],
            late: [false; WORKERS],
            read: [None, None],
            channel: VecDeque::new(),
            roll: Roll::of(WORKERS),
            over: false,
            results: [None; 3],
            begun: [0; 3],
            attempts: [0; 3],
            returned: [false; 3],
        };
        Self { case, state, dispatcher }
    }

    fn copied(&self) -> Self {
        let Self { case, state, dispatcher } = self;
        Self { case: *case, state: state.clone(), dispatcher: dispatcher.model(of(*case)) }
    }

    fn kind(&self, task: u64) -> Kind {
        self.case.kinds[task as usize]
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (w, at) in self.state.at.iter().enumerate() {
            let can = match at {
                At::Waits(asleep) => !asleep,
                At::Gone => false,
                At::Runs(task, _) => match self.kind(*task) {
                    Kind::Returns | Kind::Fails => true,
                    Kind::Hangs => self.state.late[w] || self.state.over,
                    Kind::Never => false,
                },
                _ => true,
            };
            steps.extend(can.then_some(Step::Worker(w)));
            let hangs = |task: u64| matches!(self.kind(task), Kind::Hangs | Kind::Never);
            let look = match &self.state.standing[w] {
                Standing::Runs(running) => self.case.slow || hangs(running.task),
                Standing::Late { task, .. } => self.case.slow || self.kind(*task) == Kind::Never,
                _ => false,
            };
            let runs = matches!(self.state.standing[w], Standing::Runs(_));
            match self.case.flag && runs {
                true if !self.state.late[w] && self.state.read[w].is_none() => {
                    steps.extend(look.then_some(Step::Read(w)));
                }
                true => {}
                false => steps.extend(look.then_some(Step::Look(w))),
            }
            steps.extend(self.state.read[w].as_ref().map(|_| Step::Mark(w)));
        }
        steps.extend((!self.state.channel.is_empty()).then_some(Step::Receive));
        steps
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        let seen = self.dispatcher.generation();
        match step {
            Step::Worker(w) => self.work(w),
            Step::Look(w) => self.look(w)?,
            Step::Receive => self.receive()?,
            Step::Read(w) => {
                if let Standing::Runs(Running { first, task, results, .. }) =
                    &self.state.standing[w]
                {
                    self.state.read[w] = Some((*first, *task, results.clone()));
                }
            }
            Step::Mark(w) => {
                let Some((first, task, results)) = self.state.read[w].take() else { return Ok(()) };
                self.state.late[w] = true;
                self.too_late(w, first, task, results)?;
            }
        }
        for at in self.state.at.iter_mut().filter(|_| self.dispatcher.generation() != seen) {
            if let At::Waits(asleep) = at {
                *asleep = false;
            }
        }
        Ok(())
    }

    /// The next step of a worker: `WorkerContext::work`.
    fn work(&mut self, w: usize) {
        let at = std::mem::replace(&mut self.state.at[w], At::Gone);
        self.state.at[w] = match at {
            At::Asks | At::Waits(_) => match self.dispatcher.request(w, Grain::ANY, None, 0.0) {
                Reply::Chunk(range) => At::Begins(range.start..range.start, range.end, Vec::new()),
                Reply::Wait(_) => At::Waits(true),
                Reply::End => At::Leaves,
            },
            At::Begins(before, end, results) => {
                let (task, zero) = (before.end, Duration::ZERO);
                self.state.begun[task as usize] += 1;
                let first = before.start;
                self.state.standing[w].begin(Running {
                    first,
                    from: zero,
                    task,
                    since: zero,
                    results,
                });
                At::Runs(task, end)
            }
            At::Runs(task, end) => self.end(w, task, end),
            At::Hands(range, results, leaves) => {
                self.state.channel.push_back(Message::Done(w, range, results));
                if leaves || self.state.over { At::Leaves } else { At::Asks }
            }
            At::Leaves => {
                self.state.standing[w].leave();
                self.state.channel.push_back(Message::Left(w));
                At::Gone
            }
            At::Gone => At::Gone,
        };
    }

    /// The task of a worker returns: `WorkerContext::one_by_one`.
    fn end(&mut self, w: usize, task: u64, end: u64) -> At {
        let first = match &self.state.standing[w] {
            Standing::Runs(running) => running.first,
            _ => task,
        };
        let mut returned = self.state.standing[w].end();
        if self.case.flag && self.state.late[w] && matches!(returned, Returned::InTime(_)) {
            returned = Returned::Late;
        }
        match returned {
            Returned::GivenUp => At::Leaves,
            Returned::Late => {
                self.state.late[w] = false;
                match (self.state.over, task + 1 == end) {
                    (true, _) => At::Leaves,
                    (false, true) => At::Asks,
                    (false, false) => At::Begins(task + 1..task + 1, end, Vec::new()),
                }
            }
            // It was told because the farm is over.
            Returned::InTime(results) if self.kind(task) == Kind::Hangs => match first == task {
                true => At::Leaves,
                false => At::Hands(first..task, results, true),
            },
            Returned::InTime(mut results) => {
                let done = self.kind(task) != Kind::Fails;
                self.state.returned[task as usize] |= done;
                results.push((task, done));
                match task + 1 == end || self.state.over {
                    true => At::Hands(first..task + 1, results, false),
                    false => At::Begins(first..task + 1, end, results),
                }
            }
        }
    }

    fn receive(&mut self) -> Result<(), String> {
        match self.state.channel.pop_front() {
            Some(Message::Done(w, range, results)) => self.hand_over(w, range, &results, None)?,
            Some(Message::Left(w)) => self.state.roll.leaves(w),
            None => {}
        }
        Ok(())
    }

    /// As `Committer::look_at_clocks`.
    fn look(&mut self, w: usize) -> Result<(), String> {
        let second = Duration::from_secs(1);
        // As late as need be.
        let now = match self.state.standing[w] {
            Standing::Late { .. } => 4 * second,
            _ => 2 * second,
        };
        match self.state.standing[w].look(Limit { task: second, grace: second }, now) {
            Some(Found::Late(Running { first, task, results, .. })) => {
                self.state.late[w] = true;
                self.too_late(w, first, task, results)
            }
            Some(Found::GivenUp(_)) => {
                while !self.case.unread && !self.state.channel.is_empty() {
                    self.receive()?;
                }
                self.dispatcher.lose(w);
                self.state.roll.loses(w, true);
                if self.state.roll.all_lost() {
                    self.state.over = true;
                    self.dispatcher.stop();
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn too_late(
        &mut self,
        w: usize,
        first: u64,
        task: u64,
        mut results: Results,
    ) -> Result<(), String> {
        results.push((task, false));
        self.hand_over(w, first..task + 1, &results, Some(task))
    }

    /// As `Committer::hand_over`.
    fn hand_over(
        &mut self,
        w: usize,
        range: Range<u64>,
        results: &Results,
        late: Option<u64>,
    ) -> Result<(), String> {
        let wanted: Vec<_> = self.dispatcher.wanted(w, &range).into_iter().flatten().collect();
        let mut failed = Vec::new();
        for (task, done) in results.iter().filter(|(task, _)| wanted.contains(task)) {
            let k = *task as usize;
            self.state.attempts[k] += u32::from(!done);
            let again = !done && late != Some(*task) && self.state.attempts[k] <= self.case.retries;
            if !done {
                failed.push((*task, if again { Again::Yes } else { Again::No }));
            }
            if !again && self.state.results[k].replace(*done).is_some() {
                return Err(format!("task {task} has two results"));
            }
        }
        let settled = self.dispatcher.settle(w, range, failed.into_iter());
        settled.map_err(|error| error.to_string())?;
        self.state.over |= self.dispatcher.is_settled();
        Ok(())
    }

    /// What must hold once the committer has ended.
    fn check(&self) -> Result<(), String> {
        let State { results, begun, attempts, returned, roll, .. } = &self.state;
        let given_up = self.state.standing.iter().filter(|s| **s == Standing::GivenUp).count();
        for (k, kind) in self.case.kinds.iter().enumerate() {
            let hangs = matches!(kind, Kind::Hangs | Kind::Never);
            let fine = match results[k] {
                None => roll.all_lost() && (!hangs || begun[k] == 0),
                Some(done) => done || attempts[k] > 0,
            };
            // Nothing that returned in time is lost, and what hangs is run once.
            let fine =
                fine && (!returned[k] || results[k] == Some(true)) && (!hangs || begun[k] <= 1);
            let fine = fine && begun[k] <= self.case.retries + 1;
            if !fine && (!self.case.slow || results[k].is_none()) {
                return Err(format!("task {k}: {:?} after {} runs", results[k], begun[k]));
            }
        }
        let never = |k: &usize| self.case.kinds[*k] == Kind::Never && begun[*k] > 0;
        let most = (0..3).filter(never).count();
        if !self.case.slow && given_up != most {
            return Err(format!("{given_up} workers for {most} tasks that never return"));
        }
        Ok(())
    }
}

/// Every order of steps; how many states there are.
///
/// # Errors
/// What went wrong, after which steps.
fn explore(case: Case) -> Result<usize, String> {
    let mut seen: HashSet<(State, Ledger)> = HashSet::new();
    let mut open = vec![Model::new(case)];
    while let Some(model) = open.pop() {
        if !seen.insert((model.state.clone(), model.dispatcher.ledger().clone())) {
            continue;
        }
        let wrong = |what: String| format!("{case:?}: {what}: {:?}", model.state);
        if model.state.roll.is_empty() {
            model.check().map_err(wrong)?;
            continue;
        }
        let steps = model.steps();
        if steps.is_empty() {
            return Err(wrong("nothing happens any more".into()));
        }
        for step in steps {
            let mut next = model.copied();
            next.step(step).map_err(wrong)?;
            open.push(next);
        }
    }
    Ok(seen.len())
}

fn cases() -> impl Iterator<Item = Case> {
    use Kind::{Fails, Hangs, Never, Returns};
    let kinds =
        [[Returns, Hangs, Returns], [Hangs, Hangs, Returns], [Never, Returns, Returns]].into_iter();
    let kinds =
        kinds.chain([[Returns, Never, Hangs], [Never, Never, Returns], [Returns, Never, Never]]);
    let kinds = kinds.chain([[Never, Fails, Hangs], [Hangs; 3], [Never; 3]]);
    let ways = (0..16u32).map(|bits| [0, 1, 2, 3].map(|bit| bits >> bit & 1 == 1));
    kinds.flat_map(move |kinds| {
        ways.clone().map(move |[more, retries, backups, slow]| Case {
            kinds,
            retries: u32::from(retries),
            chunk: 1 + u64::from(more),
            backups,
            slow,
            flag: false,
            unread: false,
        })
    })
}

#[test]
fn whatever_happens_when_the_farm_ends_and_no_result_is_lost() {
    let states: Vec<_> = cases().map(|case| explore(case).unwrap()).collect();
    assert!(states.iter().all(|states| *states > 20), "{states:?}");
}

/// The model finds what is wrong where worker and watcher do not agree on who answers for a task, and where a worker is given
/// up before what it handed over is received.
#[test]
fn what_breaks_the_rules_is_found() {
    let wrong = |change: fn(Case) -> Case| cases().any(|case| explore(change(case)).is_err());
    assert!(wrong(|case| Case { flag: true, ..case }));
    assert!(wrong(|case| Case { unread: true, ..case }));
}
