//! Sums, dot products and extremes of fields on the device, by the kernel of `launch::reduce`.

use super::launch::boxes::placed;
use super::launch::reduce::Reducing;
use super::sweeps::CudaSweeps;
use crate::Region;
use crate::spec::reduction::{Reduce, Reduction};
use warpweft_core::error::Result;

impl CudaSweeps {
    /// What these fields of `region` come to.
    pub(super) fn reduced(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: &Region,
    ) -> Result<Reduction> {
        self.settle()?;
        let layout = &self.arrays.layout;
        let (low, extents) = placed(region);
        let first: usize = (0..4).map(|d| low[d] * layout.strides[d]).sum();
        let cell = self.stencil.cell;
        let addresses = fields.map(|f| {
            let now = self.arrays.now(f, self.state);
            self.arrays.cell(f, now) + (first * cell.size(f)) as u64
        });
        let reducing = match &mut self.reducing {
            Some(reducing) => reducing,
            none => none.insert(Reducing::new(&self.stream, layout)?),
        };
        let kinds = fields.map(|f| cell.kind(f));
        // SAFETY: both are the region's first cell in arrays of these fields in this layout.
        let reduced = unsafe { reducing.reduce(&self.stream, what, kinds, addresses, extents) }?;
        self.check_fault()?;
        Ok(reduced)
    }
}
