//! Devices as a simulation knows them: memory, its bandwidth and the cost of a launch.

use clap::ValueEnum;
use warpweft::stencil::ghost_model::Linear;

/// Which GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Gpu {
    /// NVIDIA H200, by measurement.
    H200,
    /// One GPU of a GTX 590, by its data sheet.
    Gtx590,
}

impl Gpu {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::H200 => "H200",
            Self::Gtx590 => "GTX 590",
        }
    }

    /// Bytes of its memory, by its data sheet.
    pub fn memory(self) -> f64 {
        match self {
            Self::H200 => 141e9,
            Self::Gtx590 => 1.5 * 1024.0 * 1024.0 * 1024.0,
        }
    }

    /// Seconds a cell that moves `traffic` bytes, and seconds a launch.
    pub fn rates(self, traffic: f64) -> Linear {
        let (bandwidth, fixed) = match self {
            // A plain copy kernel moved 3.98 TB/s, launches came 3.9 µs apart (CUDA 13.0).
            Self::H200 => (3.98e12, 3.9e-6),
            // 163.9 GB/s nominal; 5 µs a launch is an assumption.
            Self::Gtx590 => (163.9e9, 5e-6),
        };
        Linear { per_unit: traffic / bandwidth, fixed }
    }
}
