//! Sums, dot products and extremes of fields on the device, by the kernel of `launch::reduce`, and numbers made of them.

use super::CudaSweeps;
use crate::cuda::launch::boxes::placed;
use crate::cuda::launch::reduce::{Of, Reducing};
use crate::spec::reduction::ahead::Asked;
use crate::spec::reduction::scalar::SessionScalar;
use crate::spec::reduction::{Reduce, Reduction};
use crate::spec::stage::StageList;
use crate::{Region, SweepExecutor};
use warpweft_core::cuda::Stream;
use warpweft_core::error::Result;

impl CudaSweeps {
    /// Whether all of these fields are on the device.
    pub(in crate::cuda) fn holds(&self, fields: &[usize]) -> bool {
        fields.iter().all(|f| self.unused.iter().all(|(unused, _)| unused != f))
    }

    /// Queues what these fields of `region` come to.
    pub(in crate::cuda) fn reduced(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: &Region,
    ) -> Result<SessionScalar> {
        self.settle()?;
        if let Some(number) = self.ahead.take(&Asked::new(what, fields, *region)) {
            return Ok(number);
        }
        self.clock.close();
        let of = self.fields_of(what, fields, region);
        let (reducing, stream) = self.reducing()?;
        // SAFETY: both are the region's first cell in arrays of these fields in this layout, which live as long as `self`.
        unsafe { reducing.queue(stream, &of) }
    }

    /// What these fields of `region` come to, to be merged with those of other executors. Waits for the device.
    pub(in crate::cuda) fn reduction(
        &mut self,
        what: Reduce,
        fields: [usize; 2],
        region: &Region,
    ) -> Result<Reduction> {
        self.settle()?;
        self.clock.close();
        let of = self.fields_of(what, fields, region);
        let (reducing, stream) = self.reducing()?;
        // SAFETY: as above.
        let words = unsafe { reducing.words(stream, &of)? };
        self.check_fault()?;
        Ok(Reduction::from_words(&words))
    }

    /// The kernels of reductions, and the stream that they are queued in.
    pub(super) fn reducing(&mut self) -> Result<(&mut Reducing, &Stream)> {
        let reducing = match &mut self.reducing {
            Some(reducing) => reducing,
            none => none.insert(Reducing::new(&self.stream, &self.arrays.layout)?),
        };
        Ok((reducing, &self.stream))
    }

    fn fields_of(&self, what: Reduce, fields: [usize; 2], region: &Region) -> Of {
        let layout = &self.arrays.layout;
        let (low, extents) = placed(region);
        let first: usize = (0..4).map(|d| low[d] * layout.strides[d]).sum();
        let cell = self.stencil.cell;
        let addresses = fields.map(|f| {
            let now = self.arrays.now(f, self.state);
            self.arrays.cell(f, now) + (first * cell.size(f)) as u64
        });
        Of { what, kinds: fields.map(|f| cell.kind(f)), addresses, extents }
    }

    /// The value of a number, after everything queued so far.
    pub(in crate::cuda) fn number_of(&mut self, number: &SessionScalar) -> Result<f64> {
        let place = number.place(self.bank())?;
        self.clock.close();
        let Some(reducing) = &mut self.reducing else { return Ok(f64::NAN) };
        let value = reducing.numbers.value(&self.stream, place)?;
        self.check_fault()?;
        Ok(value)
    }

    /// Queues the numbers that the functions of `stages` take.
    pub(in crate::cuda) fn compute_numbers(&mut self, stages: &StageList) -> Result<()> {
        let takes = stages.iter().any(|stage| !stage.taken().is_empty());
        match &mut self.reducing {
            Some(reducing) if takes => reducing.numbers.compute(&self.stream),
            _ => Ok(()),
        }
    }
}
