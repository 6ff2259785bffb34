//! Wavefronts over ranks of this process: the reference's cells on every rank, for any number of ranks
//! and any length of messages.

use std::time::Duration;

use warpweft::cluster::{Transport, in_process, in_process_all};
use warpweft::cpu::Pool;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{
    Border, CpuPolicy, Keep, Kept, RankExecutor, Wavefront, WavefrontExecutor, reference,
};
use warpweft_conformance::wavefront::{Inputs, KEEPS, conforms, local, mix, sliced, warp};

const SOON: Duration = Duration::from_secs(120);
const LOCAL: local = local { matching: 2, mismatch: -1, gap: -1 };

/// A core that this process may use.
fn core() -> usize {
    (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap()
}

/// Does `work` on as many ranks, each with a worker of its own and messages of `rows` rows.
fn on_ranks<T: Send>(
    ranks: usize,
    rows: usize,
    work: impl Fn(&mut RankExecutor<'_, CpuExecutor<'_>>, &dyn Transport) -> T + Sync,
) -> Vec<T> {
    let core = core();
    let policy = CpuPolicy { tile_rows: 32, tile_columns: 64, cells_16_bit: false };
    let all = in_process(ranks, SOON, |net| {
        let pool = Pool::new(&[core])?;
        let executor = CpuExecutor::new(&pool, policy)?;
        Ok(work(&mut RankExecutor::new(net, executor).rows(rows), net))
    });
    all.unwrap()
}

#[test]
fn any_number_of_ranks_computes_the_same() {
    for (ranks, rows) in [(2, 37), (3, 8), (4, 500), (5, 100_000)] {
        on_ranks(ranks, rows, |executor, _| {
            let (bits, half) = (|i: &mut Inputs| i.bits() as u32, |i: &mut Inputs| i.bits() as u16);
            let lines = |i: isize, j: isize| (i * 31 + j * 7) as u64;
            // Many messages take their time.
            let keeps = if rows == 8 { &KEEPS[..1] } else { &KEEPS };
            conforms(executor, mix(99), keeps, bits, half, lines).unwrap();
            let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
            conforms(executor, LOCAL, keeps, letter, letter, |_, _| 0).unwrap();
            let sample = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
            let corner = |i, j| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
            conforms(executor, warp(), &keeps[..1], sample, sample, corner).unwrap();
            let weights = (0..4 * 9).map(|k| k * 7 % 19 - 9).collect::<Vec<i16>>();
            let row = |inputs: &mut Inputs| (inputs.bits() % 4) as u8;
            let column = |inputs: &mut Inputs| (inputs.bits() % 9) as u16;
            conforms(executor, sliced(&weights, 9, -3), &keeps[..1], row, column, |_, _| 0)
                .unwrap();
        });
    }
}

#[test]
fn every_rank_has_all_of_the_edges() {
    let mut inputs = Inputs(3);
    let rows: Vec<_> = (0..150).map(|_| inputs.bits() as u32).collect();
    let columns: Vec<_> = (0..90).map(|_| inputs.bits() as u16).collect();
    let wavefront = Wavefront::of(mix(5)).rows(&rows).columns(&columns).border(Border::Value(3));
    let keep = |keep| reference(&wavefront.clone().keep(keep)).unwrap();
    for beside in [Keep::Least, Keep::Sum, Keep::Matrix] {
        let wavefront = wavefront.clone().keep(beside);
        for (edges, report) in on_ranks(4, 40, |executor, _| executor.edges(&wavefront).unwrap()) {
            assert_eq!(Kept::LastRow(edges.row), keep(Keep::LastRow));
            assert_eq!(Kept::LastColumn(edges.column), keep(Keep::LastColumn));
            match beside {
                Keep::Least => assert_eq!(Kept::Best(edges.best), keep(beside)),
                _ => assert_eq!(edges.best, None),
            }
            match beside {
                Keep::Sum => assert_eq!(edges.sum.map(Kept::Sum), Some(keep(beside))),
                _ => assert_eq!(edges.sum, None),
            }
            assert_eq!(report.devices.len(), 4);
            assert_eq!(report.done, 150 * 90);
        }
    }
}

#[test]
fn more_ranks_than_columns_are_idle() {
    let found = on_ranks(6, 2, |executor, _| {
        let wavefront = Wavefront::of(LOCAL).rows(b"GATTACA").columns(b"ACA").keep(Keep::Score);
        executor.run(&wavefront).unwrap().0
    });
    assert_eq!(found, vec![Kept::Score(Some(6)); 6]);
}

#[test]
fn what_can_not_go_from_rank_to_rank_is_refused() {
    let all = in_process_all(2, SOON, |net| {
        let pool = Pool::new(&[core()])?;
        let executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(8, 1))?;
        let mut executor = RankExecutor::new(net, executor);
        executor.run(&Wavefront::of(LOCAL).rows(b"A").columns(b"A").band(0, 0, 0))
    });
    for outcome in all {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("bands over ranks"), "{error}");
    }
}

#[test]
fn ranks_of_other_problems_are_named() {
    let all = in_process_all(2, SOON, |net| {
        let pool = Pool::new(&[core()])?;
        let executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(8, 1))?;
        let rows: &[u8] = if net.rank() == 0 { b"ACGT" } else { b"ACG" };
        RankExecutor::new(net, executor).run(&Wavefront::of(LOCAL).rows(rows).columns(b"ACGT"))
    });
    for outcome in all {
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("rank 1 has the recurrence local [3, 4]"), "{error}");
    }
}
