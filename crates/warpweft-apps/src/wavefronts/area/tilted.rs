//! Sums over triangles that stand on their tips: tables of areas turned by 45 degrees (Lienhart and Maydt 2002).
//!
//! Entry `[i, j]` sums the pixels `[y, x]` with `y <= i` and `|x - j| <= i - y`.

use warpweft::element::Device;
use warpweft::error::Result;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::wavefront::{Ranked, WavefrontExecutor, no_inputs};

use super::whole;

/// The sum of a triangle, and the pixel at its tip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Device, Ranked)]
#[repr(C)]
pub struct Tilted {
    /// Of the triangle.
    #[score]
    pub sum: i64,
    /// At its tip.
    pub pixel: i64,
}

/// Column beyond which there is none: to the west, to the east.
const FIRST: u8 = 1;
const LAST: u8 = 2;

/// The triangle above a pixel: those above its neighbours, less what is in both. A triangle whose tip is next to the
/// image is the one a row above and a column inside.
#[wavefront(bounds = bounds)]
pub fn tilted_sum(h: Earlier<Tilted>, #[column] edge: u8, #[cell] pixel: u8) -> Tilted {
    let both = h[[-2, 0]].sum;
    let west = if edge & 1 != 0 { both } else { h.nw.sum };
    let east = if edge & 2 != 0 { both } else { h.ne.sum };
    let value = pixel as i64;
    Tilted { sum: west + east - both + h.n.pixel + value, pixel: value }
}

fn bounds(_: &tilted_sum, rows: u64, columns: u64) -> [f64; 2] {
    // Twice a sum, before what is in both is taken off.
    [0.0, 2.0 * 255.0 * rows as f64 * columns as f64]
}

/// The table of `image`.
///
/// # Errors
/// No pixels; the executor's.
pub fn tilted_table(
    image: &Volume<u8, 2>,
    executor: &mut (impl WavefrontExecutor<tilted_sum> + ?Sized),
) -> Result<(Volume<i64, 2>, Report)> {
    let [rows, columns] = image.extents();
    let mut edges = vec![0; columns];
    edges[0] |= FIRST;
    edges[columns - 1] |= LAST;
    let wavefront = Wavefront::of(tilted_sum())
        .rows(no_inputs(rows))
        .columns(&edges)
        .inputs(image.as_slice())
        .border(Border::Value(Tilted::default()));
    whole(wavefront, executor, |cell| cell.sum)
}

/// The sums of triangles row by row, each from a table of running sums along rows.
pub struct Cones {
    columns: usize,
    /// Of each row, with a 0 before it.
    running: Vec<i64>,
}

impl Cones {
    /// Of `image`.
    pub fn of(image: &Volume<u8, 2>) -> Self {
        let [_, columns] = image.extents();
        let mut running = Vec::with_capacity(image.len() + image.extents()[0]);
        for row in image.as_slice().chunks(columns) {
            let mut sum = 0;
            running.push(0);
            running.extend(row.iter().map(|&pixel| {
                sum += i64::from(pixel);
                sum
            }));
        }
        Self { columns, running }
    }

    /// Entry `[i, j]` of the table.
    pub fn sum(&self, [i, j]: [usize; 2]) -> i64 {
        let row = |y: usize| {
            let (first, end) = (j.saturating_sub(i - y), (j + i - y + 1).min(self.columns));
            let running = &self.running[y * (self.columns + 1)..];
            running[end] - running[first]
        };
        (0..=i).map(row).sum()
    }
}
