//! `random:20000,7,10,1`, a file or `-`: which graph.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use warpweft::Result;
use warpweft_apps::apsp::{Graph, Random, random, read};

use crate::progress::Progress;

/// Which graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphChoice {
    /// From the generator of the TuCCompi paper.
    Random(Random),
    /// From a file.
    File(PathBuf),
}

impl FromStr for GraphChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty; name a file, - or random:VERTICES".into());
        }
        let Some(numbers) = text.strip_prefix("random:") else {
            return Ok(Self::File(text.into()));
        };
        let wrong = || {
            format!(
                "'{text}' is not a random graph; write random:VERTICES[,DEGREE[,WEIGHT[,SEED]]]"
            )
        };
        let numbers: Vec<u64> = numbers
            .split(',')
            .map(|number| number.parse().map_err(|_| wrong()))
            .collect::<Result<_, _>>()?;
        let (Some(&vertices), 1..=4) = (numbers.first(), numbers.len()) else {
            return Err(wrong());
        };
        let narrow = |number: u64| u32::try_from(number).map_err(|_| wrong());
        let or = |at: usize, default| narrow(numbers.get(at).copied().unwrap_or(default));
        let seed = numbers.get(3).copied().unwrap_or(1);
        Ok(Self::Random(Random {
            vertices: narrow(vertices)?,
            degree: or(1, 7)?,
            weight: or(2, 10)?,
            seed,
        }))
    }
}

impl fmt::Display for GraphChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random(Random { vertices, degree, weight, seed }) => {
                write!(f, "random:{vertices},{degree},{weight},{seed}")
            }
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl GraphChoice {
    /// The file that it is read from.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Random(_) => None,
            Self::File(path) => Some(path),
        }
    }

    /// The graph.
    ///
    /// # Errors
    /// As [`read`] and [`random`].
    pub fn graph(&self) -> Result<Graph> {
        let _waiting = Progress::waiting("reading the graph");
        match self {
            Self::Random(of) => random(*of),
            Self::File(path) => read(path),
        }
    }
}
