//! The Mandelbrot set in tiles of 8 x 8 pixels, one a task: tasks whose times differ a thousandfold.
//!
//! Sums and products only, so that every device gives the same counts. Not here: what a picture is written to.

use warpweft::error::{Error, Result};
use warpweft::grid::io::Picture;
use warpweft::prelude::*;

/// Pixels along each side of a tile.
pub const SIDE: u32 = 8;
/// Pixels of a tile.
const PIXELS: usize = (SIDE * SIDE) as usize;
/// The most iterations of a pixel: a count is 16 bits.
pub const LIMIT: u32 = u16::MAX as u32;

/// Which points the pixels are, as a task sees it.
#[derive(Clone, Copy, Debug, PartialEq, Device)]
#[repr(C)]
pub struct View {
    /// The point of the first pixel.
    pub left: f64,
    /// The same of the imaginary axis, which leads up.
    pub top: f64,
    /// Between two pixels.
    pub step: f64,
    /// Iterations of a pixel at most.
    pub limit: u32,
    /// Tiles next to one another.
    pub across: u32,
}

/// How many iterations each pixel of a tile takes to leave the circle of radius 2; `limit` for those that do not.
#[task(memory = medium, arithmetic = high, eviction = low, reuse = low)]
pub fn tile(number: u32, view: View) -> [u16; PIXELS] {
    let first_row = (number / view.across) * SIDE;
    let first_column = (number % view.across) * SIDE;
    let mut counts = [0u16; PIXELS];
    let mut k = 0u32;
    while k < SIDE * SIDE {
        let re = view.left + view.step * (first_column + k % SIDE) as f64;
        let im = view.top - view.step * (first_row + k / SIDE) as f64;
        counts[k as usize] = iterations(re, im, view.limit) as u16;
        k += 1;
    }
    counts
}

/// The iterations of one point.
#[device]
fn iterations(re: f64, im: f64, limit: u32) -> u32 {
    let mut x = 0.0;
    let mut y = 0.0;
    let mut xx = 0.0;
    let mut yy = 0.0;
    let mut n = 0u32;
    while n < limit && xx + yy <= 4.0 {
        y = 2.0 * x * y + im;
        x = xx - yy + re;
        xx = x * x;
        yy = y * y;
        n += 1;
    }
    n
}

/// A picture to be computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mandelbrot {
    /// Columns and rows of pixels.
    pub size: [u32; 2],
    /// The point in the middle.
    pub centre: [f64; 2],
    /// How far the picture reaches along the real axis.
    pub width: f64,
    /// Iterations of a pixel at most.
    pub limit: u32,
}

impl Mandelbrot {
    /// Whether it can be computed.
    ///
    /// # Errors
    /// No pixels, or more than 2^28; a width that is none; too many iterations, or none.
    pub fn check(&self) -> Result<()> {
        let [columns, rows] = self.size;
        if !(1..=1 << 28).contains(&(u64::from(columns) * u64::from(rows))) {
            let what = format!("a picture of {columns} x {rows} pixels");
            return Err(Error::spec(what, "take 1 to 268435456 pixels"));
        }
        if !(1..=LIMIT).contains(&self.limit) {
            return Err(Error::spec(
                format!("{} iterations a pixel", self.limit),
                format!("take 1 to {LIMIT}"),
            ));
        }
        if !(self.width > 0.0 && self.width.is_finite()) {
            let what = format!("a picture {} wide", self.width);
            return Err(Error::spec(what, "give a finite width above 0"));
        }
        let [re, im] = self.centre;
        if !(re.abs() <= 1e3 && im.abs() <= 1e3) {
            let what = format!("a picture around {re:?}, {im:?}");
            return Err(Error::spec(
                what,
                "give a centre near 0: all beyond 2 is outside of the set",
            ));
        }
        // A pixel must be more than what a coordinate is rounded by.
        let least = 4.0 * f64::EPSILON * re.abs().max(im.abs()).max(self.width);
        if self.width / f64::from(columns) < least {
            let what =
                format!("pixels {:e} apart around {re:?}, {im:?}", self.width / f64::from(columns));
            return Err(Error::spec(
                what,
                "take a greater width: 64-bit floats can't tell them apart",
            ));
        }
        Ok(())
    }

    /// The task of a tile.
    pub fn task(&self) -> tile {
        tile(self.view())
    }

    /// The number of tiles. Those at the right and lower edge have pixels that are not shown.
    pub fn tiles(&self) -> u32 {
        let [across, down] = self.grid();
        across * down
    }

    fn grid(&self) -> [u32; 2] {
        self.size.map(|pixels| pixels.div_ceil(SIDE))
    }

    fn view(&self) -> View {
        let step = self.width / f64::from(self.size[0]);
        let half = |pixels: u32| 0.5 * step * f64::from(pixels - 1);
        View {
            left: self.centre[0] - half(self.size[0]),
            top: self.centre[1] + half(self.size[1]),
            step,
            limit: self.limit,
            across: self.grid()[0],
        }
    }

    /// The iterations of one pixel, by complex numbers and a plain loop.
    pub fn plain(&self, column: u32, row: u32) -> u32 {
        let View { left, top, step, .. } = self.view();
        let c = Complex { re: left + step * f64::from(column), im: top - step * f64::from(row) };
        let mut z = Complex { re: 0.0, im: 0.0 };
        (0..self.limit)
            .find(|_| {
                let outside = z.norm() > 4.0;
                z = z.squared().plus(c);
                outside
            })
            .unwrap_or(self.limit)
    }

    /// The count of a pixel among the outputs of all tiles, in their order.
    pub fn count(&self, tiles: &[[u16; PIXELS]], column: u32, row: u32) -> u16 {
        let number = (row / SIDE) * self.grid()[0] + column / SIDE;
        tiles[number as usize][((row % SIDE) * SIDE + column % SIDE) as usize]
    }

    /// The picture: black for points that never left, else a colour by the number of iterations.
    ///
    /// # Errors
    /// Too little memory.
    pub fn picture(&self, tiles: &[[u16; PIXELS]]) -> Result<Picture> {
        let [columns, rows] = self.size;
        let mut picture = Picture::filled(columns as usize, rows as usize, [0; 3])?;
        for row in 0..rows {
            for column in 0..columns {
                let count = u32::from(self.count(tiles, column, row));
                if count < self.limit {
                    picture.pixels[(row * columns + column) as usize] = colour(count);
                }
            }
        }
        Ok(picture)
    }
}

/// A colour that changes slowly where counts are high.
fn colour(count: u32) -> [u8; 3] {
    let angle = 2.2 * f64::from(count).ln_1p();
    [0.0, 0.9, 1.9].map(|phase| (127.5 * (1.0 - (angle + phase).cos())) as u8)
}

/// A complex number, for the reference solution.
#[derive(Clone, Copy)]
struct Complex {
    re: f64,
    im: f64,
}

impl Complex {
    fn squared(self) -> Self {
        Self { re: self.re * self.re - self.im * self.im, im: 2.0 * (self.re * self.im) }
    }

    fn plus(self, other: Self) -> Self {
        Self { re: self.re + other.re, im: self.im + other.im }
    }

    fn norm(self) -> f64 {
        self.re * self.re + self.im * self.im
    }
}
