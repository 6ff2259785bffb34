//! Runs tests as their programs are built, several at a time, and keeps how long each took.
//!
//! Each test of a program below `tests` is a process of its own, so that one that waits does not keep others from
//! running and none sees another's environment. The tests inside a library are one process if they are many: such are
//! short.

use std::ops::AddAssign;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::measured::{self, Measured};
use super::queue::Queue;
use crate::nvrtc;
use crate::programs::Program;
use crate::tally::{Reader, Tally};

/// A library's tests are as many processes unless they are more.
const MANY: usize = 20;

/// Something to run: a program's tests, or the one of that name.
struct Job {
    program: Program,
    test: Option<String>,
}

impl Job {
    /// The program's title and the test.
    fn name(&self) -> String {
        let title = self.program.title();
        self.test.as_ref().map_or(title.clone(), |test| format!("{title} {test}"))
    }
}

/// Tests that wait for someone to run them.
pub struct Runner {
    jobs: Queue<Job>,
    outcome: Mutex<Outcome>,
}

/// What came of all tests.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The sum.
    pub tally: Tally,
    /// Tests that skipped themselves: name and reason.
    pub skips: Vec<(String, String)>,
    /// What each test or library's tests took.
    pub times: Vec<(String, Took)>,
}

/// Seconds of cores, and seconds that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Took {
    cpu: Duration,
    wall: Duration,
}

impl AddAssign for Took {
    fn add_assign(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.wall += other.wall;
    }
}

impl Runner {
    /// A runner with nothing to run yet.
    pub fn new() -> Self {
        Self { jobs: Queue::new(), outcome: Mutex::default() }
    }

    /// Hands in the tests of `program`; how many of them are ignored.
    ///
    /// # Errors
    /// The program can't be run.
    pub fn take(&self, program: Program) -> Result<u64, String> {
        let put = |test| {
            let job = Job { program: program.clone(), test };
            self.jobs.put(&job.name(), job);
        };
        let tests = program.tests(false)?;
        if program.unit && tests.len() > MANY {
            put(None);
            return Ok(0);
        }
        let ignored = program.tests(true)?;
        tests.into_iter().filter(|test| !ignored.contains(test)).for_each(|test| put(Some(test)));
        Ok(ignored.len() as u64)
    }

    /// Says that all has been handed in.
    pub fn close(&self) {
        self.jobs.close();
    }

    /// Runs what is handed in until there is no more; for several threads at once.
    pub fn work(&self) {
        while let Some(job) = self.jobs.next() {
            self.run(&job);
        }
    }

    fn run(&self, job: &Job) {
        let mut command = Command::new(&job.program.path);
        command.arg("--show-output").current_dir(&job.program.package);
        match &job.test {
            Some(test) => command.args(["--exact", test]),
            // The other cores have other tests to run.
            None => command.arg("--test-threads=1"),
        };
        if let Some(nvrtc) = nvrtc::own(&job.program.package) {
            command.env(nvrtc::NAMES, nvrtc);
        }
        let (effort, value) = nvrtc::effort();
        command.env(effort, value);
        let Measured { text, succeeded, wall, cpu } = measured::run(&mut command);
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line);
        }
        let mut tally = reader.tally;
        // A crash has no closing line.
        if !succeeded && tally.failed == 0 {
            tally.failed = 1;
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if tally.failed > 0 {
            println!("== {} FAILED\n{}", job.name(), text.trim_end());
        }
        outcome.tally += tally;
        let program = job.program.title();
        let skips = reader.skips.into_iter();
        outcome.skips.extend(skips.map(|(test, why)| (format!("{program} {test}"), why)));
        outcome.times.push((job.name(), Took { cpu, wall }));
    }

    /// What came of all that was run.
    pub fn outcome(self) -> Outcome {
        self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outcome {
    /// Prints why tests were skipped, and the `most` slowest tests and programs.
    pub fn print(&self, most: usize) {
        for (test, reason) in &self.skips {
            println!("skipped {test}: {reason}");
        }
        let mut programs: Vec<(String, Took)> = Vec::new();
        for (name, took) in &self.times {
            let program = name.split(' ').next().unwrap_or(name);
            match programs.iter_mut().find(|(name, _)| name == program) {
                Some((_, sum)) => *sum += *took,
                None => programs.push((program.into(), *took)),
            }
        }
        print_slowest("programs", &programs, most);
        print_slowest("tests", &self.times, most);
    }
}

fn print_slowest(what: &str, times: &[(String, Took)], most: usize) {
    let mut all = Took::default();
    times.iter().for_each(|(_, took)| all += *took);
    let (cpu, wall) = (all.cpu.as_secs_f64(), all.wall.as_secs_f64());
    println!("slowest {what} (all {}: {cpu:.0} s of cores in {wall:.0} s):", times.len());
    let mut times: Vec<_> = times.iter().collect();
    times.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    for (name, took) in times.into_iter().take(most) {
        println!(
            "{:8.1} s of cores in {:6.1} s  {name}",
            took.cpu.as_secs_f64(),
            took.wall.as_secs_f64()
        );
    }
}
