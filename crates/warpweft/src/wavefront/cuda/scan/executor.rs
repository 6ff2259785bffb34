//! The executor: pixels in, one cooperative launch, the table out.

use std::time::{Duration, Instant};

use super::text::{Arguments, options, source};
use crate::cuda::{Args, Buffer, Device, Event, Launch, Module, Stream, Watchdog, compile};
use crate::element::{Scalar, ScalarKind, Unit};
use crate::error::{Error, Result};
use crate::report::Report;
use crate::wavefront::cuda::executor::{bytes_of, bytes_of_mut, inputs};
use crate::wavefront::executor::WavefrontExecutor;
use crate::wavefront::report::report;
use crate::wavefront::spec::{Keep, Kept, Wavefront};
use crate::wavefront::{Border, Cells, Policy, Ranked, ScanPolicy, WavefrontElement};

/// How long a block may wait for another.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a run may take in all.
const LIMIT: Duration = Duration::from_secs(3600);
/// Bytes between two flags, as in `scan.cuh`.
const FLAG_BYTES: usize = 32;

/// What scans can't do that `wavefront` needs, if anything.
pub fn misses<E: WavefrontElement>(wavefront: &Wavefront<'_, E>) -> Option<&'static str> {
    let kind = <<E::Cell as Ranked>::Score as Scalar>::KIND;
    let number = <E::Cell as Ranked>::MEMBER.is_empty()
        && matches!(kind.size(), 4 | 8)
        && kind != ScalarKind::Bool;
    let faults = || {
        let mut unit = Unit::new();
        E::cuda(&mut unit);
        unit.site_of(1).is_some()
    };
    [
        ("recurrence but sums", !E::SUMS || !E::OLD.is_empty()),
        ("cells but numbers of 4 and 8 bytes", !number),
        ("result but the matrix", wavefront.keep != Keep::Matrix),
        ("bands", wavefront.band.is_some()),
        ("function that may fault", faults()),
        ("sum that adds up otherwise", !adds_up::<E>(wavefront.element)),
    ]
    .into_iter()
    .find_map(|(what, misses)| misses.then_some(what))
}

/// Whether the function is north + west − north-west + something, by one example.
fn adds_up<E: WavefrontElement>(element: E) -> bool {
    let cell = |[nw, n, w]: [f64; 3]| {
        let number = |value: f64| {
            let score = <<E::Cell as Ranked>::Score as Scalar>::from_f64(value);
            // SAFETY: the cell is its own score, says its empty member.
            unsafe { std::ptr::from_ref(&score).cast::<E::Cell>().read() }
        };
        let earlier = E::Earlier::gather(|k| match E::DEPENDENCES[k] {
            [-1, -1] => number(nw),
            [-1, 0] => number(n),
            _ => number(w),
        });
        let old = E::Old::gather(|_| E::Cell::default());
        let (a, b, x) = Default::default();
        element.cell(earlier, old, a, b, x).score().to_f64()
    };
    cell([2.0, 3.0, 5.0]) - cell([0.0; 3]) == 6.0
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
        wavefront.check()?;
        if let Some(what) = misses(wavefront) {
            return Err(Error::spec(
                format!("scans run no {what}, which {} has", E::NAME),
                "run it by tiles or on the cores",
            ));
        }
        let begin = Instant::now();
        let [rows, columns] = wavefront.extents();
        let (cell, stream) = (size_of::<E::Cell>(), &self.stream);
        let sms = self.device.sms()?;
        let policy = self.policy.unwrap_or_else(|| ScanPolicy::for_domain(rows, sms));
        policy.check()?;
        let cubin = compile(&source::<E>(&policy), E::NAME, &self.device.arch()?, &options())?;
        let kernel = Module::load(&self.device, &cubin)?.kernel("wavefront_scan")?;
        let bands = rows.div_ceil(policy.band_rows());
        let resident = kernel.blocks_per_sm(policy.threads(), 0)? * sms;
        if resident == 0 {
            return Err(Error::Device {
                stage: "planning".into(),
                device: self.device.label().into(),
                what: format!("no block of {} threads fits an SM", policy.threads()),
                remedy: "lower `warps` or `rows` of the policy".into(),
            });
        }
        let blocks = bands.min(resident as usize) as u32;

        let row_inputs = inputs(stream, wavefront.rows)?;
        let column_inputs = inputs(stream, wavefront.columns)?;
        let pixels = inputs(stream, wavefront.inputs)?;
        let mut lines = None;
        let mut edges = match wavefront.border {
            Border::Value(value) => [value; 2],
            _ => [E::Cell::default(); 2],
        };
        if let Some((corner, top, left)) = wavefront.border.lines(rows, columns) {
            lines = Some([inputs(stream, &top)?, inputs(stream, &left)?]);
            edges[1] = corner;
        }
        let [top, left] =
            lines.as_ref().map_or([0; 2], |lines| lines.each_ref().map(Buffer::address));
        let flags = Buffer::zeroed(stream, bands * FLAG_BYTES)?;
        let kept = Buffer::new(&self.device, rows * columns * cell)?;
        // Rows begin where 16 bytes of cells do, and as many inputs.
        let lane = 16 / cell * size_of::<E::Input>();
        let wide = (columns * cell).is_multiple_of(16)
            && (lane == 0 || (columns * size_of::<E::Input>()).is_multiple_of(lane.min(16)));
        let arguments = Arguments {
            rows: row_inputs.address(),
            columns: column_inputs.address(),
            inputs: pixels.address(),
            kept: kept.address(),
            top,
            left,
            flags: flags.address(),
            row_count: rows as i32,
            column_count: columns as i32,
            has_lines: i32::from(lines.is_some()),
            wide: i32::from(wide),
        };
        let mut args = Args::new();
        args.blob(bytes_of(std::slice::from_ref(&arguments)), align_of::<Arguments>());
        self.watchdog.reset();
        self.watchdog.argument(&mut args)?;
        args.blob(bytes_of(&edges), align_of::<E::Cell>());
        args.blob(bytes_of(std::slice::from_ref(&wavefront.element)), align_of::<E>());
        let (start, end) = (Event::new(&self.device)?, Event::new(&self.device)?);
        stream.synchronize()?;
        let mut setup_seconds = begin.elapsed().as_secs_f64();

        stream.record(&start)?;
        let launch = Launch::line(blocks, policy.threads());
        // SAFETY: the arguments are those of `wavefront_scan` in order and layout; every buffer
        // holds what the kernel's comment says and lives past the wait.
        unsafe { stream.launch_cooperative(&kernel, launch, &args)? };
        stream.record(&end)?;
        self.watchdog.wait(stream, LIMIT)?;
        let seconds = start.seconds_until(&end)?;

        let begin = Instant::now();
        let mut cells = vec![E::Cell::default(); rows * columns];
        stream.download(&kept, 0, bytes_of_mut(&mut cells))?;
        setup_seconds += begin.elapsed().as_secs_f64();
        let devices = vec![self.device.label().to_string()];
        let policy = Policy::Scan(policy);
        Ok((Kept::Matrix(cells), report(wavefront, devices, seconds, setup_seconds, policy)))
    }
}
