//! Boxes of a volume's cells as bytes, copied row by row. Ranks exchange them and files store them.

use super::{Axes, RawVolume};
use crate::error::{Error, Result};

/// Element index and length of each row of the box from `low` to `high`, slowest axis first.
pub fn rows(
    extents: Axes<usize>,
    low: Axes<usize>,
    high: Axes<usize>,
) -> impl Iterator<Item = (usize, usize)> {
    let dims = extents.rank();
    let inside = (0..dims).all(|d| low[d] < high[d] && high[d] <= extents[d]);
    let mut next = inside.then_some(low);
    std::iter::from_fn(move || {
        let at = next?;
        let start = (0..dims).fold(0, |index, d| index * extents[d] + at[d]);
        let mut following = at;
        let more = (0..dims - 1).rev().any(|d| {
            following[d] += 1;
            let inside = following[d] < high[d];
            if !inside {
                following[d] = low[d];
            }
            inside
        });
        next = more.then_some(following);
        Some((start, high[dims - 1] - low[dims - 1]))
    })
}

impl RawVolume {
    /// The bytes of one field in the box from `low` to `high`, row-major; a box that leaves the
    /// volume is empty.
    pub fn box_bytes(&self, field: usize, low: Axes<usize>, high: Axes<usize>) -> Vec<u8> {
        let dims = low.rank();
        let size = self.cell_type().size(field);
        let cells: usize = (0..dims).map(|d| high[d].saturating_sub(low[d])).product();
        let mut bytes = Vec::with_capacity(cells * size);
        let all = self.field_bytes(field);
        for (start, length) in rows(self.extents(), low, high) {
            bytes.extend_from_slice(&all[start * size..(start + length) * size]);
        }
        bytes
    }

    /// Replaces one field in the box from `low` to `high` by bytes from [`RawVolume::box_bytes`] for a box of
    /// the same extents.
    ///
    /// # Errors
    /// The box leaves the volume, or the number of bytes differs.
    pub fn set_box(
        &mut self,
        field: usize,
        low: Axes<usize>,
        high: Axes<usize>,
        bytes: &[u8],
    ) -> Result<()> {
        let size = self.cell_type().size(field);
        let extents = self.extents();
        let cells: usize = rows(extents, low, high).map(|(_, length)| length).sum();
        if cells * size != bytes.len() {
            return Err(Error::spec(
                format!("{} bytes for cells {low:?} to {high:?} of {extents:?}", bytes.len()),
                "this is a fault of Warpweft: report it",
            ));
        }
        let all = self.field_bytes_mut(field);
        let mut rest = bytes;
        for (start, length) in rows(extents, low, high) {
            let (row, after) = rest.split_at(length * size);
            all[start * size..(start + length) * size].copy_from_slice(row);
            rest = after;
        }
        Ok(())
    }

    /// The cells from `low` on as a volume of `extents`. Beyond a face the volume repeats.
    ///
    /// # Errors
    /// See [`RawVolume::zeroed`].
    pub fn cut_out(&self, low: Axes<isize>, extents: Axes<usize>) -> Result<Self> {
        let dims = low.rank();
        let mut cut = Self::zeroed(self.cell_type(), extents)?;
        let whole = self.extents();
        for field in 0..self.cell_type().fields().len() {
            let size = self.cell_type().size(field);
            let (from, to) = (self.field_bytes(field), cut.field_bytes_mut(field));
            for (start, length) in rows(extents, Axes::filled(dims, 0), extents) {
                let mut at = Axes::filled(dims, 0);
                let mut rest = start;
                for d in (0..dims).rev() {
                    let index = (rest % extents[d]) as isize + low[d];
                    at[d] = index.rem_euclid(whole[d] as isize) as usize;
                    rest /= extents[d];
                }
                let line =
                    (0..dims - 1).fold(0, |index, d| index * whole[d] + at[d]) * whole[dims - 1];
                // A row is one run of cells, or several if it crosses a face.
                let mut done = 0;
                while done < length {
                    let run = (whole[dims - 1] - at[dims - 1]).min(length - done);
                    let (a, b) = ((line + at[dims - 1]) * size, (start + done) * size);
                    to[b..b + run * size].copy_from_slice(&from[a..a + run * size]);
                    done += run;
                    at[dims - 1] = 0;
                }
            }
        }
        Ok(cut)
    }
}

#[cfg(test)]
mod tests {
    use crate::grid::Volume;

    #[test]
    fn what_is_cut_out_repeats_beyond_the_faces() {
        let volume = Volume::from_fn([3, 4], |[y, x]| (10 * y + x) as i32);
        let cut = volume.cut_out([-1, -2].into(), [3, 7].into()).unwrap();
        assert_eq!(cut.field::<i32>(0).unwrap()[..7], [22, 23, 20, 21, 22, 23, 20]);
        assert_eq!(cut.field::<i32>(0).unwrap()[14..], [12, 13, 10, 11, 12, 13, 10]);
    }

    #[test]
    fn a_box_taken_and_put_back_is_where_it_was() {
        let volume = Volume::from_fn([3, 4, 5], |[z, y, x]| (100 * z + 10 * y + x) as u16);
        let bytes = volume.box_bytes(0, [1, 1, 2].into(), [3, 3, 5].into());
        assert_eq!(bytes.len(), 2 * 2 * 2 * 3);
        assert_eq!(bytes[..2], 112u16.to_ne_bytes());
        let mut other = Volume::<u16, 3>::zeroed([3, 4, 5]).unwrap();
        other.raw_mut().set_box(0, [1, 1, 2].into(), [3, 3, 5].into(), &bytes).unwrap();
        assert_eq!(other[[2, 2, 4]], 224);
        assert_eq!(other.as_slice().iter().filter(|&&cell| cell > 0).count(), 12);
        assert!(other.raw_mut().set_box(0, [1, 1, 2].into(), [3, 3, 6].into(), &bytes).is_err());
    }
}
