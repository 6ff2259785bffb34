//! Compares a run with a plain loop: all of it, or as much as time allows.

use std::ops::RangeInclusive;

use serde_json::Value;
use warpweft::element::CellType;
use warpweft::grid::{Axes, RawVolume, across, over_parts};
use warpweft::prelude::*;
use warpweft_apps::plain::Plain;

use super::cells::Cells;
use super::window::{Part, Window};
use super::{Check, difference, no_room, worse};
use crate::interrupt::stopped;

/// Cell updates that the plain loop may do: about a second.
const PLAIN_UPDATES: u64 = 20_000_000;
/// Largest number of values that are compared completely, for at least one step: the loop takes some 50 ns
/// for each.
const WHOLE: usize = 1 << 25;
/// Cell updates in each of two boxes, if all cells would be too many: about a second.
const BOX_UPDATES: u64 = 50_000_000;
/// Side lengths of a compared box; the largest that time allows.
const SIDES: [usize; 6] = [256, 128, 64, 32, 16, 8];

/// Number of steps that the plain loop can do on `cells` cells for a run of `done` steps.
fn plain_steps(cells: usize, done: u64) -> u64 {
    (PLAIN_UPDATES / cells.max(1) as u64).max(1).min(done)
}

/// Why the comparison with a plain loop is skipped if there is not enough memory for it: two states of `f64`,
/// and the start and end of a shorter run, which may take three times the volume.
fn too_large(start: &RawVolume) -> Option<Check> {
    let fields = start.cell_type().fields();
    let values = start.len() as u64 * fields.len() as u64;
    let of_volume: u64 = fields.iter().map(|field| field.kind.size() as u64).sum();
    no_room(values * 24 + start.len() as u64 * of_volume * 4)
}

/// A run whose result is compared.
pub struct Ran<'a> {
    /// The state after it.
    pub after: &'a RawVolume,
    /// Its steps.
    pub done: u64,
    /// Twice the steps of the policy's time block plus one.
    pub block: u64,
    /// The boundaries.
    pub faces: Axes<[Boundary; 2]>,
    /// How many cells a step reads below and above.
    pub reach: Axes<[usize; 2]>,
    /// Whether all cells are compared through all steps, however long that takes.
    pub full: bool,
    /// The state after some steps of the same computation, with the same policy on the same device.
    pub again: &'a dyn Fn(u64) -> Result<RawVolume>,
}

/// A plain loop.
pub struct Loop<'a> {
    /// Number of ghost cells that it reads on every side.
    pub ghosts: usize,
    /// One step.
    pub step: &'a (dyn Fn(&mut Plain) + Sync),
    /// Whether errors are relative to the field's largest value.
    pub relative: bool,
    /// The allowed rounding error of a field after some steps, given the largest values of all fields.
    pub tolerance: &'a (dyn Fn(usize, u64, &[f64]) -> f64 + Sync),
    /// With more steps than this, the allowed error would be too large.
    pub most: u64,
}

impl Ran<'_> {
    /// Compares the run from `before` with a plain loop: all of it if that is short; else all cells of its
    /// first steps, and boxes over whole time blocks of the policy.
    ///
    /// # Errors
    /// Those of running again.
    pub fn against(&self, before: &RawVolume, plain: &Loop<'_>) -> Result<Check> {
        if let Some(none) = too_large(before) {
            return Ok(none);
        }
        let (extents, name) = (before.extents(), "straightforward loop");
        let cell = before.cell_type();
        let values = before.len() * cell.len();
        let few = match self.full {
            true => self.done,
            false => plain_steps(values, self.done),
        };
        let few = few.min(plain.most);
        // After more steps the comparison would pass whatever was computed, or take too long.
        let most = |steps| if steps == plain.most { Most::Told } else { Most::Time };
        let part = |steps| first_of(steps, self.done, most(steps));
        let block = self.block.min(self.done).min(plain.most);
        let all = (values <= WHOLE || block == 0 || self.full).then(|| {
            let short = if few == self.done { None } else { Some((self.again)(few)?) };
            let whole = Window::whole(extents, self.faces);
            let off = plain.off(before, short.as_ref().unwrap_or(self.after), &whole, few);
            Ok(off.check(cell, name))
        });
        let all = all.transpose()?;
        let shortest = match &all {
            Some(all) if few == self.done => return Ok(all.clone()),
            Some(all) if all.passed != Some(true) || few >= block => {
                return Ok(all.clone().of(part(few)));
            }
            Some(_) => few + 1,
            None => 1,
        };
        let Some((steps, boxes)) = self.boxes(extents, shortest..=block) else {
            return Ok(all.map_or_else(|| Check::none("it is too large"), |all| all.of(part(few))));
        };
        let again = if steps == self.done { None } else { Some((self.again)(steps)?) };
        let after = again.as_ref().unwrap_or(self.after);
        let off = |window: &Window| plain.off(before, after, window, steps);
        Ok(match &boxes[..] {
            [one] if steps == self.done => off(one).check(cell, name),
            [one] => off(one).check(cell, name).of(part(steps)),
            [middle, upper, ..] => {
                let cells = across(&middle.compared());
                let through = match (steps == self.done, &all) {
                    (true, _) => "all steps".into(),
                    (false, Some(_)) => format!("the first {steps}"),
                    (false, None) => part(steps),
                };
                let boxes = format!("two boxes of {cells} cells through {through}");
                let part = match all {
                    Some(_) => format!("{} and {boxes}", first_of(few, self.done, Most::Both)),
                    None => boxes,
                };
                let both = over_parts(2, 1, |which| off([middle, upper][which.start]));
                let worst = both.into_iter().reduce(Off::worse).unwrap_or(Off::NONE);
                worst.check(cell, name).of(part)
            }
            [] => Check::none("it is too large"),
        })
    }

    /// Two boxes through as many of `steps` steps as time allows, or one if it is the whole volume.
    fn boxes(
        &self,
        extents: Axes<usize>,
        steps: RangeInclusive<u64>,
    ) -> Option<(u64, Vec<Window>)> {
        let fields = self.after.cell_type().len() as u64;
        let fits = |window: &Window, steps: u64| {
            let cells = window.extents.iter().fold(fields, |all, &n| all.saturating_mul(n as u64));
            cells.saturating_mul(steps) <= BOX_UPDATES
        };
        steps.rev().find_map(|steps| {
            SIDES.iter().find_map(|&side| {
                let of = |part| {
                    Window::of(extents, self.faces, self.reach, (steps as usize, side, part))
                };
                let mut boxes = vec![of(Part::Middle)];
                if boxes[0].compared() != extents {
                    boxes.push(of(Part::Upper));
                }
                boxes.iter().all(|window| fits(window, steps)).then_some((steps, boxes))
            })
        })
    }
}

/// Why no further steps are compared.
#[derive(Clone, Copy, PartialEq)]
enum Most {
    /// They would take too long.
    Time,
    /// Rounding errors may be as large as real errors.
    Told,
    /// Fewer cells are compared through further steps.
    Both,
}

/// Which of the `done` steps were compared, and why no others.
fn first_of(steps: u64, done: u64, why: Most) -> String {
    let first = if steps == 1 { "first".into() } else { format!("first {steps}") };
    let why = match why {
        Most::Time => ", as many as time allows",
        Most::Told => ", because later rounding errors may be as large as real errors",
        Most::Both => "",
    };
    format!("the {first} of {done} steps{why}")
}

/// The error of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Off {
    /// Its number.
    field: usize,
    /// The largest error of a cell.
    error: f64,
    /// The allowed rounding error.
    allowed: f64,
}

impl Off {
    /// Of nothing that is compared.
    const NONE: Self = Self { field: 0, error: 0.0, allowed: 0.0 };

    /// The error with the larger fraction of what is allowed; NaN comes first.
    fn worse(self, other: Self) -> Self {
        let share = |off: Self| if off.error == 0.0 { 0.0 } else { off.error / off.allowed };
        let (a, b) = (share(self), share(other));
        if a.is_nan() || a >= b { self } else { other }
    }

    /// The check with this as the largest error of all fields.
    fn check(self, cell: CellType, reference: &str) -> Check {
        let of = match cell.fields() {
            [_] => reference.to_string(),
            fields => format!("{reference}, in {}", fields[self.field].name),
        };
        Check::made(of, self.error, self.allowed)
    }
}

impl Loop<'_> {
    /// The error of `after`, `steps` steps after `before`, in the cells of `window`: of all fields the one
    /// with the largest fraction of what is allowed.
    fn off(&self, before: &RawVolume, after: &RawVolume, window: &Window, steps: u64) -> Off {
        let all = 0..before.cell_type().len();
        let fields = all.clone().map(|f| {
            let before = Cells::of(before, f);
            window.cells().map(move |(at, _)| before.at(at))
        });
        let mut plain = Plain::of_fields(&window.extents, self.ghosts, &window.faces, fields);
        (0..steps).take_while(|_| !stopped()).for_each(|_| (self.step)(&mut plain));
        // Of the whole field: in a box that the waves have not reached, everything is rounding.
        let (relative, tolerance) = (self.relative, self.tolerance);
        let largest = |field: usize| match relative {
            false => 1.0,
            true => plain
                .cells_of(field)
                .into_iter()
                .filter(|value| value.is_finite())
                .chain(largest_of(after, field))
                .fold(f64::MIN_POSITIVE, |most, value| most.max(value.abs())),
        };
        let most = over_parts(all.len(), 1, |field| largest(field.start));
        let of_field = |field: usize| {
            let (cells, expect) = (Cells::of(after, field), plain.cells_of(field));
            let pairs = window.cells().zip(&expect).filter(|((_, right), _)| *right);
            let error = pairs
                .map(|((at, _), &b)| difference(cells.at(at), b) / most[field])
                .fold(0.0, worse);
            Off { field, error, allowed: tolerance(field, steps, &most) }
        };
        let fields = over_parts(all.len(), 1, |field| of_field(field.start));
        fields.into_iter().reduce(Off::worse).unwrap_or(Off::NONE)
    }
}

/// The largest magnitude of a field's finite cells, if there are any.
fn largest_of(volume: &RawVolume, field: usize) -> Option<f64> {
    let parts = Cells::by_parts(volume, field, None, |most, cells| {
        let finite = cells.iter().map(|cell| cell.abs()).filter(|value| value.is_finite());
        most.into_iter().chain(finite).reduce(f64::max)
    });
    parts.into_iter().flatten().reduce(f64::max)
}

/// Twice the steps of the deepest time block of `policy` (as reports print it) plus one.
pub fn block(policy: &Value) -> u64 {
    let deepest = ["", "/cuda", "/rank", "/rank/cuda"]
        .iter()
        .flat_map(|of| [format!("{of}/temporal_depth"), format!("{of}/depth")])
        .filter_map(|at| policy.pointer(&at)?.as_u64())
        .max();
    deepest.unwrap_or(1).saturating_mul(2).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use warpweft_apps::soup::SplitMix;

    use super::super::cells::put;
    use super::*;

    #[test]
    fn the_loop_does_at_least_one_step_and_at_most_all() {
        assert_eq!(plain_steps(usize::MAX, 10), 1);
        assert_eq!(plain_steps(16, 10), 10);
        assert_eq!(plain_steps(1_000_000, 1_000), 20);
    }

    #[test]
    fn the_worst_field_is_the_nearest_to_its_own_tolerance() {
        let off = |field, error, allowed| Off { field, error, allowed };
        let worst = |fields: &[Off]| fields.iter().copied().reduce(Off::worse).unwrap().field;
        assert_eq!(worst(&[off(0, 2.0, 9.0), off(1, 1.0, 2.0), off(2, 3.0, 90.0)]), 1);
        // If nothing is allowed, any error is the largest.
        assert_eq!(worst(&[off(0, 9.0, 1.0), off(1, 1e-9, 0.0), off(2, 0.0, 0.0)]), 1);
        for nan in [0, 1] {
            let error = |field| if field == nan { f64::NAN } else { 7.0 };
            assert_eq!(worst(&[off(0, error(0), 0.0), off(1, error(1), 0.0)]), nan);
        }
    }

    /// A volume of noise, and its state after `steps` steps of the loop.
    fn example(faces: [[Boundary; 2]; 3], steps: u64) -> [RawVolume; 2] {
        let mut noise = SplitMix::new(5);
        let before = Volume::from_fn([30, 40, 50], |_| noise.next_unit());
        let mut plain = Plain::new(&[30, 40, 50], 1, &faces, before.as_slice().iter().copied());
        (0..steps).for_each(|_| mean(&mut plain));
        let mut cells = plain.cells().into_iter();
        let after = Volume::from_fn([30, 40, 50], |_| cells.next().unwrap());
        [before.into_raw(), after.into_raw()]
    }

    fn mean(plain: &mut Plain) {
        plain.step(|u| 0.5 * u.at([0, 0, 0]) + 0.25 * (u.at([0, 1, -1]) + u.at([1, 0, 1])));
    }

    #[test]
    fn boxes_are_right_where_they_are_compared_and_wrong_cells_are_seen() {
        use Boundary::{Dirichlet, Mirror, Neumann, Periodic};
        let plain = Loop {
            ghosts: 1,
            step: &mean,
            relative: true,
            tolerance: &|_, _, _| 0.0,
            most: 1 << 20,
        };
        for faces in
            [[[Periodic; 2]; 3], [[Neumann, Dirichlet(2.0)], [Periodic; 2], [Mirror, Neumann]]]
        {
            let [before, mut after] = example(faces, 7);
            for part in [Part::Middle, Part::Upper] {
                let window =
                    Window::of([30, 40, 50].into(), faces.into(), [[1, 1]; 3].into(), (7, 8, part));
                assert!(window.extents.iter().zip([30, 40, 50]).all(|(&n, whole)| n < whole));
                assert_eq!(plain.off(&before, &after, &window, 7).error, 0.0, "{part:?}");
                // One step too few, and one wrong cell.
                assert!(plain.off(&before, &after, &window, 6).error > 0.0);
                let (at, _) = window.cells().filter(|(_, right)| *right).last().unwrap();
                let right = Cells::of(&after, 0).at(at);
                put(&mut after, 0, at, &[right + 1e-9]);
                assert!(plain.off(&before, &after, &window, 7).error > 0.0);
                put(&mut after, 0, at, &[right]);
            }
        }
    }

    #[test]
    fn what_is_compared_to_its_end_is_so_without_reserve_and_is_not_run_again() {
        let steady = Loop {
            ghosts: 1,
            step: &mean,
            relative: true,
            tolerance: &|_, _, _| 0.0,
            most: 1 << 20,
        };
        let faces = [[Boundary::Periodic; 2]; 3];
        let [start, _] = example(faces, 0);
        // More than the loop may do for all cells, but not more than for a box.
        let done = plain_steps(start.len(), u64::MAX) + 7;
        let [_, after] = example(faces, done);
        let again = |steps| {
            assert!(steps < done);
            let [_, state] = example(faces, steps);
            Ok(state)
        };
        let ran = Ran {
            after: &after,
            done,
            block: done,
            faces: faces.into(),
            reach: [[1; 2]; 3].into(),
            full: false,
            again: &again,
        };
        let check = ran.against(&start, &steady).unwrap();
        assert_eq!((check.passed, check.part), (Some(true), None));
    }

    #[test]
    fn a_long_run_is_checked_over_whole_blocks() {
        let faces = [[Boundary::Periodic; 2]; 3];
        let again = |_| RawVolume::zeroed(CellType::of::<f32>(), [1; 3]);
        let after = again(0).unwrap();
        let reach = [[1; 2]; 3];
        let ran = Ran {
            after: &after,
            done: 200,
            block: 41,
            faces: faces.into(),
            reach: reach.into(),
            full: false,
            again: &again,
        };
        let (steps, boxes) = ran.boxes([256; 3].into(), 2..=41).unwrap();
        assert_eq!((steps, boxes.len(), boxes[0].compared()), (41, 2, [16; 3].into()));
        // If time allows the whole volume, there is one box, not two.
        let (steps, boxes) = ran.boxes([100; 3].into(), 21..=41).unwrap();
        assert_eq!((steps, boxes.len(), boxes[0].compared()), (41, 1, [100; 3].into()));
        // Deeper than time allows: as deep as possible.
        let (steps, _) = Ran { block: 8193, ..ran }.boxes([256; 3].into(), 2..=8193).unwrap();
        assert!((41..8193).contains(&steps), "{steps}");
        assert_eq!(block(&serde_json::json!({"temporal_depth": 20})), 41);
        assert_eq!(block(&serde_json::json!({"depth": 3, "rank": {"temporal_depth": 2}})), 7);
    }
}
