//! Long runs: whatever is killed, the resumed run ends with the same bits.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::launchers::launchers;
use crate::{Ran, command, warpweft, warpweft_in};

const STEPS: &str = "--steps 400 --checkpoint-every 7 --checkpoint saved";

/// The bits of a run that nobody stopped.
fn undisturbed(directory: &Path, line: &str) -> Vec<u8> {
    warpweft_in(directory, &format!("{line} --steps 400 --output alone.npy")).fine();
    std::fs::read(directory.join("alone.npy")).unwrap()
}

fn steps(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(directory.join("saved"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("step-"))
        .collect();
    names.sort();
    names
}

/// Starts `run`, kills it after a while, and so on until it ends; how often it was killed.
fn killed_until_done(run: impl Fn(bool) -> Command, directory: &Path, seed: u64) -> usize {
    let mut moment = seed;
    for kills in 0.. {
        let resume = directory.join("saved").exists() && !steps(directory).is_empty();
        let whole = resume && steps(directory).iter().any(|name| !name.ends_with("partial"));
        let mut child = run(whole).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        moment =
            moment.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Later and later, so that it comes through on a busy machine too.
        let patience = Duration::from_millis((moment >> 33) % 400 + 60 * kills as u64);
        std::thread::sleep(patience);
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
        }
        let output = child.wait_with_output().unwrap();
        if output.status.code().is_some() {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            return kills;
        }
    }
    0
}

#[test]
fn a_run_killed_at_any_time_ends_with_the_same_bits() {
    let line = "run heat --device cpu --size 40x30x35 --seed 3";
    // In one process, on ranks, and from one number of ranks to another.
    for (seed, ranks) in [(1, [1, 1]), (2, [3, 3]), (3, [4, 2])] {
        let here = tempfile::tempdir().unwrap();
        let expect = undisturbed(here.path(), line);
        let run = |resume: bool| {
            let mut run = command(here.path());
            run.args(line.split_whitespace()).args(STEPS.split_whitespace());
            run.args(["--output", "found.npy", "--ranks", &ranks[usize::from(resume)].to_string()]);
            if resume {
                run.arg("--resume");
            }
            run
        };
        let kills = killed_until_done(run, here.path(), seed);
        let found = std::fs::read(here.path().join("found.npy")).unwrap();
        assert!(found == expect, "{ranks:?} ranks, {kills} kills");
        assert!(steps(here.path()).len() <= 2, "{:?}", steps(here.path()));
    }
}

/// A process that does not outlive its test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_folder_of_checkpoints_is_one_runs_at_a_time_and_free_when_that_is_killed() {
    let here = tempfile::tempdir().unwrap();
    let line = "run heat --device cpu --size 40x30x35 --seed 3";
    let endless = format!("{line} --steps 1000000000 --checkpoint saved --checkpoint-every 7");
    let mut first = command(here.path());
    first.args(endless.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = Killed(first.spawn().unwrap());
    while !here.path().join("saved/step-000000000000").exists() {
        assert!(first.0.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    for ranks in [1, 2] {
        for resume in ["", "--resume"] {
            let second = format!("{line} {STEPS} --ranks {ranks} {resume}");
            let refusal = ["saved: another run saves its state there", "choose another folder"];
            warpweft_in(here.path(), &second).fails(1, &refusal);
        }
    }
    drop(first);
    // What it left is whole: however far it came, a run that nobody stopped comes to the same.
    let whole = steps(here.path()).into_iter().rfind(|name| !name.ends_with("partial"));
    let done: u64 = whole.unwrap().trim_start_matches("step-").parse().unwrap();
    let further = format!("{line} --steps {}", done + 5);
    warpweft_in(here.path(), &format!("{further} --checkpoint saved --resume --output found.npy"))
        .fine();
    warpweft_in(here.path(), &format!("{further} --output alone.npy")).fine();
    let read = |name: &str| std::fs::read(here.path().join(name)).unwrap();
    assert!(read("found.npy") == read("alone.npy"), "{done}");
}

#[test]
fn ranks_of_mpirun_go_on_from_one_process_and_back() {
    let launchers = launchers();
    let Some(launcher) = launchers.first() else {
        return println!("skipped: no mpirun of Open MPI or MPICH");
    };
    let here = tempfile::tempdir().unwrap();
    let line = "run life --device cpu --size 40x60 --seed 8";
    let expect = undisturbed(here.path(), line);
    // Stopped by its number of steps each time, which is no multiple of the steps between.
    warpweft_in(
        here.path(),
        &format!("{line} --steps 100 --checkpoint saved --checkpoint-every 30"),
    )
    .fine();
    let inner = command(here.path());
    let mut spread = launcher.command();
    for (name, value) in inner.get_envs() {
        value.map(|value| spread.env(name, value));
    }
    spread.current_dir(here.path()).args(["-n", "5"]).arg(inner.get_program());
    spread.args(line.split_whitespace());
    spread.args("--steps 250 --checkpoint saved --checkpoint-every 20 --resume".split_whitespace());
    Ran::of(&mut spread).fine();
    assert_eq!(steps(here.path()), ["step-000000000240", "step-000000000250"]);
    let line = format!("{line} {STEPS} --ranks 3 --resume --output found.npy");
    warpweft_in(here.path(), &line).fine();
    assert!(std::fs::read(here.path().join("found.npy")).unwrap() == expect);
}

#[test]
fn the_residual_is_part_of_the_state() {
    let here = tempfile::tempdir().unwrap();
    let line = "run heat --device cpu --size 20x20 --seed 4 --until 1e-4 --check-every 3 --json";
    let whole = warpweft_in(here.path(), &format!("{line} --steps 5000")).json();
    let saved = "--checkpoint saved --checkpoint-every 10";
    warpweft_in(here.path(), &format!("{line} --steps 25 {saved}")).json();
    let resumed = warpweft_in(here.path(), &format!("{line} --steps 5000 {saved} --resume")).json();
    for what in ["steps", "residual", "converged", "mean"] {
        assert_eq!(resumed["result"][what], whole["result"][what], "{what}");
    }
    assert_eq!(whole["result"]["converged"], true);
    assert_eq!(resumed["result"]["resumed_from_step"], 25);
    assert!(whole["result"]["resumed_from_step"].is_null());
    // What has converged has done so for good: the same again is the same.
    let again = warpweft_in(here.path(), &format!("{line} --steps 5000 {saved} --resume")).json();
    assert_eq!(again["result"]["steps"], whole["result"]["steps"]);
}

#[test]
fn a_run_that_was_through_says_so_and_has_no_rate() {
    let here = tempfile::tempdir().unwrap();
    for ranks in ["", "--ranks 2"] {
        let line = format!("run heat --device cpu --size 16 --steps 5 --checkpoint saved {ranks}");
        let rated = warpweft_in(here.path(), &line).fine();
        assert!(rated.contains("cells/s, "), "{rated}");
        let said = warpweft_in(here.path(), &format!("{line} --resume")).fine();
        let nothing = "  rate     none: an earlier run had already computed everything\n";
        assert!(said.contains(nothing) && !said.contains("/s"), "{said}");
        assert!(said.contains("\n  time     set-up ") && said.contains("resumed from step 5"));
        let json = warpweft_in(here.path(), &format!("{line} --resume --json")).json();
        assert!(json["rate"].is_null() && json["roofline_fraction"].is_null(), "{json}");
        std::fs::remove_dir_all(here.path().join("saved")).unwrap();
    }
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_that_is_said() {
    let here = tempfile::tempdir().unwrap();
    let line = "run heat --device cpu --size 30x20 --seed 3";
    let expect = undisturbed(here.path(), line);
    let saved = "--checkpoint saved --checkpoint-every 40";
    warpweft_in(here.path(), &format!("{line} --steps 150 {saved}")).fine();
    // The end is kept too.
    assert_eq!(steps(here.path()), ["step-000000000120", "step-000000000150"]);
    let part = here.path().join("saved/step-000000000150/part-0");
    let mut bytes = std::fs::read(&part).unwrap();
    bytes[777] ^= 4;
    std::fs::write(&part, &bytes).unwrap();
    let line = format!("{line} --steps 400 {saved} --resume --output found.npy");
    let ran = warpweft_in(here.path(), &line);
    assert!(ran.err.contains("the checkpoint of step 150 is damaged"), "{}", ran.err);
    let file = "saved/step-000000000150/part-0: its checksum is wrong";
    assert!(ran.err.contains(file), "{}", ran.err);
    assert!(!ran.err.contains("resume from another"), "{}", ran.err);
    ran.fine();
    assert!(std::fs::read(here.path().join("found.npy")).unwrap() == expect);
    // None is whole: cut short, and without a manifest.
    for name in steps(here.path()) {
        let folder = here.path().join("saved").join(name);
        std::fs::write(folder.join("manifest"), "{").unwrap();
    }
    let ran = warpweft_in(here.path(), &line);
    ran.fails(1, &["all checkpoints are damaged", "/manifest: ", "start a new run"]);
    assert!(!ran.err.contains("resume from another"), "one hint: {}", ran.err);
}

#[test]
fn a_resumed_run_clears_away_what_a_kill_left() {
    let here = tempfile::tempdir().unwrap();
    let line = "run heat --device cpu --size 16 --checkpoint saved --checkpoint-every 30";
    let saved = here.path().join("saved");
    let kept = ["step-000000000090", "step-000000000100"];
    for ranks in [1, 2] {
        let line = format!("{line} --steps 100 --ranks {ranks}");
        warpweft_in(here.path(), &line).fine();
        assert_eq!(steps(here.path()), kept);
        // As one that was killed after its last checkpoint, and before it removed the one before those.
        std::fs::create_dir(saved.join("step-000000000060")).unwrap();
        std::fs::create_dir(saved.join("step-000000000120.partial")).unwrap();
        // Nothing is left to do, so no checkpoint is written.
        warpweft_in(here.path(), &format!("{line} --resume")).fine();
        assert_eq!(steps(here.path()), kept, "{ranks} ranks");
        std::fs::remove_dir_all(&saved).unwrap();
    }
}

#[test]
fn the_state_gone_on_from_is_not_saved_again() {
    use std::os::unix::fs::MetadataExt;
    let here = tempfile::tempdir().unwrap();
    let saved = here.path().join("saved");
    let first = || std::fs::metadata(saved.join("step-000000000000")).unwrap().ino();
    for ranks in [1, 2] {
        let line =
            format!("run heat --device cpu --size 16 --checkpoint saved --steps 5 --ranks {ranks}");
        warpweft_in(here.path(), &line).fine();
        std::fs::remove_dir_all(saved.join("step-000000000005")).unwrap();
        let before = first();
        warpweft_in(here.path(), &format!("{line} --resume")).fine();
        assert_eq!(steps(here.path()), ["step-000000000000", "step-000000000005"]);
        assert_eq!(first(), before, "the only checkpoint was removed for another of its name");
        std::fs::remove_dir_all(&saved).unwrap();
    }
}

#[test]
fn a_folder_of_another_run_is_refused_and_both_are_named() {
    let here = tempfile::tempdir().unwrap();
    let run = |more: &str| {
        let line = format!("run {more} --device cpu --steps 20 --checkpoint saved");
        warpweft_in(here.path(), &line)
    };
    run("heat --size 16 --seed 3").fine();
    let before = steps(here.path());
    let theirs = "over 16 x 16 x 16";
    for (other, named) in [
        (
            "life --size 16",
            vec!["of heat of f32 over 16 x 16 x 16", "this run is life of u8 over 16 x 16;"],
        ),
        ("seismic --size 16", vec!["this run is seismic of 12 fields of f32 over 16 x 16 x 16"]),
        ("heat --size 17 --seed 3", vec![theirs, "this run is ", "over 17 x 17 x 17;"]),
        ("heat --size 16 --seed 3 --dtype f64", vec!["of f32 over", "this run is ", "of f64 over"]),
        (
            "heat --size 16 --seed 3 --rate 0.05",
            vec![theirs, "but with other parameters (0.1, this run has 0.05); "],
        ),
        (
            "heat --size 16 --seed 3 --order 4 --rate 0.05",
            vec![theirs, "but with other code (hash "],
        ),
        (
            "heat --size 16 --seed 3 --boundary mirror,y-low=dirichlet:0.5",
            vec![
                "but with other boundaries (periodic, this run has z=mirror,y-low=dirichlet:0.5,y-high=mirror,x=mirror)",
            ],
        ),
        ("heat --size 16 --seed 4", vec!["of a run from another initial state", "this run's is"]),
    ] {
        for ranks in [1, 2] {
            let ran = run(&format!("{other} --ranks {ranks}"));
            ran.fails(2, &["saved: holds checkpoints, the last of step 20, of ", "choose another"]);
            ran.fails(2, &named);
            assert!(!ran.err.contains("--resume"), "it would be refused: {}", ran.err);
        }
    }
    let same =
        "of an earlier run; help: go on from there with --resume (`resume: true`), or choose";
    run("heat --size 16 --seed 3").fails(2, &["the last of step 20", same]);
    // What can't be read may be anybody's.
    std::fs::write(here.path().join("saved/step-000000000020/manifest"), "{").unwrap();
    run("life --size 16").fails(2, &["the last of step 20", same]);
    assert_eq!(steps(here.path()), before);
}

#[test]
#[cfg(target_os = "linux")]
fn a_folder_on_a_disk_without_locks_is_taken_and_that_is_noted() {
    let here = tempfile::tempdir().unwrap();
    std::fs::create_dir(here.path().join("saved")).unwrap();
    let inner = command(here.path());
    for error in ["ENOLCK", "EOPNOTSUPP"] {
        let mut traced = Command::new("strace");
        for (name, value) in inner.get_envs() {
            value.map(|value| traced.env(name, value));
        }
        let inject = format!("inject=flock:error={error}");
        traced.current_dir(here.path()).args(["-f", "-qq", "-o", "/dev/null"]);
        traced.args(["-e", "trace=flock", "-e", &inject]).arg(inner.get_program());
        traced.args("run heat --device cpu --size 8 --steps 3 --checkpoint saved".split(' '));
        match traced.output() {
            Err(error) => return println!("skipped: strace: {error}"),
            Ok(output) if output.stderr.starts_with(b"strace") => {
                return println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
            }
            Ok(output) => assert!(output.status.success(), "{output:?}"),
        }
        assert!(here.path().join("saved/step-000000000003").exists());
        // Said before anything else, to a run that is refused too.
        let ran = Ran::of(&mut traced);
        ran.fails(2, &["the last of step 3, of an earlier run"]);
        let noted = ran.err.matches("the file system of saved does not support locks: make sure that no other run saves there").count();
        assert_eq!(noted, 1, "{}", ran.err);
        for name in steps(here.path()) {
            std::fs::remove_dir_all(here.path().join("saved").join(name)).unwrap();
        }
    }
}

#[test]
#[cfg(unix)]
fn a_lock_that_another_user_keeps_to_themselves_is_told() {
    use std::os::unix::fs::PermissionsExt;
    let here = tempfile::tempdir().unwrap();
    let saved = here.path().join("saved");
    std::fs::create_dir(&saved).unwrap();
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let lock = saved.join(".lock");
    std::fs::write(&lock, "").unwrap();
    for (path, mode) in [(here.path(), 0o777), (saved.as_path(), 0o777), (&lock, 0o600)] {
        allow(path, mode);
    }
    let line = "run heat --device cpu --size 8 --steps 1 --checkpoint saved";
    let inner = command(here.path());
    let mut other = Command::new("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(inner.get_program());
    other.args(line.split(' ')).current_dir(here.path()).env("WARPWEFT_CACHE", here.path());
    match other.output() {
        Err(error) => return println!("skipped: setpriv: {error}"),
        Ok(output)
            if output.status.code() == Some(127) || output.stderr.starts_with(b"setpriv") =>
        {
            return println!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(_) => {}
    }
    Ran::of(&mut other).fails(
        1,
        &[
            "saved/.lock: this lock file of another user's run can't be opened: Permission denied",
            "chmod a+r",
        ],
    );
    assert!(steps(here.path()).is_empty());
    allow(&lock, 0o644);
    Ran::of(&mut other).fine();
}

#[test]
fn what_can_not_be_resumed_is_refused() {
    let here = tempfile::tempdir().unwrap();
    let line = |more: &str| {
        format!("run heat --device cpu --size 16 --steps 20 --checkpoint saved {more}")
    };
    warpweft_in(here.path(), &line("--resume")).fails(1, &["holds no checkpoint to resume"]);
    assert!(!here.path().join("saved").exists(), "nothing is made");
    warpweft_in(here.path(), &line("--checkpoint-every 6")).fine();
    warpweft_in(here.path(), &line("")).fails(2, &["of an earlier run", "step 20", "--resume"]);
    let other = |more: &str| warpweft_in(here.path(), &line(&format!("--resume {more}")));
    for another in ["--rate 0.01", "--boundary neumann", "--dtype f64", "--order 4"] {
        other(another).fails(2, &["is a checkpoint of", "this run is", "start a new run"]);
    }
    warpweft_in(here.path(), "run heat --device cpu --size 17 --checkpoint saved --resume")
        .fails(2, &["over 16 x 16 x 16", "over 17 x 17 x 17"]);
    warpweft_in(here.path(), "run life3d --device cpu --size 16 --checkpoint saved --resume")
        .fails(2, &["is a checkpoint of"]);
    warpweft_in(
        here.path(),
        "run heat --device cpu --size 16 --steps 10 --checkpoint saved --resume",
    )
    .fails(2, &["10 steps, but the checkpoint is of step 20"]);
    let ran = warpweft("run heat --resume");
    assert_eq!(ran.status, Some(2), "{}", ran.err);
}

#[test]
fn another_start_is_refused_whether_of_a_seed_or_a_file() {
    let here = tempfile::tempdir().unwrap();
    let run = |more: &str| warpweft_in(here.path(), more);
    let saved = "--device cpu --checkpoint saved --checkpoint-every 30";
    let life = |more: &str| run(&format!("run life --size 48x40 {saved} {more}"));
    life("--seed 1 --steps 60").fine();
    for ranks in ["", "--ranks 3"] {
        let ran = life(&format!("--seed 2 --steps 90 --resume {ranks}"));
        ran.fails(2, &["from another initial state", "the seed or the input of the run"]);
        life(&format!("--seed 1 --steps 90 --resume {ranks}")).fine();
    }
    std::fs::remove_dir_all(here.path().join("saved")).unwrap();
    for (name, seed) in [("a.npy", 1), ("b.npy", 2)] {
        run(&format!("run heat --size 24x20 --seed {seed} --steps 0 --output {name}")).fine();
    }
    let heat = |more: &str| run(&format!("run heat {saved} {more}"));
    heat("--input a.npy --steps 60").fine();
    heat("--input b.npy --steps 90 --resume").fails(2, &["from another initial state"]);
    heat("--input a.npy --steps 90 --resume").fine();
    // The same cells, whatever they came from.
    heat("--size 24x20 --seed 1 --steps 120 --resume").fine();
}

#[test]
fn the_check_of_a_resumed_run_says_what_it_compared() {
    let here = tempfile::tempdir().unwrap();
    let life = |more: &str| {
        let line = "run life --device cpu --size 512 --seed 1 --checkpoint saved \
                    --checkpoint-every 50 --json";
        let json = warpweft_in(here.path(), &format!("{line} {more}")).json();
        assert_eq!(json["check"]["passed"], true, "{json}");
        json["check"]["part"].as_str().unwrap_or_default().to_string()
    };
    assert_eq!(life("--steps 100"), "the first 76 of 100 steps, as many as time allows");
    let anew = "the first 76 of 120 steps, as many as time allows, computed again from the start (the resumed state is not compared)";
    assert_eq!(life("--steps 120 --resume"), anew);
    // Short enough to be compared as a whole, the steps before it too.
    std::fs::remove_dir_all(here.path().join("saved")).unwrap();
    life("--steps 51");
    assert_eq!(life("--steps 60 --resume"), "", "all of it");
}

#[test]
fn a_full_disk_leaves_the_last_checkpoint_whole() {
    let here = tempfile::tempdir().unwrap();
    let disk = here.path().join("saved");
    std::fs::create_dir(&disk).unwrap();
    let mount = |what: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", what, "tmpfs"]).arg(&disk);
        mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    // Room for two checkpoints of 8 KiB and their manifests, not for a third next to them.
    if !mount("size=28k") {
        return println!("skipped: this user may not mount a small disk");
    }
    let outcome = std::panic::catch_unwind(|| {
        let line = "run heat --device cpu --size 32x64 --seed 3";
        let expect = undisturbed(here.path(), line);
        let line = format!("{line} --steps 400 --checkpoint saved --checkpoint-every 10");
        for ranks in [1, 2] {
            let ran = warpweft_in(here.path(), &format!("{line} --ranks {ranks}"));
            let whole = "resume (--resume, `resume: true`) from the checkpoint of step 10, which";
            ran.fails(1, &["No space left", whole]);
            assert_eq!(steps(here.path()), ["step-000000000000", "step-000000000010"]);
            assert!(mount("remount,size=1m"));
            let resumed = format!("{line} --ranks {ranks} --resume --output found.npy");
            warpweft_in(here.path(), &resumed).fine();
            assert!(std::fs::read(here.path().join("found.npy")).unwrap() == expect);
            for name in steps(here.path()) {
                std::fs::remove_dir_all(disk.join(name)).unwrap();
            }
            assert!(mount("remount,size=28k"));
        }
    });
    let unmounted = Command::new("umount").arg(&disk).status();
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
    assert!(unmounted.is_ok_and(|status| status.success()));
}
