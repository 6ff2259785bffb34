//! Recurrences with dependences of every kind: on one core next to a plain loop over the same table, or on the
//! first GPU.

use std::fmt::Debug;

use serde::Serialize;
use warpweft::cuda::Device;
use warpweft::machine::Machine;
use warpweft::run::Target;
use warpweft::tune::median;
use warpweft::wavefront::cuda::tiles::{Contents, TileExecutor};
use warpweft::wavefront::{
    Border, Earlier, Keep, Kept, Run, RunExecutor, Wavefront, WavefrontElement, WavefrontExecutor,
    wavefront,
};
use warpweft::{Error, Result};
use warpweft_apps::relaxation::gauss_seidel;
use warpweft_apps::soup::SplitMix;
use warpweft_conformance::wavefront::{AffineCell, affine_local};

use super::plain;
use warpweft_terminal::output::{note, scaled};

/// A recurrence at one size.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: &'static str,
    /// Rows and columns.
    size: usize,
    device: String,
    /// Cells a second: the median of the repeats, the slowest and the fastest.
    rate: f64,
    range: [f64; 2],
    /// Those of the plain loop on one core, median of as many repeats.
    plain: Option<f64>,
    /// Bytes of memory that this process had at most while the runs lasted, if the system tells.
    peak: Option<u64>,
    notes: Vec<String>,
}

/// Optimal string alignment: edits and the exchange of two neighbours.
#[wavefront]
pub fn transposing(d: Earlier<i32>, #[row] a: u8, #[column] b: u8) -> i32 {
    let edits = (d.nw + (a != b) as i32).min(d.n + 1).min(d.w + 1);
    if a + 1 == b { edits.min(d[[-2, -2]] + 1) } else { edits }
}

/// The least energy of a seam from the top to this pixel.
#[wavefront]
fn seam(least: Earlier<i32>, #[cell] energy: u8) -> i32 {
    energy as i32 + least.nw.min(least.n).min(least.ne)
}

/// The cells outside of [`transposing`]: the lengths of prefixes.
pub fn prefixes() -> Border<i32> {
    Border::function(|i, j| (i.max(-1) + j.max(-1) + 2) as i32)
}

/// What is held around the plate of a sweep.
fn edge() -> Border<f32> {
    Border::function(|i, _| if i < 0 { 1.0 } else { 0.0 })
}

/// Extents on the first GPU: optimal string alignment, Gotoh, a seam, Gauss-Seidel.
const ON_GPU: [usize; 4] = [100_000; 4];
/// Those on a core, where tables of inputs and old values lie in memory twice.
const ON_CORE: [usize; 4] = [20_000, 20_000, 8_192, 8_192];
/// Letters of the strings whose alignment's memory is measured.
const LONG: usize = 200_000;

/// Extents divided by `shrink`, on the first GPU or one core.
///
/// # Errors
/// A fault of the device; a last row that is not the plain loop's.
pub fn measure(machine: &Machine, gpu: bool, shrink: usize, repeats: u32) -> Result<Vec<Row>> {
    let (target, threads) = if gpu { (Target::AnyGpu, None) } else { (Target::Cpu, Some(1)) };
    let executor = RunExecutor::new(machine, &Run { target, threads, ..Run::default() })?;
    let repeats = repeats.max(1);
    let size = |size: usize| (size / shrink).max(64);
    let [osa, gotoh, seam, sweep] = if gpu { ON_GPU } else { ON_CORE }.map(size);
    let once = Bench { executor, plain: false, repeats: 1, rows: Vec::new() };
    let bench = Bench { plain: !gpu, repeats, ..once.strings("OSA, last row, long", size(LONG))? };
    let bench = bench.strings("OSA, last row", osa)?.gotoh(gotoh)?;
    let bench = match machine.gpus.first().filter(|_| gpu) {
        Some(gpu) => bench.on_device(&gpu.device()?, seam, sweep)?,
        None => bench.seam(seam)?.sweep(sweep)?,
    };
    Ok(bench.rows)
}

/// What is measured with, and what was.
struct Bench<'m> {
    executor: RunExecutor<'m>,
    /// Whether next to a plain loop.
    plain: bool,
    repeats: u32,
    rows: Vec<Row>,
}

fn letters(size: usize) -> [Vec<u8>; 2] {
    let mut noise = SplitMix::new(size as u64);
    [(); 2].map(|()| (0..size).map(|_| b"ACGT"[noise.next_u64() as usize % 4]).collect())
}

impl Bench<'_> {
    fn strings(self, what: &'static str, size: usize) -> Result<Self> {
        let [a, b] = letters(size);
        let strings = Wavefront::of(transposing()).rows(&a).columns(&b).border(prefixes());
        self.row(what, strings, || plain::strings(&a, &b))
    }

    fn gotoh(self, size: usize) -> Result<Self> {
        let [a, b] = letters(size);
        let element = affine_local(2, -3, -5, -1);
        let gotoh = Wavefront::of(element)
            .rows(&a)
            .columns(&b)
            .border(Border::Value(AffineCell::default()));
        self.row("Gotoh, structs of three, last row", gotoh, || plain::gotoh(&a, &b, &element))
    }

    fn seam(self, size: usize) -> Result<Self> {
        let mut noise = SplitMix::new(size as u64);
        let some: Vec<u8> = (0..(1 << 20) + 7).map(|_| noise.next_u64() as u8).collect();
        let mut energies = Vec::with_capacity(size * size);
        while energies.len() < size * size {
            energies.extend_from_slice(&some[..some.len().min(size * size - energies.len())]);
        }
        let seams =
            Wavefront::of(seam()).over([size; 2]).inputs(&energies).border(Border::Value(0));
        self.row("seam, last row", seams, || plain::seam(&energies, size))
    }

    fn sweep(self, size: usize) -> Result<Self> {
        // Pages of zeros take no memory.
        let plate = vec![0f32; size * size];
        let sweep =
            Wavefront::of(gauss_seidel::<f32>()).over([size; 2]).initial(&plate).border(edge());
        self.row("Gauss-Seidel f32, one sweep, last row", sweep, || plain::sweep(size))
    }

    /// A seam and a sweep on `device`, whose inputs and old values are made there: to copy those of 100,000 squared would
    /// take minutes.
    fn on_device(mut self, device: &Device, seams: usize, plates: usize) -> Result<Self> {
        let mut noise = SplitMix::new(seams as u64);
        let energies: Vec<u8> = (0..(1 << 20) + 7).map(|_| noise.next_u64() as u8).collect();
        let of_seam = Contents::Repeated { inputs: &energies, cells: &[] };
        let through = Wavefront::of(seam()).over([seams; 2]).border(Border::Value(0));
        self.by_tiles("seam, last row", &through, of_seam, device)?;
        let of_plate = Contents::Repeated { inputs: &[], cells: &[0.0] };
        let sweep = Wavefront::of(gauss_seidel::<f32>()).over([plates; 2]).border(edge());
        self.by_tiles("Gauss-Seidel f32, one sweep, last row", &sweep, of_plate, device)?;
        Ok(self)
    }

    /// Measures the kernel of one recurrence, which keeps its last row.
    fn by_tiles<E: WavefrontElement>(
        &mut self,
        what: &'static str,
        wavefront: &Wavefront<'_, E>,
        contents: Contents<'_, E>,
        device: &Device,
    ) -> Result<()> {
        let size = wavefront.extents()[0];
        note(&format!("{what} {size}"));
        let wavefront = wavefront.clone().keep(Keep::LastRow);
        let mut executor = TileExecutor::new(device, None)?;
        let prepared = executor.prepare(&wavefront, contents)?;
        prepared.launch()?;
        let seconds = (0..self.repeats).map(|_| prepared.launch()).collect::<Result<Vec<_>>>()?;
        let mut rates: Vec<_> = seconds.iter().map(|s| (size * size) as f64 / s).collect();
        rates.sort_by(f64::total_cmp);
        self.rows.push(Row {
            what,
            size,
            device: device.label().into(),
            rate: median(&rates),
            range: [rates[0], rates[rates.len() - 1]],
            plain: None,
            peak: None,
            notes: vec!["by tiles, the kernel alone; inputs and old values repeat".into()],
        });
        Ok(())
    }

    /// Measures one recurrence, which keeps its last row. `plain` computes that row and takes so many seconds.
    fn row<E>(
        mut self,
        what: &'static str,
        wavefront: Wavefront<'_, E>,
        plain: impl Fn() -> (Vec<E::Cell>, f64),
    ) -> Result<Self>
    where
        E: WavefrontElement,
        E::Cell: Debug,
    {
        let size = wavefront.extents()[0];
        note(&format!("{what} {size}"));
        let wavefront = wavefront.keep(Keep::LastRow);
        let cells = (size * size) as f64;
        // Linux then begins anew to look for the most; elsewhere there is no such file.
        let _ = std::fs::write("/proc/self/clear_refs", "5");
        // The first run pays for what later ones find ready.
        let (kept, mut report) = self.executor.run(&wavefront)?;
        let mut rates = Vec::new();
        for _ in 0..self.repeats {
            report = self.executor.run(&wavefront)?.1;
            rates.push(report.rate.value);
        }
        rates.sort_by(f64::total_cmp);
        let peak = peak();
        let mut loops = Vec::new();
        for _ in 0..if self.plain { self.repeats } else { 0 } {
            let (row, seconds) = plain();
            if !matches!(&kept, Kept::LastRow(found) if *found == row) {
                let what = format!("{what} {size}: the last row is not the plain loop's");
                return Err(Error::spec(what, "report this as a bug"));
            }
            loops.push(cells / seconds);
        }
        self.rows.push(Row {
            what,
            size,
            device: report.device_list(),
            rate: median(&rates),
            range: [rates[0], rates[rates.len() - 1]],
            plain: self.plain.then(|| median(&loops)),
            peak,
            notes: report.notes,
        });
        Ok(self)
    }
}

/// Bytes of memory that this process had at most, where Linux tells.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// A line a recurrence.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { what, size, device, rate, range, plain, peak, .. } in rows {
        text.push_str(&format!(
            "  {what:<38} {size:>7}  {}cells/s ({} to {})",
            scaled(*rate),
            scaled(range[0]),
            scaled(range[1])
        ));
        if let Some(plain) = plain {
            text.push_str(&format!(
                ", {:.2} times a plain loop's {}cells/s",
                rate / plain,
                scaled(*plain)
            ));
        }
        if let Some(peak) = peak {
            text.push_str(&format!(", {} MB of memory", peak / 1_000_000));
        }
        text.push_str(&format!(", {device}\n"));
    }
    text
}
