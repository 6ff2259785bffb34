//! `--device cpu|gpu|gpu:N|auto`.

use std::fmt;
use std::str::FromStr;

/// Where to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceChoice {
    /// The first GPU if there is one, else the cores.
    Auto,
    /// The cores.
    Cpu,
    /// One GPU by its number.
    Gpu(usize),
}

impl FromStr for DeviceChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("no device '{text}'; cpu, gpu, gpu:N or auto");
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu(0)),
            _ => {
                let number = text.strip_prefix("gpu:").ok_or_else(unknown)?;
                number.parse().map(Self::Gpu).map_err(|_| unknown())
            }
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => write!(f, "auto"),
            Self::Cpu => write!(f, "cpu"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_the_first_unless_numbered() {
        assert_eq!("gpu".parse(), Ok(DeviceChoice::Gpu(0)));
        assert_eq!("gpu:3".parse(), Ok(DeviceChoice::Gpu(3)));
        for text in ["", "tpu", "gpu:", "gpu:-1", "cpu:2"] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
