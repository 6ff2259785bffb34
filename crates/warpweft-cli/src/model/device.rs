//! Devices as a simulation knows them: memory, its bandwidth and the cost of a launch.

use clap::ValueEnum;
use warpweft::stencil::ghost_model::Linear;

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Devices {
    /// The cores of each node.
    Cpu,
    /// The GPUs of each node.
    Gpu,
    /// Both, balanced.
    #[value(name = "cpu+gpu")]
    Both,
}

/// A node without its GPUs.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Bytes a second of its memory, nominal.
    pub bandwidth: f64,
    /// Bytes of its memory, the most that its boards take.
    pub memory: f64,
    /// Bytes a second each way between it and one of four GPUs that all swap at once, nominal.
    pub link: f64,
}

impl Host {
    /// The host of a machine of PARTANS', by its chipset's data sheet, or of H200s.
    pub fn of(machine: Option<&str>) -> Self {
        match machine {
            // Four channels of DDR3-1600; two GPUs share sixteen lanes of PCIe 2.0.
            Some("x79") => Self { bandwidth: 51.2e9, memory: 64e9, link: 4e9 },
            // Two channels of DDR3-1333; two GPUs share eight lanes, or four sixteen.
            Some(_) => Self { bandwidth: 21.3e9, memory: 32e9, link: 2e9 },
            // Two sockets of eight channels of DDR5-4800; sixteen lanes of PCIe 5.0 a GPU.
            None => Self { bandwidth: 614.4e9, memory: 2e12, link: 63e9 },
        }
    }

    /// Seconds a cell that moves `traffic` bytes, and seconds a step for the workers to meet, assumed.
    pub fn rates(self, traffic: f64) -> Linear {
        Linear { per_unit: traffic / self.bandwidth, fixed: 2e-6 }
    }
}

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
