//! Other stages over the same arrays, a step at a time: their kernels are kept, so that a program may go to and fro
//! between functions. Only kernels of single steps are made for them.

use std::sync::Arc;

use super::CudaSweeps;
use crate::cuda::adopted::{Adopted, Known, functions};
use crate::cuda::launch::ghosts;
use crate::cuda::launch::place::Placed;
use crate::cuda::launch::queue::Queue;
use crate::cuda::limits::check_device;
use crate::cuda::single::{compiled_step, kernel};
use crate::cuda::summing::Summing;
use crate::cuda::tables::on_device;
use crate::cuda::text::{grid, step_text};
use crate::plan::cone::{Cone, Cones};
use crate::{CudaPolicy, Spec, Sweep};
use warpweft_core::error::Result;

/// The fields that any of `stages` reads next to the cell: along one axis, and along several at once.
fn neighbour_fields<'a>(stages: impl Iterator<Item = &'a Arc<dyn crate::Stage>>) -> [u32; 2] {
    let mut fields = [0; 2];
    for tap in stages.flat_map(|stage| stage.taps()) {
        let axes = tap.offset.iter().filter(|&&offset| offset != 0).count();
        for (least, fields) in (1..).zip(&mut fields) {
            *fields |= u32::from(axes >= least) << tap.field;
        }
    }
    fields
}

impl CudaSweeps {
    /// [`crate::SweepExecutor::adopt`].
    pub(in crate::cuda) fn go_by(&mut self, stencil: &Spec) -> Result<bool> {
        let own = stencil.stages.len() == self.given.len()
            && stencil.stages.iter().zip(&self.given).all(|(a, b)| Arc::ptr_eq(a, b));
        if own {
            return self.go_by_own().map(|()| true);
        }
        let functions = functions(&stencil.stages);
        let known = self.others.iter().position(|other| other.functions == functions);
        if let Some(known) = known {
            // The same functions with other parameters, which are arguments of launches.
            self.others[known].stencil.stages = on_device(&stencil.stages, &self.stream)?;
            self.by = Some(known);
            return Ok(true);
        }
        stencil.check(self.extents())?;
        if stencil.has_functions() || !self.has_room_for(stencil) {
            return Ok(false);
        }
        let adopted = self.adopted(stencil, functions)?;
        self.others.push(adopted);
        self.by = Some(self.others.len() - 1);
        Ok(true)
    }

    /// Whether the arrays are as many and have as many ghosts as `stencil` needs, and whether the ghosts that it reads
    /// are renewed after every step.
    fn has_room_for(&self, stencil: &Spec) -> bool {
        let all = self.stencil.stages.iter().chain(&self.stencil.others);
        let (renewed, read) =
            (neighbour_fields(all.clone()), neighbour_fields(stencil.stages.iter()));
        let faces = ghosts::beyond(stencil.stages.iter());
        let faces = faces.as_flattened().iter().zip(ghosts::beyond(all).into_iter().flatten());
        let reach = stencil.radius().zip(self.stencil.room());
        (0..2).all(|axes| read[axes] & !renewed[axes] == 0)
            && faces.into_iter().all(|(read, renewed)| read & !renewed == 0)
            && reach.iter().all(|(need, have)| need[0] <= have[0] && need[1] <= have[1])
            && self.arrays.hold(stencil)
    }

    /// Compiles the kernels of `stencil`.
    fn adopted(&mut self, stencil: &Spec, functions: Known) -> Result<Adopted> {
        let mut stencil = stencil.clone();
        stencil.stages = on_device(&stencil.stages, &self.stream)?;
        stencil.others = [&self.stencil.stages[..], &self.stencil.others].concat();
        let mut policy = CudaPolicy { kernel: crate::CudaKernel::Direct, ..self.single };
        if stencil.radius().iter().all(|reach| *reach == [0; 2]) {
            // Nothing is shared by neighbours: small blocks of registers, so that more threads load at once. Two updates of
            // f64 at 256^3 take 194 us on an H200, 204 us by blocks of 16 cells.
            (policy.cells, policy.warps, policy.min_blocks) = ([policy.cells[0], 1, 2], 8, 4);
        }
        let device = *self.stream.device();
        let strided = check_device(&policy, grid(&self.arrays.layout, &policy), &device)?;
        let text = step_text(&stencil, &policy, strided);
        let (module, notes) = compiled_step(&stencil, &policy, &text, &device)?;
        self.notes.extend(notes);
        let fault = if text.unit.faults() { Some(module.global("ww_fault")?) } else { None };
        let place = Placed::new(&stencil, &module, &self.arrays.layout)?;
        let kernels = text.stages.iter().map(|stage| kernel(&module, &stage.kernel, stage.shared));
        let kernels = kernels.collect::<Result<_>>()?;
        let summing = Summing::default();
        Ok(Adopted { functions, stencil, policy, text, kernels, place, fault, summing })
    }

    /// Goes back to the executor's own stages, whose launches know in which array a field is.
    fn go_by_own(&mut self) -> Result<()> {
        self.by = None;
        for f in 0..self.stencil.cell.len() {
            if self.arrays.swapped >> f & 1 == 1 {
                let from = self.arrays.current(f, self.state);
                let (from, to) = (&self.arrays.of(f)[from], &self.arrays.of(f)[1 - from]);
                self.stream.copy(to, 0, from, 0, from.bytes())?;
            }
        }
        self.arrays.swapped = 0;
        Ok(())
    }

    /// The steps of `sweep` by the functions number `by`.
    pub(in crate::cuda) fn sweep_by(&mut self, by: usize, sweep: &Sweep) -> Result<()> {
        self.clock.close();
        self.settle()?;
        let Some(stages) = self.others.get(by).map(|other| other.stencil.stages.clone()) else {
            return Ok(());
        };
        self.compute_numbers(&stages)?;
        let cone = self.cone_of(by, sweep)?;
        let expected = self.expected(&stages).filter(|_| cone.is_whole());
        for step in 0..sweep.steps {
            let expected = expected.filter(|_| step + 1 == sweep.steps);
            let mut summing = std::mem::take(&mut self.others[by].summing);
            let (summed, taking) = match expected {
                Some(expected) => self.summed_by(by, expected, &mut summing)?,
                None => (None, None),
            };
            let Some(other) = self.others.get_mut(by) else { break };
            if let Some(place) = &mut other.place {
                place.set(&self.stream, sweep.first_step + step)?;
                place.count(1);
            }
            let queue = Queue {
                stencil: &other.stencil,
                policy: &other.policy,
                deep: self.deep,
                text: summed.map_or(&other.text, |summed| &summed.text),
                tools: &self.tools,
                arrays: &self.arrays,
                faces: None,
                place: other.place.as_ref(),
                // Fused steps alone report it.
                fault: 0,
                words: taking.as_ref().map_or(0, |taking| taking.words),
            };
            let kernels = summed.map_or(&other.kernels, |summed| &summed.kernels);
            let before: Vec<_> =
                (0..self.stencil.cell.len()).map(|f| self.arrays.current(f, self.state)).collect();
            let (queued, after) =
                queue.step_from(kernels, before.clone(), |stage| cone.at(step as usize, stage))?;
            for queued in queued {
                // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
                unsafe { queued.launch(&self.stream)? };
            }
            for (f, (before, after)) in before.into_iter().zip(after).enumerate() {
                self.arrays.swapped ^= u32::from(before != after) << f;
            }
            self.history.passes += 1;
            taking.into_iter().for_each(|taking| self.end_sum(taking));
            self.others[by].summing = summing;
        }
        Ok(())
    }

    /// What `sweep` by the functions number `by` computes.
    fn cone_of(&self, by: usize, sweep: &Sweep) -> Result<Cone> {
        match sweep.region == self.whole() {
            true => Ok(Cone::whole(self.extents())),
            false => Cones::new(&self.others[by].stencil, self.extents()).of(sweep),
        }
    }

    /// Whether any of its functions can fault.
    pub(in crate::cuda) fn can_fault(&self) -> bool {
        self.fault.is_some() || self.others.iter().any(|other| other.fault.is_some())
    }

    /// Reports a fault of a function that was adopted.
    pub(in crate::cuda) fn check_others(&self) -> Result<()> {
        for other in &self.others {
            let Some(fault) = &other.fault else { continue };
            let code = fault.read::<u32>(&self.stream)?;
            if code != 0 {
                return Err(other.text.unit.fault(code, self.stream.device().label()));
            }
        }
        Ok(())
    }
}
