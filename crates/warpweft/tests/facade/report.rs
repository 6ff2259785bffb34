//! What a report says of a run.

use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::stencil::Target;

#[test]
fn a_report_says_whether_the_tolerance_was_met_and_after_how_many_steps_it_was_not() {
    let machine = Machine::detect().unwrap();
    let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    let of = |steps| {
        let mut volume = Volume::from_fn([8], |_| 1.0);
        let stencil = Stencil::of(halve()).until(Residual::Max, 1e-2);
        stencil.run_with(&mut volume, Steps(steps), &machine, &run).unwrap()
    };
    // Step n changes a cell by 1 / 2^n.
    let [met, not] = [of(100), of(3)];
    assert_eq!([&met, &not].map(Report::converged), [Some(true), Some(false)]);
    let (met, not) = (met.to_string(), not.to_string());
    assert!(met.contains("stencil: 7 steps on"), "{met}");
    assert!(met.contains(", residual 7.812e-3 of at most 1e-2: met"), "{met}");
    let expect = ", residual 1.250e-1 of at most 1e-2: not met after 3 steps";
    assert!(not.contains(expect), "{not}");
}

#[stencil]
fn halve(u: Near<f32, 1>) -> f32 {
    0.5 * u[[0]]
}

#[test]
fn a_report_says_in_a_line_what_was_done_and_its_notes_in_further_ones() {
    let machine = Machine::detect().unwrap();
    let mut volume = Volume::from_fn([8], |_| 1.0);
    let run = Run { target: Target::Cpu, threads: Some(1), ..Run::default() };
    let stencil = Stencil::of(halve());
    let mut report = stencil.run_with(&mut volume, Steps(3), &machine, &run).unwrap();
    report.notes = vec!["first".into(), "second".into()];
    report.devices = vec![report.devices[0].clone(); 2];
    let text = report.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("stencil: 3 steps on 2 x 1 core of "), "{text}");
    assert!(lines[0].contains(" cells/s"), "{text}");
    assert_eq!(lines[1..], ["note: first", "note: second"]);
}
