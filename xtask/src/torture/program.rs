//! Running the command, alone or under a launcher, with a limit of time and memory. Nothing that it started
//! outlives it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::launcher::Launcher;

/// Kilobytes of address space that a run may take.
const MEMORY: u64 = 3 << 20;

/// Kilobytes of memory of the program itself.
const OWN: u64 = 48 << 10;

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
    pub seconds: f64,
    /// The most memory that was seen, in kilobytes.
    pub peak: u64,
}

impl Ran {
    /// Whether it took at most `kilobytes` of memory, and what every run takes.
    pub fn within(&self, kilobytes: u64) -> Result<(), String> {
        match self.peak > OWN + kilobytes {
            true => Err(format!("{} kB of memory: {:?}, {}", self.peak, self.status, self.err)),
            false => Ok(()),
        }
    }

    /// Whether it ended in the ways that users know: within the limit, without a panic.
    pub fn ended(&self, within: f64) -> Result<(), String> {
        let failed =
            || format!("{:?}, {:.1} s: {}", self.status, self.seconds, self.err.trim_end());
        if self.seconds > within {
            return Err(format!("hung: {}", failed()));
        }
        let known = self.status.is_some_and(|status| [0, 1, 2, 130].contains(&status));
        if self.err.contains("bug in warpweft") || self.err.contains("panicked") || !known {
            return Err(format!("crashed: {}", failed()));
        }
        Ok(())
    }
}

/// A process that is not waited for yet.
pub struct Program {
    command: Command,
    folder: PathBuf,
}

impl Program {
    /// `warpweft line` in `folder`.
    pub fn of(program: &Path, folder: &Path, line: &str) -> Self {
        let mut command = Command::new("sh");
        let limited = format!("ulimit -v {MEMORY} 2>/dev/null; exec \"$0\" \"$@\"");
        command.args(["-c", &limited]).arg(program).args(line.split_whitespace());
        Self::from(command, folder)
    }

    /// A shell's script in `folder`, with `$W` for the program.
    pub fn script(program: &Path, folder: &Path, script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("W", program);
        Self::from(command, folder)
    }

    /// `lines`, one a process, by `launcher`, which waits `patience` seconds between the signals by which it ends
    /// other processes after the first failed; each process leaves its exit status in `status.RANK`.
    pub fn ranks(
        (launcher, patience): (&Launcher, u32),
        program: &Path,
        folder: &Path,
        lines: &[String],
    ) -> Self {
        let mut command = launcher.command();
        // Twice this: before it asks, and before it kills.
        command.env("OMPI_MCA_odls_base_sigkill_timeout", patience.to_string());
        command.env("PRTE_MCA_odls_base_sigkill_timeout", patience.to_string());
        // The shell outlives the signals of a launcher, to note the status.
        let shell = "trap '' TERM INT; \"$0\" \"$@\"; s=$?; \
                     echo $s > status.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; exit $s";
        for (n, line) in lines.iter().enumerate() {
            if n > 0 {
                command.arg(":");
            }
            command.args(["-n", "1", "sh", "-c", shell]).arg(program);
            command.args(line.split_whitespace());
        }
        Self::from(command, folder)
    }

    fn from(mut command: Command, folder: &Path) -> Self {
        let cache = folder.ancestors().nth(1).unwrap_or(folder).join("cache");
        command.current_dir(folder).env("WARPWEFT_CACHE", cache);
        Self { command, folder: folder.into() }
    }

    /// Starts it; outputs go to files of its folder.
    pub fn start(mut self) -> Result<Running, String> {
        let file = |name: &str| std::fs::File::create(self.folder.join(name));
        let files = file("out.txt").and_then(|out| Ok((out, file("err.txt")?)));
        let (out, err) = files.map_err(|error| error.to_string())?;
        self.command.stdin(Stdio::null()).stdout(out).stderr(err);
        let child = self.command.spawn().map_err(|error| error.to_string())?;
        Ok(Running { child, folder: self.folder, begin: Instant::now() })
    }

    /// Runs it to its end, or for `seconds`.
    pub fn run(self, seconds: u64) -> Ran {
        match self.start() {
            Ok(running) => running.wait(seconds),
            Err(err) => Ran { status: None, out: String::new(), err, seconds: 0.0, peak: 0 },
        }
    }
}

/// A program that runs.
pub struct Running {
    child: Child,
    folder: PathBuf,
    begin: Instant,
}

impl Running {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has not ended.
    pub fn runs(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    /// Waits for its end, for `seconds` more; then it is killed.
    pub fn wait(mut self, seconds: u64) -> Ran {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut peak = 0;
        while self.runs() && Instant::now() < end {
            peak = peak.max(memory(self.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(2));
        }
        let took = self.begin.elapsed().as_secs_f64();
        let _ = self.child.kill();
        let status = self.child.wait().ok().and_then(|status| status.code());
        end_all(&self.folder);
        let read = |name: &str| {
            let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ran { status, out: read("out.txt"), err: read("err.txt"), seconds: took, peak }
    }
}

/// Sends `signal` to `process`.
pub fn send(signal: &str, process: u32) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()]).stderr(Stdio::null());
    kill.status().is_ok_and(|status| status.success())
}

/// The most memory that `process` had so far, in kilobytes.
fn memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Ends the processes that work in `folder`: ranks whose launcher was killed would compute on, and take the time of
/// later cases.
fn end_all(folder: &Path) {
    for _ in 0..100 {
        let left: Vec<_> = processes().filter(|process| works_in(process, folder)).collect();
        if left.is_empty() {
            return;
        }
        for process in left {
            let number = process.file_name().and_then(|name| name.to_string_lossy().parse().ok());
            if let Some(number) = number {
                send("-KILL", number);
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn processes() -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path())
}

fn works_in(process: &Path, folder: &Path) -> bool {
    std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
}

/// The process of `rank` that runs the command in `folder`, not the shell around it.
pub fn rank_process(folder: &Path, rank: usize) -> Option<u32> {
    let variables = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
    let is_rank = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let mut lines = environment.split(|&byte| byte == 0);
        let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        works_in(process, folder)
            && name.trim().starts_with("warpweft")
            && lines.any(|line| variables.iter().any(|known| known.as_bytes() == line))
    };
    let found = processes().find(|process| is_rank(process))?;
    found.file_name()?.to_string_lossy().parse().ok()
}
