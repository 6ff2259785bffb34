//! Dependences of every direction on the cores, and those two rows or columns back by register strips: what is kept is
//! the reference's, whatever the strips.

use warpweft::cpu::{Pool, Simd};
use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, compile_check};
use warpweft::wavefront::{CpuPolicy, CudaPolicy, WavefrontElement, WavefrontExecutor, reference};
use warpweft_conformance::wavefront::KEEPS;

/// A wrapping mixture of the cells at these vectors: any cell or input out of place changes it.
macro_rules! mixture {
    ($name:ident, $($vector:tt)*) => {
        #[wavefront]
        fn $name(h: Earlier<u32>, #[row] a: u32, #[column] b: u32) -> u32 {
            let mut mixed = a ^ b.rotate_left(9);
            $(mixed = mixed.wrapping_mul(0x85eb_ca6b) ^ h[$vector];)*
            mixed ^ (mixed >> 13)
        }
    };
}
mixture!(transposed, [-1, -1] [-1, 0] [0, -1] [-2, -2]);
mixture!(seam, [-1, -1] [-1, 0] [-1, 1]);
mixture!(steep, [-1, 3] [0, -2] [-3, 1]);
mixture!(along, [0, -1] [0, -5]);
mixture!(far, [-4, -3] [-2, 5] [-1, -1]);
mixture!(back, [-1, 0] [-2, -1] [-1, -2] [0, -2]);
mixture!(above, [0, -1] [-2, 0] [-2, -2]);

fn inputs(count: usize, seed: u32) -> Vec<u32> {
    (0..count as u32).map(|k| (k ^ seed).wrapping_mul(0x9e37_79b9)).collect()
}

fn agrees<E: WavefrontElement<Cell = u32, Row = u32, Column = u32, Input = ()>>(element: E) {
    let pools = [1, 2].map(|threads| Pool::new(&[0, 0][..threads]).unwrap());
    for [rows, columns] in [[1, 1], [2, 90], [67, 5], [41, 133]] {
        let (rows, columns) = (inputs(rows, 1), inputs(columns, 2));
        let border = Border::function(|i, j| (i * 31 + j) as u32);
        let whole = Wavefront::of(element).rows(&rows).columns(&columns).border(border);
        for wavefront in [whole.clone(), whole.band(-9, 30, 77)] {
            for (k, &keep) in KEEPS.iter().enumerate() {
                let wavefront = wavefront.clone().keep(keep);
                let expect = reference(&wavefront).unwrap();
                for (tile_rows, tile_columns) in [(1, 7), (16, 50), (64, 1024)] {
                    let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: true };
                    let sets = Simd::available();
                    let simd = sets[(k + tile_rows) % sets.len()];
                    let mut executor = CpuExecutor::new(&pools[k % 2], policy).unwrap().simd(simd);
                    let (kept, _) = executor.run(&wavefront).unwrap();
                    assert_eq!(kept, expect, "{} {policy:?} {simd}", E::NAME);
                }
            }
        }
    }
}

#[test]
fn kept_cells_are_the_references_whatever_the_vectors() {
    agrees(transposed());
    agrees(seam());
    agrees(steep());
    agrees(along());
    agrees(far());
    agrees(back());
    agrees(above());
}

/// The worst score that there is wins where every cell has it, and its first cell is told.
#[test]
fn the_first_cell_wins_where_all_have_the_worst_score() {
    #[wavefront]
    fn least(h: Earlier<i32>, most: i32) -> i32 {
        h.ne.min(most)
    }
    let pool = Pool::new(&[0]).unwrap();
    let policy = CpuPolicy { tile_rows: 4, tile_columns: 8, cells_16_bit: true };
    let wavefront = Wavefront::of(least(i32::MIN)).over([9, 20]).keep(Keep::Best);
    for wavefront in [wavefront.clone(), wavefront.band(3, 5, 0)] {
        let (kept, _) = CpuExecutor::new(&pool, policy).unwrap().run(&wavefront).unwrap();
        assert_eq!(kept, reference(&wavefront).unwrap());
    }
}

/// By strips of a GPU, whose cells carry those further away; with borders that are alike and that are not.
fn carries<E>(element: E, device: Option<&Device>)
where
    E: WavefrontElement<Cell = u32, Row = u32, Column = u32, Input = ()>,
{
    let policy = |[rows, columns, chunk, warps]: [u32; 4]| CudaPolicy {
        rows,
        columns,
        chunk,
        warps,
        blocks: 1,
        packed_16x2: false,
    };
    let (rows, columns) = (inputs(700, 1), inputs(900, 2));
    let whole = Wavefront::of(element).rows(&rows).columns(&columns);
    let Some(device) = device else {
        for (arch, keep) in [("sm_80", Keep::Best), ("sm_90", Keep::LastRow)] {
            compile_check(&whole.clone().keep(keep), &policy([1, 1, 8, 1]), arch).unwrap();
        }
        return;
    };
    let uneven = Border::function(|i, j| (i * 31 + j) as u32);
    for (border, shape, keep) in [
        (Border::Value(9), [1, 1, 8, 1], Keep::Best),
        (uneven.clone(), [3, 2, 16, 4], Keep::LastRow),
        (uneven, [2, 1, 16, 2], Keep::LastColumn),
    ] {
        let mut executor = CudaExecutor::new(device, Some(policy(shape))).unwrap();
        for [m, n] in [[1, 1], [5, 200], [300, 47], [700, 900]] {
            let part = Wavefront::of(element).rows(&rows[..m]).columns(&columns[..n]);
            let part = part.border(border.clone()).keep(keep);
            let (kept, _) = executor.run(&part).unwrap();
            assert_eq!(kept, reference(&part).unwrap(), "{} {shape:?} {keep:?}", E::NAME);
        }
    }
}

#[test]
fn cells_two_rows_and_columns_back_are_carried_by_strips() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    let device = Device::open(0).ok();
    carries(transposed(), device.as_ref());
    if device.is_some() {
        carries(back(), device.as_ref());
        carries(above(), device.as_ref());
    }
}
