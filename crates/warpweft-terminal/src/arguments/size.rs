//! `--size 256` or `--size 256x256x128`.

use std::str::FromStr;

use warpweft::grid::Axes;
use warpweft::{Error, Result};

/// One extent for all axes, or one for each axis, slowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size(pub Vec<usize>);

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let extents: Result<Vec<usize>, String> = text
            .split(['x', '×'])
            .map(|part| {
                part.trim().parse().map_err(|_| {
                    format!("'{part}' is not an extent; write e.g. 256 or 256x256x128")
                })
            })
            .collect();
        match extents? {
            extents if extents.len() > 4 => Err(format!("{} axes; at most 4", extents.len())),
            extents => Ok(Self(extents)),
        }
    }
}

impl Size {
    /// The number of axes, if it was given.
    pub fn dims(&self) -> Option<usize> {
        (self.0.len() > 1).then_some(self.0.len())
    }

    /// The extents of `D` axes.
    pub fn extents(&self, dims: usize) -> Result<Axes<usize>> {
        match self.0.as_slice() {
            [all] => Ok(Axes::filled(dims, *all)),
            each => Axes::from_slice(each).filter(|each| each.rank() == dims).ok_or_else(|| {
                Error::spec(
                    format!("--size names {} extents for {dims} dimensions", each.len()),
                    "name one extent, or one for each dimension",
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_extent_stands_for_all() {
        let size: Size = "12".parse().unwrap();
        assert_eq!((size.dims(), size.extents(3).unwrap()), (None, [12; 3].into()));
        let size: Size = "1x2x3".parse().unwrap();
        assert_eq!((size.dims(), size.extents(3).unwrap()), (Some(3), [1, 2, 3].into()));
        assert!(size.extents(2).unwrap_err().to_string().contains("3 extents for 2"));
    }

    #[test]
    fn what_is_no_size_is_named() {
        for text in ["", "12x", "-1", "99999999999999999999999", "1x1x1x1x1"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }
}
