//! Detects from the environment, before any library is loaded, whether a launcher such as `mpirun` started
//! this process as one of several. Also records whether the program has joined the others.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Whether this process joined the others, or is the only one that works.
static SETTLED: AtomicBool = AtomicBool::new(false);

/// The launcher that set the variables of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// The process manager of MPICH and its derivatives (Intel MPI, MVAPICH, Cray), also under Slurm.
    Pmi,
    /// PMIx under Slurm, which starts programs of either library.
    Pmix,
}

/// This process's rank among the processes of one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Who started it.
    pub launcher: Launcher,
    /// Its rank, from 0.
    pub rank: usize,
    /// Number of processes.
    pub ranks: usize,
}

/// For each launcher the variables with the rank and with the number of ranks, in the order of the search.
const KNOWN: [(Launcher, &str, &[&str]); 3] = [
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"]),
    (Launcher::Pmi, "PMI_RANK", &["PMI_SIZE"]),
    (Launcher::Pmix, "PMIX_RANK", &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"]),
];

impl Launched {
    /// The rank of this process; `None` if no launcher started other processes.
    pub fn detect() -> Option<Self> {
        Self::from(|name| std::env::var(name).ok())
    }

    /// What is wrong with the launcher's variables, if they show other processes but not this one's rank:
    /// values that are not numbers, one variable without the other, or only those of Slurm, whose processes
    /// can't be joined.
    pub fn misread() -> Option<String> {
        misread(|name| std::env::var(name).ok())
    }

    /// A note for a run by this process alone, if it is one of several and did not join the others: each of
    /// them then does all of the work. Reports contain it.
    pub fn unjoined() -> Option<String> {
        if SETTLED.load(Ordering::Relaxed) {
            return None;
        }
        Self::misread().or_else(|| Some(Self::detect().filter(|it| it.ranks > 1)?.each_does_all()))
    }

    fn each_does_all(&self) -> String {
        format!(
            "this is process {} of {} that were started together, and each does all of the work: share it by \
             `Mpi::join` and `Run::net` (feature `mpi`), leave it to one by `Launched::first_only`, or \
             start one process",
            self.rank, self.ranks
        )
    }

    /// Lets only one of the processes continue. Returns whether it is this one; a process without others gets
    /// `true`. The other processes should end.
    pub fn first_only() -> bool {
        Self::settle();
        Self::detect().is_none_or(|launched| launched.rank == 0)
    }

    /// Records that the others are taken care of.
    pub(super) fn settle() {
        SETTLED.store(true, Ordering::Relaxed);
    }

    fn from(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
        KNOWN.iter().find_map(|&(launcher, rank, sizes)| {
            let ranks = sizes.iter().find_map(|size| number(size))?;
            Some(Self { launcher, rank: number(rank)?, ranks })
        })
    }

    /// The error of a program that was built without the support to be one of several processes.
    ///
    /// # Errors
    /// Always, if there is more than one process.
    pub fn refuse(&self) -> Result<()> {
        if self.ranks < 2 {
            return Ok(());
        }
        Err(Error::spec(
            format!(
                "this is rank {} of {} that MPI started, but this program was built without MPI support",
                self.rank, self.ranks
            ),
            "build it with `--features mpi`, or use `--ranks` for ranks of one process",
        ))
    }
}

fn misread(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    // Slurm's number of tasks may have other meanings, and is set without a launcher too.
    let names = KNOWN.iter().flat_map(|&(_, rank, sizes)| [rank, sizes[0]]);
    let odd = names.filter(|name| !name.starts_with("SLURM")).find_map(|name| {
        let value = variable(name)?;
        let what = format!("{name} is {value:?}, which is not a number: this process runs alone");
        value.trim().parse::<usize>().is_err().then_some(what)
    });
    odd.or_else(|| halved(&variable))
}

/// What is missing if only the rank or only the number is set, or if only Slurm sets both.
fn halved(variable: &impl Fn(&str) -> Option<String>) -> Option<String> {
    if Launched::from(variable).is_some() {
        return None;
    }
    let number = |name: &str| variable(name)?.trim().parse::<usize>().ok();
    let lone = |there: &str, missing: &str| {
        let what = number(there)?;
        Some(format!("{there} is {what}, but {missing} is not set: this process runs alone"))
    };
    let half = KNOWN.iter().find_map(|&(_, rank, sizes)| {
        let several =
            number(sizes[0]).is_some_and(|ranks| ranks > 1) && !sizes[0].starts_with("SLURM");
        if several { lone(sizes[0], rank) } else { lone(rank, sizes[0]) }
    });
    let slurm = || {
        let (rank, step) = (number("SLURM_PROCID")?, number("SLURM_STEP_NUM_TASKS"));
        let tasks = step.or_else(|| number("SLURM_NTASKS"))?;
        // A batch script has rank 0 and a number of tasks too, but is not a task of a step.
        let task = tasks > 1 && (rank > 0 || step.is_some());
        task.then(|| {
            format!(
                "Slurm started {tasks} tasks without MPI, of which this is number {rank}; each runs alone: \
                 start them by `srun --mpi=pmi2` or `--mpi=pmix`, or by `mpirun`, to share the work"
            )
        })
    };
    half.or_else(slurm)
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
        let found = misread(|name| (name == "OMPI_COMM_WORLD_SIZE").then(|| "abc".into()));
        assert!(found.is_some_and(|found| found.contains("OMPI_COMM_WORLD_SIZE is \"abc\"")));
    }

    #[test]
    fn what_tells_of_others_but_not_which_this_is_is_said() {
        let misread_of = |variables: &[(&str, &str)]| {
            misread(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_string())
            })
        };
        let half = misread_of(&[("OMPI_COMM_WORLD_SIZE", "4")]).unwrap();
        assert!(
            half.contains("OMPI_COMM_WORLD_SIZE is 4, but OMPI_COMM_WORLD_RANK is not set"),
            "{half}"
        );
        let half = misread_of(&[("PMI_RANK", "1")]).unwrap();
        assert!(half.contains("PMI_RANK is 1, but PMI_SIZE is not set"), "{half}");
        let slurm = misread_of(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]).unwrap();
        assert!(
            slurm.contains("Slurm started 4 tasks without MPI, of which this is number 1"),
            "{slurm}"
        );
        assert!(misread_of(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "4")]).is_some());
        // A batch script; one process; processes that can be joined.
        assert_eq!(misread_of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None);
        assert_eq!(misread_of(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
        assert_eq!(misread_of(&[("OMPI_COMM_WORLD_SIZE", "1")]), None);
        let joined =
            [("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")];
        assert_eq!(misread_of(&joined), None);
        assert_eq!(misread_of(&[]), None);
    }

    #[test]
    fn several_ranks_without_mpi_are_refused_with_both_ways_out() {
        let several = with(&[("PMI_RANK", "1"), ("PMI_SIZE", "3")]).unwrap();
        let error = several.refuse().unwrap_err().to_string();
        assert!(error.contains("rank 1 of 3 that MPI started"), "{error}");
        assert!(error.contains("--features mpi") && error.contains("--ranks"), "{error}");
        assert!(Launched { ranks: 1, ..several }.refuse().is_ok());
    }
}
