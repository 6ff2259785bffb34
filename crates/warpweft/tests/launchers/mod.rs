//! The `mpirun`s of this machine. Shared with the command's tests.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program.
    pub program: &'static str,
    /// Whether it is Open MPI's, which has options that others lack.
    pub open: bool,
}

/// All that are there, each kind once.
pub fn launchers() -> Vec<Launcher> {
    let mut found: Vec<Launcher> = Vec::new();
    for program in ["mpirun.openmpi", "mpirun.mpich", "mpirun"] {
        let Ok(told) = Command::new(program).arg("--version").output() else { continue };
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let open = told.contains("Open");
        let known = open || told.contains("HYDRA");
        if known && found.iter().all(|other| other.open != open) {
            found.push(Launcher { program, open });
        }
    }
    found
}

impl Launcher {
    /// `mpirun` on more ranks than there are cores, as root too.
    pub fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        if self.open {
            command.arg("--oversubscribe");
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1");
            command.env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        command
    }
}

/// Runs `command` to its end, which must come within `limit`.
pub fn within(limit: Duration, command: &mut Command) -> Output {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    // Drained while it runs: a full pipe would stop it.
    let out = child.stdout.take().map(drained);
    let err = child.stderr.take().map(drained);
    let status = ends_within(limit, &mut child);
    let text = |pipe: Option<std::thread::JoinHandle<Vec<u8>>>| {
        pipe.and_then(|pipe| pipe.join().ok()).unwrap_or_default()
    };
    Output { status, stdout: text(out), stderr: text(err) }
}

/// The status of a process that must end within `limit`.
pub fn ends_within(limit: Duration, child: &mut Child) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is ours") {
            return status;
        }
        if begin.elapsed() > limit {
            let _ = child.kill();
            panic!("it did not end within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn drained(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let _ = pipe.read_to_end(&mut all);
        all
    })
}
