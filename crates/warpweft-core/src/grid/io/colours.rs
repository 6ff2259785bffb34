//! Pictures of a plane of a volume: numbers become colours.

use crate::error::{Error, Result};
use crate::grid::{Axes, RawVolume};
use crate::memory::room;

/// A picture, 8 bits for each of red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows, from the top.
    pub height: usize,
    /// The pixels row by row.
    pub pixels: Vec<[u8; 3]>,
}

/// A map from numbers to colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// Black to white.
    Grey,
    /// Dark violet through green to yellow, even in lightness and readable without colour vision.
    Viridis,
}

/// Nine evenly spaced points of the map that matplotlib calls viridis.
const VIRIDIS: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 44, 122],
    [59, 81, 139],
    [44, 113, 142],
    [33, 144, 141],
    [39, 173, 129],
    [92, 200, 99],
    [170, 220, 50],
    [253, 231, 37],
];

/// The colour of NaN, which is in neither map.
const NAN: [u8; 3] = [255, 0, 160];

impl Colours {
    /// The colour of `value`: 0 is the lowest, 1 the highest; other values are clamped.
    pub fn of(self, value: f64) -> [u8; 3] {
        if value.is_nan() {
            return NAN;
        }
        let value = value.clamp(0.0, 1.0);
        match self {
            Self::Grey => [(value * 255.0).round() as u8; 3],
            Self::Viridis => {
                let at = value * (VIRIDIS.len() - 1) as f64;
                let low = (at as usize).min(VIRIDIS.len() - 2);
                let part = at - low as f64;
                std::array::from_fn(|c| {
                    let (a, b) = (f64::from(VIRIDIS[low][c]), f64::from(VIRIDIS[low + 1][c]));
                    (a + part * (b - a)).round() as u8
                })
            }
        }
    }
}

impl Picture {
    /// A picture of one colour.
    ///
    /// # Errors
    /// Too little memory.
    pub fn filled(width: usize, height: usize, colour: [u8; 3]) -> Result<Self> {
        let count = width.saturating_mul(height);
        let mut pixels = room(count, "leave the picture out")?;
        pixels.resize(count, colour);
        Ok(Self { width, height, pixels })
    }

    /// The plane of the two fastest axes through the middle of the other axes, one pixel a cell, with `range`
    /// mapped to the ends of `colours`. A line becomes a picture of one row.
    ///
    /// # Errors
    /// There is no field number `field`; too little memory.
    pub fn of_middle(
        volume: &RawVolume,
        field: usize,
        range: [f64; 2],
        colours: Colours,
    ) -> Result<Self> {
        let [height, width] = plane(volume.extents());
        let values = middle(volume, field)?;
        let span = range[1] - range[0];
        let mut pixels = room(height * width, "save .npy instead")?;
        pixels.extend(values.map(|value| {
            // All values are equal: show them in the middle colour.
            let part = if span > 0.0 { (value - range[0]) / span } else { 0.5 + 0.0 * value };
            colours.of(part)
        }));
        Ok(Self { width, height, pixels })
    }
}

/// The least and the greatest finite value of the plane that [`Picture::of_middle`] shows; 0 and 1 if there
/// is none.
///
/// # Errors
/// There is no field number `field`.
pub fn middle_range(volume: &RawVolume, field: usize) -> Result<[f64; 2]> {
    let finite = middle(volume, field)?.filter(|value| value.is_finite());
    let range = finite.fold(None, |range: Option<[f64; 2]>, value| {
        let [low, high] = range.unwrap_or([value; 2]);
        Some([low.min(value), high.max(value)])
    });
    Ok(range.unwrap_or([0.0, 1.0]))
}

/// The rows and columns of the middle plane.
fn plane(extents: Axes<usize>) -> [usize; 2] {
    let dims = extents.rank();
    [if dims > 1 { extents[dims - 2] } else { 1 }, extents[dims - 1]]
}

/// The values of the middle plane.
fn middle(volume: &RawVolume, field: usize) -> Result<impl Iterator<Item = f64>> {
    let dims = volume.rank();
    if field >= volume.cell_type().len() {
        return Err(Error::spec(
            format!("field {field} of a cell with {} fields", volume.cell_type().len()),
            "name one that exists",
        ));
    }
    let extents = volume.extents();
    let [height, width] = plane(extents);
    let mut at = extents.map(|n| n / 2);
    Ok((0..height * width).map(move |index| {
        if dims > 1 {
            at[dims - 2] = index / width;
        }
        at[dims - 1] = index % width;
        volume.value(field, at)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Volume;

    #[test]
    fn the_ends_of_the_maps_are_theirs() {
        assert_eq!(Colours::Viridis.of(0.0), [68, 1, 84]);
        assert_eq!(Colours::Viridis.of(2.0), [253, 231, 37]);
        assert_eq!(Colours::Grey.of(0.5), [128; 3]);
        assert_eq!(Colours::Grey.of(f64::NAN), NAN);
    }

    #[test]
    fn lightness_never_falls_along_viridis() {
        let light = |[r, g, b]: [u8; 3]| {
            0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b)
        };
        let steps: Vec<_> =
            (0..=256).map(|i| light(Colours::Viridis.of(f64::from(i) / 256.0))).collect();
        assert!(steps.windows(2).all(|pair| pair[1] >= pair[0] - 0.5), "{steps:?}");
    }

    #[test]
    fn the_middle_plane_is_shown_row_by_row() {
        let volume = Volume::from_fn([3, 1, 2], |[z, _, x]| if z == 1 { x as f32 } else { 9.0 });
        let picture = Picture::of_middle(&volume, 0, [0.0, 1.0], Colours::Grey).unwrap();
        assert_eq!(picture.pixels, [[0; 3], [255; 3]]);
    }
}
