//! Reductions by a function of the user's: its kernels are made once, and its result is read or becomes a number of the
//! device. Not: the kernels (`fold`).

use super::CudaSweeps;
use crate::cuda::fold::{CELLS, Fold, room, threads};
use crate::cuda::launch::reduce::Of;
use crate::spec::reduction::Reduce;
use crate::spec::reduction::fold::Folded;
use crate::spec::reduction::scalar::SessionScalar;
use warpweft_core::cuda::{Args, Launch};
use warpweft_core::error::Result;

impl CudaSweeps {
    /// The bytes of each field of what `by` makes of all cells; none where a field is not on the device.
    pub(in crate::cuda) fn folded(&mut self, by: &dyn Folded) -> Result<Option<Vec<Vec<u8>>>> {
        // A fault of a fold whose result is a number stays.
        self.check_folds()?;
        let Some(number) = self.begin_fold(by)? else { return Ok(None) };
        let (cell, fold) = (self.stencil.cell, &self.folds[number]);
        let mut words = vec![0u8; room(cell)];
        self.stream.download(&fold.words, 0, &mut words)?;
        if let Err(fault) = self.check_fault() {
            // This result is dropped, and the cells are as they were.
            fold.fault.iter().try_for_each(|of_fold| of_fold.write(&self.stream, 0u32))?;
            return Err(fault);
        }
        Ok(Some((0..cell.len()).map(|f| words[8 * f..][..cell.size(f)].to_vec()).collect()))
    }

    /// Field `field` of what `by` makes of all cells, as a number of the device; none where a field is not there.
    pub(in crate::cuda) fn queue_folded(
        &mut self,
        by: &dyn Folded,
        field: usize,
    ) -> Result<Option<SessionScalar>> {
        let Some(number) = self.begin_fold(by)? else { return Ok(None) };
        let address = self.folds[number].words.address() + 8 * field as u64;
        let kinds = [self.stencil.cell.kind(field); 2];
        // The greatest of one number is that number, converted.
        let of = Of { what: Reduce::Greatest, kinds, addresses: [address; 2], extents: [1; 4] };
        let (reducing, stream) = self.reducing()?;
        // SAFETY: there is one number, in a word of its own that lives as long as `self`; the next fold writes it later.
        unsafe { reducing.queue(stream, &of).map(Some) }
    }

    /// Whether no fold has met a fault.
    ///
    /// # Errors
    /// The fault.
    pub(super) fn check_folds(&self) -> Result<()> {
        for fold in &self.folds {
            let Some(fault) = &fold.fault else { continue };
            let code = fault.read::<u32>(&self.stream)?;
            if code != 0 {
                return Err(fold.unit.fault(code, self.stream.device().label()));
            }
        }
        Ok(())
    }

    /// Queues what brings the result of all cells into the words of a fold, whose number is returned; none where a field is
    /// not on the device.
    fn begin_fold(&mut self, by: &dyn Folded) -> Result<Option<usize>> {
        if !self.unused.is_empty() {
            return Ok(None);
        }
        self.settle()?;
        self.clock.close();
        let (cell, cells) = (self.stencil.cell, self.arrays.layout.extents.iter().product());
        let known = self.folds.iter().position(|fold| fold.function == by.function());
        let number = match known {
            Some(number) => number,
            None => {
                // The bits of the cores, whatever the policy says of steps.
                self.folds.push(Fold::new(by, (cell, cells), false, &self.stream)?);
                self.folds.len() - 1
            }
        };
        self.launch_fold(&self.folds[number], by, cells)?;
        Ok(Some(number))
    }

    /// Queues the launches that bring the result of so many cells into `fold.words`.
    fn launch_fold(&self, fold: &Fold, by: &dyn Folded, cells: usize) -> Result<()> {
        let cell = self.stencil.cell;
        let of_block = CELLS * threads(cell);
        let launch =
            |count: usize| Launch::line(count.div_ceil(of_block) as u32, threads(cell) as u32);
        let functor = |args: &mut Args| {
            if by.parameters_size() > 0 {
                // SAFETY: a reduction promises that so many bytes are there.
                unsafe { args.opaque(by.parameters(), by.parameters_size()) };
            }
        };
        let mut args = Args::new();
        args.blob(&self.fold_box(cells), 8);
        for f in 0..cell.len() {
            args.value(self.arrays.cell(f, self.arrays.now(f, self.state)));
        }
        functor(&mut args);
        args.buffer(&fold.parts[0]);
        // SAFETY: pointers are to cell (0, 0, 0, 0) of live arrays of these fields in this layout, and there is room for
        // the results of all blocks.
        unsafe { self.stream.launch(&fold.kernels[0], launch(cells), &args)? };
        let (mut left, mut which) = (cells.div_ceil(of_block), 0);
        while left > 1 {
            let mut args = Args::new();
            args.buffer(&fold.parts[which]);
            args.value(left as i64);
            functor(&mut args);
            which = 1 - which;
            args.buffer(&fold.parts[which]);
            // SAFETY: as above; results of fewer blocks fit.
            unsafe { self.stream.launch(&fold.kernels[1], launch(left), &args)? };
            left = left.div_ceil(of_block);
        }
        let mut args = Args::new();
        args.buffer(&fold.parts[which]);
        args.buffer(&fold.words);
        // SAFETY: there is one result, and a word for each field.
        unsafe { self.stream.launch(&fold.kernels[2], Launch::line(1, 1), &args) }
    }

    /// `struct FoldBox` of all cells.
    fn fold_box(&self, cells: usize) -> Vec<u8> {
        let layout = &self.arrays.layout;
        let strides = layout.strides[..3].iter().chain([&cells]);
        let mut bytes: Vec<u8> = strides.flat_map(|&n| (n as i64).to_ne_bytes()).collect();
        let [_, z, y, x] = layout.extents;
        bytes.extend([z, y, x, 0].iter().flat_map(|&n| (n as i32).to_ne_bytes()));
        bytes
    }
}
