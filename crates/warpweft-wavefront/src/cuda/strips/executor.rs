//! The executor: inputs in, one cooperative launch a GPU, what was kept out.

use std::collections::HashMap;
use std::time::Instant;

use super::assignment::assignments;
use super::batch::database::{Database, SearchKey};
use super::carried::Carrier;
use super::choose::choose;
use super::packed;
use super::recording::{AlsoKept, Recording};
use super::results::{found, gather, last_row};
use super::shape::{missing, possible};
use super::shared;
use super::subdomain::{Gpu, Subdomain};
use super::text::{Variant, options, source};
use crate::cuda::filled::{Found, filled, kept};
use crate::cuda::winner::{total, winner};
use crate::executor::{Edges, Ends, Need, Scores, TakePaths, Walk, WavefrontExecutor, check_kept};
use crate::frame::allocate;
use crate::policy::{CudaPolicy, Policy};
use crate::recurrence::{Traced, WavefrontElement, bytes_of_mut};
use crate::report::report;
use crate::spec::{Erased, Keep, Kept, Pairs, Wavefront};
use crate::traceback::End;
use warpweft_core::cuda::{Buffer, Device, Event, Kernel, SharedMemory, Together, compile};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// Runs wavefronts on one GPU, or on several that share the tile-rows.
pub struct CudaExecutor {
    pub(super) gpus: Vec<Gpu>,
    policy: Option<CudaPolicy>,
    packed_16x2: bool,
    extras: Extras,
    /// Kernels of batches, by their texts.
    pub(super) batches: HashMap<String, [Kernel; 2]>,
    /// Those of searches, which are looked for without their texts: these take longer than to copy a query.
    pub(super) searches: HashMap<SearchKey, [Kernel; 2]>,
    /// What was searched last; one problem alone may need all memory.
    pub(super) database: Option<Database>,
    /// Memory for the choices of many problems, of the last launch for paths.
    pub(super) directions: Option<Buffer>,
}

/// What is compiled in or limited for tests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Random delays before flags are looked at and set, from this seed.
    pub delays: Option<u32>,
    /// Blocks of each GPU's launch at most, if they are said.
    pub blocks: Vec<usize>,
}

impl CudaExecutor {
    /// An executor on `device`; without a policy it takes the one of
    /// [`CudaPolicy::for_domain`], [`CudaPolicy::for_matrix`] or [`CudaPolicy::for_packed`] that fits.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, policy: Option<CudaPolicy>) -> Result<Self> {
        Self::over(std::slice::from_ref(device), policy)
    }

    /// An executor on several GPUs of this process that can store into one another's memory. Tile-rows go round robin to the blocks of all of them;
    /// results don't depend on how many there are. The same GPU may be named again: its blocks are
    /// then shared out, which tests the rest.
    ///
    /// Without a policy, as many of the first of them work as make it fastest by the model.
    ///
    /// # Errors
    /// No device; two that have no direct link; the driver's.
    pub fn over(devices: &[Device], policy: Option<CudaPolicy>) -> Result<Self> {
        if devices.is_empty() {
            return Err(Error::spec("a wavefront over 0 GPUs", "name at least one"));
        }
        // All into all: where there are few tile-rows, GPUs between two may have none.
        for device in devices {
            devices.iter().try_for_each(|other| device.enable_peer(other))?;
        }
        let gpus = devices.iter().map(Gpu::new).collect::<Result<_>>()?;
        Ok(Self {
            gpus,
            policy,
            packed_16x2: true,
            extras: Extras::default(),
            batches: HashMap::new(),
            searches: HashMap::new(),
            database: None,
            directions: None,
        })
    }

    /// Without packed 16×2 cells, unless a policy says otherwise: a register holds one cell.
    pub fn unpacked(mut self) -> Self {
        self.packed_16x2 = false;
        self
    }

    /// Gives back what is kept on the device between calls.
    pub(crate) fn release(&mut self) {
        (self.database, self.directions) = (None, None);
    }

    /// With another policy, or one of its own.
    pub(crate) fn set_policy(&mut self, policy: Option<CudaPolicy>) {
        self.policy = policy;
    }

    /// How many GPUs there are.
    pub(crate) fn count(&self) -> usize {
        self.gpus.len()
    }

    /// With `extras`.
    pub fn with(mut self, extras: Extras) -> Self {
        self.extras = extras;
        self
    }

    /// The policy that was given.
    pub(super) fn given(&self) -> Option<CudaPolicy> {
        self.policy
    }

    /// What the compiler made of the last kernel run, and its dynamic shared memory.
    pub fn attributes(&self) -> Option<(warpweft_core::cuda::Attributes, u32)> {
        let (kernel, shared) = self.gpus.first()?.kernel()?;
        Some((kernel.attributes(), shared))
    }

    /// Compiles the kernel once an architecture and loads it on the first `count` GPUs, unless it is
    /// there.
    fn load(&mut self, source: &str, name: &str, count: usize) -> Result<()> {
        for gpu in self.gpus.iter_mut().take(count).filter(|gpu| !gpu.has(source)) {
            let cubin = compile(source, name, &gpu.device.arch()?, &options())?;
            gpu.load(source, &cubin)?;
        }
        Ok(())
    }

    /// Blocks that each of the first `count` GPUs can hold at once.
    fn resident(&self, policy: &CudaPolicy, inputs: bool, count: usize) -> Result<Vec<usize>> {
        let gpus = &self.gpus[..count];
        let each = gpus.iter().enumerate().map(|(number, gpu)| {
            let sharing = gpus.iter().filter(|other| other.device == gpu.device).count();
            let most = self.extras.blocks.get(number).copied().unwrap_or(usize::MAX);
            Ok((gpu.resident(policy, inputs)? / sharing).min(most).max(1))
        });
        each.collect()
    }

    /// The shared memory that blocks can have on every one of the GPUs.
    pub(super) fn shared(&self) -> Result<SharedMemory> {
        let each = self.gpus.iter().map(|gpu| gpu.device.shared_memory());
        let all = each.collect::<Result<Vec<_>>>()?.into_iter();
        all.min_by_key(|shared| shared.block)
            .ok_or_else(|| Error::spec("a wavefront over 0 GPUs", "name at least one"))
    }

    /// The policy, and how many of the GPUs take part.
    ///
    /// # Errors
    /// What strips can't do; a policy that no kernel can have, or that does not fit.
    pub(super) fn plan(
        &self,
        wavefront: &Erased<'_>,
        also: AlsoKept<'_>,
    ) -> Result<(CudaPolicy, usize)> {
        if matches!(also, AlsoKept::Nothing)
            && let Some(carrier) = Carrier::of(wavefront)
        {
            return self.plan(&carrier.erased(wavefront), also);
        }
        possible(wavefront)?;
        let edges = !matches!(also, AlsoKept::Nothing);
        let memory = self.shared()?;
        let (policy, count) = match (self.policy, also) {
            (_, AlsoKept::Choices(recording)) => {
                let sms = self.gpus[0].device.sms()?;
                (recording.policy(self.policy, wavefront, sms, memory), 1)
            }
            (Some(policy), _) => (policy, self.gpus.len()),
            (None, _) => {
                let packed_16x2 = self.packed_16x2 && !edges;
                choose(wavefront, packed_16x2, self.gpus[0].device.sms()?, memory, self.gpus.len())
            }
        };
        policy.check(wavefront.element.cell)?;
        shared::check(wavefront, &policy, memory)?;
        if policy.packed_16x2 {
            packed::check(wavefront, &policy, edges)?;
        }
        Ok((policy, count))
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for CudaExecutor {
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        missing(&wavefront.erased())
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        self.batch(wavefronts)
    }

    fn ends(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Ends<E>> {
        self.pair_ends(pairs, end)
    }

    fn scores(&mut self, pairs: &Pairs<'_, E>, end: End) -> Result<Scores<E>> {
        self.pair_scores(pairs, end)
    }

    fn paths(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
        end: End,
        take: &TakePaths<'_, E>,
    ) -> Result<Option<Report>>
    where
        E: Traced,
    {
        self.batch_paths(wavefronts, end, take)
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        self.release();
        let plan = |it: &Self, erased: &Erased<'_>| it.plan(erased, AlsoKept::Nothing).map(drop);
        filled(self, wavefront, plan, Self::fill)
    }

    fn edges(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Edges<E::Cell>, Report)> {
        self.release();
        let keep = wavefront.keep.with_edges().unwrap_or(Keep::LastColumn);
        let erased = Erased { keep, ..wavefront.erased() };
        erased.check()?;
        self.plan(&erased, AlsoKept::Edges)?;
        let [rows, columns] = erased.extents;
        let (mut row, mut column) = (allocate(columns)?, allocate(rows)?);
        let lines = [bytes_of_mut(&mut row), bytes_of_mut(&mut column)];
        let (found, report) = self.fill_edges(&erased, lines)?;
        let best = keep.extreme().and_then(|extreme| winner(&found, extreme));
        let sum = (keep == Keep::Sum).then(|| total(&found));
        Ok((Edges { row, column, best, sum }, report))
    }

    fn directions(&self, wavefront: &Wavefront<'_, E>) -> Result<Option<Need>>
    where
        E: Traced,
    {
        let plain = wavefront.with(wavefront.element.plain());
        self.need(&plain.erased(), &Recording::of(&wavefront.element))
    }

    fn record(
        &mut self,
        wavefront: &Wavefront<'_, E>,
        walk: &mut Walk<'_, E::Cell>,
    ) -> Result<Report>
    where
        E: Traced,
    {
        self.release();
        let plain = wavefront.with(wavefront.element.plain());
        let erased = plain.erased();
        erased.check()?;
        check_kept(erased.keep)?;
        let recording = Recording::of(&wavefront.element);
        self.plan(&erased, AlsoKept::Choices(&recording))?;
        let mut cells: Vec<E::Cell> = allocate(erased.kept_cells())?;
        self.choices(&erased, &recording, &mut |found, choices, fill| {
            fill(bytes_of_mut(&mut cells))?;
            walk(&kept(wavefront.keep, found, std::mem::take(&mut cells)), choices)
        })
    }
}

impl CudaExecutor {
    /// Computes all cells and fills `cells` with what is kept of them.
    pub(super) fn fill(
        &mut self,
        wavefront: &Erased<'_>,
        cells: &mut [u8],
    ) -> Result<(Found, Report)> {
        if let Some(carrier) = Carrier::of(wavefront) {
            let larger = carrier.erased(wavefront);
            return carrier.filled(cells, |cells| self.fill(&larger, cells));
        }
        self.compute(wavefront, AlsoKept::Nothing, &mut |policy, subdomains| {
            match wavefront.keep {
                Keep::LastRow => last_row(wavefront, policy, subdomains, cells)?,
                Keep::LastColumn | Keep::Matrix => gather(wavefront, policy, subdomains, cells)?,
                Keep::Best | Keep::Least | Keep::Score | Keep::Sum => {
                    return found(policy, subdomains);
                }
            }
            Ok(Found::new())
        })
    }

    /// The same, with the last row and the last column in addition to what else is kept.
    fn fill_edges(
        &mut self,
        wavefront: &Erased<'_>,
        [row, column]: [&mut [u8]; 2],
    ) -> Result<(Found, Report)> {
        self.compute(wavefront, AlsoKept::Edges, &mut |policy, subdomains| {
            let found = match wavefront.keep.with_edges() {
                Some(_) => found(policy, subdomains)?,
                None => Found::new(),
            };
            gather(wavefront, policy, subdomains, column)?;
            last_row(wavefront, policy, subdomains, row)?;
            Ok(found)
        })
    }

    /// Computes all cells, keeps what `also` says in addition, then `take`s the results.
    pub(super) fn compute(
        &mut self,
        wavefront: &Erased<'_>,
        also: AlsoKept<'_>,
        take: &mut dyn FnMut(&CudaPolicy, &[Subdomain<'_>]) -> Result<Found>,
    ) -> Result<(Found, Report)> {
        let name = wavefront.element.name;
        let begin = Instant::now();
        let (policy, count) = self.plan(wavefront, also)?;
        let delays = self.extras.delays;
        let edges = also.edges();
        let variant = Variant { several: count > 1, edges, delays: delays.is_some() };
        let memory = self.shared()?;
        let source = source(wavefront, &policy, memory, variant, also.recording());
        self.load(&source, name, count)?;
        let strips = wavefront.extents[0].div_ceil(policy.tile_rows());
        let all = assignments(strips, &self.resident(&policy, wavefront.element.input > 0, count)?);
        let working = self.gpus.iter().zip(all).filter(|(_, assignment)| assignment.blocks > 0);
        let subdomains = working
            .map(|(gpu, assignment)| Subdomain::new(gpu, assignment, wavefront, &policy, also));
        let subdomains = subdomains.collect::<Result<Vec<_>>>()?;
        // The GPU that starts first may store into any other's memory.
        subdomains.iter().try_for_each(|subdomain| subdomain.gpu.stream.synchronize())?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();

        let seconds = launch(wavefront, &policy, &subdomains, also, delays.unwrap_or(0))?;

        let begin = Instant::now();
        let found = take(&policy, &subdomains)?;
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices =
            subdomains.iter().map(|subdomain| subdomain.gpu.device.label().to_string()).collect();
        let told = Policy::Cuda(policy).to_json();
        let wavefronts = std::slice::from_ref(wavefront);
        let mut report = report(wavefronts, devices, seconds, setup_seconds, told);
        report.notes.extend(shared::scattered(wavefront, &policy, memory));
        Ok((found, report))
    }
}

/// Launches all subdomains and waits for them; the seconds that took.
fn launch(
    wavefront: &Erased<'_>,
    policy: &CudaPolicy,
    subdomains: &[Subdomain<'_>],
    also: AlsoKept<'_>,
    delays: u32,
) -> Result<f64> {
    let count = subdomains.len();
    let mut marks = Vec::new();
    for subdomain in subdomains {
        marks.push([Event::new(&subdomain.gpu.device)?, Event::new(&subdomain.gpu.device)?]);
    }
    let all = || {
        subdomains.iter().zip(&marks).enumerate().try_for_each(|(at, (subdomain, mark))| {
            subdomain.gpu.stream.record(&mark[0])?;
            let (above, below) =
                (&subdomains[(at + count - 1) % count], &subdomains[(at + 1) % count]);
            subdomain.launch(wavefront, policy, above, below, also, delays)?;
            subdomain.gpu.stream.record(&mark[1])
        })
    };
    let together = (count > 1).then(Together::begin);
    let begin = Instant::now();
    let launched = match &together {
        Some(together) => together.launch(all),
        None => all(),
    };
    // No buffer may be freed while another GPU may store into it. GPUs that wait for one that could not
    // be launched say so in time.
    let waits: Vec<_> = subdomains.iter().map(|subdomain| subdomain.gpu.wait()).collect();
    let seconds = begin.elapsed().as_secs_f64();
    drop(together);
    launched?;
    let is_echo =
        |error: &Error| matches!(error, Error::Device { stage, .. } if stage == "waiting");
    let mut failed: Vec<_> = waits.into_iter().filter_map(Result::err).collect();
    // A GPU that fails makes others time out: their errors are consequences.
    failed.sort_by_key(is_echo);
    if let Some(error) = failed.into_iter().next() {
        return Err(error);
    }
    match &marks[..] {
        [[start, end]] => start.seconds_until(end),
        _ => Ok(seconds),
    }
}
