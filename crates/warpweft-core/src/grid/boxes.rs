//! Boxes of a volume's cells as bytes, copied row by row. Ranks exchange them and files store them.

use super::{Axes, RawVolume, in_parts};
use crate::error::{Error, Result};

/// Bytes that are worth a thread: some hundred microseconds of copying.
const SHARE: usize = 1 << 21;

/// A share of whole `units` of bytes.
fn share(unit: usize) -> usize {
    unit * SHARE.div_ceil(unit)
}

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
        // Bytes between two cells of the slowest axis, here and in the box.
        let stride = extents.iter().skip(1).product::<usize>() * size;
        let each = bytes.len() / (high[0] - low[0]).max(1);
        let all = &mut self.field_bytes_mut(field)[low[0] * stride..high[0] * stride];
        in_parts(all, share(stride), |first, part| {
            let planes = first / stride..(first + part.len()) / stride;
            let (mut from, mut to) = (low, high);
            (from[0], to[0]) = (low[0] + planes.start, low[0] + planes.end);
            let before = from[0] * stride;
            let rows = rows(extents, from, to).map(|(start, length)| (start * size, length * size));
            let mut rest = &bytes[planes.start * each..planes.end * each];
            for (start, length) in rows {
                let (row, after) = rest.split_at(length);
                part[start - before..][..length].copy_from_slice(row);
                rest = after;
            }
        });
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
            let row = extents[dims - 1] * size;
            let from = self.field_bytes(field);
            let to = &mut cut.field_bytes_mut(field)[..extents.iter().product::<usize>() * size];
            in_parts(to, share(row), |first, part| {
                for (n, to) in part.chunks_exact_mut(row).enumerate() {
                    let at = beyond((first + n * row) / row, extents, low, whole);
                    copy_row(from, to, (at, whole), size);
                }
            });
        }
        Ok(cut)
    }
}

/// The cell of a volume of `whole` extents with which row `row` of a box of `extents` at `low` begins.
fn beyond(row: usize, extents: Axes<usize>, low: Axes<isize>, whole: Axes<usize>) -> Axes<usize> {
    let dims = extents.rank();
    let repeated = |index: isize, d: usize| index.rem_euclid(whole[d] as isize) as usize;
    let mut at = Axes::filled(dims, 0);
    at[dims - 1] = repeated(low[dims - 1], dims - 1);
    let mut rest = row;
    for d in (0..dims - 1).rev() {
        at[d] = repeated((rest % extents[d]) as isize + low[d], d);
        rest /= extents[d];
    }
    at
}

/// Copies the row that begins at cell `at`: one run of cells, or several where it crosses a face.
fn copy_row(from: &[u8], to: &mut [u8], (at, whole): (Axes<usize>, Axes<usize>), size: usize) {
    let dims = whole.rank();
    let line = (0..dims - 1).fold(0, |index, d| index * whole[d] + at[d]) * whole[dims - 1];
    let (mut x, mut done) = (at[dims - 1], 0);
    while done < to.len() {
        let run = ((whole[dims - 1] - x) * size).min(to.len() - done);
        to[done..done + run].copy_from_slice(&from[(line + x) * size..][..run]);
        done += run;
        x = 0;
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
    fn what_takes_several_threads_is_copied_whole() {
        let volume =
            Volume::from_fn([70, 40, 1031], |[z, y, x]| (z * 64 + y) as u32 * 2048 + x as u32);
        let cut = volume.cut_out([-3, 2, -5].into(), [75, 39, 1040].into()).unwrap();
        let cells = cut.field::<u32>(0).unwrap();
        let expect =
            |z: usize, y: usize, x: usize| volume[[(z + 67) % 70, (y + 2) % 40, (x + 1026) % 1031]];
        for (n, &cell) in cells.iter().enumerate() {
            let (z, y, x) = (n / 1040 / 39, n / 1040 % 39, n % 1040);
            assert!(cell == expect(z, y, x), "{z} {y} {x}");
        }
        let (low, high) = ([1, 3, 7].into(), [68, 40, 1000].into());
        let mut other = Volume::<u32, 3>::zeroed([70, 40, 1031]).unwrap();
        other.raw_mut().set_box(0, low, high, &volume.box_bytes(0, low, high)).unwrap();
        let inside =
            |[z, y, x]: [usize; 3]| (1..68).contains(&z) && y >= 3 && (7..1000).contains(&x);
        let expect = Volume::from_fn([70, 40, 1031], |at| if inside(at) { volume[at] } else { 0 });
        assert!(other.as_slice() == expect.as_slice());
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
