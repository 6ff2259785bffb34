//! The product of two matrices by Strassen's seven products of halves ("Gaussian elimination is not optimal", 1969).
//!
//! Matrices are kept in quarters: the four quarters of a matrix lie one after the other, each in the same way, down to
//! tiles whose rows lie one after the other.

use std::borrow::Cow;
use std::ops::{Add, Mul, Sub};

use warpweft::error::{Error, Result};
use warpweft::memory;
use warpweft::prelude::*;

/// A number of matrices.
pub trait Number:
    Copy
    + Default
    + Send
    + Sync
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
{
    /// A small number, exactly.
    fn of(small: i8) -> Self;
    /// The same number.
    fn wide(self) -> f64;
}

impl Number for f32 {
    fn of(small: i8) -> Self {
        f32::from(small)
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Number for f64 {
    fn of(small: i8) -> Self {
        f64::from(small)
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Rows of a tile.
const TILE: usize = 64;
/// Rows of a matrix up to which eight products are faster than seven.
const LEAF: usize = 256;
/// The most rows.
pub const MOST: usize = 1 << 14;

/// A matrix, or two with what becomes of them.
pub enum Side<'s, T> {
    /// One matrix.
    Of(&'s [T]),
    /// The first and the second.
    Sum(&'s [T], &'s [T]),
    /// The first without the second.
    Difference(&'s [T], &'s [T]),
}

impl<'s, T: Number> Side<'s, T> {
    fn value(self) -> Cow<'s, [T]> {
        let both = |a: &[T], b: &[T], f: fn(T, T) -> T| {
            Cow::Owned(a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect())
        };
        match self {
            Self::Of(a) => Cow::Borrowed(a),
            Self::Sum(a, b) => both(a, b, T::add),
            Self::Difference(a, b) => both(a, b, T::sub),
        }
    }
}

/// The product of two matrices of `n` rows.
#[spawning(cores)]
pub fn product<T: Number>(n: usize, left: Side<'_, T>, right: Side<'_, T>) -> Vec<T> {
    let (left, right) = (left.value(), right.value());
    let (a, b): (&[T], &[T]) = (&left, &right);
    if n <= LEAF {
        let mut c = vec![T::default(); n * n];
        add_product(n, a, b, &mut c);
        return c;
    }
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quarters(a), quarters(b));
    let half = n / 2;
    let m1 = spawn!(product(half, Side::Sum(a11, a22), Side::Sum(b11, b22)));
    let m2 = spawn!(product(half, Side::Sum(a21, a22), Side::Of(b11)));
    let m3 = spawn!(product(half, Side::Of(a11), Side::Difference(b12, b22)));
    let m4 = spawn!(product(half, Side::Of(a22), Side::Difference(b21, b11)));
    let m5 = spawn!(product(half, Side::Sum(a11, a12), Side::Of(b22)));
    let m6 = spawn!(product(half, Side::Difference(a21, a11), Side::Sum(b11, b12)));
    let m7 = spawn!(product(half, Side::Difference(a12, a22), Side::Sum(b21, b22)));
    sync!();
    let mut c = Vec::with_capacity(n * n);
    let each = |m: [&Vec<T>; 4], f: fn([T; 4]) -> T| {
        let [p, q, r, s] = m;
        let cells = p.iter().zip(q).zip(r.iter().zip(s));
        c.extend(cells.map(|((&p, &q), (&r, &s))| f([p, q, r, s])));
    };
    join(each, [&m1, &m2, &m3, &m4, &m5, &m6, &m7]);
    c
}

/// The four quarters of the product of the seven.
fn join<T: Number>(
    mut each: impl FnMut([&Vec<T>; 4], fn([T; 4]) -> T),
    [m1, m2, m3, m4, m5, m6, m7]: [&Vec<T>; 7],
) {
    each([m1, m4, m5, m7], |[p, q, r, s]| p + q - r + s);
    each([m3, m5, m3, m5], |[p, q, ..]| p + q);
    each([m2, m4, m2, m4], |[p, q, ..]| p + q);
    each([m1, m2, m3, m6], |[p, q, r, s]| p - q + r + s);
}

/// Adds the product by eight products of halves: a serial helper.
fn add_product<T: Number>(n: usize, a: &[T], b: &[T], c: &mut [T]) {
    if n <= TILE {
        return add_tile(n, a, b, c);
    }
    let ([a11, a12, a21, a22], [b11, b12, b21, b22]) = (quarters(a), quarters(b));
    let terms = [
        [(a11, b11), (a12, b21)],
        [(a11, b12), (a12, b22)],
        [(a21, b11), (a22, b21)],
        [(a21, b12), (a22, b22)],
    ];
    let quarter = c.len() / 4;
    for (c, terms) in c.chunks_exact_mut(quarter).zip(terms) {
        terms.into_iter().for_each(|(a, b)| add_product(n / 2, a, b, c));
    }
}

fn add_tile<T: Number>(n: usize, a: &[T], b: &[T], c: &mut [T]) {
    for (a, c) in a.chunks_exact(n).zip(c.chunks_exact_mut(n)) {
        for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (c, &b) in c.iter_mut().zip(b) {
                *c = *c + a * b;
            }
        }
    }
}

fn quarters<T>(all: &[T]) -> [&[T]; 4] {
    let quarter = all.len() / 4;
    [0, 1, 2, 3].map(|k| &all[k * quarter..(k + 1) * quarter])
}

/// Rows of a matrix with room for `n`: tiles of at most [`TILE`] rows, doubled.
fn padded(n: usize) -> usize {
    let mut halvings = 0;
    while n.div_ceil(1 << halvings) > TILE {
        halvings += 1;
    }
    n.div_ceil(1 << halvings) << halvings
}

/// A square matrix, kept in quarters.
pub struct Matrix<T> {
    /// Its rows and columns.
    pub n: usize,
    /// With the tiles filled up.
    rows: usize,
    cells: Vec<T>,
}

impl<T: Number> Matrix<T> {
    /// A matrix of `n` rows, by row and column.
    ///
    /// # Errors
    /// No rows, or more than [`MOST`]; not enough memory.
    pub fn new(n: usize, cell: impl Fn(usize, usize) -> T) -> Result<Self> {
        Self::of_rows(n, padded(n), cell)
    }

    /// The same, kept in so many rows: those of a tile, doubled.
    ///
    /// # Errors
    /// As [`Matrix::new`].
    pub fn of_rows(n: usize, rows: usize, cell: impl Fn(usize, usize) -> T) -> Result<Self> {
        if !(1..=MOST).contains(&n) {
            let what = format!("matrices of {n} rows");
            return Err(Error::spec(what, format!("take 1 to {MOST}")));
        }
        let zeros = std::iter::repeat_n(T::default(), rows * rows);
        let mut matrix =
            Self { n, rows, cells: memory::filled(zeros, "multiply smaller matrices")? };
        for i in 0..n {
            for j in 0..n {
                let at = matrix.place(i, j);
                matrix.cells[at] = cell(i, j);
            }
        }
        Ok(matrix)
    }

    /// Where a cell lies.
    fn place(&self, mut i: usize, mut j: usize) -> usize {
        let (mut rows, mut at) = (self.rows, 0);
        while rows > TILE {
            rows /= 2;
            at += (2 * (i / rows) + j / rows) * rows * rows;
            (i, j) = (i % rows, j % rows);
        }
        at + i * rows + j
    }

    /// The rows that it is kept in.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All cells, in quarters.
    pub fn cells(&self) -> &[T] {
        &self.cells
    }

    /// The cell of a row and a column.
    pub fn get(&self, i: usize, j: usize) -> T {
        self.cells[self.place(i, j)]
    }

    /// The product of both, which have as many rows, as calls.
    ///
    /// # Errors
    /// There is no memory for what a thread that multiplies alone keeps: on each level two sums and seven products of
    /// halves, nine quarters of a matrix.
    pub fn times<'m>(&'m self, other: &'m Self) -> Result<Channels<product<'m, T>>> {
        let kept = 3 * size_of_val(&*self.cells) as u64;
        memory::check_room(kept, "multiply smaller matrices")?;
        Ok(Channels::of(product::call(self.rows, Side::Of(&self.cells), Side::Of(&other.cells))))
    }

    /// The matrix of what such a call gives.
    pub fn from_product(&self, cells: Vec<T>) -> Self {
        Self { n: self.n, rows: self.rows, cells }
    }

    /// The products with `tries` vectors, whose cells of one row stand next to one another.
    fn times_vectors(&self, x: &[f64], tries: usize) -> Vec<f64> {
        let mut all = vec![0.0; self.n * tries];
        for (i, sums) in all.chunks_exact_mut(tries).enumerate() {
            for (j, x) in x.chunks_exact(tries).enumerate() {
                let cell = self.get(i, j).wide();
                sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += cell * x);
            }
        }
        all
    }
}

/// A matrix of -1, 0 and 1, by a seed: the products of such matrices are exact in any order.
///
/// # Errors
/// As [`Matrix::new`].
pub fn signs<T: Number>(n: usize, seed: u64) -> Result<Matrix<T>> {
    signs_of_rows(n, padded(n), seed)
}

/// The same, kept in so many rows.
///
/// # Errors
/// As [`Matrix::new`].
pub fn signs_of_rows<T: Number>(n: usize, rows: usize, seed: u64) -> Result<Matrix<T>> {
    Matrix::of_rows(n, rows, |i, j| {
        let word = (seed ^ (i as u64) << 32 ^ j as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        T::of(((word >> 40) % 3) as i8 - 1)
    })
}

/// The greatest difference of `c x` and `a (b x)` over `tries` vectors of -1 and 1: 0 for the product, and for another
/// matrix with a chance of less than `0.5^tries` (Freivalds, "Probabilistic machines can use less running time", 1977).
/// NaN if a cell of one of them is.
pub fn difference<T: Number>([a, b, c]: [&Matrix<T>; 3], tries: u64) -> f64 {
    let sign = |k: u64, seed: u64| {
        let word = (k + 1).wrapping_mul(0xd134_2543_de82_ef95 ^ (seed << 17));
        if (word ^ word >> 29).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    };
    let x: Vec<f64> =
        (0..a.n as u64).flat_map(|k| (0..tries).map(move |seed| sign(k, seed))).collect();
    let tries = tries as usize;
    let left = a.times_vectors(&b.times_vectors(&x, tries), tries);
    let right = c.times_vectors(&x, tries);
    let differences = left.iter().zip(&right).map(|(left, right)| (left - right).abs());
    // NaN is no number that a maximum would keep.
    differences.fold(0f64, |a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) })
}

/// The greatest difference of a cell of `c` and that of the product of `a` and `b` by its definition. NaN if a cell of
/// one of them is.
pub fn difference_by_rows<T: Number>([a, b, c]: [&Matrix<T>; 3]) -> f64 {
    let n = a.n;
    let right: Vec<f64> = (0..n * n).map(|k| b.get(k / n, k % n).wide()).collect();
    let mut sums = vec![0.0; n];
    let mut most = 0f64;
    for i in 0..n {
        sums.fill(0.0);
        for (k, row) in right.chunks_exact(n).enumerate() {
            let cell = a.get(i, k).wide();
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += cell * x);
        }
        for (j, sum) in sums.iter().enumerate() {
            let apart = (sum - c.get(i, j).wide()).abs();
            most = if apart.is_nan() || most.is_nan() { f64::NAN } else { most.max(apart) };
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft::channels::Run;

    fn check<T: Number>(n: usize, threads: usize) {
        let (a, b) = (signs::<T>(n, 1).unwrap(), signs::<T>(n, 2).unwrap());
        let run = Run { threads: Some(threads), ..Run::default() };
        let calls = a.times(&b).unwrap();
        let (mut found, report) = calls.run_on_cores(&Machine::detect().unwrap(), &run).unwrap();
        let c = a.from_product(found.remove(0));
        assert_eq!(difference([&a, &b, &c], 8), 0.0, "{n} rows");
        assert_eq!(difference_by_rows([&a, &b, &c]), 0.0, "{n} rows");
        let (mut cells, at) = (c.cells().to_vec(), c.place(n - 1, n / 2));
        cells[at] = cells[at] + T::of(1);
        let wrong = c.from_product(cells);
        assert_eq!(difference_by_rows([&a, &b, &wrong]), 1.0, "{n} rows");
        // One cell by its definition.
        let (i, j) = (n / 2, n / 3);
        let sum: f64 = (0..n).map(|k| a.get(i, k).wide() * b.get(k, j).wide()).sum();
        assert_eq!(c.get(i, j).wide(), sum);
        let rows = padded(n);
        assert_eq!(
            report.done,
            if rows > 512 {
                57
            } else if rows > LEAF {
                8
            } else {
                1
            }
        );
        let wrong = signs(n, 3).unwrap();
        assert!(n < 10 || difference([&a, &b, &wrong], 8) > 0.0);
    }

    #[test]
    fn a_product_of_nan_is_no_product() {
        let (a, b) = (signs::<f32>(9, 1).unwrap(), signs(9, 2).unwrap());
        let mut c = signs(9, 3).unwrap();
        c.cells[0] = f32::NAN;
        assert!(difference([&a, &b, &c], 2).is_nan());
    }

    #[test]
    fn products_are_exact_for_any_number_of_rows() {
        for n in [1, 2, 65, 200] {
            check::<f64>(n, 2);
        }
        check::<f32>(300, 3);
        check::<f64>(600, 1);
        assert!(Matrix::<f32>::new(0, |_, _| 0.0).is_err());
    }
}
