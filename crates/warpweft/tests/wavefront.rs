//! Wavefronts on the cores against the reference, and the reference against known answers.

use warpweft::cpu::{Pool, Simd};
use warpweft::wavefront::conformance::{KEEPS, Local, Mix, Warp, conforms, suite};
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::{
    Best, Border, CpuPolicy, Earlier, Keep, Kept, Wavefront, WavefrontElement, reference,
};

/// Several workers on whatever cores the test may use.
fn pool(workers: usize) -> Pool {
    let cores: Vec<_> = (0..256).filter(|&core| Pool::new(&[core]).is_ok()).take(workers).collect();
    Pool::new(&cores.into_iter().cycle().take(workers).collect::<Vec<_>>()).unwrap()
}

fn policies() -> [CpuPolicy; 4] {
    [(1, 300), (50, 3), (64, 100), (512, 4096)].map(|(tile_rows, tile_columns)| CpuPolicy {
        threads: 1,
        tile_rows,
        tile_columns,
    })
}

const LOCAL: Local = Local { matching: 2, mismatch: -1, gap: -1 };

#[test]
fn every_cell_of_a_mixture_is_the_references_at_any_tile_and_thread_count() {
    for workers in [1, 3] {
        let pool = pool(workers);
        for policy in policies() {
            // Every instruction set once; more workers than cores make no progress in fine tiles.
            let sets = if workers == 1 { Simd::available() } else { vec![Simd::detect()] };
            for simd in sets {
                let mut executor = CpuExecutor::new(&pool, policy).unwrap().simd(simd);
                conforms(
                    &mut executor,
                    Mix { salt: 99 },
                    &KEEPS,
                    |inputs| inputs.bits() as u32,
                    |inputs| inputs.bits() as u16,
                    |i, j| (i * 31 + j * 7) as u64,
                )
                .unwrap();
            }
        }
    }
}

#[test]
fn scalar_float_and_struct_cells_conform() {
    let pool = pool(2);
    for policy in policies() {
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        for (name, result) in suite(&mut executor) {
            assert_eq!(result, Ok(12 * 4 * 2), "{name} {policy:?}");
        }
    }
}

#[test]
fn the_textbook_pair_scores_as_in_the_textbook() {
    // Wikipedia's example of Smith-Waterman with its own weights, linear gap.
    let element = Local { matching: 3, mismatch: -3, gap: -2 };
    let best = reference(&Wavefront::of(element).rows(b"TGTTACGG").columns(b"GGTTGACTA")).unwrap();
    assert_eq!(best, Kept::Best(Some(Best { score: 13, row: 5, column: 6 })));
}

#[test]
fn of_equal_scores_the_smallest_row_then_column_wins() {
    let pool = pool(3);
    let (rows, columns) = (vec![b'A'; 400], b"CCACCCACCC".repeat(30));
    for policy in policies() {
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        let element = Local { matching: 1, mismatch: -1, gap: -1 };
        let wavefront = Wavefront::of(element).rows(&rows).columns(&columns);
        let (kept, _) =
            warpweft::wavefront::WavefrontExecutor::run(&mut executor, &wavefront).unwrap();
        assert_eq!(kept, Kept::Best(Some(Best { score: 1, row: 0, column: 2 })), "{policy:?}");
    }
}

#[test]
fn scores_that_are_no_numbers_are_never_best() {
    let pool = pool(1);
    let mut executor = CpuExecutor::new(&pool, policies()[2]).unwrap();
    let wavefront = Wavefront::of(Warp).rows(&[1.0, f32::NAN]).columns(&[3.0, f32::NAN]);
    let (kept, _) = warpweft::wavefront::WavefrontExecutor::run(&mut executor, &wavefront).unwrap();
    assert_eq!(kept, Kept::Best(Some(Best { score: 2.0, row: 0, column: 0 })));
    assert_eq!(kept, reference(&wavefront).unwrap());
    let nothing = Wavefront::of(Warp).rows(&[f32::NAN; 3]).columns(&[3.0]);
    assert_eq!(reference(&nothing).unwrap(), Kept::Best(None));
}

#[test]
fn the_last_row_of_a_sum_of_ones_counts_paths() {
    /// Cell = north + west: binomial coefficients.
    #[derive(Clone, Copy)]
    #[repr(C)]
    struct Paths;
    // SAFETY: no members; it is never compiled for a device here, and reads nothing.
    unsafe impl WavefrontElement for Paths {
        type Cell = u64;
        type Row = u8;
        type Column = u8;
        const NAME: &'static str = "paths";
        const DEPENDENCES: &'static [[isize; 2]] = &[[-1, 0], [0, -1]];
        #[inline(always)]
        fn cell(&self, h: Earlier<u64>, _: u8, _: u8) -> u64 {
            h[[-1, 0]] + h[[0, -1]]
        }
        fn bounds(&self, rows: u64, columns: u64) -> Option<[f64; 2]> {
            Some([0.0, 2f64.powi((rows + columns) as i32)])
        }
        fn cuda(unit: &mut warpweft::element::Unit) -> String {
            unit.define("paths", "paths", |_, name| format!("struct {name} {{}};"))
        }
    }
    let border = Border::from_fn(5, 5, |i, _| if i == -1 { 1 } else { 0 });
    let spec = Wavefront::of(Paths).rows(&[0; 5]).columns(&[0; 5]).border(border);
    let row = reference(&spec.clone().keep(Keep::LastRow)).unwrap();
    assert_eq!(row, Kept::LastRow(vec![1, 6, 21, 56, 126]));
    let long = [0; 40];
    let error = Wavefront::of(Paths).rows(&long).columns(&long).check().unwrap_err().to_string();
    assert!(error.contains("wider cell type"), "{error}");
}

#[test]
fn ill_posed_problems_are_refused_with_their_values() {
    let error = reference(&Wavefront::of(LOCAL).columns(b"AC")).unwrap_err().to_string();
    assert!(error.contains("0 rows for local"), "{error}");
    let border = Border::Lines { corner: 0, top: vec![0; 3], left: vec![0; 2] };
    let spec = Wavefront::of(LOCAL).rows(b"AC").columns(b"AC").border(border);
    let error = reference(&spec).unwrap_err().to_string();
    assert!(error.contains("3 columns and 2 rows"), "{error}");
}
