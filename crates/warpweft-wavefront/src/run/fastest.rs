//! Which of the executors for GPUs runs a wavefront fastest. Not here: the choice of devices (`on`).

use crate::cuda::scan;
use crate::cuda::unfit;
use crate::recurrence::WavefrontElement;
use crate::spec::Wavefront;
use warpweft_core::cuda::SharedMemory;

/// What runs a wavefront where there are GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    Scan,
    Strips,
    /// As strips can't do this, if that is why.
    Tiles(Option<&'static str>),
}

impl Runs {
    /// The fastest that can, on GPUs of so many SMs and so much shared memory.
    pub(super) fn of<E: WavefrontElement>(
        wavefront: &Wavefront<'_, E>,
        sms: u32,
        shared: SharedMemory,
    ) -> Self {
        if scan::misses(wavefront).is_none() {
            return Self::Scan;
        }
        match unfit(&wavefront.erased(), sms, shared) {
            None => Self::Strips,
            Some(what) => Self::Tiles(Some(what)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recurrence::Earlier;
    use crate::recurrences::{affine_local, area, local, remix};
    use crate::spec::Keep;
    use crate::wavefront;

    /// Time warping whose costs are given cell by cell.
    #[wavefront]
    fn warped(h: Earlier<f32>, #[cell] cost: f32) -> f32 {
        cost + h.nw.min(h.n).min(h.w)
    }

    /// Reads two rows and columns back.
    #[wavefront]
    fn exchanged(h: Earlier<i32>) -> i32 {
        h.nw.min(h.n).min(h[[-2, -2]])
    }

    /// Cells and inputs that leave no room next to the rings.
    #[wavefront]
    fn wide(h: Earlier<f64>, #[column] b: f64, #[cell] x: f64) -> f64 {
        (b * h.n).max(h.w).max(x)
    }

    /// On an A100, an RTX 4090, an H200 and half of that.
    #[test]
    fn the_fastest_executor_that_can_is_taken() {
        let limits = [163, 99, 227, 48].map(|kib| SharedMemory::of_block(kib << 10));
        for shared in limits {
            let pixels = vec![1u8; 90_000];
            let table = Wavefront::of(area()).over([300; 2]).inputs(&pixels);
            let of = |keep| Runs::of(&table.clone().keep(keep), 132, shared);
            assert_eq!(of(Keep::Matrix), Runs::Scan);
            assert_eq!([Keep::LastRow, Keep::Sum].map(of), [Runs::Strips; 2]);
            let costs = vec![1.0f32; 90_000];
            let warped = Wavefront::of(warped()).over([300; 2]).inputs(&costs).keep(Keep::Matrix);
            assert_eq!(Runs::of(&warped, 132, shared), Runs::Strips);
            let letters = [b'A'; 300];
            let plain = Wavefront::of(local(2, -1, -1)).rows(&letters).columns(&letters);
            assert_eq!(Runs::of(&plain, 132, shared), Runs::Strips);
            let exchanged = Wavefront::of(exchanged()).over([300; 2]);
            let of = |keep| Runs::of(&exchanged.clone().keep(keep), 132, shared);
            assert_eq!([Keep::Best, Keep::LastRow].map(of), [Runs::Strips; 2]);
            let far = "dependences other than north, west and north-west";
            assert_eq!(of(Keep::Matrix), Runs::Tiles(Some(far)));
            let banded = plain.clone().band(-5, 5, 0);
            assert_eq!(Runs::of(&banded, 132, shared), Runs::Tiles(Some("bands")));
            let affine =
                Wavefront::of(affine_local(2, -3, -5, -1)).rows(&letters).columns(&letters);
            assert_eq!(Runs::of(&affine, 132, shared), Runs::Strips);
        }
        let (rows, columns, inputs) = ([(); 300], [1.0; 300], vec![0.0; 90_000]);
        let wide = Wavefront::of(wide()).rows(&rows).columns(&columns).inputs(&inputs);
        let full = Runs::Tiles(Some("cells and inputs that fill shared memory"));
        assert_eq!(Runs::of(&wide, 132, limits[3]), full);
        let sweeps = Wavefront::of(remix()).rows(&[1; 9]).columns(&[2; 9]);
        assert_eq!(Runs::of(&sweeps, 132, limits[0]), Runs::Tiles(Some("old values")));
    }
}
