//! Sessions that save their state, and residuals that are no number.

use std::path::Path;

use super::*;
use warpweft::stencil::Checkpoint;

#[stencil]
fn diffuse(u: Near<f64, 2>, rate: f64) -> f64 {
    u[[0, 0]] + rate * (u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]] - 4.0 * u[[0, 0]])
}

fn plate(extents: [usize; 2]) -> Volume<f64, 2> {
    Volume::par_from_fn(extents, |[y, x]| ((y * 31 + x * 17) % 101) as f64)
}

/// The steps of the checkpoints in a folder.
fn steps(folder: &Path) -> Vec<u64> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let step = |name: std::ffi::OsString| name.to_str()?.strip_prefix("step-")?.parse().ok();
    let mut steps: Vec<u64> = names.filter_map(step).collect();
    steps.sort_unstable();
    steps
}

#[test]
fn a_session_saves_as_often_as_it_is_told_and_at_its_end_and_goes_on_from_there() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let directory = folder.path().join("saved");
    let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    let checkpoint = |resume| Checkpoint { directory: directory.clone(), every: 4, resume };
    let (first, second) = (checkpoint(false), checkpoint(true));
    let mut half = plate([20, 30]);
    let run = Run { checkpoint: Some(&first), ..on_the_cores() };
    let mut on = stencil.on_with(&mut half, &machine, &run).unwrap();
    (0..10).for_each(|_| _ = on.run(Steps(1)).unwrap());
    assert_eq!(steps(&directory), [4, 8], "the end of a call is no end of the session");
    on.finish().unwrap();
    assert_eq!(steps(&directory), [8, 10]);
    let mut whole = plate([20, 30]);
    let run = Run { checkpoint: Some(&second), ..on_the_cores() };
    let mut on = stencil.on_with(&mut whole, &machine, &run).unwrap();
    assert_eq!(on.run(Steps(5)).unwrap().done, 15);
    on.finish().unwrap();
    let mut expect = plate([20, 30]);
    reference(&stencil, &mut expect, 15).unwrap();
    assert!(whole.as_slice() == expect.as_slice());
}

#[test]
fn large_states_are_written_while_steps_run_and_the_last_is_whole() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let directory = folder.path().join("saved");
    let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    // 64 MiB: the least that is written aside.
    let extents = [4096, 2048];
    let checkpoint = Checkpoint { directory: directory.clone(), every: 1, resume: false };
    let run = Run { checkpoint: Some(&checkpoint), ..on_the_cores() };
    let mut found = plate(extents);
    let report = stencil.run_with(&mut found, Steps(12), &machine, &run).unwrap();
    let saved = steps(&directory);
    assert!(saved.len() == 2 && saved[1] == 12 && saved[0] > 0, "{saved:?}");
    let left_out = report.notes.iter().any(|note| note.contains("checkpoints skipped"));
    let all_written = saved[0] == 11;
    assert!(left_out || all_written, "{saved:?} {:?}", report.notes);
    // What was saved is the state of its step: the steps after it end in the same cells.
    std::fs::remove_dir_all(directory.join("step-000000000012")).unwrap();
    let checkpoint = Checkpoint { resume: true, ..checkpoint };
    let run = Run { checkpoint: Some(&checkpoint), ..on_the_cores() };
    let mut again = plate(extents);
    let report = stencil.run_with(&mut again, Steps(12), &machine, &run).unwrap();
    assert_eq!((report.first, report.done), (saved[0], 12));
    assert!(again.as_slice() == found.as_slice());
}

#[test]
fn a_residual_that_is_nan_ends_a_call_and_nothing_is_lost() {
    let (mut volume, machine) = (plate([9, 9]), machine());
    let stencil = Stencil::of(diffuse(0.2)).until(Residual::Max, 1e-30);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    assert_eq!(on.run(Steps(3)).unwrap().done, 3);
    on.set([4, 4], f64::NAN).unwrap();
    let advance = on.run(Steps(50)).unwrap();
    assert!(advance.residual.unwrap().is_nan() && !advance.met, "{advance:?}");
    assert_eq!(advance.done, 4, "the step is named by what was done");
    // The cells are there to be read.
    assert!(on.get([4, 4]).unwrap().is_nan() && on.get([0, 0]).unwrap() > 0.0);
    on.write([0, 0], &plate([9, 9])).unwrap();
    assert_eq!(on.run(Steps(2)).unwrap().done, 6);
    on.finish().unwrap();
    assert!(volume.as_slice().iter().all(|cell| cell.is_finite()));
}

#[stencil]
fn fade(u: Near<f64, 2>, by: f64) -> f64 {
    by * u[[0, 0]]
}

#[test]
fn what_a_program_changes_after_a_saved_step_is_saved() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let directory = folder.path().join("saved");
    let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    let mut expect = plate([20, 30]);
    reference(&stencil, &mut expect, 4).unwrap();
    for (part, resume) in [false, true, true].into_iter().enumerate() {
        let checkpoint = Checkpoint { directory: directory.clone(), every: 4, resume };
        let run = Run { checkpoint: Some(&checkpoint), ..on_the_cores() };
        let mut volume = plate([20, 30]);
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        if part == 0 {
            on.run(Steps(4)).unwrap();
        }
        assert_eq!(on.run(Steps(0)).unwrap().done, 4);
        assert!(on.volume().unwrap().as_slice() == expect.as_slice(), "{part}");
        on.set([3, 4], part as f64).unwrap();
        on.apply(fade(0.5)).unwrap();
        expect[[3, 4]] = part as f64;
        reference(&Stencil::of(fade(0.5)), &mut expect, 1).unwrap();
        on.finish().unwrap();
        assert_eq!(steps(&directory), [0, 4], "{part}");
        let partial = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        assert!(partial.into_iter().all(|path| !path.to_string_lossy().contains("partial")));
    }
}

#[test]
fn a_session_that_was_killed_is_looked_at_after_the_same_steps() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let directory = folder.path().join("saved");
    let stencil = Stencil::of(diffuse(0.2)).boundary(Boundary::Periodic);
    // A source after every tenth step.
    let looked = |steps: u64, checkpoint: Option<&Checkpoint>, ends: bool| {
        let mut volume = plate([20, 30]);
        let run = Run { checkpoint, ..on_the_cores() };
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        let (mut seen, mut done) = (Vec::new(), on.run(Steps(0)).unwrap().done);
        let advance = on.run_every(Steps(10), Steps(steps - done), |on| {
            done += 10 - done % 10;
            seen.push(done);
            let there = on.get([5, 7])?;
            on.set([5, 7], there + done as f64)?;
            Ok(ControlFlow::Continue(()))
        });
        assert_eq!(advance.unwrap().done, steps);
        if ends {
            on.finish().unwrap();
        } else {
            // What is on the disk is what a program leaves that is killed here.
            drop(on);
        }
        (volume, seen)
    };
    let checkpoint = |resume| Checkpoint { directory: directory.clone(), every: 10, resume };
    let (_, seen) = looked(25, Some(&checkpoint(false)), false);
    assert_eq!((seen, steps(&directory)), (vec![10, 20], vec![10, 20]));
    let (volume, seen) = looked(35, Some(&checkpoint(true)), true);
    assert_eq!(seen, [30]);
    assert!(volume.as_slice() == looked(35, None, true).0.as_slice());
    // The last state is one between two looks.
    let (volume, seen) = looked(47, Some(&checkpoint(true)), true);
    assert_eq!(seen, [40]);
    assert!(volume.as_slice() == looked(47, None, true).0.as_slice());
}

#[test]
fn a_residual_ends_the_call_that_found_it_and_no_other() {
    let (mut volume, machine) = (plate([9, 9]), machine());
    let stencil = Stencil::of(diffuse(0.2)).until_every(Residual::Max, 1e-30, 50);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    on.set([4, 4], f64::NAN).unwrap();
    assert_eq!(on.run(Steps(100)).unwrap().done, 50);
    on.write([0, 0], &plate([9, 9])).unwrap();
    let go_on = |_: &mut Session<'_, f64, 2>| Ok(ControlFlow::Continue(()));
    let advance = on.run_every(Steps(10), Steps(70), go_on).unwrap();
    assert_eq!((advance.done, advance.met), (120, false));
    assert!(advance.residual.unwrap() > 0.0, "the check after step 100");
    drop(on);

    // Met after the last step before a look.
    let mut volume = Volume::from_fn([9, 9], |_| 1024.0);
    let stencil = Stencil::of(fade(0.5)).until(Residual::Max, 1.0);
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    let advance = on.run_every(Steps(5), Steps(100), go_on).unwrap();
    assert_eq!((advance.done, advance.met), (10, true));
}
