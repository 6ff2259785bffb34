//! Alignments letter by letter against three whole tables, at any cut, and after interruptions.

use std::fs;
use std::path::Path;

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::report::Report;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{
    CudaExecutor, compile_paths_check, compile_recording_check, compile_search_check,
};
use warpweft::wavefront::traceback::{End, Need, Partition, Traced, Walk, Way};
use warpweft::wavefront::{
    CpuPolicy, CudaPolicy, Edges, Kept, Wavefront, WavefrontElement, WavefrontExecutor,
};
use warpweft::{Error, Result};
use warpweft_apps::align::{
    Aligned, Dna, Executor, Operation, Scope, Sequence, Tracing, Weights, affine, global_affine,
    global_letters, letters, plain, plain_path, scored, trace,
};
use warpweft_apps::warping::time_warping;
use warpweft_conformance::wavefront::Inputs;

const WEIGHTS: [Weights; 6] = [
    Weights::linear(2, -1, -1),
    Weights::linear(1, 0, 0),
    Weights::linear(300, -200, -500),
    Weights { matching: 2, mismatch: -3, open: -5, extend: -1 },
    Weights { matching: 1, mismatch: -1, open: -2, extend: 0 },
    Weights { matching: 5, mismatch: -4, open: -12, extend: -4 },
];

const WAYS: [Way; 3] = [Way::Directions, Way::LinearSpace, Way::Auto];

fn sequence(inputs: &mut Inputs, letters: &[u8], length: usize) -> Sequence {
    let text: Vec<_> = (0..length).map(|_| inputs.one_of(letters)).collect();
    Sequence::new("case", &text).unwrap()
}

fn cut(blocks: usize, matrix_cells: usize) -> Tracing {
    let cut = Some(Partition { blocks, matrix_cells });
    Tracing { way: Way::LinearSpace, cut, checkpoint: None }
}

/// The path equals that of the tables, adds up to the score, and ends where the score is.
fn is_right(found: &Aligned, (a, b): (&Sequence, &Sequence), weights: Weights, scope: Scope) {
    assert_eq!(found.alignment, plain(a, b, weights, scope), "{weights:?} {scope:?}");
    let score = i64::from(found.alignment.score);
    assert_eq!(found.added_up(a, b, weights), Some(score), "{weights:?} {scope:?} {found:?}");
    let (cigar, starts) = plain_path(a, b, weights, scope);
    let expect = if cigar.is_empty() { "*" } else { &cigar };
    assert_eq!(found.cigar(true), expect, "{weights:?} {scope:?}");
    assert_eq!([found.query_start, found.target_start], starts, "{weights:?} {scope:?}");
}

/// By any of `ways`; of itself the executor takes the one that `auto` tells.
fn agrees_with_the_tables(executor: &mut dyn Executor, cases: usize, ways: &[Way], auto: &str) {
    let mut inputs = Inputs(5);
    for case in 0..cases {
        let letters = [&b"ACGT"[..], b"AC", b"A", b"ACGTN", b"NR"][case % 5];
        let length = |inputs: &mut Inputs| 1 + (inputs.bits() % [90, 7, 40][case % 3]) as usize;
        let [m, n] = [0, 1].map(|_| length(&mut inputs));
        let (a, b) = (sequence(&mut inputs, letters, m), sequence(&mut inputs, letters, n));
        let cells = [1, 5, 60, 700, 100_000][case % 5];
        let tracing = cut(2 + case % 4, cells);
        for scope in [Scope::Local, Scope::Global] {
            let weights = WEIGHTS[case % WEIGHTS.len()];
            for &way in ways {
                let tracing = Tracing { way, ..tracing.clone() };
                let (found, report) = trace(&a, &b, weights, scope, &tracing, executor).unwrap();
                is_right(&found, (&a, &b), weights, scope);
                let said = match way {
                    Way::Directions => "by directions",
                    Way::LinearSpace => "in linear space",
                    Way::Auto => auto,
                };
                let notes = &report.notes;
                assert!(notes.iter().any(|note| note.contains(said)), "{way:?} {notes:?}");
            }
        }
    }
}

/// A core that keeps one thing a run, and may be told to fail after so many.
struct OneByOne<'p> {
    core: CpuExecutor<'p>,
    runs: usize,
    allowed: usize,
}

impl<E: WavefrontElement> WavefrontExecutor<E> for OneByOne<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        if self.runs == self.allowed {
            return Err(Error::Interrupted { done: self.runs as u64, total: 0, unit: "cells" });
        }
        self.runs += 1;
        self.core.run(wavefront)
    }
}

/// A core whose need of directions is made up: what they are said to gain, and what there is of memory
/// for each byte that they need. Recording may fail.
struct MadeUp<'p> {
    core: CpuExecutor<'p>,
    speedup: f64,
    memory: u64,
    failure: Option<fn() -> Error>,
    recorded: usize,
}

impl<E: WavefrontElement> WavefrontExecutor<E> for MadeUp<'_> {
    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        self.core.run(wavefront)
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        self.core.edges(wavefront)
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        let need = self.core.directions(wavefront)?;
        Ok(need.map(|need| Need {
            available: need.needed * self.memory,
            speedup: self.speedup,
            ..need
        }))
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        self.recorded += 1;
        match self.failure {
            Some(error) => Err(error()),
            None => self.core.record(wavefront, walk),
        }
    }
}

#[test]
fn directions_are_taken_of_themselves_where_they_fit_and_are_known_to_be_faster() {
    let pool = pool();
    let mut inputs = Inputs(4);
    let (a, b) = (sequence(&mut inputs, b"AC", 60), sequence(&mut inputs, b"AC", 50));
    let run = |way, speedup, memory, failure| {
        let mut executor = MadeUp { core: core(&pool), speedup, memory, failure, recorded: 0 };
        let tracing = Tracing { way, ..cut(3, 100) };
        let found = trace(&a, &b, WEIGHTS[0], Scope::Local, &tracing, &mut executor);
        let notes = found.map(|(found, report)| {
            is_right(&found, (&a, &b), WEIGHTS[0], Scope::Local);
            report.notes.join("\n")
        });
        (notes, executor.recorded)
    };
    let full: fn() -> Error =
        || Error::Memory { whose: "host".into(), needed: 2, available: 1, hint: "wait".into() };
    let broken: fn() -> Error = || Error::spec("broken", "mend it");
    for (speedup, memory, failure, recorded, says) in [
        (1.5, 1, None, 1, "the path was found by directions"),
        (0.5, 1, None, 0, "in linear space: directions take some 2.0 times as long"),
        (1.0, 1, None, 0, "in linear space: directions take some 1.0 times as long"),
        (1.5, 0, None, 0, "bytes of host, which has 0"),
        (1.5, 1, Some(full), 1, "in linear space: directions did not fit host"),
    ] {
        let (notes, times) = run(Way::Auto, speedup, memory, failure);
        let notes = notes.unwrap();
        assert!(notes.contains(says) && times == recorded, "{speedup:?} {notes} {times}");
    }
    // Any other failure is one; who asks for a way gets it or hears why not.
    assert!(run(Way::Auto, 1.5, 1, Some(broken)).0.unwrap_err().to_string().contains("broken"));
    assert!(matches!(run(Way::Directions, 1.5, 0, None), (Err(Error::Memory { .. }), 0)));
    assert!(matches!(run(Way::Directions, 1.5, 1, Some(full)), (Err(Error::Memory { .. }), 1)));
    for (way, times) in [(Way::Directions, 1), (Way::LinearSpace, 0)] {
        let (notes, recorded) = run(way, 0.5, 1, None);
        let wanted = if times == 1 { "by directions" } else { "found in linear space" };
        assert!(notes.unwrap().contains(wanted) && recorded == times);
    }
}

/// One worker.
fn pool() -> Pool {
    (0..1024).find_map(|core| Pool::new(&[core]).ok()).unwrap()
}

fn core(pool: &Pool) -> CpuExecutor<'_> {
    CpuExecutor::new(pool, CpuPolicy { tile_rows: 7, tile_columns: 16, cells_16_bit: true })
        .unwrap()
}

#[test]
fn paths_on_the_cores_are_those_of_the_tables_by_any_way_at_any_cut() {
    let pool = pool();
    agrees_with_the_tables(&mut core(&pool), 240, &WAYS, "in linear space: directions take some");
}

#[test]
fn executors_that_keep_one_thing_a_run_find_the_same_paths() {
    let pool = pool();
    let mut executor = OneByOne { core: core(&pool), runs: 0, allowed: usize::MAX };
    agrees_with_the_tables(&mut executor, 60, &WAYS[1..], "in linear space");
    let (a, b) = (&sequence(&mut Inputs(1), b"AC", 9), &sequence(&mut Inputs(2), b"AC", 9));
    let tracing = Tracing { way: Way::Directions, ..Tracing::default() };
    let refused = trace(a, b, WEIGHTS[0], Scope::Local, &tracing, &mut executor).unwrap_err();
    assert!(refused.to_string().contains("this executor does not record"), "{refused}");
    assert!(executor.runs > 60);
}

#[test]
fn a_path_through_blocks_costs_little_more_than_the_score() {
    let pool = pool();
    let mut executor = core(&pool);
    let mut inputs = Inputs(3);
    let a = sequence(&mut inputs, b"ACGT", 1000);
    let weights = WEIGHTS[3];
    let (found, report) =
        trace(&a, &a, weights, Scope::Local, &cut(8, 4000), &mut executor).unwrap();
    assert_eq!(found.cigar(true), "1000=");
    assert_eq!((found.identity(), found.gaps()), (1.0, [0, 0]));
    // The diagonal crosses 8 of 64 blocks, 8 of 64 of each of these, ...
    let cells = report.done as f64 / 1e6;
    assert!((1.0..1.16).contains(&cells), "{cells}");
}

#[test]
fn a_cigar_is_written_in_both_ways() {
    let [a, b] = [b"ACGTTTACGT", b"ACGACGAAAA"].map(|text| Sequence::new("x", text).unwrap());
    let pool = pool();
    let mut executor = core(&pool);
    let weights = WEIGHTS[3];
    let mut found = trace(&a, &b, weights, Scope::Global, &cut(2, 9), &mut executor).unwrap().0;
    is_right(&found, (&a, &b), weights, Scope::Global);
    found.operations = vec![
        (Operation::Equal, 3),
        (Operation::Different, 2),
        (Operation::Insertion, 4),
        (Operation::Equal, 1),
        (Operation::Deletion, 4),
    ];
    assert_eq!(found.cigar(false), "5M4I1M4D");
    assert_eq!(found.cigar(true), "3=2X4I1=4D");
    assert_eq!((found.columns(), found.gaps()), (14, [2, 8]));
    assert_eq!(found.added_up(&a, &b, weights), None);
}

#[test]
fn a_run_goes_on_from_its_rows_of_blocks_and_from_no_other() {
    let (folder, pool) = (tempfile::tempdir().unwrap(), pool());
    let mut inputs = Inputs(8);
    let (a, b) = (sequence(&mut inputs, b"AC", 130), sequence(&mut inputs, b"AC", 90));
    for (scope, weights) in [(Scope::Local, WEIGHTS[0]), (Scope::Global, WEIGHTS[3])] {
        let directory = folder.path().join(format!("{scope:?}"));
        let saved =
            |resume| Tracing { checkpoint: Some((directory.clone(), resume)), ..cut(5, 300) };
        let run = |allowed, a: &Sequence, resume| {
            let mut executor = OneByOne { core: core(&pool), runs: 0, allowed };
            let found = trace(a, &b, weights, scope, &saved(resume), &mut executor);
            (found.map(|(found, _)| found), executor.runs)
        };
        let error = |found: Result<Aligned>| found.unwrap_err().to_string();
        assert!(error(run(0, &a, true).0).contains("holds no checkpoint to resume"));
        assert!(!directory.exists());
        // Stopped in its fourth row of blocks, each of 5 blocks of 2 or 3 runs.
        assert!(run(37, &a, false).0.is_err());
        let rows = |directory: &Path| {
            let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
            names.filter(|name| name.extension().is_some_and(|ending| ending == "edges")).count()
        };
        let before = rows(&directory);
        assert!((2..5).contains(&before), "{before}");
        // Without --resume they are in the way; those of another problem are refused.
        assert!(error(run(99, &a, false).0).contains("earlier run"));
        let other = sequence(&mut Inputs(9), b"AC", 130);
        assert!(error(run(99, &other, true).0).contains("another problem"));

        let (found, runs) = run(usize::MAX, &a, true);
        is_right(&found.unwrap(), (&a, &b), weights, scope);
        let (found, again) = run(usize::MAX, &a, true);
        is_right(&found.unwrap(), (&a, &b), weights, scope);
        assert!(again < runs, "{again} {runs}");
        assert_eq!(rows(&directory), 5);
        // A damaged or shortened file is computed again.
        let path = directory.join("row-0001.edges");
        let mut bytes = fs::read(&path).unwrap();
        bytes[70] ^= 1;
        fs::write(&path, &bytes).unwrap();
        fs::write(directory.join("row-0002.edges"), &bytes[..20]).unwrap();
        let (found, repaired) = run(usize::MAX, &a, true);
        is_right(&found.unwrap(), (&a, &b), weights, scope);
        assert!(repaired > again);
    }
}

/// Shapes whose words of choices have 8, 16, 32 and 64 bits, and the default.
fn policies() -> Vec<Option<CudaPolicy>> {
    let shape = |(rows, columns, chunk, warps)| {
        Some(CudaPolicy { rows, columns, chunk, warps, blocks: 1, packed_16x2: false })
    };
    let shapes =
        [(1, 1, 8, 1), (5, 2, 16, 4), (3, 8, 8, 2), (15, 2, 32, 8), (20, 1, 32, 8)].map(shape);
    shapes.into_iter().chain([None]).collect()
}

/// Compiles `element` in each of these shapes for its architecture.
fn compiles<E: Traced>(element: E, policies: &[(Option<CudaPolicy>, &str)]) {
    let (a, b) = ([E::Row::default(); 3], [E::Column::default(); 3]);
    let wavefront = Wavefront::of(element).rows(&a).columns(&b);
    std::thread::scope(|scope| {
        for (policy, arch) in policies {
            let wavefront = &wavefront;
            scope.spawn(move || compile_recording_check(wavefront, *policy, arch).unwrap());
        }
    });
}

/// What depends on the architecture is the kernel around an element, which is the same for all: each element is
/// compiled for one of both, one of them in small shapes for each width of the words of choices.
#[test]
fn kernels_that_record_choices_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let (ampere, hopper) = ("sm_80", "sm_90");
    // Words of 8, 16 and 32 bits.
    let archs = [ampere, hopper].into_iter().cycle();
    let shapes: Vec<_> = policies().into_iter().take(3).zip(archs).collect();
    compiles(letters::with(WEIGHTS[0]), &shapes);
    let affine_shapes = [(policies()[0], ampere), (policies()[1], hopper)];
    compiles(affine::with(WEIGHTS[3]), &affine_shapes);
    compiles(Dna::new(WEIGHTS[0]), &[(None, ampere)]);
    compiles(global_letters::with(WEIGHTS[0]), &[(None, hopper)]);
    compiles(global_affine::with(WEIGHTS[3]), &[(None, ampere)]);
    compiles(time_warping::<f32>(), &[(None, ampere)]);
    compiles(time_warping::<f64>(), &[(None, hopper)]);
    compile_paths_check(&letters::with(WEIGHTS[0]), End::Best, 5, ampere).unwrap();
    compile_paths_check(&global_affine::with(WEIGHTS[3]), End::Corner, 5, hopper).unwrap();
    // Searches have a form of each local recurrence.
    assert!(compile_search_check::<scored>(Some(32), hopper).unwrap().is_some());
    assert!(compile_search_check::<affine>(Some(2), ampere).unwrap().is_some());
    assert!(compile_search_check::<Dna>(Some(7), hopper).unwrap().is_some());
}

#[test]
fn paths_on_a_gpu_are_those_of_the_tables_by_any_way() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    for policy in policies() {
        let mut executor = CudaExecutor::new(&device, policy).unwrap();
        agrees_with_the_tables(&mut executor, 12, &WAYS, "by directions");
        // Through several windows, warps and blocks.
        let mut inputs = Inputs(77);
        let (a, b) = (sequence(&mut inputs, b"AC", 3000), sequence(&mut inputs, b"AC", 2500));
        let tracing = Tracing { way: Way::Directions, ..Tracing::default() };
        for weights in [WEIGHTS[0], WEIGHTS[5]] {
            for scope in [Scope::Local, Scope::Global] {
                let (found, _) = trace(&a, &b, weights, scope, &tracing, &mut executor).unwrap();
                is_right(&found, (&a, &b), weights, scope);
            }
        }
        println!("{policy:?} conforms");
    }
}

/// What directions of a genome against itself need is more than there is.
#[test]
fn directions_that_do_not_fit_are_refused_with_their_bytes() {
    let pool = pool();
    let a = sequence(&mut Inputs(1), b"ACGT", 20_000_000);
    let tracing = Tracing { way: Way::Directions, ..Tracing::default() };
    let refused = trace(&a, &a, WEIGHTS[0], Scope::Local, &tracing, &mut core(&pool)).unwrap_err();
    let Error::Memory { needed, available, .. } = refused else { panic!("{refused}") };
    // Two bits a cell.
    assert!(needed >= 20_000_000 * 20_000_000 / 4 && available < needed, "{needed} {available}");
}
