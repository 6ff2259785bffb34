//! Time warping by every cost and constraint, of one pair and of many: values of dtaidistance 2.5.1, and plain loops.

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::wavefront::CpuPolicy;
use warpweft::wavefront::Keep;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::{CudaExecutor, compile_batch_check};
use warpweft::wavefront::traceback::{Partition, Way};
use warpweft_apps::warping::{
    Constraint, Cost, Executor, LeftOut, Measure, added_up, condensed, distance, distances,
    lower_bounds, matches, nearest, part_warping_f64, path, plain, plain_matches,
    squared_part_warping_f32, squared_warping,
};

const COSTS: [Cost; 2] = [Cost::Absolute, Cost::Squared];

fn pool() -> Pool {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    Pool::new(&[core, core]).unwrap()
}

/// A series in eighths, so that sums of its costs are exact.
fn series(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
        ((state >> 40) % 64) as f64 / 8.0
    };
    (0..count).map(next).collect()
}

fn measure(cost: Cost, window: Option<usize>) -> Measure {
    Measure { cost, within: window.map_or(Constraint::None, Constraint::Window) }
}

/// Lengths, window, `dtw.distance(a, b, window=..)` and the same with `inner_dist="euclidean"`.
const PAIRS: [(usize, usize, Option<usize>, f64, f64); 6] = [
    (40, 33, None, 6.754628043053148, 16.75),
    (40, 40, Some(4), 10.14889156509222, 54.625),
    (40, 33, Some(3), 6.754628043053148, 16.75),
    (33, 40, Some(3), 11.21243729079454, 58.75),
    (7, 7, Some(1), 10.749273231246846, 25.125),
    (64, 50, Some(9), 10.557876206889338, 71.5),
];

/// `distance_matrix(.., compact=True)` of five series of 20 samples; and with `inner_dist="euclidean", window=3`.
const SQUARED: [f64; 10] = [
    7.734864252202491,
    8.867954950268974,
    7.722734295571744,
    8.738385148298283,
    9.956938535513816,
    8.023403267940607,
    8.89346670314788,
    7.781187248742958,
    9.508220127868308,
    7.962804154316493,
];
const ABSOLUTE: [f64; 10] =
    [34.125, 37.375, 32.625, 27.875, 41.875, 31.75, 36.25, 32.375, 39.0, 34.125];

/// `kbest_matches(k=4, overlap=0)` of series 3 of 12 samples in series 11 of 90: first, last, distance.
const MATCHES: [(usize, usize, f64); 4] = [
    (55, 60, 3.237958461747154),
    (71, 76, 3.318979511837939),
    (40, 46, 3.913118960624632),
    (79, 85, 3.9745282738961616),
];

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

fn values_are_dtaidistances(executor: &mut dyn Executor<f64>) {
    for (m, n, window, squared, absolute) in PAIRS {
        let (a, b) = (series(m as u64, m), series(7 + n as u64, n));
        for (cost, expected) in [(Cost::Squared, squared), (Cost::Absolute, absolute)] {
            let (found, _) = distance(&a, &b, measure(cost, window), executor).unwrap();
            assert!(near(found, expected), "{m} x {n} {window:?}: {found}, not {expected}");
        }
    }
    let set: Vec<_> = (1..6).map(|seed| series(seed, 20)).collect();
    let set: Vec<_> = set.iter().map(Vec::as_slice).collect();
    for (measure, expected) in
        [(measure(Cost::Squared, None), SQUARED), (measure(Cost::Absolute, Some(3)), ABSOLUTE)]
    {
        let (found, _) = distances(&set, measure, &|_, _| (), executor).unwrap();
        assert!(found.iter().zip(expected).all(|(&a, b)| near(a, b)), "{found:?}");
        assert_eq!(found[condensed(5, [2, 4])], found[8]);
    }
    let (found, _) = matches(&series(3, 12), &series(11, 90), Cost::Squared, 4, executor).unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.start, one.end - 1, one.distance)).collect();
    for (found, expected) in found.iter().zip(MATCHES) {
        assert_eq!((found.0, found.1), (expected.0, expected.1));
        assert!(near(found.2, expected.2), "{found:?}");
    }
    assert_eq!(found.len(), 4);
}

#[test]
fn cores_have_the_values_of_dtaidistance() {
    let pool = pool();
    values_are_dtaidistances(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap());
}

/// But for bands, which strips leave to tiles.
#[test]
fn a_gpu_has_the_values_of_plain_loops_in_a_batch() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let mut executor = CudaExecutor::new(&device, None).unwrap();
    many_equal_plain_loops(&mut executor, &[Constraint::None]);
}

/// The path of the table by the rule of `warping::path`: both go on, then B alone, then A alone.
fn by_table(a: &[f64], b: &[f64], of: Measure) -> Vec<[usize; 2]> {
    let diagonals = of.within.diagonals([a.len(), b.len()]).unwrap();
    let holds = |i: usize, j: usize| {
        let diagonal = j as isize - i as isize;
        diagonals.is_none_or(|[lower, upper]| lower <= diagonal && diagonal <= upper)
    };
    let mut table = vec![vec![f64::INFINITY; b.len() + 1]; a.len() + 1];
    table[0][0] = 0.0;
    for i in 1..=a.len() {
        for j in (1..=b.len()).filter(|&j| holds(i, j)) {
            let least = table[i - 1][j].min(table[i][j - 1]).min(table[i - 1][j - 1]);
            table[i][j] = of.cost.of(a[i - 1], b[j - 1]) + least;
        }
    }
    let (mut i, mut j) = (a.len(), b.len());
    let mut pairs = Vec::new();
    while i > 0 && j > 0 {
        pairs.push([i - 1, j - 1]);
        let (both, across, down) = (table[i - 1][j - 1], table[i][j - 1], table[i - 1][j]);
        (i, j) = match () {
            () if both <= across && both <= down => (i - 1, j - 1),
            () if across <= down => (i, j - 1),
            () => (i - 1, j),
        };
    }
    pairs.reverse();
    pairs
}

#[test]
fn paths_in_a_band_are_those_of_the_table() {
    let pool = pool();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap();
    // Blocks of which many lie outside of the band, and the whole table.
    let small = Some(Partition { blocks: 4, matrix_cells: 40 });
    for [m, n] in [[1, 1], [9, 9], [40, 33], [33, 40], [120, 118]] {
        let (a, b) = (series(m as u64, m), series(7 + n as u64, n));
        let apart = m.abs_diff(n);
        for within in [Constraint::Band(apart), Constraint::Band(apart + 3), Constraint::Window(2)]
        {
            for cost in COSTS {
                let measure = Measure { cost, within };
                for cut in [small, None] {
                    let (found, pairs, _) =
                        path(&a, &b, measure, Way::Auto, cut, &mut executor).unwrap();
                    assert_eq!(pairs, by_table(&a, &b, measure), "{m} x {n} {measure:?} {cut:?}");
                    assert_eq!(found, plain(&a, &b, measure));
                    let sum = added_up(&a, &b, cost, &pairs).unwrap();
                    assert_eq!(found, cost.distance(sum));
                }
            }
        }
    }
}

/// Distances of all pairs and nearest series, each against plain loops.
fn many_equal_plain_loops(executor: &mut dyn Executor<f32>, constraints: &[Constraint]) {
    let single = |seed: u64, count| series(seed, count).iter().map(|&x| x as f32).collect();
    let set: Vec<Vec<f32>> = (0..70).map(|k| single(k, 30 + (k % 3) as usize)).collect();
    let set: Vec<_> = set.iter().map(Vec::as_slice).collect();
    for (cost, &within) in COSTS.iter().flat_map(|cost| constraints.iter().map(move |c| (*cost, c)))
    {
        let measure = Measure { cost, within };
        let (found, report) = distances(&set[..20], measure, &|_, _| (), executor).unwrap();
        assert_eq!(found.len(), 190);
        assert!(report.done > 0);
        for (i, j) in (0..20).flat_map(|i| (i + 1..20).map(move |j| (i, j))) {
            let expected = plain(set[i], set[j], measure);
            assert_eq!(found[condensed(20, [i, j])], expected, "{i} and {j} {measure:?}");
        }
        let query = set[69];
        let mut expected: Vec<_> = (0..69).map(|k| (plain(query, set[k], measure), k)).collect();
        expected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (found, ..) = nearest(query, &set[..69], measure, 5, executor).unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.distance, one.index)).collect();
        assert_eq!(found, expected[..5]);
    }
}

#[test]
fn many_series_equal_plain_loops() {
    let pool = pool();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap();
    let constraints = [Constraint::None, Constraint::Band(6), Constraint::Window(4)];
    many_equal_plain_loops(&mut executor, &constraints);
}

#[test]
fn lower_bounds_are_no_more_than_distances_and_leave_out_what_is_far() {
    let pool = pool();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap();
    for seed in 0..60 {
        let (m, n) = (1 + seed as usize % 17, 1 + seed as usize % 13);
        let (a, b) = (series(seed, m), series(seed + 100, n));
        for within in [Constraint::None, Constraint::Band(m.abs_diff(n) + 1), Constraint::Window(1)]
        {
            for cost in COSTS {
                let measure = Measure { cost, within };
                let distance = plain(&a, &b, measure);
                let bounds = lower_bounds(&a, &b, measure).unwrap();
                assert!(bounds.iter().all(|&bound| bound <= distance), "{bounds:?} {distance}");
            }
        }
    }
    // Series that are shifted: their ends alone leave them out.
    let query = series(1, 50);
    let shifted = |by: f64| query.iter().map(|x| x + by).collect::<Vec<_>>();
    let set: Vec<_> = (0..600).map(|k| shifted(f64::from(k) * 10.0)).collect();
    let set: Vec<_> = set.iter().map(Vec::as_slice).collect();
    let measure = Measure { within: Constraint::Band(2), ..Measure::default() };
    let (found, left_out, _) = nearest(&query, &set, measure, 1, &mut executor).unwrap();
    assert_eq!((found[0].index, found[0].distance), (0, 0.0));
    assert_eq!(left_out, LeftOut { kim: 600 - 256, keogh: 0 });
    // The same with the ends of the query: LB_Kim is 0, and the envelopes tell them apart.
    let inner = |k: u32| {
        let mut all = shifted(f64::from(k) * 10.0);
        (all[0], all[49]) = (query[0], query[49]);
        all
    };
    let set: Vec<_> = (0..600).map(inner).collect();
    let set: Vec<_> = set.iter().map(Vec::as_slice).collect();
    let (found, left_out, _) = nearest(&query, &set, measure, 1, &mut executor).unwrap();
    assert_eq!((found[0].index, found[0].distance), (0, 0.0));
    assert_eq!(left_out, LeftOut { kim: 0, keogh: 600 - 256 });
}

fn matches_are_the_least(executor: &mut dyn Executor<f64>) {
    let (query, long) = (series(5, 9), series(6, 200));
    for cost in COSTS {
        let expected = plain_matches(&query, &long, cost);
        let (found, _) = matches(&query, &long, cost, 6, executor).unwrap();
        let least = expected.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(found[0].distance, least);
        for (k, one) in found.iter().enumerate() {
            assert_eq!(one.distance, expected[one.end - 1]);
            let (whole, part) = (&query[..], &long[one.start..one.end]);
            let pairs: Vec<_> = one.pairs.iter().map(|&[i, j]| [i, j - one.start]).collect();
            assert_eq!(cost.distance(added_up(whole, part, cost, &pairs).unwrap()), one.distance);
            assert!(found[..k].iter().all(|b| one.start >= b.end || b.start >= one.end));
            assert!(k == 0 || found[k - 1].distance <= one.distance);
        }
    }
    let error = matches(&query, &[], Cost::Absolute, 1, executor).unwrap_err().to_string();
    assert!(error.contains("series B is empty"), "{error}");
}

#[test]
fn matches_are_the_least_of_the_plain_table_and_do_not_overlap() {
    let pool = pool();
    matches_are_the_least(&mut CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap());
}

#[test]
fn matches_on_a_gpu_are_the_least_of_the_plain_table() {
    match Device::open(0) {
        Ok(device) => matches_are_the_least(&mut CudaExecutor::new(&device, None).unwrap()),
        Err(error) => println!("skipped: {error}"),
    }
}

/// All ends on the plateau after the first match are as near as it is, but their paths begin in it.
#[test]
fn a_plateau_after_a_match_takes_one_pass() {
    let pool = pool();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap();
    let query = [0.0f32, 1.0, 0.0];
    let long = [&query[..], &vec![0.0; 100_000], &[0.0, 1.0, 0.25]].concat();
    for cost in COSTS {
        let (found, report) = matches(&query, &long, cost, 2, &mut executor).unwrap();
        let places: Vec<_> = found.iter().map(|one| [one.start, one.end]).collect();
        assert_eq!(places, [[0, 3], [long.len() - 3, long.len()]]);
        assert_eq!([found[0].distance, found[1].distance], [0.0, 0.25]);
        assert!(report.done < 2 * (query.len() * long.len()) as u64, "{report:?}");
    }
}

#[test]
fn series_that_can_not_be_compared_are_named() {
    let pool = pool();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(64, 2)).unwrap();
    let mut of = |set: &[&[f32]], measure| {
        distances(set, measure, &|_, _| (), &mut executor).unwrap_err().to_string()
    };
    let any = Measure::default();
    assert!(of(&[&[1.0]], any).contains("the distances of 1 series"));
    assert!(of(&[&[1.0], &[2.0, f32::NAN]], any).contains("sample 1 of series 1 is NaN"));
    assert!(of(&[&[1.0], &[]], any).contains("series 1 is empty"));
    let band = Measure { within: Constraint::Band(1), ..any };
    let narrow = of(&[&[1.0], &[1.0; 2], &[1.0; 4]], band);
    assert!(narrow.contains("series 0 and 2: a band of 1 for series of 1 and 4"), "{narrow}");
    let narrow = nearest(&[1.0], &[&[1.0], &[1.0; 4]], band, 1, &mut executor).unwrap_err();
    assert!(narrow.to_string().contains("series 1: a band of 1 for series of 1 and 4"), "{narrow}");
    let none = nearest(&[1.0f32], &[], any, 3, &mut executor).unwrap_err().to_string();
    assert!(none.contains("3 neighbours among 0 series"), "{none}");
}

#[test]
fn kernels_of_squared_costs_compile() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    compile_batch_check::<squared_warping<f32>>(None, 32, false, "sm_80").unwrap();
    compile_batch_check::<squared_warping<f64>>(Some(Keep::LastRow), 4, true, "sm_90").unwrap();
    compile_batch_check::<squared_part_warping_f32>(Some(Keep::LastRow), 4, true, "sm_80").unwrap();
    compile_batch_check::<part_warping_f64>(Some(Keep::LastRow), 4, true, "sm_90").unwrap();
}
