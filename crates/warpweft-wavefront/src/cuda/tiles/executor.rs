//! Runs the paper's methods: inputs in, one cooperative launch, what was kept out.

use std::time::{Duration, Instant};

use super::buffers::{Buffers, Contents, Repeated};
use super::prepared::Prepared;
use super::text::{Arguments, Extras, options, source};
use crate::cuda::filled::{Found, filled};
use crate::cuda::signature::{Values, WAITING};
use crate::cuda::tables::OnDevice;
use crate::executor::WavefrontExecutor;
use crate::model::Costs;
use crate::plan::{Plan, Shape, fitting};
use crate::policy::{Policy, TilePolicy};
use crate::recurrence::{WavefrontElement, bytes_of};
use crate::report::report;
use crate::spec::{Erased, Kept, Wavefront};
use warpweft_core::cuda::{Device, Kernel, Module, Stream, Watchdog, compile};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// How long a block may wait for another.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs any legal wavefront on one GPU by tiles.
pub struct TileExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: Option<TilePolicy>,
    extras: Extras,
    /// The last kernel and its source.
    kernel: Option<(String, Module)>,
}

impl TileExecutor {
    /// An executor on `device`; without a policy it takes [`TilePolicy::for_domain`].
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, policy: Option<TilePolicy>) -> Result<Self> {
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            policy,
            extras: Extras::default(),
            kernel: None,
        })
    }

    /// With `extras`, for measurements and tests.
    pub fn with(mut self, extras: Extras) -> Self {
        self.extras = extras;
        self
    }

    /// With another policy, or by the model.
    pub fn set_policy(&mut self, policy: Option<TilePolicy>) {
        self.policy = policy;
    }

    fn module(&mut self, source: String, name: &str) -> Result<Module> {
        if let Some((known, module)) = &self.kernel
            && *known == source
        {
            return Ok(module.clone());
        }
        let cubin = compile(&source, name, &self.device.arch()?, &options())?;
        let module = Module::load(&self.device, &cubin)?;
        self.kernel = Some((source, module.clone()));
        Ok(module)
    }

    /// Everything on the device, ready to be launched.
    ///
    /// # Errors
    /// A policy that no kernel can have, or that the vectors forbid; too little memory; the
    /// compiler's and the driver's.
    pub fn prepare<E: WavefrontElement>(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        contents: Contents<'_, E>,
    ) -> Result<Prepared<'_>> {
        let erased = wavefront.erased();
        if matches!(contents, Contents::Given) {
            erased.check()?;
        }
        self.ready(&erased, contents.repeated())
    }

    /// The same; with inputs and cells that repeat, if there are such.
    pub(crate) fn ready(
        &mut self,
        wavefront: &Erased<'_>,
        repeated: Repeated<'_>,
    ) -> Result<Prepared<'_>> {
        let element = &wavefront.element;
        let (plan, shared) = self.plan(wavefront)?;
        let (text, unit) = source(wavefront, &plan, self.extras);
        let module = self.module(text, element.name)?;
        let kernel = module.kernel("wavefront_tiles")?;
        kernel.allow_shared(shared)?;
        let blocks = self.blocks(&kernel, &plan, shared)?;
        let fault = if unit.faults() { Some(module.global("ww_fault")?) } else { None };

        let Self { device, stream, watchdog, .. } = &*self;
        let buffers = Buffers::new(device, stream, wavefront, &plan, repeated, blocks as usize)?;
        let arguments = buffers.arguments(wavefront, &plan, self.extras);
        let border = wavefront.outside();
        let edges = [&border[..], wavefront.band.map_or(&border[..], |band| band.outside)];
        let element_on_device = OnDevice::new(stream, wavefront.parameters, &wavefront.tables)?;
        let values = Values {
            arguments: (bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>()),
            watchdog: Some(watchdog),
            edges: &edges.concat(),
            element: &element_on_device.parameters,
            choice: None,
        };
        let args = values.launch(WAITING, element)?;
        stream.synchronize()?;
        Ok(Prepared {
            plan,
            kernel,
            fault,
            unit,
            stream,
            watchdog,
            buffers,
            args,
            _element: element_on_device,
            blocks,
            shared,
        })
    }

    /// Tiles and waits, and the bytes of shared memory of a block.
    fn plan(&self, wavefront: &Erased<'_>) -> Result<(Plan, u32)> {
        let (element, limit) = (&wavefront.element, self.device.shared_memory()?);
        let plan = |policy| {
            let (dependences, old) = (element.dependences, element.old);
            Plan::new(wavefront.extents, wavefront.sweeps, dependences, old, policy)
        };
        let plan = match self.policy {
            Some(policy) => plan(policy)?,
            None => {
                let sms = self.device.sms()?;
                let policy = TilePolicy::for_domain(wavefront.extents[0], sms);
                fitting(element.cell, modelled(policy, sms, plan), limit, plan)?
            }
        };
        let shared = plan.shared(element.cell, limit)? as u32;
        Ok((plan, shared))
    }

    /// Blocks of a launch, all of which are resident at once: they wait for one another.
    fn blocks(&self, kernel: &Kernel, plan: &Plan, shared: u32) -> Result<u32> {
        let threads = plan.policy.threads();
        let an_sm = kernel.blocks_per_sm(threads, shared)?;
        if an_sm == 0 {
            return Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!(
                    "no block of {threads} threads, {} registers a thread and {shared} bytes of \
                     shared memory fits an SM",
                    kernel.attributes().registers
                ),
                hint: "lower `height` or `width` of the policy".into(),
            });
        }
        let resident = (an_sm.min(plan.policy.blocks) * self.device.sms()?) as usize;
        let most = self.extras.blocks.map_or(usize::MAX, |blocks| blocks.max(1) as usize);
        let blocks = resident.min(plan.units()).min(most);
        plan.countable(blocks)?;
        Ok(blocks as u32)
    }
}

/// Widths of tiles to choose from without a measurement.
const WIDTHS: [u32; 8] = [16, 32, 48, 64, 96, 128, 192, 256];
/// Tile-rows of all sweeps whose schedule is simulated: some milliseconds.
const SIMULATED: usize = 1 << 14;

/// `policy` with the width that takes least by the model, with costs as they usually are.
fn modelled(policy: TilePolicy, sms: u32, plan: impl Fn(TilePolicy) -> Result<Plan>) -> TilePolicy {
    let plans = WIDTHS.iter().filter_map(|&width| plan(TilePolicy { width, ..policy }).ok());
    let plans: Vec<_> = plans.filter(|plan| plan.units() <= SIMULATED).collect();
    let an_sm = (2048 / policy.threads()).min(policy.blocks);
    let best = Costs::USUAL.best(&plans, (an_sm * sms) as usize);
    best.map_or(policy, |(plan, _)| plan.policy)
}

impl<E: WavefrontElement> WavefrontExecutor<E> for TileExecutor {
    fn misses(&self, _: &Wavefront<'_, E>) -> Option<&'static str> {
        let square = self.policy.is_some_and(|policy| policy.method.square());
        let skewed = Shape::of(E::DEPENDENCES, E::OLD).is_ok_and(|shape| !shape.square);
        (square && skewed).then_some("dependences to the north-east, which square tiles can't have")
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        filled(self, wavefront, |it, erased| it.plan(erased).map(drop), Self::fill)
    }
}

impl TileExecutor {
    /// Computes all cells and fills `cells` with what is kept of them.
    fn fill(&mut self, wavefront: &Erased<'_>, cells: &mut [u8]) -> Result<(Found, Report)> {
        let begin = Instant::now();
        let prepared = self.ready(wavefront, None)?;
        let mut setup = begin.elapsed().as_secs_f64();
        let seconds = prepared.launch()?;
        let begin = Instant::now();
        let found = prepared.fill(wavefront, cells)?;
        setup += begin.elapsed().as_secs_f64();
        let policy = Policy::Tiles(prepared.plan.policy).to_json();
        let devices = vec![self.device.label().to_string()];
        Ok((found, report(std::slice::from_ref(wavefront), devices, seconds, setup, policy)))
    }
}
