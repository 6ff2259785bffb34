//! Point sources and probes: what they add, when, and that runs report what they saw.

use crate::ranks::run_in_process;
use serde_json::json;
use sha2::{Digest, Sha256};
use warpweft::prelude::*;
use warpweft::report::Series;
use warpweft::stencil::drive::{Distribution, Ranks};
use warpweft::stencil::{
    Boundaries, Checkpoint, Partition, PointSource, Probe, Run, Settings, Target, reference,
    reference_with_probes,
};

#[stencil]
fn conduct(u: Near<f64, 2>, rate: f64) -> f64 {
    let around = u[[-1, 0]] + u[[1, 0]] + u[[0, -1]] + u[[0, 1]];
    u[[0, 0]] + rate * (around - 4.0 * u[[0, 0]])
}

fn heated([y, x]: [usize; 2], steps: usize) -> Stencil<f64, 2> {
    let amplitudes = (0..steps).map(|n| (n as f64 * 0.7).sin() + 1.5).collect();
    Stencil::of(conduct(0.2)).boundary(Boundary::Neumann).source(PointSource {
        field: 0,
        at: vec![[0, 0], [y / 2, x / 2]],
        amplitudes,
    })
}

fn lit(extents: [usize; 2], steps: usize) -> (Stencil<f64, 2>, Volume<f64, 2>) {
    let [y, x] = extents;
    let stencil = heated(extents, steps).probe(Probe {
        field: 0,
        at: vec![[0, 0], [y - 1, x - 1]],
        every: 3,
    });
    (stencil, Volume::zeroed(extents).expect("a small volume"))
}

#[test]
fn what_sources_add_is_there_and_no_more() {
    let (stencil, mut volume) = lit([9, 14], 7);
    reference(&stencil, &mut volume, 20).expect("well posed");
    let added: f64 = (0..7).map(|n| (n as f64 * 0.7).sin() + 1.5).sum();
    let sum: f64 = volume.as_slice().iter().sum();
    assert!((sum / (2.0 * added) - 1.0).abs() < 1e-14, "{sum} for {}", 2.0 * added);
}

#[test]
fn a_source_acts_after_its_step_and_probes_see_it() {
    let mut volume = Volume::<f64, 2>::zeroed([5, 5]).expect("a small volume");
    let stencil = Stencil::of(conduct(0.25))
        .source(PointSource { field: 0, at: vec![[2, 2]], amplitudes: vec![0.0, 16.0] })
        .probe(Probe { field: 0, at: vec![[2, 2], [2, 1], [1, 1]], every: 1 });
    let (done, series) = reference_with_probes(&stencil, &mut volume, 4).expect("well posed");
    assert_eq!((done, series[0].every), (4, 1));
    // A quarter of all goes to each neighbour, all of which comes back by quarters.
    let expect = [[0.0, 0.0, 0.0], [16.0, 0.0, 0.0], [0.0, 4.0, 0.0], [4.0, 0.0, 2.0]];
    assert_eq!(series[0].values, expect);
}

#[test]
fn runs_report_what_the_reference_s_probes_see_whatever_the_policy() {
    let (stencil, start) = lit([37, 50], 11);
    let mut expect = start.clone();
    let (_, series) = reference_with_probes(&stencil, &mut expect, 31).expect("well posed");
    assert_eq!(series[0].values.len(), 10);
    let machine = Machine::detect().expect("a machine");
    for threads in [1, 2] {
        let mut volume = start.clone();
        let run = Run { target: Target::Cpu, threads: Some(threads), ..Run::default() };
        let report = stencil.run_with(&mut volume, Steps(31), &machine, &run).expect("a run");
        assert_eq!(report.probes, series);
        assert_eq!(volume.as_slice(), expect.as_slice());
    }
}

#[test]
fn ranks_add_and_record_what_one_process_does_in_ghost_zones_of_any_depth() {
    let machine = Machine::detect().expect("a machine");
    for boundary in [Boundary::Neumann, Boundary::Periodic] {
        let (stencil, start) = lit([17, 22], 9);
        // Beside cuts, in corners that ranks hold many copies of, and at the same cell twice.
        let at = vec![[8, 11], [9, 10], [16, 21], [0, 21], [8, 11]];
        let stencil = stencil
            .boundary(boundary)
            .source(PointSource { field: 0, at: at.clone(), amplitudes: vec![0.5, -1.0, 0.0, 2.0] })
            .probe(Probe { field: 0, at: at.clone(), every: 2 })
            .until_every(Residual::Sum, 0.0, 6);
        let mut expect = start.clone();
        let (_, series) = reference_with_probes(&stencil, &mut expect, 23).expect("well posed");
        for (count, grid) in [(2, None), (4, Some([2, 2])), (3, Some([1, 3])), (6, Some([3, 2]))] {
            for depth in [Some(1), Some(2), Some(5), None] {
                let ranks = Ranks { count, grid: grid.map(Into::into), depth };
                let mut volume = start.clone();
                let run = Run { target: Target::Cpu, threads: Some(2), ..Run::default() };
                let report = stencil.run_with(
                    &mut volume,
                    Steps(23),
                    &machine,
                    &Run { settings: run.settings.over(ranks), ..run.clone() },
                );
                let report = report.expect("a run");
                assert!(volume.as_slice() == expect.as_slice(), "{boundary:?} {ranks:?}");
                assert_eq!(report.probes, series, "{boundary:?} {ranks:?}");
            }
        }
        for (boundary_first, depth) in [(false, 1), (true, 1), (true, 3)] {
            let faces = Boundaries::all(2, boundary);
            let partition = Partition::grid([17, 22], [2, 2], &faces).expect("parts");
            let distribution =
                Distribution { partition, depth, search: None, fused_steps: 1, boundary_first };
            let mut volume = start.clone();
            let soon = std::time::Duration::from_secs(60);
            // A residual keeps what is sent from being sent ahead.
            let mut plain = start.clone();
            let endless = lit([17, 22], 9).0.boundary(boundary);
            reference(&endless, &mut plain, 23).expect("well posed");
            run_in_process(&endless, &mut volume, 23, &distribution, soon).expect("a run");
            assert!(volume.as_slice() == plain.as_slice(), "{boundary:?} {distribution:?}");
        }
    }
}

/// A run to `steps` with its state in `folder`, on ranks unless there is but one; what it reports.
fn kept(
    stencil: &Stencil<f64, 2>,
    start: &Volume<f64, 2>,
    (folder, resume): (&std::path::Path, bool),
    (count, steps): (usize, u64),
) -> Report {
    let machine = Machine::detect().expect("a machine");
    let checkpoint = Checkpoint { directory: folder.into(), every: 4, resume };
    let run = Run { target: Target::Cpu, checkpoint: Some(&checkpoint), ..Run::default() };
    let mut volume = start.clone();
    let ranks = Ranks { count, grid: None, depth: None };
    let report = match count {
        1 => stencil.run_with(&mut volume, Steps(steps), &machine, &run),
        _ => stencil.run_with(
            &mut volume,
            Steps(steps),
            &machine,
            &Run { settings: run.settings.over(ranks), ..run.clone() },
        ),
    };
    report.expect("a run")
}

#[test]
fn a_resumed_run_has_the_records_of_one_that_nobody_stopped() {
    let (stencil, start) = lit([17, 22], 9);
    // Probe 0 records every third step; one without cells records too.
    let stencil = stencil
        .probe(Probe { field: 0, at: vec![[8, 11], [9, 10], [16, 21], [8, 11]], every: 1 })
        .probe(Probe { field: 0, at: vec![], every: 5 });
    let (_, series) = reference_with_probes(&stencil, &mut start.clone(), 30).expect("well posed");
    assert_eq!(series.iter().map(|one| one.first).collect::<Vec<_>>(), [3, 1, 5]);
    for counts in [[1, 1, 1], [4, 1, 3], [1, 3, 2]] {
        let folder = tempfile::tempdir().expect("a folder");
        for (n, (count, steps)) in counts.into_iter().zip([10, 21, 30]).enumerate() {
            let report = kept(&stencil, &start, (folder.path(), n > 0), (count, steps));
            let until = |one: &Series| one.values[..(steps / one.every) as usize].to_vec();
            for (found, expect) in report.probes.iter().zip(&series) {
                assert_eq!(
                    (found.first, &found.values),
                    (expect.first, &until(expect)),
                    "{counts:?}"
                );
            }
            assert_eq!(report.probes.len(), 3);
            assert!(
                !report.notes.iter().any(|note| note.contains("no records before")),
                "{:?}",
                report.notes
            );
        }
        // What is through has them all, and damage to them passes the checkpoint over.
        assert_eq!(kept(&stencil, &start, (folder.path(), true), (1, 30)).probes, series);
        let file = folder.path().join(records_of(folder.path(), 30));
        let mut bytes = std::fs::read(&file).expect("a file");
        bytes[100] ^= 1;
        std::fs::write(&file, bytes).expect("a file");
        let report = kept(&stencil, &start, (folder.path(), true), (2, 30));
        assert_eq!((report.first, &report.probes), (28, &series));
        let damage = "step 30 is damaged";
        assert!(report.notes.iter().any(|note| note.contains(damage)), "{:?}", report.notes);
    }
}

#[test]
fn records_other_than_a_checkpoint_can_have_pass_it_over() {
    let (stencil, start) = lit([17, 22], 9);
    let (_, series) = reference_with_probes(&stencil, &mut start.clone(), 30).expect("well posed");
    let told =
        "holds other records than its checkpoint tells); the run resumes from an earlier one";
    let never = "names files or records that no run writes); the run resumes from an earlier one";
    for (at, value, damage) in [
        ("/probes/of/0/records", json!(3), told),
        ("/probes/of/0/records", json!(11), told),
        ("/probes/of/0/records", json!(u64::MAX), told),
        ("/probes/of/0/probe/every", json!(0), never),
        ("/probes/file", json!("../probes-0"), never),
        ("/parts/0/file", json!("/dev/zero"), never),
        ("/step", json!(1u64 << 50), "its manifest is of step 1125899906842624"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        kept(&stencil, &start, (folder.path(), false), (1, 30));
        let mut manifest = manifest_of(folder.path(), 30);
        assert_eq!(manifest["probes"]["of"][0]["records"], 10);
        *manifest.pointer_mut(at).expect("a value") = value;
        let line = manifest.to_string();
        let sum: String = Sha256::digest(&line).iter().map(|byte| format!("{byte:02x}")).collect();
        let path = folder.path().join("step-000000000030/manifest");
        std::fs::write(path, format!("{line}\n{sum}\n")).expect("written");
        let report = kept(&stencil, &start, (folder.path(), true), (2, 30));
        assert_eq!((report.first, &report.probes), (28, &series));
        assert!(report.notes.iter().any(|note| note.contains(damage)), "{:?}", report.notes);
    }
}

#[test]
fn a_pipe_in_place_of_a_part_passes_a_checkpoint_over() {
    let (stencil, start) = lit([17, 22], 9);
    let folder = tempfile::tempdir().expect("a folder");
    kept(&stencil, &start, (folder.path(), false), (1, 30));
    let part = folder.path().join("step-000000000030/part-0");
    std::fs::remove_file(&part).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&part).status();
    if !made.is_ok_and(|made| made.success()) {
        return println!("skipped: no mkfifo");
    }
    let report = kept(&stencil, &start, (folder.path(), true), (2, 30));
    let damage = "part-0: is not a regular file";
    assert!(report.notes.iter().any(|note| note.contains(damage)), "{:?}", report.notes);
    assert_eq!(report.first, 28);
}

/// What a checkpoint's manifest says.
fn manifest_of(folder: &std::path::Path, step: u64) -> serde_json::Value {
    let manifest = folder.join(format!("step-{step:012}/manifest"));
    let manifest = std::fs::read_to_string(manifest).expect("a manifest");
    // Its checksum is on the second line.
    serde_json::from_str(manifest.lines().next().expect("a line")).expect("JSON")
}

/// The file with what probes recorded until a checkpoint's step.
fn records_of(folder: &std::path::Path, step: u64) -> String {
    manifest_of(folder, step)["probes"]["file"].as_str().expect("a name").into()
}

#[test]
fn records_are_written_once_a_file_and_no_two_checkpoints_share_one() {
    let (stencil, start) = lit([17, 22], 9);
    let folder = tempfile::tempdir().expect("a folder");
    let records = || -> Vec<(String, Vec<u8>)> {
        let all = std::fs::read_dir(folder.path()).expect("the folder");
        let names =
            all.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
        let mut names: Vec<_> = names.filter(|name| name.starts_with("probes-")).collect();
        names.sort();
        names
            .into_iter()
            .map(|n| (n.clone(), std::fs::read(folder.path().join(n)).expect("it")))
            .collect()
    };
    // Every third step, of two cells.
    let bytes = |step: u64| (step / 3 * 2 * 8) as usize;
    kept(&stencil, &start, (folder.path(), false), (1, 8));
    let before = records();
    assert_eq!(before.iter().map(|(_, all)| all.len()).collect::<Vec<_>>(), [bytes(8), bytes(4)]);
    // What a run that was killed while it wrote leaves behind.
    let torn = folder.path().join(&before[0].0);
    std::fs::write(&torn, [before[0].1.as_slice(), b"half"].concat()).expect("a longer file");
    let report = kept(&stencil, &start, (folder.path(), true), (2, 12));
    assert_eq!(report.first, 8);
    let names = [8, 12].map(|step| records_of(folder.path(), step));
    assert_eq!(names, ["probes-0", "probes-2"]);
    // Those of step 4 are nobody's, and a file holds what it held and more.
    assert_eq!(records().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(records()[1].1.len(), bytes(12));
    assert!(records()[1].1.starts_with(&before[0].1));
    kept(&stencil, &start, (folder.path(), true), (1, 20));
    assert_eq!(
        records().iter().map(|(_, all)| all.len()).collect::<Vec<_>>(),
        [bytes(16), bytes(20)]
    );
}

#[test]
fn records_that_a_checkpoint_does_not_hold_are_named() {
    let (stencil, start) = lit([17, 22], 9);
    let (_, series) = reference_with_probes(&stencil, &mut start.clone(), 30).expect("well posed");
    let silent = heated([17, 22], 9);
    for count in [1, 2] {
        let folder = tempfile::tempdir().expect("a folder");
        kept(&silent, &start, (folder.path(), false), (count, 10));
        for (step, steps) in [(10, 20), (20, 30)] {
            let report = kept(&stencil, &start, (folder.path(), true), (count, steps));
            assert_eq!(report.probes[0].first, 12);
            assert_eq!(report.probes[0].values, series[0].values[3..(steps / 3) as usize]);
            let note = format!(
                "probe 0 has no records before step 12, because the checkpoint of step {step}"
            );
            assert!(report.notes.iter().any(|told| told.contains(&note)), "{:?}", report.notes);
        }
    }
}

#[test]
fn a_source_of_what_no_stage_writes_is_refused_over_ranks() {
    #[derive(Clone, Copy, Fields)]
    #[repr(C)]
    struct Ground {
        heat: f64,
        kind: f64,
    }
    #[stencil]
    fn warm(now: Near<Ground, 2>, next: &mut Ground) {
        next.heat = 0.5 * now.heat[[0, 0]] + 0.5 * now.kind[[0, 1]] * now.heat[[1, 0]];
    }
    let machine = Machine::detect().expect("a machine");
    let source = PointSource { field: 1, at: vec![[2, 2]], amplitudes: vec![1.0] };
    let mut volume = Volume::<Ground, 2>::zeroed([8, 8]).expect("a small volume");
    let stencil = Stencil::of(warm()).source(source);
    for count in [1, 2] {
        let ranks = Ranks { count, grid: None, depth: Some(1) };
        let settings = Settings::default().over(ranks);
        let run = Run { target: Target::Cpu, settings, ..Run::default() };
        let outcome = stencil.run_with(&mut volume, Steps(4), &machine, &run);
        let error = outcome.expect_err("not over ranks").to_string();
        assert!(error.contains("a source adds to field 1, which no stage writes"), "{error}");
    }
}

#[test]
fn what_can_t_be_placed_is_named() {
    let refused = |stencil: Stencil<f64, 2>, expect: &str| {
        let error = stencil.check([4, 5]).expect_err("it can't be").to_string();
        assert!(error.contains(expect), "{error}");
    };
    let source =
        |field, at, amplitude| PointSource { field, at: vec![at], amplitudes: vec![amplitude] };
    let plain = || Stencil::of(conduct(0.1));
    refused(plain().source(source(0, [4, 0], 1.0)), "a source at [4, 0]; help: place it inside");
    refused(plain().source(source(1, [0, 0], 1.0)), "a source of field 1");
    refused(
        plain().source(source(0, [0, 0], f64::NAN)),
        "source number 0 at [0, 0] has the amplitude NaN in step 1",
    );
    refused(plain().probe(Probe { field: 0, at: vec![[0, 9]], every: 1 }), "a probe at [0, 9]");
    refused(plain().probe(Probe { field: 0, at: vec![[0, 0]], every: 0 }), "every 0 steps");
}
