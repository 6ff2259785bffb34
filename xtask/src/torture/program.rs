//! Running the command, alone or under a launcher, with a limit of time and memory.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kilobytes of address space that a run may take.
const MEMORY: u64 = 3 << 20;

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
    pub seconds: f64,
}

impl Ran {
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

    /// `lines`, one a process, by `launcher`; each process leaves its exit status in `status.RANK`.
    pub fn ranks(launcher: Launcher, program: &Path, folder: &Path, lines: &[String]) -> Self {
        let mut command = Command::new(launcher.program);
        if launcher.open {
            command.arg("--oversubscribe");
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            // So long after a signal it kills; this machine may be busy.
            command.env("OMPI_MCA_odls_base_sigkill_timeout", "8");
        }
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
            Err(err) => Ran { status: None, out: String::new(), err, seconds: 0.0 },
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
        while self.runs() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(2));
        }
        let took = self.begin.elapsed().as_secs_f64();
        let _ = self.child.kill();
        let status = self.child.wait().ok().and_then(|status| status.code());
        let read = |name: &str| {
            let bytes = std::fs::read(self.folder.join(name)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        Ran { status, out: read("out.txt"), err: read("err.txt"), seconds: took }
    }
}

/// An `mpirun`.
#[derive(Clone, Copy)]
pub struct Launcher {
    pub program: &'static str,
    pub open: bool,
}

/// Those of this machine, each kind once.
pub fn launchers() -> Vec<Launcher> {
    let mut found: Vec<Launcher> = Vec::new();
    for program in ["mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec.hydra"] {
        let Ok(told) = Command::new(program).arg("--version").output() else { continue };
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let open = told.contains("Open");
        if (open || told.contains("HYDRA")) && found.iter().all(|other| other.open != open) {
            found.push(Launcher { program, open });
        }
    }
    found
}

/// Sends `signal` to `process`.
pub fn send(signal: &str, process: u32) -> bool {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()]).stderr(Stdio::null());
    kill.status().is_ok_and(|status| status.success())
}

/// The process of `rank` that runs the command in `folder`, not the shell around it.
pub fn rank_process(folder: &Path, rank: usize) -> Option<u32> {
    let variables = [format!("OMPI_COMM_WORLD_RANK={rank}"), format!("PMI_RANK={rank}")];
    let is_rank = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        let mut lines = environment.split(|&byte| byte == 0);
        let here = std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == folder);
        let name = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        here && name.trim() == "warpweft"
            && lines.any(|line| variables.iter().any(|known| known.as_bytes() == line))
    };
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let found = processes.map(|entry| entry.path()).find(|process| is_rank(process))?;
    found.file_name()?.to_string_lossy().parse().ok()
}
