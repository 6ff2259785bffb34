//! Sweeps over slabs across the slowest axis. Not: which axis of the user's that is (`executor`).

use super::compile::{compile_for, cut_of};
use super::cut;
use super::policy::{Exchange, MultiCudaPolicy};
use super::slab::{Problem, Slab};
use crate::cuda::arrays::{Unused, store_unused};
use crate::cuda::resident::Resident;
use crate::cuda::text::cut_step_text;
use crate::points::{add_to, value_of};
use crate::total::Total;
use crate::{Region, Residual, Spec, Sweep, SweepExecutor};
use warpweft_core::cuda::{Cubin, Device, Event};
use warpweft_core::error::{Error, Result};
use warpweft_core::grid::{RawVolume, RawVolumeMut};

/// Runs sweeps over a copy of a volume that is cut into slabs across its slowest axis, one a GPU.
pub(super) struct Slabs<const D: usize> {
    pub(super) problem: Problem<D>,
    /// Which state the arrays are in.
    pub(super) state: usize,
    /// Per slab: its last stage is done, and it has taken its neighbours' planes.
    pub(super) marks: Vec<[Event; 2]>,
    pub(super) slabs: Vec<Slab>,
    /// Whether slabs share a device.
    pub(super) shared: bool,
    unused: Unused,
    notes: Vec<String>,
    /// Steps after which the present ghosts of function faces are, once there are any.
    faced: Option<u64>,
    /// Whether ghosts have yet to follow cells that were added to.
    stale: bool,
}

impl<const D: usize> Slabs<D> {
    /// Compiles the step for `devices` (or takes it from the cache), cuts `volume` into as many
    /// slabs and copies each to its device.
    ///
    /// # Errors
    /// As [`Spec::check`] and [`super::super::CudaSweeps::new`]; no devices; one-dimensional
    /// volumes over several; slabs thinner than the footprint; [`MultiCudaPolicy::check_flags`].
    pub fn new(
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
        policy: &MultiCudaPolicy,
        devices: &[Device],
    ) -> Result<Self> {
        let extents = volume.extents();
        stencil.check_volume(volume)?;
        if D == 1 {
            return Err(Error::spec(
                "a line of cells over several GPUs",
                "run lines on one GPU: no line that fits is long enough to share",
            ));
        }
        // All blocks of a launch begun early wait, edge tiles or not: on a device that slabs share these
        // could take the room of the launch that they wait for.
        let shared = (1..devices.len()).any(|n| devices[..n].contains(&devices[n]));
        let cuda = policy.cuda.shaped::<D>()?;
        let policy = MultiCudaPolicy { cuda, early: policy.early && !shared, ..*policy };
        let slabs = policy.slabs(stencil, extents, devices.len())?;
        policy.check(stencil, extents, devices)?;
        let copies = policy.exchange == Exchange::Copies;
        let layout = cut::layout(stencil, &policy, extents, &slabs[0], [0, slabs.len()])?;
        let strided = policy.grid::<D>(&layout)[2] > 65_535;
        let text = cut_step_text(stencil, &policy.cuda, strided, cut_of(&policy));
        let problem = Problem { stencil: stencil.clone(), extents, policy, text, slabs };
        open_links(&problem, devices)?;
        let mut compiled: Vec<(String, [Cubin; 2])> = Vec::new();
        let mut slabs = Vec::new();
        for (part, device) in devices.iter().enumerate() {
            let arch = device.arch()?;
            let at = match compiled.iter().position(|(for_arch, _)| *for_arch == arch) {
                Some(at) => at,
                None => {
                    let cubins = compile_for(&problem, &arch)?;
                    compiled.push((arch, cubins));
                    compiled.len() - 1
                }
            };
            slabs.push(Slab::new(&problem, part, volume, device, compiled[at].1.each_ref())?);
        }
        let marks = devices.iter().map(|device| Ok([Event::new(device)?, Event::new(device)?]));
        let marks = marks.collect::<Result<_>>()?;
        let notes = compiled.iter().flat_map(|(_, cubins)| cubins).flat_map(|it| &it.notes);
        let notes = notes.cloned().collect();
        // From here on dropping waits for all devices; before, no slab knows of another.
        let unused = slabs.first().map_or_else(Vec::new, |slab| slab.unused(volume));
        let (faced, stale) = (None, false);
        let mut sweeps =
            Self { problem, state: 0, marks, slabs, shared, unused, notes, faced, stale };
        sweeps.check_residency()?;
        for part in 0..sweeps.slabs.len() {
            let device = devices[part];
            let beside = devices.iter().filter(|&&other| other == device).count();
            sweeps.slabs[part].settle_tiles(&sweeps.problem, beside)?;
        }
        for part in 0..sweeps.slabs.len() {
            let neighbours = sweeps.neighbours(part);
            let slab = &sweeps.slabs[part];
            let wired = [
                slab.wire(&sweeps.problem, neighbours, 0)?,
                slab.wire(&sweeps.problem, neighbours, 1)?,
            ];
            let trips = [
                slab.wire_trip(&sweeps.problem, neighbours, 0)?,
                slab.wire_trip(&sweeps.problem, neighbours, 1)?,
            ];
            sweeps.slabs[part].steps = wired;
            if let [Some(even), Some(odd)] = trips {
                sweeps.slabs[part].trips = Some([even, odd]);
            }
        }
        let stay = sweeps.problem.text.resident.is_some();
        if copies || stay || sweeps.problem.policy.steps_a_turn() > 1 {
            // The ghosts of ghost planes, beyond faces of other axes.
            sweeps.mark_stages()?;
            sweeps.exchange(&sweeps.slabs[0].used(0))?;
        }
        // Nothing of a slab may be stored to by a neighbour before it is all there.
        sweeps.slabs.iter().try_for_each(|slab| slab.stream.synchronize())?;
        Ok(sweeps)
    }

    /// The policy in use, with 1 for the axes that the volume lacks.
    pub fn policy(&self) -> &MultiCudaPolicy {
        &self.problem.policy
    }

    /// What compiling wants to tell the user, e.g. that a damaged kernel was compiled anew.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The devices, in the order of their slabs, as reports call them.
    pub fn devices(&self) -> Vec<String> {
        self.slabs.iter().map(|slab| slab.stream.device().label().to_owned()).collect()
    }

    /// Registers and bytes of local memory a thread, the most of all kernels: above 0 bytes, a
    /// kernel spills registers, and another policy is likely faster.
    ///
    /// # Errors
    /// The driver's.
    pub fn footprint(&self) -> Result<[u32; 2]> {
        self.slabs[0].footprint(&self.problem)
    }

    pub(super) fn neighbours(&self, part: usize) -> [Option<&Slab>; 2] {
        self.problem.neighbours(part).map(|slab| slab.map(|slab| &self.slabs[slab]))
    }

    /// Slabs that share a device must leave room on it while their edge tiles wait for one another.
    fn check_residency(&self) -> Result<()> {
        if self.problem.policy.exchange == Exchange::Copies || self.problem.text.resident.is_some()
        {
            return Ok(());
        }
        for (part, slab) in self.slabs.iter().enumerate() {
            let beside = self.slabs.iter().enumerate();
            let beside: Vec<_> =
                beside.filter(|(_, other)| other.stream.device() == slab.stream.device()).collect();
            let (mut waiting, mut resident) = (0, usize::MAX);
            for &(other, beside) in &beside {
                let [edge, room] = beside.residency(&self.problem, other)?;
                waiting += edge;
                resident = resident.min(room);
            }
            if beside.len() > 1 && waiting >= resident {
                return Err(Error::spec(
                    format!(
                        "{} slabs on {} with {waiting} blocks at cuts, beside slab {part}",
                        beside.len(),
                        slab.stream.device().label()
                    ),
                    "give every slab a GPU of its own, or exchange by copies",
                ));
            }
        }
        Ok(())
    }

    /// Fails once a tile has waited too long: the slabs have parted for good.
    fn check_flags(&self) -> Result<()> {
        for (part, slab) in self.slabs.iter().enumerate() {
            let neighbours = self.problem.neighbours(part).map(|slab| slab.unwrap_or(part));
            slab.flags.as_ref().map_or(Ok(()), |flags| flags.check(part, neighbours))?;
            slab.landing.as_ref().map_or(Ok(()), |landing| landing.check(part, neighbours))?;
            slab.resident.as_ref().map_or(Ok(()), Resident::check)?;
        }
        Ok(())
    }

    /// The slab that has a cell.
    fn slab_of(&self, at: [usize; D]) -> Result<&Slab> {
        let found = self.slabs.iter().find(|slab| slab.planes.contains(&at[0]));
        found.ok_or_else(|| Error::spec(format!("the cell {at:?}"), "name one inside the volume"))
    }

    /// Brings ghost planes and boundaries to the cells that were added to since the last sweep.
    fn settle(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.stale) {
            return Ok(());
        }
        self.meet()?;
        self.slabs.iter().try_for_each(|slab| slab.renew(&self.problem, self.state))?;
        self.mark_stages()?;
        self.exchange(&self.slabs[0].used(self.state))?;
        // What arrived in words is older.
        for slab in &self.slabs {
            slab.landing.as_ref().map_or(Ok(()), |landing| landing.reset(&slab.stream))?;
        }
        self.meet()
    }
}

/// Lets neighbours address one another's memory, where that is how planes are exchanged.
fn open_links<const D: usize>(problem: &Problem<D>, devices: &[Device]) -> Result<()> {
    for (part, device) in devices.iter().enumerate() {
        for neighbour in problem.neighbours(part).into_iter().flatten() {
            let other = &devices[neighbour];
            // Copies find their own way without, but go straight with it.
            if device != other && device.can_access(other)? {
                device.enable_peer(other)?;
            }
        }
    }
    Ok(())
}

impl<const D: usize> SweepExecutor<D> for Slabs<D> {
    fn sweep(&mut self, sweep: &Sweep<D>) -> Result<()> {
        let whole = Region { low: [0; D], high: self.problem.extents };
        if sweep.region != whole {
            return Err(Error::spec(
                format!("a sweep over {:?} of {:?}", sweep.region, whole.high),
                "sweep whole volumes on GPUs",
            ));
        }
        self.check_flags()?;
        self.settle()?;
        if self.faced != Some(sweep.first_step) {
            let at = (sweep.first_step, self.state);
            self.slabs.iter().try_for_each(|slab| slab.face(&self.problem, at))?;
        }
        if sweep.keep_change {
            let (problem, state) = (&self.problem, self.state);
            self.slabs.iter_mut().try_for_each(|slab| slab.keep(problem, state))?;
        }
        self.state = match self.problem.policy.exchange {
            Exchange::Copies => self.run_by_copies(sweep.steps)?,
            _ => self.run_by_devices(sweep.steps)?,
        };
        self.faced = Some(sweep.first_step + sweep.steps);
        Ok(())
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        let (problem, state) = (&self.problem, self.state);
        self.slabs.iter().try_for_each(|slab| slab.measure(problem, kind, state))?;
        let mut total = Total::default();
        for slab in &self.slabs {
            total.merge(&slab.changes()?);
        }
        self.finish()?;
        Ok(kind.of_total(&total))
    }

    fn finish(&mut self) -> Result<()> {
        let done: Vec<_> = self.slabs.iter().map(|slab| slab.finish(&self.problem)).collect();
        self.check_flags()?;
        done.into_iter().collect()
    }

    fn add(&mut self, field: usize, at: &[[usize; D]], amount: f64) -> Result<()> {
        self.finish()?;
        let kind = self.problem.stencil.cell.kind(field);
        let mut bytes = [0u8; 8];
        let bytes = &mut bytes[..kind.size()];
        for &at in at {
            let slab = self.slab_of(at)?;
            let (array, offset) = slab.place(field, self.state, at)?;
            slab.stream.download(array, offset, bytes)?;
            add_to(kind, bytes, amount);
            slab.stream.upload(array, offset, bytes)?;
        }
        self.stale = true;
        Ok(())
    }

    fn sample(&mut self, field: usize, at: &[[usize; D]]) -> Result<Vec<f64>> {
        let kind = self.problem.stencil.cell.kind(field);
        let value = |&at: &[usize; D]| {
            let mut bytes = [0u8; 8];
            let bytes = &mut bytes[..kind.size()];
            let slab = self.slab_of(at)?;
            let (array, offset) = slab.place(field, self.state, at)?;
            slab.stream.download(array, offset, bytes)?;
            Ok(value_of(kind, bytes))
        };
        at.iter().map(value).collect()
    }

    fn store(&mut self, volume: RawVolumeMut<'_, D>) -> Result<()> {
        let volume = volume.of(self.problem.stencil.cell, self.problem.extents)?;
        self.slabs.iter().try_for_each(|slab| slab.store(&self.problem, self.state, volume))?;
        store_unused(&self.unused, volume);
        Ok(())
    }
}

impl<const D: usize> Drop for Slabs<D> {
    /// Waits for every device before any array goes: freeing one waits for its own device alone,
    /// and a neighbour's kernel may still store into it or set its flags.
    fn drop(&mut self) {
        for slab in &self.slabs {
            // After a failure here the others are waited for all the same.
            let _ = slab.stream.synchronize();
        }
    }
}

impl<const D: usize> std::fmt::Debug for Slabs<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Slabs of {:?} on {}", self.problem.extents, self.devices().join(", "))
    }
}
