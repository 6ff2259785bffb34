//! The executor of sweeps over several GPUs of one host, in the user's axes.

use super::policy::MultiCudaPolicy;
use super::sweeps::Slabs;
use crate::turn::{Turn, Turned};
use crate::{Residual, Spec, Sweep, SweepExecutor};
use warpweft_core::cuda::Device;
use warpweft_core::error::Result;
use warpweft_core::grid::{RawVolume, RawVolumeMut};

/// Runs sweeps over a copy of a volume that is cut into slabs across [`MultiCudaPolicy::axis`], one a GPU.
///
/// The bits of the result depend neither on how many GPUs there are nor on the axis. Naming a GPU twice
/// gives it two slabs, which run beside one another; good for tests only.
pub struct MultiCudaSweeps<const D: usize> {
    axis: usize,
    slabs: Turned<Slabs<D>, D>,
}

impl<const D: usize> MultiCudaSweeps<D> {
    /// Compiles the step for `devices` (or takes it from the cache), cuts `volume` into as many
    /// slabs and copies each to its device. Across any but the slowest axis a turned copy of the volume
    /// takes as much host memory again while it is copied in, and out.
    ///
    /// # Errors
    /// As [`Spec::check`] and [`super::super::CudaSweeps::new`]; no devices; one-dimensional
    /// volumes over several; an axis that is not there, or that decides other corners than the slowest;
    /// slabs thinner than the footprint; [`MultiCudaPolicy::check_flags`].
    pub fn new(
        stencil: &Spec<D>,
        volume: &RawVolume<D>,
        policy: &MultiCudaPolicy,
        devices: &[Device],
    ) -> Result<Self> {
        stencil.check_volume(volume)?;
        let slowest = MultiCudaPolicy { axis: 0, ..*policy };
        let slabs =
            Turned::new(Turn::across(policy.axis)?, (stencil, volume), |stencil, volume| {
                Slabs::new(stencil, volume, &slowest, devices)
            })?;
        Ok(Self { axis: policy.axis, slabs })
    }

    /// The policy in use, with 1 for the axes that the volume lacks.
    pub fn policy(&self) -> MultiCudaPolicy {
        MultiCudaPolicy { axis: self.axis, ..*self.slabs.policy() }
    }

    /// What compiling wants to tell the user, e.g. that a damaged kernel was compiled anew.
    pub fn notes(&self) -> &[String] {
        self.slabs.notes()
    }

    /// The devices, in the order of their slabs, as reports call them.
    pub fn devices(&self) -> Vec<String> {
        self.slabs.devices()
    }

    /// Registers and bytes of local memory a thread, the most of all kernels: above 0 bytes, a
    /// kernel spills registers, and another policy is likely faster.
    ///
    /// # Errors
    /// The driver's.
    pub fn footprint(&self) -> Result<[u32; 2]> {
        self.slabs.footprint()
    }
}

impl<const D: usize> SweepExecutor<D> for MultiCudaSweeps<D> {
    fn sweep(&mut self, sweep: &Sweep<D>) -> Result<()> {
        self.slabs.sweep(sweep)
    }

    fn residual(&mut self, kind: Residual) -> Result<f64> {
        self.slabs.residual(kind)
    }

    fn finish(&mut self) -> Result<()> {
        self.slabs.finish()
    }

    fn add(&mut self, field: usize, at: &[[usize; D]], amount: f64) -> Result<()> {
        self.slabs.add(field, at, amount)
    }

    fn sample(&mut self, field: usize, at: &[[usize; D]]) -> Result<Vec<f64>> {
        self.slabs.sample(field, at)
    }

    fn store(&mut self, volume: RawVolumeMut<'_, D>) -> Result<()> {
        self.slabs.store(volume)
    }
}

impl<const D: usize> std::fmt::Debug for MultiCudaSweeps<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let axis = warpweft_core::grid::axis_name(self.axis, D);
        write!(f, "{:?} across {axis}", *self.slabs)
    }
}
