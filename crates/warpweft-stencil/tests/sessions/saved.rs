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
    let left_out = report.notes.iter().any(|note| note.contains("checkpoints left out"));
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
