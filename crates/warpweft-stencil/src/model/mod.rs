//! The roofline of a stencil: what memory alone allows.
//!
//! A stage must read every field it uses once and write every field it assigns once; all other
//! reads are of cells that were read before and can come from a cache. The roofline assumes one step per
//! pass over memory. A time block of `depth` steps moves the bytes once for all its steps, so it may exceed the roofline.

pub mod ghost;

use warpweft_core::element::CellType;

use super::spec::Spec;
use crate::spec::stage::RawTap;

/// What the model says of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes that must move between memory and the device.
    pub bytes: u64,
    /// Cells a second that memory allows at one step in a pass over memory, if its rate is known.
    pub bound: Option<f64>,
    /// Seconds the run should take, if a rate is known from measurement or memory limits it.
    pub seconds: Option<f64>,
}

/// The steps that an executor fuses in one pass over memory.
#[derive(Clone, Copy, Debug)]
pub struct FusedSteps {
    /// Steps of one, where there are as many.
    pub steps: u64,
    /// Whether fewer are a pass each, as next to a GPU's fused steps, and not one together.
    pub whole: bool,
}

impl FusedSteps {
    /// A pass a step.
    pub const STEP: Self = Self { steps: 1, whole: true };

    /// Passes that `steps` steps take which nothing cuts short.
    pub fn count(self, steps: u64) -> u64 {
        let fused_steps = self.steps.max(1);
        let rest = steps % fused_steps;
        steps / fused_steps + if self.whole { rest } else { rest.min(1) }
    }
}

impl Spec {
    /// Bytes that one step must move for one cell: per stage each field read and each field
    /// written, once.
    pub fn step_bytes(&self) -> usize {
        let stages = self.stages.iter();
        stages
            .map(|stage| {
                bytes_of(self.cell, reads(stage.taps())) + bytes_of(self.cell, mask(stage.writes()))
            })
            .sum()
    }

    /// Bytes of a cell's fields that any stage reads or writes.
    pub fn touched_bytes(&self) -> usize {
        let touched = self.stages.iter().map(|s| reads(s.taps()) | mask(s.writes()));
        bytes_of(self.cell, touched.fold(0, |all, fields| all | fields))
    }

    /// What `steps` steps over `cells` cells cost that take so many `passes` to memory.
    ///
    /// `bandwidth` is the measured copy rate in bytes a second, read and written together;
    /// `rate` is a rate in cells a second that tuning measured for the same problem.
    pub fn predict(
        &self,
        cells: usize,
        steps: u64,
        passes: u64,
        bandwidth: Option<f64>,
        rate: Option<f64>,
    ) -> Prediction {
        let bytes = self.step_bytes() as u64 * cells as u64 * passes;
        let work = cells as f64 * steps as f64;
        let bound = bandwidth.map(|bandwidth| bandwidth / self.step_bytes().max(1) as f64);
        // A block of several steps is limited by the cores, about which memory says nothing.
        let limited = bound.filter(|_| passes == steps);
        Prediction { bytes, bound, seconds: rate.or(limited).map(|rate| work / rate) }
    }
}

fn reads(taps: &[RawTap]) -> u32 {
    taps.iter().fold(0, |fields, tap| fields | 1 << tap.field)
}

fn mask(fields: &[usize]) -> u32 {
    fields.iter().fold(0, |mask, field| mask | 1 << field)
}

fn bytes_of(cell: CellType, fields: u32) -> usize {
    let sizes = cell.fields().iter().enumerate().filter(|(f, _)| fields >> f & 1 == 1);
    sizes.map(|(_, field)| field.kind.size()).sum()
}

#[cfg(test)]
mod tests {
    use super::FusedSteps;
    use crate::prelude::*;

    #[derive(Clone, Copy, Fields)]
    #[repr(C)]
    struct Flow {
        height: f64,
        speed: f32,
        depth: f32,
    }

    #[stencil]
    fn push(now: Near<Flow, 1>, next: &mut Flow) {
        next.speed = now.speed[[0]] + 0.1 * (now.depth[[0]] - now.depth[[1]]);
    }

    #[stencil]
    fn rise(now: Near<Flow, 1>, next: &mut Flow) {
        next.height = now.height[[0]] + now.speed[[-1]] as f64;
    }

    #[test]
    fn every_field_counts_once_a_stage_and_direction() {
        // push reads speed and depth and writes speed; rise reads height and speed, writes height.
        let stencil = Stencil::sequence((push(), rise()));
        assert_eq!(stencil.step_bytes(), (4 + 4 + 4) + (8 + 4 + 8));
        assert_eq!(stencil.touched_bytes(), 16);
    }

    #[test]
    fn a_block_moves_its_bytes_once() {
        let stencil = Stencil::of(push());
        let untiled = stencil.predict(1000, 10, 10, Some(1.2e9), None);
        assert_eq!((untiled.bytes, untiled.bound), (12 * 1000 * 10, Some(1e8)));
        assert_eq!(untiled.seconds, Some(1e4 / 1e8));
        let blocks = stencil.predict(
            1000,
            10,
            FusedSteps { steps: 4, whole: false }.count(10),
            Some(1.2e9),
            Some(5e7),
        );
        assert_eq!((blocks.bytes, blocks.bound), (12 * 1000 * 3, Some(1e8)));
        assert_eq!(blocks.seconds, Some(1e4 / 5e7));
    }
}
