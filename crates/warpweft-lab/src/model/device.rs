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

/// Bytes a second of so many channels of 64 bits, at so many million transfers a second each (JEDEC JESD79).
const fn channels(count: f64, megatransfers: f64) -> f64 {
    count * 8.0 * megatransfers * 1e6
}

/// Bytes a second each way of a lane of PCIe 2.0: 5 GT/s, of ten bits a byte.
const PCIE2_LANE: f64 = 5e9 / 10.0;
/// .. of PCIe 5.0: 32 GT/s, 128 bits of 130 being data.
const PCIE5_LANE: f64 = 32e9 / 8.0 * 128.0 / 130.0;

impl Host {
    /// The host of a machine of PARTANS', or of H200s.
    pub fn of(machine: Option<&str>) -> Self {
        match machine {
            // PARTANS §6.1: an Intel Core i7-3820, by its data sheet with four channels of DDR3-1600 and 64 GB at
            // most; two GPUs of a card share sixteen lanes of PCIe 2.0.
            Some("x79") => Self {
                bandwidth: channels(4.0, 1600.0),
                memory: 64e9,
                link: 16.0 * PCIE2_LANE / 2.0,
            },
            // .. and a Core i7-2600K, by its data sheet with two channels of DDR3-1333 and 32 GB at most; two GPUs
            // share eight lanes (P67-nat), or four sixteen (P67-NF).
            Some(_) => Self {
                bandwidth: channels(2.0, 1333.0),
                memory: 32e9,
                link: 8.0 * PCIE2_LANE / 2.0,
            },
            // NVIDIA's DGX H200 by its data sheet: two Xeon Platinum 8480C and 2 TB; each has eight channels of
            // DDR5-4800 by Intel's. Every GPU has sixteen lanes of PCIe 5.0.
            None => {
                Self { bandwidth: channels(16.0, 4800.0), memory: 2e12, link: 16.0 * PCIE5_LANE }
            }
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
            // 163.9 GB/s by the data sheet (384 bits at 3414 MT/s); 5 µs a launch is an assumption.
            Self::Gtx590 => (163.9e9, 5e-6),
        };
        Linear { per_unit: traffic / bandwidth, fixed }
    }
}
