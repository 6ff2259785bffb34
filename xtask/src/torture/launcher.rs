//! The launchers of ranks that this machine has, each with the MPI library that belongs to it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An `mpirun`.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
    /// Its library, if it is next to the launcher and not in a folder of the system.
    library: Option<PathBuf>,
    /// Whether it is Open MPI's, else a Hydra of MPICH.
    open: bool,
    version: String,
}

impl Launcher {
    /// Whose it is, and the version.
    pub fn name(&self) -> String {
        format!("{} {}", if self.open { "Open MPI" } else { "MPICH" }, self.version)
    }

    /// Whether it kills the other processes at once when the first has ended with an error.
    pub fn kills(&self) -> bool {
        self.open && !self.version.starts_with('4')
    }

    /// The launcher without processes.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if self.open {
            command.args(["--map-by", ":OVERSUBSCRIBE"]);
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        if let Some(library) = &self.library {
            command.env("WARPWEFT_MPI", library);
        }
        command
    }

    fn of(program: &Path) -> Option<Self> {
        let told = Command::new(program).arg("--version").output().ok()?;
        let told = String::from_utf8_lossy(&told.stdout).into_owned();
        let open = told.contains("Open MPI") || told.contains("OpenRTE");
        if !open && !told.contains("HYDRA") {
            return None;
        }
        let number =
            |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
        let version = told.split_whitespace().find(number).unwrap_or("?").to_string();
        let folder = program.parent().and_then(Path::parent).map(|folder| folder.join("lib"));
        let names =
            if open { ["libmpi.so.40", "libmpi.so"] } else { ["libmpi.so.12", "libmpich.so.12"] };
        let found = folder.map(|folder| names.map(|name| folder.join(name)));
        let library = found.into_iter().flatten().find(|path| path.is_file());
        Some(Self { program: program.into(), library, open, version })
    }
}

/// Those named in `$WARPWEFT_LAUNCHERS` (paths, with colons between), else those of this machine, each kind once.
pub fn launchers() -> Vec<Launcher> {
    if let Some(named) = std::env::var_os("WARPWEFT_LAUNCHERS") {
        return std::env::split_paths(&named).filter_map(|path| Launcher::of(&path)).collect();
    }
    let mut found: Vec<Launcher> = Vec::new();
    for program in ["mpirun.openmpi", "mpirun.mpich", "mpirun", "mpiexec.hydra"] {
        let launcher = Launcher::of(program.as_ref());
        found.extend(launcher.filter(|it| found.iter().all(|other| other.open != it.open)));
    }
    found
}
