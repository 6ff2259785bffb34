//! The options of all grid applications: extents, faces, device.

use std::num::NonZero;
use warpweft::grid::Axes;

use warpweft::Result;
use warpweft::run::Target;

use super::{BoundaryChoice, Size, threads};

/// Extents, faces and device.
#[derive(clap::Args)]
pub struct Grid {
    /// Cells along every axis, or along each, slowest first.
    #[arg(long, value_name = "N[xNxN]")]
    pub size: Option<Size>,
    /// Values outside the faces: periodic, neumann, mirror, dirichlet[:VALUE]; for single axes or faces,
    /// z=periodic or y-low=dirichlet:1, separated by commas; the last one wins.
    #[arg(long, value_name = "KIND[,FACE=KIND..]", default_value = "periodic")]
    pub boundary: BoundaryChoice,
    /// Where to run: cpu, gpu, gpu:N; gpu:N,M,.. or gpus for several GPUs together; cpu+gpu or cpu+gpu:N for
    /// the cores and a GPU together where that is faster; auto for the first GPU if there is one.
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Target,
    /// Threads on the CPU [default: one per core].
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<NonZero<usize>>,
}

impl Grid {
    /// The extents of `--size`, or the default.
    ///
    /// # Errors
    /// `--size` has neither one extent nor as many as `default`.
    pub fn extents(&self, default: Axes<usize>) -> Result<Axes<usize>> {
        self.size.as_ref().map_or(Ok(default), |size| size.extents(default.rank()))
    }
}
