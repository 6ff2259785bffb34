//! Where to run, in programs and on the command line. What the machine has is in `devices`.

use std::fmt;
use std::str::FromStr;

use super::list::GpuList;
use crate::error::{Error, Result};

/// Where to run.
///
/// Reads and prints as on the command line:
///
/// ```
/// use warpweft::run::{GpuList, Target};
///
/// assert_eq!("gpu:2,0".parse::<Target>()?, Target::Gpus(GpuList::new(&[2, 0])?));
/// assert_eq!(Target::CpuAndGpu(1).to_string(), "cpu+gpu:1");
/// # Ok::<(), warpweft::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The pattern's default: usable GPUs if there are any, the cores otherwise, or both.
    #[default]
    Auto,
    /// The cores.
    Cpu,
    /// The first GPU. If a host has several ranks, they take its GPUs in turn.
    AnyGpu,
    /// The GPU with this number.
    Gpu(usize),
    /// These GPUs together.
    Gpus(GpuList),
    /// All GPUs of the machine together.
    AllGpus,
    /// The cores and the GPU with this number together.
    CpuAndGpu(usize),
}

impl Target {
    /// Whether the target names GPUs, so that cores alone do not satisfy it.
    pub fn names_gpus(&self) -> bool {
        !matches!(self, Self::Auto | Self::Cpu)
    }
}

/// The form of the command line: `auto`, `cpu`, `gpu`, `gpu:2`, `gpu:0,1`, `gpus`, `cpu+gpu:0`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::AnyGpu => f.write_str("gpu"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
            Self::Gpus(list) => {
                for (place, number) in list.numbers().enumerate() {
                    write!(f, "{}{number}", if place == 0 { "gpu:" } else { "," })?;
                }
                Ok(())
            }
            Self::AllGpus => f.write_str("gpus"),
            Self::CpuAndGpu(number) => write!(f, "cpu+gpu:{number}"),
        }
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            let help = "write cpu, gpu, gpu:N, gpu:N,M,.., gpus, cpu+gpu, cpu+gpu:N or auto";
            Error::spec(format!("no device '{text}'"), help)
        };
        if let Some(gpu) = text.strip_prefix("cpu+") {
            return match gpu.parse() {
                Ok(Self::AnyGpu) => Ok(Self::CpuAndGpu(0)),
                Ok(Self::Gpu(number)) => Ok(Self::CpuAndGpu(number)),
                _ => Err(unknown()),
            };
        }
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::AnyGpu),
            "gpus" => Ok(Self::AllGpus),
            _ => {
                let numbers = text.strip_prefix("gpu:").ok_or_else(unknown)?.split(',');
                let numbers: Result<Vec<_>, _> = numbers.map(str::parse).collect();
                match numbers.map_err(|_| unknown())?.as_slice() {
                    &[one] => Ok(Self::Gpu(one)),
                    several => GpuList::new(several).map(Self::Gpus),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_as_the_same() {
        let list = GpuList::new(&[2, 0]).unwrap();
        let targets = [
            Target::Auto,
            Target::Cpu,
            Target::AnyGpu,
            Target::Gpu(3),
            Target::Gpus(list),
            Target::AllGpus,
            Target::CpuAndGpu(2),
        ];
        for target in targets {
            assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
        }
        assert_eq!("cpu+gpu".parse::<Target>().unwrap(), Target::CpuAndGpu(0));
    }

    #[test]
    fn what_is_no_device_is_refused() {
        for text in
            ["gpu:1,1", "gpu:0,", "", "tpu", "gpu:", "gpu:-1", "cpu:2", "cpu+gpus", "cpu+cpu+gpu"]
        {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
