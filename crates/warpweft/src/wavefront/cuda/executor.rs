//! The executor: inputs in, one cooperative launch, what was kept out.

use std::time::{Duration, Instant};

use super::pairs;
use super::shape::{default_policy, misses};
use super::text::{Arguments, options, source};
use crate::cuda::{Args, Buffer, Device, Event, Kernel, Launch, Module, Stream, Watchdog, compile};
use crate::element::{Scalar, ScalarKind};
use crate::error::{Error, Result};
use crate::report::Report;
use crate::wavefront::executor::WavefrontExecutor;
use crate::wavefront::frame::allocate;
use crate::wavefront::report::report;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Best, Border, CudaPolicy, Extreme, Policy, WavefrontElement};

/// How long a block may wait for another: far above any wait of a working run, which is bounded by
/// the time between the first chunk of a tile-row and that of the next.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Bytes between two flags, as in `layout.cuh`: a sector of its own for each.
const FLAG_BYTES: usize = 32;

/// Runs wavefronts on one GPU.
pub struct CudaExecutor {
    pub(super) device: Device,
    pub(super) stream: Stream,
    watchdog: Watchdog,
    policy: Option<CudaPolicy>,
    /// The last kernel and its source.
    kernel: Option<(String, Kernel, u32)>,
}

impl CudaExecutor {
    /// An executor on `device`; without a policy it takes the one of
    /// [`CudaPolicy::for_domain`], [`CudaPolicy::for_matrix`] or [`CudaPolicy::for_pairs`] that fits.
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, policy: Option<CudaPolicy>) -> Result<Self> {
        Ok(Self {
            device: *device,
            stream: Stream::new(device)?,
            watchdog: Watchdog::new(device, PATIENCE)?,
            policy,
            kernel: None,
        })
    }

    /// What the compiler made of the last kernel run, and its dynamic shared memory.
    pub fn attributes(&self) -> Option<(crate::cuda::Attributes, u32)> {
        self.kernel.as_ref().map(|(_, kernel, shared)| (kernel.attributes(), *shared))
    }

    /// The kernel for `source`, and the bytes of shared memory it needs.
    fn kernel(&mut self, source: String, name: &str) -> Result<(Kernel, u32)> {
        if let Some((known, kernel, shared)) = &self.kernel
            && *known == source
        {
            return Ok((kernel.clone(), *shared));
        }
        let cubin = compile(&source, name, &self.device.arch()?, &options())?;
        let module = Module::load(&self.device, &cubin)?;
        let kernel = module.kernel("wavefront_strip")?;
        let shared: u32 = module.global("ww_shared_bytes")?.read(&self.stream)?;
        kernel.allow_shared(shared)?;
        self.kernel = Some((source, kernel.clone(), shared));
        Ok((kernel, shared))
    }

    /// Blocks that are resident at once, which all of a launch must be: they wait for one another.
    fn resident(&self, kernel: &Kernel, policy: &CudaPolicy, shared: u32) -> Result<u32> {
        let an_sm = kernel.blocks_per_sm(policy.threads(), shared)?;
        if an_sm == 0 {
            return Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!(
                    "no block of {} threads, {} registers a thread and {shared} bytes of shared \
                     memory fits an SM",
                    policy.threads(),
                    kernel.attributes().registers
                ),
                remedy: "lower `warps` or `rows` of the policy".into(),
            });
        }
        Ok(an_sm.min(policy.blocks) * self.device.sms()?)
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for CudaExecutor {
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        misses(wavefront)
    }

    fn run_batch(
        &mut self,
        wavefronts: &[Wavefront<'_, E>],
    ) -> Result<(Vec<Kept<E::Cell>>, Report)> {
        self.batch(wavefronts)
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        wavefront.check()?;
        if let Some(what) = misses(wavefront) {
            return Err(Error::spec(
                format!("register strips run no {what}, which {} has", E::NAME),
                "run it on the cores",
            ));
        }
        let begin = Instant::now();
        let [rows, columns] = wavefront.extents();
        let cell = size_of::<E::Cell>();
        let policy = match self.policy {
            Some(policy) => policy,
            None => default_policy(wavefront, self.device.sms()?),
        };
        policy.check(cell)?;
        if policy.pairs {
            pairs::check(wavefront, &policy)?;
        }
        let (kernel, shared) = self.kernel(source(wavefront, &policy), E::NAME)?;
        let strips = rows.div_ceil(policy.tile_rows());
        let blocks = strips.min(self.resident(&kernel, &policy, shared)? as usize);
        let warps = blocks * policy.warps as usize;

        let stream = &self.stream;
        let row_inputs = inputs(stream, wavefront.rows)?;
        let column_inputs = inputs(stream, wavefront.columns)?;
        let border = Buffer::new(&self.device, columns * cell)?;
        let mut left = None;
        let mut edges = match wavefront.border {
            Border::Value(value) => [value; 2],
            _ => [E::Cell::default(); 2],
        };
        if let Some((corner, top, cells)) = wavefront.border.lines(rows, columns) {
            stream.upload(&border, 0, bytes_of(&top))?;
            left = Some(Buffer::from_slice(stream, bytes_of(&cells))?);
            edges[1] = corner;
        }
        let flags = Buffer::zeroed(stream, strips * FLAG_BYTES)?;
        let kept_cells = match wavefront.keep {
            Keep::Best | Keep::Least | Keep::Score => 0,
            Keep::LastRow => columns,
            Keep::LastColumn => rows,
            Keep::Matrix => rows * columns,
        };
        // The last row ends as the border of the tile-row that would come next.
        let in_border = wavefront.keep == Keep::LastRow;
        let kept = Buffer::new(&self.device, if in_border { 0 } else { kept_cells * cell })?;
        let record = Buffer::zeroed(stream, 8)?;
        let candidates = Buffer::zeroed(stream, warps * 24)?;
        let arguments = Arguments {
            rows: row_inputs.address(),
            columns: column_inputs.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            border: border.address(),
            left: left.as_ref().map_or(0, Buffer::address),
            flags: flags.address(),
            kept: kept.address(),
            record: record.address(),
            candidates: candidates.address(),
            has_lines: i32::from(left.is_some()),
            reserved: 0,
        };
        // Before the work, lest it be lost.
        let mut cells = allocate(kept_cells)?;
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        self.watchdog.reset();
        self.watchdog.argument(&mut args)?;
        args.blob(bytes_of(&edges), align_of::<E::Cell>());
        args.blob(bytes_of(std::slice::from_ref(&wavefront.element)), align_of::<E>());
        let launch = Launch::line(blocks as u32, policy.threads()).shared(shared);
        let (start, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();

        stream.record(&start)?;
        // SAFETY: the arguments are those of `wavefront_strip` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait.
        unsafe { stream.launch_cooperative(&kernel, launch, &args)? };
        stream.record(&end)?;
        self.watchdog.wait(stream, LIMIT)?;
        let seconds = start.seconds_until(&end)?;

        let begin = Instant::now();
        let kept = if in_border { &border } else { &kept };
        stream.download(kept, 0, bytes_of_mut(&mut cells))?;
        let kept = match wavefront.keep {
            Keep::Best | Keep::Least | Keep::Score => {
                let mut found = vec![[0u64; 3]; warps];
                stream.download(&candidates, 0, &mut found)?;
                match wavefront.keep {
                    Keep::Least => Kept::Best(winner(&found, Extreme::Least)),
                    Keep::Best => Kept::Best(winner(&found, Extreme::Greatest)),
                    _ => Kept::Score(winner(&found, Extreme::Greatest).map(|best| best.score)),
                }
            }
            Keep::LastRow => Kept::LastRow(cells),
            Keep::LastColumn => Kept::LastColumn(cells),
            Keep::Matrix => Kept::Matrix(cells),
        };
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices = vec![self.device.label().to_string()];
        Ok((kept, report(wavefront, devices, seconds, setup_seconds, Policy::Cuda(policy))))
    }
}

/// The best of the warps' candidates: rank (0 for none), bits of the score, row and column.
///
/// For the least score the kernel ranks reversed scores, see `ww_reversed` in `rank.cuh`.
pub(super) fn winner<S: Scalar>(candidates: &[[u64; 3]], extreme: Extreme) -> Option<Best<S>> {
    let reversal = match (extreme, S::KIND) {
        (Extreme::Greatest, _) => 0,
        (Extreme::Least, ScalarKind::Bool) => 1,
        (Extreme::Least, ScalarKind::F16 | ScalarKind::Bf16) => 1 << 15,
        (Extreme::Least, ScalarKind::F32) => 1 << 31,
        (Extreme::Least, ScalarKind::F64) => 1 << 63,
        (Extreme::Least, kind) => u64::MAX >> (64 - 8 * kind.size()),
    };
    let found = candidates.iter().filter(|[rank, ..]| *rank != 0).map(|[_, bits, place]| Best {
        // SAFETY: the kernel put a score of this type into the low bytes of a little-endian word,
        // and reversing it gives another.
        score: unsafe { std::ptr::from_ref(&(bits ^ reversal)).cast::<S>().read() },
        row: (place >> 32) as usize,
        column: (place & 0xffff_ffff) as usize,
    });
    // The worst integer has no rank: where nothing else was found, every cell holds it.
    use ScalarKind::{Bf16, F16, F32, F64};
    let integer = !matches!(S::KIND, F16 | Bf16 | F32 | F64);
    let nothing = integer.then(|| Best { score: extreme.worst(), row: 0, column: 0 });
    found.fold(None, |best, one| Best::of(best, Some(one), extreme)).or(nothing)
}

/// A copy of inputs on the device; one byte each for those that have no size, as in C++.
pub(super) fn inputs<T: Copy>(stream: &Stream, values: &[T]) -> Result<Buffer> {
    match size_of::<T>() {
        0 => Buffer::zeroed(stream, values.len()),
        _ => Buffer::from_slice(stream, bytes_of(values)),
    }
}

/// The bytes of device values.
pub(super) fn bytes_of<T: Copy>(values: &[T]) -> &[u8] {
    // SAFETY: only the driver reads them, byte by byte; values outlive the borrow.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of device values, to be written by the kernel's cells.
pub(super) fn bytes_of_mut<T: Copy>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; what is copied in are cells of the same type, laid out the same.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}
