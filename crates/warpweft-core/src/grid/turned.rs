//! A volume with its axes in another order.

use super::{RawVolume, in_parts};
use crate::error::{Error, Result};

/// Cells of a square that is transposed at a time: its lines fit the first cache on both sides.
const TILE: usize = 32;
/// Bytes that a thread of its own is worth.
const SHARE: usize = 1 << 22;

impl<const D: usize> RawVolume<D> {
    /// A copy whose axis `d` is axis `order[d]` of this volume.
    ///
    /// # Errors
    /// Not enough host memory; an order that doesn't name every axis once.
    pub fn turned(&self, order: [usize; D]) -> Result<Self> {
        let extents = order.map(|d| self.extents().get(d).copied().unwrap_or(0));
        let mut turned = Self::zeroed(self.cell_type(), extents)?;
        self.turn_into(order, &mut turned)?;
        Ok(turned)
    }

    /// As [`RawVolume::turned`], into a volume that is there. O(cells), rows at a time where the
    /// fastest axis stays the fastest.
    ///
    /// # Errors
    /// A volume of other cells or extents.
    pub fn turn_into(&self, order: [usize; D], to: &mut Self) -> Result<()> {
        let named = (0..D).all(|d| order.contains(&d));
        let alike = self.cell_type() == to.cell_type();
        if !named || !alike || order.map(|d| self.extents()[d]) != to.extents() {
            return Err(Error::spec(
                format!("turning {:?} by {order:?} into {:?}", self.extents(), to.extents()),
                "this is a fault of Warpweft: report it",
            ));
        }
        let extents = to.extents();
        let strides = order.map(|d| self.extents()[d + 1..].iter().product());
        for field in 0..self.cell_type().len() {
            let from = self.field_bytes(field);
            let to = to.field_bytes_mut(field);
            match self.cell_type().size(field) {
                1 => by_planes::<1, D>(from, to, extents, (strides, order)),
                2 => by_planes::<2, D>(from, to, extents, (strides, order)),
                4 => by_planes::<4, D>(from, to, extents, (strides, order)),
                _ => by_planes::<8, D>(from, to, extents, (strides, order)),
            }
        }
        Ok(())
    }
}

/// One field: planes across the result's slowest axis, shared between threads where that is much.
/// `strides` are elements of `from` from a cell of the result to its next along each axis.
fn by_planes<const N: usize, const D: usize>(
    from: &[u8],
    to: &mut [u8],
    extents: [usize; D],
    (strides, order): ([usize; D], [usize; D]),
) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let plane = to.len() / extents[0];
    in_parts(to, plane * SHARE.div_ceil(plane * N), |first, to| {
        let mut extents = extents;
        extents[0] = to.len() / plane;
        let from = &from[first / plane * strides[0]..];
        match order.iter().position(|&d| d == D - 1) {
            Some(row) if row + 1 < D => transpose(from, to, extents, (strides, row)),
            _ => rows(from, to, extents, strides),
        }
    });
}

/// The number in `from` of the cell that is number `index` among those of `extents`.
fn place<const D: usize>(mut index: usize, extents: [usize; D], strides: [usize; D]) -> usize {
    let mut place = 0;
    for d in (0..D).rev() {
        place += index % extents[d] * strides[d];
        index /= extents[d];
    }
    place
}

/// Rows stay rows.
fn rows<T: Copy, const D: usize>(
    from: &[T],
    to: &mut [T],
    extents: [usize; D],
    strides: [usize; D],
) {
    for (n, row) in to.chunks_exact_mut(extents[D - 1]).enumerate() {
        let start = place(n * row.len(), extents, strides);
        row.copy_from_slice(&from[start..][..row.len()]);
    }
}

/// The rows of `from` lie along axis `row` of `to`, whose own are columns there: squares of both at a time.
fn transpose<T: Copy, const D: usize>(
    from: &[T],
    to: &mut [T],
    extents: [usize; D],
    (strides, row): ([usize; D], usize),
) {
    let mut around = extents;
    (around[row], around[D - 1]) = (1, 1);
    let own = |d: usize| -> usize { extents[d + 1..].iter().product() };
    let owns = std::array::from_fn(own);
    let (step, column) = (owns[row], strides[D - 1]);
    let (tall, wide) = (extents[row], extents[D - 1]);
    for n in 0..around.iter().product() {
        let (at, start) = (place(n, around, owns), place(n, around, strides));
        for i in (0..tall).step_by(TILE) {
            for j in (0..wide).step_by(TILE) {
                for i in i..tall.min(i + TILE) {
                    let line = &mut to[at + i * step..][..wide];
                    for j in j..wide.min(j + TILE) {
                        line[j] = from[start + i + j * column];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::element::{CellType, Fields};
    use crate::grid::{RawVolume, Volume};

    fn check<S: Fields + PartialEq + std::fmt::Debug, const D: usize>(
        extents: [usize; D],
        order: [usize; D],
        cell: impl Fn(usize) -> S,
    ) {
        let number = |at: [usize; D]| (0..D).fold(0, |n, d| n * extents[d] + at[d]);
        let volume = Volume::from_fn(extents, |at| cell(number(at))).into_raw();
        let turned = volume.turned(order).unwrap();
        for n in 0..volume.len() {
            let mut rest = n;
            let mut at = [0; D];
            for d in (0..D).rev() {
                at[d] = rest % extents[d];
                rest /= extents[d];
            }
            assert_eq!(turned.cell::<S>(order.map(|d| at[d])), cell(n), "{at:?} by {order:?}");
        }
        let mut back = [0; D];
        (0..D).for_each(|d| back[order[d]] = d);
        let again = turned.turned(back).unwrap();
        for field in 0..volume.cell_type().len() {
            assert_eq!(again.field_bytes(field), volume.field_bytes(field));
        }
    }

    #[test]
    fn every_cell_is_where_its_axes_say() {
        check([5, 70], [1, 0], |n| n as u16);
        check([70, 33], [1, 0], |n| n as f64);
        check([4, 5, 67], [1, 0, 2], |n| n as u8);
        check([40, 3, 35], [2, 0, 1], |n| n as f32);
        check([3, 41, 35], [2, 1, 0], |n| n as i64);
        check([3, 4, 5, 36], [2, 0, 1, 3], |n| n as u32);
        check([3, 4, 5, 36], [3, 0, 1, 2], |n| n as u32);
        check([1, 9, 1, 40], [3, 0, 1, 2], |n| n as u32);
        check([7], [0], |n| n as u32);
        // Large enough for several threads.
        check([3, 1500, 1001], [1, 0, 2], |n| n as u32);
        check([1500, 2003], [1, 0], |n| n as u32);
    }

    #[test]
    fn other_volumes_and_orders_are_refused() {
        let volume = RawVolume::<2>::zeroed(CellType::of::<f32>(), [3, 4]).unwrap();
        let mut like = volume.clone();
        assert!(volume.turn_into([0, 1], &mut like).is_ok());
        assert!(volume.turn_into([1, 0], &mut like).is_err());
        assert!(volume.turned([1, 1]).is_err());
        assert!(volume.turned([1, 2]).is_err());
        let mut other = RawVolume::zeroed(CellType::of::<i32>(), [3, 4]).unwrap();
        assert!(volume.turn_into([0, 1], &mut other).is_err());
    }
}
