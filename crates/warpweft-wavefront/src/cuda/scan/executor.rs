//! The executor: pixels in, one cooperative launch, the table out.

use std::time::{Duration, Instant};

use super::memory::{Stages, fits, fitting};
use super::text::{Arguments, options, source, too_large};
use crate::cuda::filled::{Found, filled};
use crate::cuda::signature::{Values, WAITING};
use crate::cuda::tables::OnDevice;
use crate::cuda::upload::inputs;
use crate::executor::WavefrontExecutor;
use crate::policy::{Policy, ScanPolicy};
use crate::recurrence::{Cells, Ranked, WavefrontElement, bytes_of};
use crate::report::report;
use crate::spec::{ElementType, Erased, Keep, Kept, Wavefront};
use warpweft_core::cuda::{
    Args, Buffer, Device, Event, Kernel, Launch, Module, Stream, Watchdog, compile,
};
use warpweft_core::element::{Scalar, ScalarKind};
use warpweft_core::error::{Error, Result};
use warpweft_core::report::Report;

/// How long a block may wait for another.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(3600);
/// Bytes that a band hands on for each 16 bytes of a row: its own sums and those of all rows, as many tags.
const WORD_BYTES: usize = 64;

const NO_SUMS: &str = "recurrence but sums";

/// What scans can't do that `wavefront` needs, if anything.
pub fn misses<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    // A constant: other recurrences' cells are not compiled to numbers.
    if !E::SUMS {
        return Some(NO_SUMS);
    }
    // The function is tried on cells only once it is known what they are and that it can't fail.
    missing(&wavefront.erased())
        .or_else(|| (!adds_up(wavefront)).then_some("sum that adds up otherwise"))
}

/// The same, but for whether sums add up.
fn missing(wavefront: &Erased<'_>) -> Option<&'static str> {
    let element = &wavefront.element;
    let kind = element.score;
    let number = element.is_number() && matches!(kind.size(), 4 | 8) && kind != ScalarKind::Bool;
    [
        (NO_SUMS, !element.old.is_empty()),
        ("cells but numbers of 4 and 8 bytes", !number),
        ("result but the matrix", wavefront.keep != Keep::Matrix),
        ("bands", wavefront.band.is_some()),
        ("function that may fault", element.faults()),
        ("inputs that shared memory does not hold", !fits(element)),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

/// Earlier cells (north-west, north, west) of either sign that sums are tried on.
const TRIED: [[f64; 3]; 4] =
    [[2.0, 3.0, 5.0], [0.0, -7.0, -2.0], [-4.0, -1.0, -11.0], [9.0, 1.0, -3.0]];
/// Places along each axis at which they are tried, with the inputs there.
const PLACES: usize = 8;

/// Whether the function is north + west − north-west + what the inputs give, as far as examples show.
fn adds_up<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> bool {
    let number = |value: f64| {
        let score = <<E::Cell as Ranked>::Score as Scalar>::from_f64(value);
        // SAFETY: the caller has found that the cell is a number and its own score, of one size.
        unsafe { std::ptr::from_ref(&score).cast::<E::Cell>().read() }
    };
    let cell = |[nw, n, w]: [f64; 3], [i, j]: [usize; 2]| {
        let earlier = E::Earlier::gather(|k| match E::DEPENDENCES[k] {
            [-1, -1] => number(nw),
            [-1, 0] => number(n),
            _ => number(w),
        });
        let old = E::Old::gather(|_| E::Cell::default());
        wavefront.cell(earlier, old, i, j).score().to_f64()
    };
    let kind = <<E::Cell as Ranked>::Score as Scalar>::KIND;
    let real = matches!(kind, ScalarKind::F32 | ScalarKind::F64);
    let [rows, columns] = wavefront.extents();
    let places = |extent: usize| (0..extent).step_by(extent.div_ceil(PLACES).max(1));
    places(rows).flat_map(|i| places(columns).map(move |j| [i, j])).all(|at| {
        let alone = cell([0.0; 3], at);
        TRIED.into_iter().all(|earlier| {
            let [nw, n, w] = earlier;
            let rounding =
                if real { 1e-5 * (alone.abs() + 10.0) } else { alone.abs() * f64::EPSILON };
            (cell(earlier, at) - (alone + n + w - nw)).abs() <= rounding
        })
    })
}

/// Bytes of the words that so many bands of a table hand on.
fn word_bytes(bands: usize, columns: usize, cell: usize) -> usize {
    let lanes = columns.next_multiple_of(32 * 16 / cell) * cell / 16;
    bands * lanes * WORD_BYTES
}

/// Runs sums on one GPU.
pub struct ScanExecutor {
    device: Device,
    stream: Stream,
    watchdog: Watchdog,
    policy: Option<ScanPolicy>,
}

impl ScanExecutor {
    /// An executor on `device`; without a policy it takes [`ScanPolicy::for_domain`].
    ///
    /// # Errors
    /// The driver's.
    pub fn new(device: &Device, policy: Option<ScanPolicy>) -> Result<Self> {
        let watchdog = Watchdog::new(device, PATIENCE)?;
        Ok(Self { device: *device, stream: Stream::new(device)?, watchdog, policy })
    }
}

impl<E: WavefrontElement> WavefrontExecutor<E> for ScanExecutor {
    fn misses(&self, wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
        misses(wavefront)
    }

    fn run(&mut self, wavefront: &Wavefront<'_, E>) -> Result<(Kept<E::Cell>, Report)> {
        let refuse = |_: &Self, _: &Erased<'_>| match misses(wavefront) {
            None => Ok(()),
            Some(what) => Err(Error::spec(
                format!("scans run no {what}, which {} has", E::NAME),
                "run it by tiles or on the cores",
            )),
        };
        filled(self, wavefront, refuse, Self::fill)
    }
}

impl ScanExecutor {
    /// The kernel for `element` with this policy, and the shared memory of a block.
    fn kernel(&self, element: &ElementType, policy: &ScanPolicy) -> Result<(Kernel, u32)> {
        policy.check()?;
        let limit = self.device.shared_memory()?.block;
        let stages = Stages::within(limit, element, policy).ok_or_else(|| too_large(policy))?;
        let text = source(element, policy, stages);
        let cubin = compile(&text, element.name, &self.device.arch()?, &options())?;
        let kernel = Module::load(&self.device, &cubin)?.kernel("wavefront_scan")?;
        kernel.allow_shared(stages.bytes as u32)?;
        Ok((kernel, stages.bytes as u32))
    }

    /// Blocks that the device runs at once.
    fn resident(&self, kernel: &Kernel, policy: &ScanPolicy, shared: u32) -> Result<usize> {
        match kernel.blocks_per_sm(policy.threads(), shared)? * self.device.sms()? {
            0 => Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!("no block of {} threads fits an SM", policy.threads()),
                hint: "lower `warps` or `rows` of the policy".into(),
            }),
            resident => Ok(resident as usize),
        }
    }

    /// Launches the kernel and waits for its end; the seconds that it took.
    ///
    /// # Safety
    /// The arguments are those of the kernel in order and layout, and what they point to lives until this returns.
    unsafe fn timed(&self, kernel: &Kernel, launch: Launch, args: &Args) -> Result<f64> {
        let (start, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        self.stream.record(&start)?;
        // SAFETY: as the caller promises.
        unsafe { self.stream.launch_cooperative(kernel, launch, args)? };
        self.stream.record(&end)?;
        self.watchdog.wait(&self.stream, LIMIT)?;
        start.seconds_until(&end)
    }

    /// Computes all cells into `cells`.
    fn fill(&mut self, wavefront: &Erased<'_>, cells: &mut [u8]) -> Result<(Found, Report)> {
        let begin = Instant::now();
        let [rows, columns] = wavefront.extents;
        let (element, stream, cell) = (&wavefront.element, &self.stream, wavefront.element.cell);
        let (sms, limit) = (self.device.sms()?, self.device.shared_memory()?.block);
        let policy = self.policy.unwrap_or_else(|| fitting(rows, sms, limit, element));
        let (kernel, shared) = self.kernel(element, &policy)?;
        let bands = rows.div_ceil(policy.band_rows());
        let blocks = bands.min(self.resident(&kernel, &policy, shared)?);

        let row_inputs = inputs(stream, wavefront.rows, rows)?;
        let column_inputs = inputs(stream, wavefront.columns, columns)?;
        let pixels = inputs(stream, wavefront.inputs, wavefront.given[0])?;
        let mut lines = None;
        let mut edges = wavefront.outside().repeat(2);
        if let Some([corner, top, left]) = wavefront.border.lines(wavefront.extents) {
            lines = Some([inputs(stream, &top, columns)?, inputs(stream, &left, rows)?]);
            edges[cell..].copy_from_slice(&corner);
        }
        let [top, left] =
            lines.as_ref().map_or([0; 2], |lines| lines.each_ref().map(Buffer::address));
        let words = Buffer::zeroed(stream, word_bytes(bands, columns, cell))?;
        let kept = Buffer::new(&self.device, rows * columns * cell)?;
        let wide = |bytes: usize| i32::from((columns * bytes).is_multiple_of(16));
        let arguments = Arguments {
            rows: row_inputs.address(),
            columns: column_inputs.address(),
            inputs: pixels.address(),
            kept: kept.address(),
            top,
            left,
            words: words.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            has_lines: i32::from(lines.is_some()),
            wide_cells: wide(cell),
            wide_inputs: wide(element.input.max(1)),
        };
        self.watchdog.reset();
        let on_device = OnDevice::new(stream, wavefront.parameters, &wavefront.tables)?;
        let values = Values {
            arguments: (bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>()),
            watchdog: Some(&self.watchdog),
            edges: &edges,
            element: &on_device.parameters,
            choice: None,
        };
        let args = values.launch(WAITING, element)?;
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();
        let launch = Launch::line(blocks as u32, policy.threads()).shared(shared);
        // SAFETY: the arguments are those of `wavefront_scan` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait.
        let seconds = unsafe { self.timed(&kernel, launch, &args)? };

        let begin = Instant::now();
        stream.download(&kept, 0, cells)?;
        setup_seconds += begin.elapsed().as_secs_f64();
        Ok((Found::new(), self.reported(wavefront, policy, seconds, setup_seconds)))
    }

    fn reported(
        &self,
        wavefront: &Erased<'_>,
        policy: ScanPolicy,
        seconds: f64,
        setup_seconds: f64,
    ) -> Report {
        let devices = vec![self.device.label().to_string()];
        let policy = Policy::Scan(policy).to_json();
        report(std::slice::from_ref(wavefront), devices, seconds, setup_seconds, policy)
    }
}
