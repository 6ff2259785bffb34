//! A program run to its end: what it printed, how long it took, and the time of cores that it used.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Clock ticks a second in what Linux says of processes.
const TICKS: u64 = 100;

/// What came of a program.
pub struct Measured {
    /// What it printed, errors last.
    pub text: String,
    /// Whether it ended well.
    pub succeeded: bool,
    /// Seconds that passed.
    pub wall: Duration,
    /// Seconds of cores, those of its children included; zero where the system does not say.
    pub cpu: Duration,
}

/// Runs `command` to its end.
pub fn run(command: &mut Command) -> Measured {
    let begin = Instant::now();
    let ended = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().and_then(|child| {
        let (text, mut child) = printed(child);
        let cpu = cpu_of(child.id());
        Ok((text, cpu, child.wait()?.success()))
    });
    let wall = begin.elapsed();
    match ended {
        Ok((text, cpu, succeeded)) => Measured { text, succeeded, wall, cpu },
        Err(error) => {
            Measured { text: error.to_string(), succeeded: false, wall, cpu: Duration::ZERO }
        }
    }
}

/// What `child` prints until it closes its outputs.
fn printed(mut child: Child) -> (String, Child) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        // A pipe that breaks ends the text; how the program ended is told by its status.
        scope.spawn(|| stderr.as_mut().map(|pipe| pipe.read_to_end(&mut errors)));
        let _ = stdout.as_mut().map(|pipe| pipe.read_to_end(&mut output));
    });
    output.append(&mut errors);
    (String::from_utf8_lossy(&output).into_owned(), child)
}

/// The time of cores that a process used until it ended, read before it is waited for, which forgets it.
fn cpu_of(process: u32) -> Duration {
    loop {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        match cpu_in(&stat) {
            Some(('Z' | 'X', cpu)) => return cpu,
            None => return Duration::ZERO,
            Some(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// The time of cores of this process's children that have ended.
pub fn cpu_of_children() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    cpu_in(&stat).map_or(Duration::ZERO, |(_, cpu)| cpu)
}

/// A process's state, and the time of cores of it and of its children that have ended.
fn cpu_in(stat: &str) -> Option<(char, Duration)> {
    // The name before may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let state = fields.first()?.chars().next()?;
    let ticks: Option<u64> =
        fields.get(11..15)?.iter().map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some((state, Duration::from_millis(ticks? * 1000 / TICKS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_its_own_time_and_its_childrens() {
        let stat = "7 (a) b) Z 1 2 3 4 5 6 7 8 9 10 100 20 3 400 15 -5";
        assert_eq!(cpu_in(stat), Some(('Z', Duration::from_millis(5230))));
        assert_eq!(cpu_in(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_that_waits_uses_no_time_of_cores() {
        let waits = run(Command::new("sleep").arg("0.2"));
        assert!(waits.succeeded && waits.wall > Duration::from_millis(190));
        assert!(waits.cpu < Duration::from_millis(150));
        let works = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done; exit 3";
        let works = run(Command::new("sh").args(["-c", works]));
        assert!(!works.succeeded && works.text == "done\n");
        assert!(works.cpu >= Duration::from_millis(20), "{:?}", works.cpu);
    }
}
