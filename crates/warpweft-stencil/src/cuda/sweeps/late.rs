//! How kernels of several steps come to an executor, and which takes a sweep.

use std::time::Instant;

use super::CudaSweeps;
use crate::cuda::fused::arrivals::{Arrivals, Order};
use crate::cuda::fused::contest::SINGLE;
use crate::cuda::fused::{Fused, Whole};
use crate::cuda::policy::kernels::Compile;
use crate::cuda::text::fused_text;
use crate::{CudaPolicy, Spec, Sweep};
use warpweft_core::cuda::{Cubin, Module, cached, compile};
use warpweft_core::error::Result;
use warpweft_core::grid::Axes;

/// Seconds of sweeps after which a computation of unknown length compiles other kernels.
const PATIENCE: f64 = 1.0;

/// The kernels of several steps by `policies`, where there are such.
pub(in crate::cuda) fn orders(
    stencil: &Spec,
    extents: Axes<usize>,
    policies: &[CudaPolicy],
    arch: &str,
) -> Vec<Order> {
    let names: Vec<_> = stencil.stages.iter().map(|stage| stage.name()).collect();
    let name = format!("fused steps of {}", names.join(" + "));
    let order = |&policy: &CudaPolicy| {
        let text = fused_text(stencil, extents, &policy)?;
        Some(Order { policy, text, name: name.clone(), arch: arch.into() })
    };
    policies.iter().filter_map(order).collect()
}

impl CudaSweeps {
    /// Takes the kernels of `policies` that are there, or compiles them, now or later.
    pub(in crate::cuda) fn order(
        &mut self,
        extents: Axes<usize>,
        policies: &[CudaPolicy],
        when: Compile,
    ) -> Result<()> {
        let arch = self.stream.device().arch()?;
        let mut later = Vec::new();
        for (rank, order) in orders(&self.stencil, extents, policies, &arch).into_iter().enumerate()
        {
            let (source, options) = (&order.text.source, order.options());
            let found = match when {
                Compile::First => Some(compile(source, &order.name, &arch, &options)?),
                _ => cached(source, &order.name, &arch, &options)?,
            };
            match found {
                Some(cubin) if when == Compile::First => self.attach(order, &cubin)?,
                Some(cubin) => self.receive_kernel(order, Ok(cubin)),
                None if rank > 0 && when == Compile::Foremost => {}
                None => later.push(order),
            }
        }
        match when {
            Compile::Foremost => self.arrivals = Some(Arrivals::start(later, 1)),
            Compile::Meanwhile(threads) => self.arrivals = Some(Arrivals::start(later, threads)),
            Compile::Eventually(threads) => self.eventually = Some((0.0, later, threads)),
            Compile::First | Compile::Never => {}
        }
        Ok(())
    }

    /// Makes a compiled kernel one of those that may take sweeps.
    fn attach(&mut self, order: Order, cubin: &Cubin) -> Result<()> {
        self.notes.extend(cubin.notes.iter().cloned());
        let module = Module::load(self.stream.device(), cubin)?;
        let by = (order.policy, order.text.shape);
        let fused = Fused::new(by, &module, &self.queue(), &self.stream)?;
        self.fused.push(fused);
        self.contest.enter();
        // They were made for the kernel before.
        self.parts.clear();
        Ok(())
    }

    /// Takes in what has been compiled; what can't be had is a note.
    pub(in crate::cuda) fn welcome(&mut self) -> Result<()> {
        while let Some((order, compiled)) = self.arrivals.as_mut().and_then(Arrivals::next) {
            self.receive_kernel(order, compiled);
        }
        Ok(())
    }

    fn receive_kernel(&mut self, order: Order, compiled: Result<Cubin>) {
        let what = format!("{order:?}");
        if let Err(error) = compiled.and_then(|cubin| self.attach(order, &cubin)) {
            self.notes.push(format!("the run goes on without {what}: {error}"));
        }
    }

    /// Waits for the kernels that are being compiled, for tests of the change to them.
    #[doc(hidden)]
    pub fn await_kernels(&mut self) {
        while let Some((order, compiled)) = self.arrivals.as_mut().and_then(Arrivals::wait) {
            self.receive_kernel(order, compiled);
        }
        self.await_sums();
    }

    /// The kernel of several steps that takes the next sweep; none if that takes single steps.
    pub(in crate::cuda) fn fused_now(&self) -> Option<&Fused> {
        self.fused.get(self.contest.next().checked_sub(1)?)
    }

    /// Queues a sweep of the whole volume, by one kernel and single steps for what is left.
    pub(in crate::cuda) fn sweep_whole(&mut self, sweep: &Sweep) -> Result<()> {
        let expected = self.expected(&self.given.clone());
        let next = self.contest.next();
        let fused = next.checked_sub(1).and_then(|at| self.fused.get(at));
        let depth = fused.map_or(1, Fused::depth);
        let mut steps = sweep.steps;
        let stays = fused.is_some_and(|fused| fused.resident().is_some());
        // What fewer steps take says nothing of the kernel. Single steps that are left are part of what it costs.
        let timed = !sweep.keep_change && (stays || steps >= depth) && steps > 0;
        // Nor does what was queued behind other work.
        let timed = timed && !std::mem::replace(&mut self.busy, true);
        self.history
            .add(fused.map(|fused| fused.policy).filter(|_| stays || steps >= depth), sweep);
        self.timing = timed.then(|| (next, steps, Instant::now()));
        if stays {
            // Of functions that neither fault nor go on for ever.
            return self.stay(next - 1, steps);
        }
        if let Some(Fused { whole: Whole::Passes(passes), .. }) =
            next.checked_sub(1).and_then(|at| self.fused.get_mut(at))
        {
            // SAFETY: the arrays live as long as `self`, and dropping one waits for the device.
            self.state = unsafe { passes.run(&self.stream, steps / depth, self.state)? };
            self.history.passes += steps / depth;
            steps %= depth;
            if let Some(queued) = self.queue().faces_now(self.state).filter(|_| steps > 0) {
                // SAFETY: as above.
                unsafe { queued.launch(&self.stream)? };
            }
        }
        self.history.passes += steps;
        // The last of single steps takes in what is expected.
        let expected = expected.filter(|_| next == SINGLE && steps > 0 && self.faces.is_none());
        let last = u64::from(expected.is_some());
        // SAFETY: as above.
        self.state = unsafe { self.step.run(&self.stream, steps - last, self.state)? };
        match expected {
            Some(expected) if self.step_summed(expected)? => {}
            // SAFETY: as above.
            _ => self.state = unsafe { self.step.run(&self.stream, last, self.state)? },
        }
        Ok(())
    }

    /// Notes what the last sweep took, which is done.
    pub(in crate::cuda) fn timed(&mut self) {
        if let Some((kernel, steps, begun)) = self.timing.take() {
            let seconds = begun.elapsed().as_secs_f64();
            self.contest.took(kernel, seconds / steps as f64);
            self.spend(seconds);
        }
    }

    /// Begins to compile what is to be compiled eventually, after enough seconds of sweeps.
    fn spend(&mut self, seconds: f64) {
        if let Some((spent, _, _)) = &mut self.eventually {
            *spent += seconds;
        }
        if let Some((_, orders, threads)) = self.eventually.take_if(|it| it.0 > PATIENCE) {
            self.arrivals = Some(Arrivals::start(orders, threads));
        }
    }

    /// Gives up kernels that are still to be compiled.
    pub(in crate::cuda) fn end_compiling(&mut self) {
        self.arrivals = None;
    }
}

const _: () = assert!(SINGLE == 0);
