//! `--device cpu|gpu|gpu:N|gpu:N,M,..|gpus|cpu+gpu|cpu+gpu:N|auto`.

use std::fmt;
use std::str::FromStr;

use warpweft::stencil::GpuList;

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU if there is one, else the cores.
    Auto,
    /// The cores.
    Cpu,
    /// One GPU by its number; if `None` the first one, of several processes of a host one each.
    Gpu(Option<usize>),
    /// Several GPUs by their numbers, all of them if `None`.
    Gpus(Option<GpuList>),
    /// The cores and one GPU by its number.
    CpuAndGpu(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || {
            format!(
                "no device '{text}'; cpu, gpu, gpu:N, gpu:N,M,.., gpus, cpu+gpu, cpu+gpu:N or auto"
            )
        };
        if let Some(gpu) = text.strip_prefix("cpu+") {
            return match gpu.parse() {
                Ok(Self::Gpu(number)) => Ok(Self::CpuAndGpu(number.unwrap_or(0))),
                _ => Err(unknown()),
            };
        }
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu(None)),
            "gpus" => Ok(Self::Gpus(None)),
            _ => {
                let numbers = text.strip_prefix("gpu:").ok_or_else(unknown)?.split(',');
                let numbers: Result<Vec<_>, _> = numbers.map(str::parse).collect();
                match numbers.map_err(|_| unknown())?.as_slice() {
                    &[one] => Ok(Self::Gpu(Some(one))),
                    several => match GpuList::new(several) {
                        Ok(list) => Ok(Self::Gpus(Some(list))),
                        Err(error) => Err(error.to_string()),
                    },
                }
            }
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cpu => write!(f, "cpu"),
            Self::Gpu(None) => write!(f, "gpu"),
            Self::Gpu(Some(number)) => write!(f, "gpu:{number}"),
            Self::CpuAndGpu(number) => write!(f, "cpu+gpu:{number}"),
            Self::Gpus(None) => write!(f, "gpus"),
            Self::Gpus(Some(list)) => {
                let numbers: Vec<_> = list.numbers().map(|number| number.to_string()).collect();
                write!(f, "gpu:{}", numbers.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_the_first_unless_numbered() {
        assert_eq!("gpu".parse(), Ok(DeviceChoice::Gpu(None)));
        assert_eq!("gpu:3".parse(), Ok(DeviceChoice::Gpu(Some(3))));
        assert_eq!("gpus".parse(), Ok(DeviceChoice::Gpus(None)));
        assert_eq!("cpu+gpu".parse(), Ok(DeviceChoice::CpuAndGpu(0)));
        assert_eq!("cpu+gpu:2".parse::<DeviceChoice>().unwrap().to_string(), "cpu+gpu:2");
        let several: DeviceChoice = "gpu:2,0".parse().unwrap();
        assert_eq!(several.to_string(), "gpu:2,0");
        for text in
            ["gpu:1,1", "gpu:0,", "", "tpu", "gpu:", "gpu:-1", "cpu:2", "cpu+gpus", "cpu+cpu+gpu"]
        {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
