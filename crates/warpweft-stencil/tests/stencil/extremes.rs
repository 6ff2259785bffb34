//! Changes beyond the moderate: infinities, NaN, subnormals and numbers near the ends of an `f64`, with norms that are
//! known by hand. Not: who computes them.

use warpweft::prelude::*;
use warpweft::stencil::{SweepExecutor, Until, sweeps};

/// What a cell is and what it becomes, in two widths.
#[derive(Clone, Copy, Debug, PartialEq, Fields)]
#[repr(C)]
pub struct Leap {
    is: f64,
    to: f64,
    lean: f32,
    onto: f32,
}

#[stencil]
fn leap(now: Near<Leap, 2>, next: &mut Leap) {
    // All begin at 0; what is read next to a cell has two arrays and is exchanged.
    next.is = if now.is[[-1, 0]] < 1.0 { now.to[[0, 0]] } else { 1.0 };
    next.lean = now.onto[[0, 0]];
}

/// More columns than a warp takes at a time.
const EXTENTS: [usize; 2] = [7, 1100];
const CELLS: usize = EXTENTS[0] * EXTENTS[1];
const TINY: f64 = f64::from_bits(1);

struct Case {
    what: &'static str,
    /// Of cells far apart; all others stay.
    changes: Vec<f64>,
    narrow: Vec<f32>,
    /// The largest, the sum and the sum of squares.
    norms: [f64; 3],
}

fn cases() -> Vec<Case> {
    let (up, huge) = (f64::EPSILON, 2f64.powi(1000));
    let case = |what, changes: &[f64], norms| Case {
        what,
        changes: changes.to_vec(),
        narrow: Vec::new(),
        norms,
    };
    let everywhere = |value: fn(usize) -> f64| (0..CELLS).map(value).collect::<Vec<_>>();
    let fives = (0..CELLS).map(|n| n % 5).sum::<usize>();
    vec![
        case("nothing", &[-0.0, 0.0], [0.0; 3]),
        case("an infinity", &[1.0, f64::NEG_INFINITY, TINY], [f64::INFINITY; 3]),
        case("NaN beside an infinity", &[f64::INFINITY, -f64::NAN, 1.0], [f64::NAN; 3]),
        case("the smallest", &[TINY, -TINY], [TINY, 2.0 * TINY, 0.0]),
        case(
            "subnormals everywhere",
            &everywhere(|n| f64::from_bits((n % 5) as u64)),
            [4.0 * TINY, fives as f64 * TINY, 0.0],
        ),
        case(
            "huge ones everywhere, up and down",
            &everywhere(|n| (n % 5) as f64 * if n % 2 == 0 { 1.0 } else { -1.0 } * 2f64.powi(1000)),
            [4.0 * huge, fives as f64 * huge, f64::INFINITY],
        ),
        case("1e300 beside 1e-300", &[1e300, 1e-300, -1e300], [1e300, 2e300, f64::INFINITY]),
        case(
            "the largest, and what it rounds away",
            &[-f64::MAX, 1.0],
            [f64::MAX, f64::MAX, f64::INFINITY],
        ),
        case("a sum beyond all", &[f64::MAX, -f64::MAX], [f64::MAX, f64::INFINITY, f64::INFINITY]),
        case("half way", &[1.0, up / 2.0], [1.0; 3]),
        // TINY² is nothing, and (ulp/2)² is below half an ulp.
        case("beyond half way by the smallest", &[1.0, TINY, up / 2.0], [1.0, 1.0 + up, 1.0]),
        case(
            "squares that just don't vanish",
            &[2f64.powi(-537)],
            [2f64.powi(-537), 2f64.powi(-537), TINY],
        ),
        Case {
            narrow: vec![f32::from_bits(1), -f32::from_bits(1)],
            ..case("subnormal f32", &[], [2f64.powi(-149), 2f64.powi(-148), 2f64.powi(-297)])
        },
        Case {
            narrow: vec![2f32.powi(127), 0.0],
            ..case("f32 beside f64", &[TINY], [2f64.powi(127), 2f64.powi(127), 2f64.powi(254)])
        },
        Case { narrow: vec![f32::NAN], ..case("NaN of f32", &[f64::MAX], [f64::NAN; 3]) },
    ]
}

/// Makes an executor of a stencil over a volume.
pub type Make<'a> = dyn FnMut(&Stencil<Leap, 2>, &Volume<Leap, 2>) -> Box<dyn SweepExecutor> + 'a;

/// Every case by an executor that `make` makes.
pub fn check(make: &mut Make<'_>) {
    for Case { what, changes, narrow, norms } in cases() {
        let mut cells = vec![Leap { is: 0.0, to: 0.0, lean: 0.0, onto: 0.0 }; CELLS];
        // 3697 and the number of cells have no common factor.
        let place = |n: usize| (n * 3697 + 11) % CELLS;
        changes.iter().enumerate().for_each(|(n, &change)| cells[place(n)].to = change);
        narrow.iter().enumerate().for_each(|(n, &change)| cells[place(n)].onto = change);
        let volume = Volume::from_fn(EXTENTS, |[y, x]| cells[y * EXTENTS[1] + x]);
        for (residual, expect) in
            [Residual::Max, Residual::Sum, Residual::SumOfSquares].into_iter().zip(norms)
        {
            let stencil = Stencil::of(leap()).boundary(Boundary::Periodic).until(residual, 0.0);
            let mut executor = make(&stencil, &volume);
            let until = Until { residual, tolerance: 0.0, every: 1 };
            for sweep in sweeps(EXTENTS.into(), 1, 1, Some(until)) {
                executor.sweep(&sweep).unwrap();
            }
            let found = executor.residual(residual).unwrap();
            let same = found.to_bits() == expect.to_bits() || found.is_nan() && expect.is_nan();
            assert!(same, "{what}: {residual:?} {found:e}, not {expect:e}");
        }
    }
}
