//! Errors that a session outlives: its cells are as they were.

use super::*;
use warpweft::stencil::Checkpoint;

/// Divides by 0.
#[reduction]
fn quotient(a: Cell, b: Cell) -> Cell {
    Cell { fixed: (a.fixed as i32 / (b.fixed as i32)) as f32, ..a }
}

#[test]
fn a_panic_of_a_reduction_ends_no_session() {
    check_reduction(&Run { threads: Some(2), ..on_the_cores() });
}

#[test]
fn a_fault_of_a_reduction_on_a_gpu_ends_no_session() {
    let run = gpu::on_a_gpu(&Stencil::of(spread(0.2)), [11, 23].into(), &machine());
    run.iter().for_each(check_reduction);
}

fn check_reduction(run: &Run<'_>) {
    let (mut volume, machine) = (start(), machine());
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let mut on = stencil.on_with(&mut volume, &machine, run).unwrap();
    on.run(Steps(2)).unwrap();
    let error = on.fold(quotient()).unwrap_err().to_string();
    assert!(error.contains("divide by zero"), "{error}");
    on.run(Steps(1)).unwrap();
    let expect = by_reference(&[Ask::Run(3)], Boundary::Periodic);
    assert_eq!(on.fold(numbers::twisted(0.5)).unwrap(), numbers::by_pairs(&expect, 0.5));
    on.finish().unwrap();
    assert!(same(&volume, &expect));
}

#[test]
fn a_state_that_can_not_be_saved_ends_no_session() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let directory = folder.path().join("saved");
    let checkpoint = Checkpoint { directory: directory.clone(), every: 2, resume: false };
    let run = Run { checkpoint: Some(&checkpoint), ..on_the_cores() };
    let stencil = Stencil::of(spread(0.2)).boundary(Boundary::Periodic);
    let mut volume = start();
    let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
    on.run(Steps(1)).unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    let error = on.run(Steps(4)).unwrap_err().to_string();
    assert!(error.contains("a checkpoint can't be written"), "{error}");
    let expect = by_reference(&[Ask::Run(2)], Boundary::Periodic);
    assert!(same(&on.volume().unwrap(), &expect), "the steps before are done");
    // There is room again.
    std::fs::create_dir(&directory).unwrap();
    assert_eq!(on.run(Steps(3)).unwrap().done, 5);
    assert!(directory.join("step-000000000004").exists());
    std::fs::remove_dir_all(&directory).unwrap();
    let error = on.finish().unwrap_err().to_string();
    assert!(error.contains("a checkpoint can't be written"), "{error}");
    assert!(same(&volume, &by_reference(&[Ask::Run(5)], Boundary::Periodic)), "nothing is lost");
}

#[test]
fn boxes_outside_are_errors_before_there_is_room_for_them() {
    let (mut volume, machine) = (start(), machine());
    let stencil = Stencil::of(spread(0.2));
    let mut on = stencil.on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    let cell = start().get([0, 0]).unwrap();
    let errors = [
        on.read([0..1 << 36, 0..1]).map(drop),
        on.read_field::<f64>("u", [0..1 << 36, 0..1]).map(drop),
        on.write([5, 0], &start()),
        on.set([11, 0], cell),
    ];
    for error in errors {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("of a volume of [11, 23]"), "{error}");
    }
    on.run(Steps(1)).unwrap();
}

#[test]
fn applied_functions_read_no_faces_of_step_0() {
    #[derive(Clone, Copy, Fields)]
    struct Rod {
        u: f64,
        g: f64,
    }
    #[boundary]
    fn heated(_at: [i64; 1], step: u64) -> Rod {
        Rod { u: 100.0 * step as f64, g: 0.0 }
    }
    #[stencil]
    fn keep(now: Near<Rod, 1>, next: &mut Rod) {
        next.u = now.u[[0]];
    }
    #[stencil]
    fn look(now: Near<Rod, 1>, next: &mut Rod) {
        next.g = now.u[[-1]];
    }
    let (mut rod, machine) = (Volume::<Rod, 1>::zeroed([5]).unwrap(), machine());
    let stencil = Stencil::of(keep()).face_by(0, Face::Low, heated());
    let mut on = stencil.on_with(&mut rod, &machine, &on_the_cores()).unwrap();
    on.run(Steps(3)).unwrap();
    let error = on.apply(look()).unwrap_err().to_string();
    assert!(
        error.contains("`look` reads `u` beyond the low face of axis x, which is a function"),
        "{error}"
    );
    // Together with what writes the field it reads the face of the steps so far and one more.
    on.apply((keep(), look())).unwrap();
    assert_eq!(on.get([0]).unwrap().g, 400.0);
    let error = on.sum("nix").unwrap_err().to_string();
    assert!(error.contains("\"nix\"") && error.contains("u, g"), "{error}");
}
