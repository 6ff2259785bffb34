//! Whether this process is one of several that a launcher such as `mpirun` started, found out from
//! the environment before any library is loaded.

use crate::error::{Error, Result};

/// Whose environment told of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// Open MPI's `mpirun`.
    OpenMpi,
    /// The process manager of MPICH and its kin (Intel MPI, MVAPICH, Cray), also under Slurm.
    Pmi,
    /// PMIx under Slurm, which starts programs of either.
    Pmix,
}

/// This process's place among those started with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Who started it.
    pub launcher: Launcher,
    /// Its rank, from 0.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
}

/// The variables that hold rank and number, in the order in which they are looked for.
const KNOWN: [(Launcher, &str, &[&str]); 3] = [
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"]),
    (Launcher::Pmi, "PMI_RANK", &["PMI_SIZE"]),
    (Launcher::Pmix, "PMIX_RANK", &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]),
];

impl Launched {
    /// This process's place; `None` when nobody says that there are others.
    pub fn detect() -> Option<Self> {
        Self::from(|name| std::env::var(name).ok())
    }

    /// What is wrong with a launcher's variables that name a rank or a number and don't say it.
    pub fn misread() -> Option<String> {
        misread(|name| std::env::var(name).ok())
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        KNOWN.iter().find_map(|&(launcher, rank, sizes)| {
            let ranks = sizes.iter().find_map(|size| number(size))?;
            Some(Self { launcher, rank: number(rank)?, ranks })
        })
    }

    /// The error of a program that was built without what it takes to be one of several.
    ///
    /// # Errors
    /// Always, if there is more than one process.
    pub fn refuse(&self) -> Result<()> {
        if self.ranks < 2 {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "rank {} of {} by MPI, which this program was built without",
                self.rank, self.ranks
            ),
            "build it with `--features mpi`, or use `--ranks` for ranks of one process",
        ))
    }
}

fn misread(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    // Slurm's number of tasks may say other things, and is there without a launcher too.
    let names = KNOWN.iter().flat_map(|&(_, rank, sizes)| [rank, sizes[0]]);
    names.filter(|name| !name.starts_with("SLURM")).find_map(|name| {
        let value = variable(name)?;
        let what = format!("{name} is {value:?}, no number: this process runs alone");
        value.trim().parse::<usize>().is_err().then_some(what)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Option<Launched> {
        Launched::from(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_string())
        })
    }

    #[test]
    fn every_launcher_is_known_by_its_variables() {
        let open = with(&[
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("PMIX_RANK", "2"),
        ]);
        assert_eq!(open, Some(Launched { launcher: Launcher::OpenMpi, rank: 2, ranks: 4 }));
        let hydra = with(&[("PMI_RANK", "0"), ("PMI_SIZE", "3")]);
        assert_eq!(hydra, Some(Launched { launcher: Launcher::Pmi, rank: 0, ranks: 3 }));
        let slurm = with(&[("PMIX_RANK", "1"), ("SLURM_NTASKS", "8")]);
        assert_eq!(slurm, Some(Launched { launcher: Launcher::Pmix, rank: 1, ranks: 8 }));
        // A batch script is not one of the tasks that it may start.
        assert_eq!(with(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
        assert_eq!(with(&[("PMI_RANK", "x"), ("PMI_SIZE", "3")]), None);
        let told = misread(|name| (name == "OMPI_COMM_WORLD_SIZE").then(|| "abc".into()));
        assert!(told.is_some_and(|told| told.contains("OMPI_COMM_WORLD_SIZE is \"abc\"")));
        assert_eq!(misread(|name| (name == "PMI_RANK").then(|| "1".into())), None);
    }

    #[test]
    fn several_ranks_without_mpi_are_refused_with_both_ways_out() {
        let several = with(&[("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap();
        let error = several.refuse().unwrap_err().to_string();
        assert!(error.contains("rank 1 of 3 by MPI"), "{error}");
        assert!(error.contains("--features mpi") && error.contains("--ranks"), "{error}");
        assert!(Launched { ranks: 1, ..several }.refuse().is_ok());
    }
}
