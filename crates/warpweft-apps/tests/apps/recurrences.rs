//! Warping, tables of sums, relaxation and common subsequences on every executor: against their
//! straightforward loops at odd sizes, and against other programs' recorded answers.

use warpweft::cpu::Pool;
use warpweft::cuda::{Device, compiler};
use warpweft::prelude::*;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::cuda::scan::{compile_check, misses};
use warpweft::wavefront::cuda::tiles::TileExecutor;
use warpweft::wavefront::{CpuPolicy, ScanPolicy, WavefrontElement, WavefrontExecutor};
use warpweft_apps::area::{
    bins, count_of, fits_i32, long_sum_of_bytes, relative_error, running_sums, sum_of,
    sum_of_bytes, table, table_of_reals,
};
use warpweft_apps::relaxation::{gauss_seidel, over_relaxation, relax};
use warpweft_apps::soup::SplitMix;
use warpweft_apps::subsequence::common_subsequence;
use warpweft_apps::warping::{Constraint, Executor, Measure};
use warpweft_apps::{area, relaxation, subsequence, warping};

/// Answers of `bench/peers/recurrences.py` with numpy 2, scipy 1, parasail 1.3.4 and dtaidistance 2.
const SUMS: [([usize; 2], i32); 5] =
    [([0, 0], 193), ([0, 52], 6907), ([36, 0], 4536), ([17, 29], 69111), ([36, 52], 250_586)];
const COUNTS: [[i32; 8]; 2] =
    [[270, 229, 222, 248, 246, 253, 237, 256], [71, 60, 63, 73, 69, 73, 64, 67]];
/// Relaxation factor, sweeps, the cells `[0, 0]`, `[5, 4]` and `[11, 8]`, and the sum of all.
const PLATES: [(f64, usize, [f64; 3], f64); 3] = [
    (1.0, 1, [0.6191914121144286, 0.44313851789958225, 0.2277512612135481], 49.8911289682738),
    (1.0, 7, [0.4925992552034114, 0.4514598824273542, 0.03995797979875297], 37.87772014625688),
    (1.5, 7, [0.4601628663407899, 0.36656776364620974, 0.007440952846010707], 29.08677934701706),
];
const WARPED: f64 = 26.152491211903484;
const COMMON: usize = 517;

const SIZES: [[usize; 2]; 6] = [[1, 1], [1, 77], [130, 1], [37, 53], [65, 129], [301, 203]];

fn image(seed: u64, extents: [usize; 2]) -> Volume<u8, 2> {
    let mut stream = SplitMix::new(seed);
    Volume::from_fn(extents, |_| (stream.next_u64() % 256) as u8)
}

fn units(seed: u64, count: usize) -> Vec<f64> {
    let mut stream = SplitMix::new(seed);
    (0..count).map(|_| stream.next_unit()).collect()
}

fn letters(stream: &mut SplitMix, count: usize) -> Vec<u8> {
    (0..count).map(|_| b"ACGT"[(stream.next_u64() % 4) as usize]).collect()
}

/// Executors of series and texts.
trait Lines: Executor<f32> + Executor<f64> + WavefrontExecutor<common_subsequence> {}
impl<X: Executor<f32> + Executor<f64> + WavefrontExecutor<common_subsequence>> Lines for X {}

fn lines_agree(executor: &mut impl Lines, bands: bool) {
    let (a, b) = (units(3, 150), units(4, 170));
    let anywhere = Measure::default();
    let (distance, _) = warping::distance(&a, &b, anywhere, executor).unwrap();
    assert!((distance - WARPED).abs() < 1e-12, "{distance}");
    let mut stream = SplitMix::new(5);
    let texts = [letters(&mut stream, 700), letters(&mut stream, 900)];
    assert_eq!(subsequence::length(&texts[0], &texts[1], executor).unwrap().0, COMMON);
    assert_eq!(subsequence::plain(&texts[0], &texts[1]), COMMON);
    for (seed, [m, n]) in SIZES.into_iter().enumerate() {
        let mut stream = SplitMix::new(seed as u64);
        let mut series =
            |n: usize| -> Vec<f32> { (0..n).map(|_| stream.next_unit() as f32).collect() };
        let (a, b) = (series(m), series(n));
        let (distance, _) = warping::distance(&a, &b, anywhere, executor).unwrap();
        assert_eq!(distance, warping::plain(&a, &b, anywhere), "{m} × {n}");
        if bands {
            let within = Constraint::Band(m.abs_diff(n) + 7);
            let band = Measure { within, ..anywhere };
            let (distance, _) = warping::distance(&a, &b, band, executor).unwrap();
            assert_eq!(distance, warping::plain(&a, &b, band), "{m} × {n} {band:?}");
        }
        let (a, b) = (letters(&mut stream, m), letters(&mut stream, n));
        let (length, _) = subsequence::length(&a, &b, executor).unwrap();
        assert_eq!(length, subsequence::plain(&a, &b), "{m} × {n}");
    }
}

/// Executors of images and plates.
trait Planes:
    WavefrontExecutor<sum_of_bytes>
    + WavefrontExecutor<long_sum_of_bytes>
    + WavefrontExecutor<sum_of<f32>>
    + WavefrontExecutor<running_sums>
    + WavefrontExecutor<count_of>
    + WavefrontExecutor<gauss_seidel<f64>>
    + WavefrontExecutor<over_relaxation<f64>>
{
}
impl<X> Planes for X where
    X: WavefrontExecutor<sum_of_bytes>
        + WavefrontExecutor<long_sum_of_bytes>
        + WavefrontExecutor<sum_of<f32>>
        + WavefrontExecutor<running_sums>
        + WavefrontExecutor<count_of>
        + WavefrontExecutor<gauss_seidel<f64>>
        + WavefrontExecutor<over_relaxation<f64>>
{
}

/// A pixel of 1e9 in a corner, and small ones elsewhere.
fn steep([m, n]: [usize; 2], seed: usize) -> Volume<f64, 2> {
    let small = units(seed as u64, m * n);
    Volume::from_fn([m, n], |[i, j]| if i + j == 0 { 1e9 } else { 1e-8 * (1.0 + small[i * n + j]) })
}

/// The sum of the pixels of rows `a..c` and columns `b..d`, by the table.
fn rectangle(sums: &[f64], columns: usize, [a, b, c, d]: [usize; 4]) -> f64 {
    let at = |i: usize, j: usize| match (i, j) {
        (0, _) | (_, 0) => 0.0,
        (i, j) => sums[(i - 1) * columns + j - 1],
    };
    at(c, d) - at(a, d) - at(c, b) + at(a, b)
}

#[test]
fn small_pixels_far_from_a_large_one_are_in_the_sums() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(300, 1)).unwrap();
    let [m, n] = [300, 400];
    let image = steep([m, n], 9);
    let (sums, _) = table_of_reals(&image, &mut executor).unwrap();
    let allowed = (m + n) as f64 * f64::EPSILON / 2.0;
    assert!(relative_error(&image, &sums) <= allowed);
    let corners = [100, 100, m, n];
    let rows = image.as_slice().chunks(n).skip(100);
    let exact: f64 = rows.flat_map(|row| &row[100..]).sum();
    let found = rectangle(sums.as_slice(), n, corners);
    // Four sums, each with at most one rounding for every row and column before it.
    assert!((found - exact).abs() <= 4.0 * allowed * 1e9, "{found}, not {exact}");
    // The recurrence that subtracts loses all of them, which the check sees.
    let (lost, _) = table(sum_of::<f64>(), &image, &mut executor).unwrap();
    assert_eq!(rectangle(lost.as_slice(), n, corners), 0.0);
    assert!(relative_error(&image, &lost) > allowed);
}

fn planes_agree(executor: &mut impl Planes) {
    let pixels = image(1, [37, 53]);
    let (sums, _) = table(sum_of_bytes(), &pixels, executor).unwrap();
    for (at, sum) in SUMS {
        assert_eq!(sums.get(at), Some(sum), "{at:?}");
    }
    for (bin, [low, high]) in bins(8).unwrap().into_iter().enumerate() {
        let (counts, _) = table(count_of(low, high), &pixels, executor).unwrap();
        let found = [[36, 52], [17, 29]].map(|at| counts.get(at).unwrap());
        assert_eq!(found, [COUNTS[0][bin], COUNTS[1][bin]], "bin {bin}");
    }
    for (omega, sweeps, cells, sum) in PLATES {
        let start = units(2, 12 * 9);
        let mut plate = Volume::from_fn([12, 9], |[i, j]| start[i * 9 + j]);
        if omega == 1.0 {
            relax(gauss_seidel(), &mut plate, 1.0, sweeps, executor).unwrap();
        } else {
            relax(over_relaxation(omega), &mut plate, 1.0, sweeps, executor).unwrap();
        }
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * b.abs().max(1.0), "{a} {b}");
        for (at, cell) in [[0, 0], [5, 4], [11, 8]].into_iter().zip(cells) {
            close(plate.get(at).unwrap(), cell);
        }
        close(plate.as_slice().iter().sum::<f64>(), sum);
    }
    for (seed, [m, n]) in SIZES.into_iter().enumerate() {
        let pixels = image(seed as u64, [m, n]);
        let (sums, _) = table(sum_of_bytes(), &pixels, executor).unwrap();
        let expect = area::plain(&pixels, f64::from);
        assert!(sums.as_slice().iter().map(|&sum| f64::from(sum)).eq(expect), "{m} × {n}");
        let (long, _) = table(long_sum_of_bytes(), &pixels, executor).unwrap();
        assert!(
            long.as_slice().iter().copied().eq(sums.as_slice().iter().map(|&sum| i64::from(sum)))
        );
        let (counts, _) = table(count_of(64, 200), &pixels, executor).unwrap();
        let inside = |pixel: u8| f64::from(u8::from((64..=200).contains(&pixel)));
        let expect = area::plain(&pixels, inside);
        assert!(counts.as_slice().iter().map(|&sum| f64::from(sum)).eq(expect), "{m} × {n}");
        // Sums of few multiples of 1/4 are exact in f32.
        let quarters = Volume::from_fn([m, n], |at| f32::from(pixels.get(at).unwrap() % 8) / 4.0);
        let (sums, _) = table(sum_of(), &quarters, executor).unwrap();
        let expect = area::plain(&quarters, f64::from);
        assert!(sums.as_slice().iter().map(|&sum| f64::from(sum)).eq(expect), "{m} × {n}");
        let steep = steep([m, n], seed);
        let (sums, _) = table_of_reals(&steep, executor).unwrap();
        assert_eq!(sums.as_slice(), area::plain(&steep, |pixel| pixel), "{m} × {n}");
        for sweeps in [1, 4] {
            let start = units(seed as u64, m * n);
            let plate = Volume::from_fn([m, n], |[i, j]| start[i * n + j]);
            let [mut found, mut expect] = [plate.clone(), plate.clone()];
            relax(gauss_seidel(), &mut found, 0.5, sweeps, executor).unwrap();
            relaxation::plain(&mut expect, 0.5, sweeps, None);
            assert_eq!(found.as_slice(), expect.as_slice(), "{m} × {n}, {sweeps} sweeps");
            let [mut found, mut expect] = [plate.clone(), plate];
            relax(over_relaxation(1.7), &mut found, 0.5, sweeps, executor).unwrap();
            relaxation::plain(&mut expect, 0.5, sweeps, Some(1.7));
            assert_eq!(found.as_slice(), expect.as_slice(), "{m} × {n}, {sweeps} sweeps");
        }
    }
}

#[test]
fn the_cores_agree_with_other_programs_and_the_plain_loops() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core, core]).unwrap();
    for (tile_rows, tile_columns) in [(19, 40), (128, 1024)] {
        let policy = CpuPolicy { tile_rows, tile_columns, cells_16_bit: true };
        let mut executor = CpuExecutor::new(&pool, policy).unwrap();
        lines_agree(&mut executor, true);
        planes_agree(&mut executor);
    }
}

#[test]
fn a_gpu_agrees_with_other_programs_and_the_plain_loops() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    lines_agree(&mut CudaExecutor::new(&device, None).unwrap(), false);
    let mut tiles = TileExecutor::new(&device, None).unwrap();
    lines_agree(&mut tiles, true);
    planes_agree(&mut tiles);
}

#[test]
fn a_relaxed_plate_is_the_plane_that_its_edges_span() {
    // A function linear along the rows solves Laplace's equation, and no sweep changes it.
    let border = Border::function(|_, j: isize| j as f64);
    let cells: Vec<_> = (0..9 * 14).map(|at| f64::from(at % 14)).collect();
    let wavefront = Wavefront::of(gauss_seidel::<f64>())
        .over([9, 14])
        .initial(&cells)
        .border(border)
        .sweeps(3)
        .keep(Keep::Matrix);
    let kept = warpweft::wavefront::reference(&wavefront).unwrap();
    assert_eq!(kept, warpweft::wavefront::Kept::Matrix(cells.clone()));
}

#[test]
fn bad_input_is_refused_with_its_values() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(1, 1)).unwrap();
    let mut error = |a: &[f32], b: &[f32], within| {
        let measure = Measure { within, ..Measure::default() };
        warping::distance(a, b, measure, &mut executor).unwrap_err().to_string()
    };
    let any = Constraint::None;
    assert!(error(&[], &[1.0], any).contains("series A is empty"));
    assert!(error(&[1.0], &[1.0, f32::NAN], any).contains("sample 1 of series B is NaN"));
    assert!(error(&[1.0; 9], &[1.0; 4], Constraint::Band(4)).contains("a band of 4"));
    assert!(error(&[1.0], &[1.0], Constraint::Window(0)).contains("a window of 0"));
    assert_eq!(bins(3).unwrap(), [[0, 85], [86, 170], [171, 255]]);
    for count in 1..=256 {
        for (bin, [low, high]) in bins(count).unwrap().into_iter().enumerate() {
            assert!(
                [low, high].iter().all(|&x| usize::from(x) * count / 256 == bin),
                "{count} {bin}"
            );
        }
    }
    assert!(bins(0).unwrap_err().to_string().contains("0 bins"));
    let image = vec![255; 2902 * 2902];
    let wavefront = Wavefront::of(sum_of_bytes()).over([2902, 2902]);
    let error = wavefront.inputs(&image).check().unwrap_err().to_string();
    assert!(error.contains("make the cell's scores i64"), "{error}");
}

/// Every entry by a loop over the whole image.
fn by_pixels(
    image: &Volume<u8, 2>,
    holds: impl Fn([usize; 2], [usize; 2]) -> bool,
    square: bool,
) -> Vec<i64> {
    let [m, n] = image.extents();
    let all = || (0..m).flat_map(|i| (0..n).map(move |j| [i, j]));
    let value = |at| {
        let pixel = i64::from(image.get(at).unwrap());
        if square { pixel * pixel } else { pixel }
    };
    let sum = |entry| all().filter(|&at| holds(entry, at)).map(value).sum();
    all().map(sum).collect()
}

#[test]
fn squares_and_tilted_sums_are_those_of_every_pixel() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core, core]).unwrap();
    let policy = CpuPolicy { tile_rows: 7, ..CpuPolicy::for_domain(30, 2) };
    let mut executor = CpuExecutor::new(&pool, policy).unwrap();
    for [m, n] in [[1, 1], [1, 9], [9, 1], [2, 2], [17, 12], [12, 17], [30, 5]] {
        let image = image(m as u64, [m, n]);
        let tip = |[i, j]: [usize; 2], [y, x]: [usize; 2]| y <= i && x.abs_diff(j) <= i - y;
        let (sums, _) = area::tilted_table(&image, &mut executor).unwrap();
        assert_eq!(sums.as_slice(), by_pixels(&image, tip, false), "{m} x {n}");
        let cones = area::Cones::of(&image);
        let sum = |at: usize| cones.sum([at / n, at % n]);
        assert_eq!(sums.as_slice(), (0..m * n).map(sum).collect::<Vec<_>>(), "{m} x {n}");
        let (sums, _) = table(area::sum_of_squares(), &image, &mut executor).unwrap();
        let corner = |[i, j]: [usize; 2], [y, x]: [usize; 2]| y <= i && x <= j;
        assert_eq!(sums.as_slice(), by_pixels(&image, corner, true), "{m} x {n}");
    }
}

#[test]
fn sums_of_bytes_go_by_scans_in_either_width() {
    let pixels = image(1, [37, 53]);
    fn scans<E: WavefrontElement<Row = (), Column = (), Input = u8>>(
        of: E,
        pixels: &Volume<u8, 2>,
    ) {
        let wavefront = Wavefront::of(of).over(pixels.extents()).inputs(pixels.as_slice());
        let wavefront = wavefront.border(Border::Value(E::Cell::default())).keep(Keep::Matrix);
        assert_eq!(misses(&wavefront), None);
        if let Err(error) = compiler() {
            return println!("skipped: {error}");
        }
        for (rows, arch) in [(37, "sm_80"), (32_768, "sm_90")] {
            let policy = ScanPolicy::for_domain(rows, 132);
            assert!(compile_check::<E>(&policy, arch).unwrap().image().starts_with(b"\x7fELF"));
        }
    }
    scans(sum_of_bytes(), &pixels);
    scans(long_sum_of_bytes(), &pixels);
    scans(count_of(64, 200), &pixels);
    scans(area::sum_of_squares(), &pixels);
}

/// 255 · 2901² is the last square image whose sum i32 holds, 255 · 2902² needs more.
#[test]
fn images_are_summed_up_to_the_last_that_fits_and_beyond_in_i64() {
    let core = (0..1024).find(|&core| Pool::new(&[core]).is_ok()).unwrap();
    let pool = Pool::new(&[core, core]).unwrap();
    let mut executor = CpuExecutor::new(&pool, CpuPolicy::for_domain(2902, 2)).unwrap();
    let white = |n: usize| Volume::from_fn([n, n], |_| 255u8);
    assert!(fits_i32([2901, 2901]) && !fits_i32([2902, 2902]));
    let (sums, _) = table(sum_of_bytes(), &white(2901), &mut executor).unwrap();
    assert_eq!(sums.get([2900, 2900]), Some(255 * 2901 * 2901));
    let (sums, _) = table(long_sum_of_bytes(), &white(2902), &mut executor).unwrap();
    let right =
        |(at, &sum): (usize, &i64)| sum == 255 * (at / 2902 + 1) as i64 * (at % 2902 + 1) as i64;
    assert!(sums.as_slice().iter().enumerate().all(right));
}
