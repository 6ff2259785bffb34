//! Runs tests as their programs are built, several at a time, and keeps how long each took.
//!
//! Each test of a program below `tests` is a process of its own, so that one that waits does not keep others from
//! running and none sees another's environment. The tests inside a library are one process if they are many: such are
//! short.

use std::process::Command;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::programs::Program;
use crate::tally::{Reader, Tally};

/// A library's tests are as many processes unless they are more.
const MANY: usize = 20;

/// Something to run: a program's tests, or the one of that name.
struct Job {
    program: Program,
    test: Option<String>,
}

/// Where programs are handed in; what has been taken is run even after this is dropped.
pub struct Intake(Sender<Job>);

/// Tests that wait for someone to run them.
pub struct Runner {
    jobs: Mutex<Receiver<Job>>,
    outcome: Mutex<Outcome>,
}

/// What came of all tests.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The sum.
    pub tally: Tally,
    /// Tests that skipped themselves: name and reason.
    pub skips: Vec<(String, String)>,
    /// How long each test or library's tests took.
    pub times: Vec<(String, Duration)>,
}

/// A runner, and where it is given programs.
pub fn runner() -> (Intake, Runner) {
    let (give, jobs) = channel();
    (Intake(give), Runner { jobs: Mutex::new(jobs), outcome: Mutex::default() })
}

impl Intake {
    /// Hands in the tests of `program`; how many of them are ignored.
    ///
    /// # Errors
    /// The program can't be run.
    pub fn take(&self, program: Program) -> Result<u64, String> {
        // Nobody takes it only when a worker panicked, which is told where they are joined.
        let tests = program.tests(false)?;
        if program.unit && tests.len() > MANY {
            let _ = self.0.send(Job { program, test: None });
            return Ok(0);
        }
        let ignored = program.tests(true)?;
        for test in tests {
            if !ignored.contains(&test) {
                let _ = self.0.send(Job { program: program.clone(), test: Some(test) });
            }
        }
        Ok(ignored.len() as u64)
    }
}

impl Runner {
    /// Runs what is handed in until there is no more; for several threads at once.
    pub fn work(&self) {
        loop {
            let job = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else { return };
            self.run(&job);
        }
    }

    fn run(&self, job: &Job) {
        let mut command = Command::new(&job.program.path);
        command.arg("--show-output").current_dir(&job.program.package);
        let mut name = job.program.title();
        match &job.test {
            Some(test) => {
                command.args(["--exact", test]);
                name = format!("{name} {test}");
            }
            // The other cores have other tests to run.
            None => drop(command.arg("--test-threads=1")),
        }
        let begin = Instant::now();
        let output = command.output();
        let took = begin.elapsed();
        let (text, ended) = match output {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                (text + &errors, output.status.success())
            }
            Err(error) => (error.to_string(), false),
        };
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.line(line);
        }
        let mut tally = reader.tally;
        // A crash has no closing line.
        if !ended && tally.failed == 0 {
            tally.failed = 1;
        }
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if tally.failed > 0 {
            println!("== {name} FAILED\n{}", text.trim_end());
        }
        outcome.tally += tally;
        let program = job.program.title();
        let skips = reader.skips.into_iter();
        outcome.skips.extend(skips.map(|(test, why)| (format!("{program} {test}"), why)));
        outcome.times.push((name, took));
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
        let mut programs: Vec<(String, Duration)> = Vec::new();
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

fn print_slowest(what: &str, times: &[(String, Duration)], most: usize) {
    let all: Duration = times.iter().map(|(_, took)| took).sum();
    println!("slowest {what} (all {} took {:.0} s):", times.len(), all.as_secs_f64());
    let mut times: Vec<_> = times.iter().collect();
    times.sort_by_key(|(_, took)| std::cmp::Reverse(*took));
    for (name, took) in times.into_iter().take(most) {
        println!("{:8.1} s  {name}", took.as_secs_f64());
    }
}
