//! A program that is one of several processes and runs by itself: its reports say so, whatever it was built with.

use std::process::Command;
use std::time::Duration;

use crate::launchers::{launchers, within};
use warpweft::cluster::Launched;
use warpweft::farm::on_cores;
use warpweft::prelude::*;
use warpweft::stencil::drive::Ranks;

#[stencil]
fn halve(u: Near<f32, 2>) -> f32 {
    0.5 * u[[0, 0]] + 0.25 * u[[0, 1]]
}

#[wavefront]
fn longest(h: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    (h.nw + if a == b { 1 } else { 0 }).max(h.n).max(h.w)
}

/// A program of a user's that knows nothing of the others, or leaves the work to one if `ONE` is set.
#[test]
#[ignore = "a process that the other tests start"]
fn program() {
    if std::env::var_os("ONE").is_some() && !Launched::first_only() {
        return;
    }
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8, 9], |[y, x]| (y + x) as f32);
    let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    let stencil = Stencil::of(halve());
    let report = stencil.run_with(&mut volume, Steps(2), &machine, &run).unwrap();
    println!("stencil\n{report}");
    let ranks = Ranks { count: 2, grid: None, depth: Some(1) };
    let report = stencil
        .run_with(
            &mut volume,
            Steps(2),
            &machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        )
        .unwrap();
    println!("ranks\n{report}");
    let cores = Machine { gpus: Vec::new(), ..machine };
    let (_, report) =
        Wavefront::of(longest()).rows(b"GATTACA").columns(b"TACA").run(&cores).unwrap();
    println!("wavefront\n{report}");
    let (_, report) = Farm::of(on_cores(|k: u64| Ok(k))).run(0..9u64, &cores).unwrap();
    println!("farm\n{report}");
}

fn stdout_of(command: &mut Command) -> String {
    command.args(["--exact", "launched::program", "--ignored", "--nocapture"]);
    let ran = within(Duration::from_secs(120), command);
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
    text(&ran.stdout)
}

#[test]
fn every_report_of_one_of_several_processes_says_so() {
    let program = std::env::current_exe().unwrap();
    let one = |variables: &[(&str, &str)]| {
        let mut command = Command::new(&program);
        command.envs(variables.iter().copied());
        stdout_of(&mut command)
    };
    let note = "note: this is process 1 of 4 that were started together, and each does all";
    let four = [("PMI_RANK", "1"), ("PMI_SIZE", "4")];
    let text = one(&four);
    assert_eq!(text.matches(note).count(), 4, "{text}");
    assert!(text.contains("feature `mpi`"), "{text}");
    assert!(!one(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]).contains("note: this is"));
    let slurm = one(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4")]);
    assert_eq!(slurm.matches("note: Slurm started 4 tasks without MPI").count(), 4, "{slurm}");
    let half = one(&[("OMPI_COMM_WORLD_SIZE", "4")]);
    assert_eq!(half.matches("OMPI_COMM_WORLD_RANK is not set").count(), 4, "{half}");
    // Left to rank 0: this one ends, and rank 0 has nothing to say of it.
    assert!(!one(&[&four[..], &[("ONE", "1")]].concat()).contains("stencil"));
    let first = one(&[("PMI_RANK", "0"), ("PMI_SIZE", "4"), ("ONE", "1")]);
    assert!(first.contains("stencil") && !first.contains("note: this is"), "{first}");
}

#[test]
fn under_a_launcher_too() {
    let launchers = launchers();
    if launchers.is_empty() {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    }
    for launcher in launchers {
        let mut command = launcher.command();
        command.args(["-n", "2"]).arg(std::env::current_exe().unwrap());
        let text = stdout_of(&mut command);
        for rank in 0..2 {
            let note = format!("note: this is process {rank} of 2 that were started together");
            assert_eq!(text.matches(&note).count(), 4, "{launcher:?}: {text}");
        }
    }
}
