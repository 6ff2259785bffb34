//! Which element, which inputs.

use clap::ValueEnum;
use serde::Serialize;
use warpweft::Result;
use warpweft::prelude::*;
use warpweft::wavefront::cuda::tiles::Contents;
use warpweft::wavefront::{Wavefront, WavefrontElement};
use warpweft_apps::align::{Weights, letters};
use warpweft_apps::area::{count_of, sum_of_bytes};
use warpweft_apps::relaxation::{gauss_seidel, over_relaxation};
use warpweft_apps::soup::SplitMix;
use warpweft_apps::warping::{self, time_warping};

/// The paper's applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum App {
    /// Smith-Waterman, linear gaps, i32.
    Sw,
    /// Dynamic time warping, f32.
    Dtw,
    /// Summed area table, u8 to i32.
    Sat,
    /// Integral histogram, one bin, u8 to i32.
    Int,
    /// Gauss-Seidel for the heat equation, f32, four sweeps.
    Heat,
    /// Successive over-relaxation, f32, four sweeps.
    Sor,
}

impl App {
    /// All six.
    pub const ALL: [Self; 6] = [Self::Sw, Self::Dtw, Self::Sat, Self::Int, Self::Heat, Self::Sor];

    /// Its name.
    pub fn name(self) -> &'static str {
        ["SW", "DTW", "SAT", "INT", "HEAT2D", "SOR"][self as usize]
    }

    /// Sweeps of a run.
    pub fn sweeps(self) -> usize {
        if matches!(self, Self::Heat | Self::Sor) { 4 } else { 1 }
    }

    /// Bytes of memory a cell: the matrix, and inputs of cells.
    pub fn cell_bytes(self) -> usize {
        if matches!(self, Self::Sat | Self::Int) { 5 } else { 4 }
    }
}

/// What is done with an application's wavefront, whatever its element.
pub trait Visitor {
    /// What comes of it.
    type Output;
    /// Does it.
    ///
    /// # Errors
    /// Its own.
    fn visit<E: WavefrontElement>(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        contents: Contents<'_, E>,
    ) -> Result<Self::Output>;
}

/// Inputs and cells repeat after so many: more than a front of the largest domain.
const BLOCK: usize = 1 << 20;

/// Shows `visitor` the wavefront of `app` over `size` × `size` cells, the matrix kept.
///
/// # Errors
/// The visitor's.
pub fn visit<V: Visitor>(app: App, size: usize, visitor: &mut V) -> Result<V::Output> {
    let mut noise = SplitMix::new(1);
    let none = vec![(); size];
    let zero = Border::Value(0);
    match app {
        App::Sw => {
            let mut sequence = || (0..size).map(|_| (noise.next_u64() % 4) as u8).collect();
            let (rows, columns): (Vec<_>, Vec<_>) = (sequence(), sequence());
            let plain = Wavefront::of(letters::with(Weights::default()))
                .rows(&rows)
                .columns(&columns)
                .keep(Keep::Matrix);
            visitor.visit(&plain, Contents::Repeated { inputs: &[()], cells: &[0] })
        }
        App::Dtw => {
            let mut series = || (0..size).map(|_| noise.next_unit() as f32).collect();
            let (rows, columns): (Vec<f32>, Vec<f32>) = (series(), series());
            let plain = Wavefront::of(time_warping::<f32>()).rows(&rows).columns(&columns);
            let plain = plain.border(warping::border()).keep(Keep::Matrix);
            visitor.visit(&plain, Contents::Repeated { inputs: &[()], cells: &[0.0] })
        }
        App::Sat | App::Int => {
            let pixels: Vec<u8> = (0..BLOCK).map(|_| noise.next_u64() as u8).collect();
            let contents = Contents::Repeated { inputs: &pixels, cells: &[0] };
            if app == App::Int {
                let plain = Wavefront::of(count_of(64, 127)).rows(&none).columns(&none);
                let plain = plain.border(zero).keep(Keep::Matrix);
                return visitor.visit(&plain, Contents::Repeated { inputs: &pixels, cells: &[0] });
            }
            let plain = Wavefront::of(sum_of_bytes()).rows(&none).columns(&none);
            visitor.visit(&plain.border(zero).keep(Keep::Matrix), contents)
        }
        App::Heat | App::Sor => {
            let plate: Vec<f32> = (0..BLOCK).map(|_| noise.next_unit() as f32).collect();
            let sweeps = app.sweeps();
            if app == App::Sor {
                let plain = Wavefront::of(over_relaxation::<f32>(1.5)).rows(&none).columns(&none);
                let plain = plain.sweeps(sweeps).keep(Keep::Matrix);
                return visitor.visit(&plain, Contents::Repeated { inputs: &[()], cells: &plate });
            }
            let plain = Wavefront::of(gauss_seidel::<f32>()).rows(&none).columns(&none);
            let plain = plain.sweeps(sweeps).keep(Keep::Matrix);
            visitor.visit(&plain, Contents::Repeated { inputs: &[()], cells: &plate })
        }
    }
}
