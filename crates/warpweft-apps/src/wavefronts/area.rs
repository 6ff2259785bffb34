//! Summed area tables (Crow 1984) and integral histograms (Porikli 2005) of images.
//!
//! Entry `[i, j]` sums the pixels of rows `0..=i` and columns `0..=j`; there is no row and no column
//! of zeros before them, as OpenCV has.

mod tilted;

pub use tilted::{Cones, Tilted, tilted_sum, tilted_table};

use warpweft::element::Device;
use warpweft::error::{Error, Result};
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{Kept, Ranked, WavefrontElement, WavefrontExecutor};

/// The sum up to a pixel of eight bits; see [`long_sum_of_bytes`] for larger images.
#[wavefront(sums, bounds = bytes_bounds)]
pub fn sum_of_bytes(h: Earlier<i32>, #[cell] pixel: u8) -> i32 {
    // The rest of the row first: nothing on the way is greater than the sum, and one addition
    // leads from the cell above, which comes last where a lane goes down its rows.
    h.n + (h.w - h.nw + pixel as i32)
}

/// The same for images of any size.
#[wavefront(sums, bounds = long_bytes_bounds)]
pub fn long_sum_of_bytes(h: Earlier<i64>, #[cell] pixel: u8) -> i64 {
    h.n + (h.w - h.nw + pixel as i64)
}

/// The sum of the squares up to a pixel of eight bits.
#[wavefront(sums, bounds = squares_bounds)]
pub fn sum_of_squares(h: Earlier<i64>, #[cell] pixel: u8) -> i64 {
    let value = pixel as i64;
    h.n + (h.w - h.nw + value * value)
}

fn squares_bounds(_: &sum_of_squares, rows: u64, columns: u64) -> [f64; 2] {
    [0.0, 255.0 * 255.0 * rows as f64 * columns as f64]
}

fn bytes_bounds(_: &sum_of_bytes, rows: u64, columns: u64) -> [f64; 2] {
    [0.0, 255.0 * rows as f64 * columns as f64]
}

fn long_bytes_bounds(_: &long_sum_of_bytes, rows: u64, columns: u64) -> [f64; 2] {
    bytes_bounds(&sum_of_bytes(), rows, columns)
}

/// Whether [`sum_of_bytes`] holds the sums of every image of these extents: up to 8.4 million pixels.
pub fn fits_i32([rows, columns]: [usize; 2]) -> bool {
    let [_, most] = bytes_bounds(&sum_of_bytes(), rows as u64, columns as u64);
    most <= f64::from(i32::MAX)
}

/// The sums up to a pixel: of its row, and of all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Device, Ranked)]
#[repr(C)]
pub struct Sums {
    /// Of all pixels of rows up to here.
    #[score]
    pub all: f64,
    /// Of the pixels of this row up to here.
    pub row: f64,
}

/// The sum up to a pixel that is a number: the row's sum, and the sum above. Nothing is subtracted, so an entry has
/// the rounding error of so many additions as there are rows and columns before it, whatever else is in the image:
/// that of running sums along rows, then columns, to the bit.
#[wavefront]
pub fn running_sums(before: Earlier<Sums>, #[cell] pixel: f64) -> Sums {
    let row = before.w.row + pixel;
    Sums { all: before.n.all + row, row }
}

/// The sum up to a pixel that is a number, rounded in whatever order is fastest. It subtracts sums from one another:
/// small pixels next to large ones are lost. [`running_sums`] keeps them.
#[wavefront(sums)]
pub fn sum_of<T: Real>(h: Earlier<T>, #[cell] pixel: T) -> T {
    h.n + (h.w - h.nw + pixel)
}

/// How many pixels up to here are of `low..=high`.
#[wavefront(sums, bounds = bin_bounds)]
pub fn count_of(h: Earlier<i32>, #[cell] pixel: u8, low: u8, high: u8) -> i32 {
    let here = if low <= pixel && pixel <= high { 1 } else { 0 };
    h.n + (h.w - h.nw + here)
}

fn bin_bounds(_: &count_of, rows: u64, columns: u64) -> [f64; 2] {
    [0.0, rows as f64 * columns as f64]
}

/// The table of `element` over `image`.
///
/// # Errors
/// No pixels; sums beyond the cell's type; the executor's.
pub fn table<E>(
    element: E,
    image: &Volume<E::Input, 2>,
    executor: &mut (impl WavefrontExecutor<E> + ?Sized),
) -> Result<(Volume<E::Cell, 2>, Report)>
where
    E: WavefrontElement<Row = (), Column = ()>,
    E::Input: Scalar,
    E::Cell: Scalar,
{
    let wavefront = Wavefront::of(element)
        .over(image.extents())
        .inputs(image.as_slice())
        .border(Border::Value(E::Cell::default()));
    whole(wavefront, executor, |cell| cell)
}

/// All cells of `wavefront`, of each what `of` makes of it.
fn whole<E: WavefrontElement, T: Scalar>(
    wavefront: Wavefront<'_, E>,
    executor: &mut (impl WavefrontExecutor<E> + ?Sized),
    of: impl Fn(E::Cell) -> T,
) -> Result<(Volume<T, 2>, Report)> {
    let extents = wavefront.extents();
    let (kept, report) = executor.run(&wavefront.keep(Keep::Matrix))?;
    let Kept::Matrix(cells) = kept else {
        return Err(Error::spec("no table came back", "report this: it is a bug"));
    };
    let mut cells = cells.into_iter().map(of);
    Ok((Volume::try_from_fn(extents, |_| cells.next().unwrap_or_default())?, report))
}

/// The table of an image of numbers, by [`running_sums`].
///
/// # Errors
/// See [`table`].
pub fn table_of_reals(
    image: &Volume<f64, 2>,
    executor: &mut (impl WavefrontExecutor<running_sums> + ?Sized),
) -> Result<(Volume<f64, 2>, Report)> {
    let wavefront = Wavefront::of(running_sums())
        .over(image.extents())
        .inputs(image.as_slice())
        .border(Border::Value(Sums::default()));
    whole(wavefront, executor, |sums| sums.all)
}

/// The values of `bins` bins of equal width over 0..256: least and greatest of each. Value x is in bin `x * bins / 256`, as for
/// NumPy's `histogram` and OpenCV's `calcHist`.
///
/// # Errors
/// No bins, or more than values.
pub fn bins(bins: usize) -> Result<Vec<[u8; 2]>> {
    if !(1..=256).contains(&bins) {
        return Err(Error::spec(format!("{bins} bins"), "take 1 to 256"));
    }
    let start = |bin: usize| (bin * 256).div_ceil(bins);
    Ok((0..bins).map(|bin| [start(bin) as u8, (start(bin + 1) - 1) as u8]).collect())
}

/// The same table by running sums along rows, then down columns, in `f64`: exact for integers below
/// 2^53. `value` is what a pixel adds.
pub fn plain<T: Scalar>(image: &Volume<T, 2>, value: impl Fn(T) -> f64) -> Vec<f64> {
    let [_, columns] = image.extents();
    let mut sums: Vec<f64> = image.as_slice().iter().map(|&pixel| value(pixel)).collect();
    for row in sums.chunks_mut(columns) {
        for j in 1..columns {
            row[j] += row[j - 1];
        }
    }
    for at in columns..sums.len() {
        sums[at] += sums[at - columns];
    }
    sums
}

/// The largest error of the table `sums` of `image`, each relative to the sum of magnitudes up to its pixel. Against
/// sums in twice the precision (Knuth's two-sum), down the columns first.
pub fn relative_error(image: &Volume<f64, 2>, sums: &Volume<f64, 2>) -> f64 {
    let [_, columns] = image.extents();
    let mut below = vec![[0.0; 3]; columns];
    let mut worst: f64 = 0.0;
    let rows = image.as_slice().chunks(columns).zip(sums.as_slice().chunks(columns));
    for (pixels, sums) in rows {
        let mut along = [0.0; 3];
        for ((column, &pixel), &sum) in below.iter_mut().zip(pixels).zip(sums) {
            *column = added(*column, [pixel, 0.0, pixel.abs()]);
            along = added(along, *column);
            let [high, low, size] = along;
            let error = ((sum - high) - low).abs();
            let relative = if error == 0.0 { 0.0 } else { error / size };
            // NaN stays.
            worst = if relative <= worst || worst.is_nan() { worst } else { relative };
        }
    }
    worst
}

/// The sum of two numbers of two parts, and that of their sizes.
fn added([high, low, size]: [f64; 3], [more, rest, grown]: [f64; 3]) -> [f64; 3] {
    let sum = high + more;
    let part = sum - high;
    let lost = (high - (sum - part)) + (more - part) + (low + rest);
    let whole = sum + lost;
    [whole, lost - (whole - sum), size + grown]
}
