//! The wavefront pattern's bench: alignment, warping and tables by register strips, the five methods of
//! PeerWave over their tiles, and paths.

mod cases;
mod dependences;
mod many;
mod methods;
mod paper;
mod plain;
mod tables;
mod traceback;

use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use warpweft::cpu::Pool;
use warpweft::cuda::Device;
use warpweft::machine::{Machine, Probe};
use warpweft::report::{Quantity, Report};
use warpweft::tune::median;
use warpweft::wavefront::cpu::CpuExecutor;
use warpweft::wavefront::cuda::CudaExecutor;
use warpweft::wavefront::cuda::scan::ScanExecutor;
use warpweft::wavefront::{
    Border, CpuPolicy, Keep, Wavefront, WavefrontElement, WavefrontExecutor,
};
use warpweft::{Error, Result};
use warpweft_apps::align::{Dna, Gapped, Sequence, Weights, affine};
use warpweft_apps::soup::SplitMix;
use warpweft_apps::warping::time_warping;
use warpweft_conformance::wavefront::local;

use self::cases::{CASES, Case, Kind, Pixels, Way};
use self::methods::Methods;
use super::Options;
use super::peers::{self, Peer};
use super::record::Record;
use warpweft_terminal::limits;
use warpweft_terminal::output::{fail, note, say, scaled};

/// Wavefronts at several sizes.
#[derive(clap::Args)]
pub struct Wavefronts {
    /// Run only this part of the benchmark; may be repeated.
    #[arg(long, value_enum)]
    only: Vec<Part>,
    /// Measure a figure of the PeerWave paper instead.
    #[arg(long, value_enum, conflicts_with = "only")]
    figure: Option<paper::Figure>,
    /// Divide every extent by this, for a quick run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    shrink: u32,
    #[command(flatten)]
    options: Options,
}

/// A part of the bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Alignment and warping on one core.
    Cpu,
    /// The same on the first GPU, by register strips.
    Gpu,
    /// Summed area tables on the first GPU, by register strips and by scans.
    Tables,
    /// An alignment of which every cell is kept, on the first GPU.
    Matrix,
    /// Alignment on all GPUs next to one.
    Gpus,
    /// PeerWave's methods on the first GPU.
    Methods,
    /// Paths by directions and in linear space, on the first GPU or one core.
    Traceback,
    /// Many small problems, on the first GPU or one core.
    Many,
    /// Of these the short reads with paths alone.
    Reads,
    /// Dependences of every kind, on the first GPU, or on one core next to plain loops.
    Dependences,
}

/// Rows and columns of the paper's figures: those of its K40c.
const PAPER_SIZE: usize = 46_080;

/// Repeats of a matrix, which takes seconds to bring over, at most.
const MATRICES: u32 = 2;

/// What came of it.
#[derive(Debug, Serialize)]
struct Figure {
    #[serde(flatten)]
    case: Case,
    device: String,
    /// GPUs that were there to choose from, and those that worked.
    gpus: [usize; 2],
    /// Over one GPU of this run.
    speedup: Option<f64>,
    /// The median of the repeats.
    rate: Quantity,
    /// The slowest and the fastest repeat.
    range: [f64; 2],
    /// Cells a second that memory allows where the matrix is kept: the probe's bandwidth of a copy.
    roofline: Option<f64>,
    policy: serde_json::Value,
}

impl Wavefronts {
    /// Measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.measure() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    /// The command that measures the same.
    fn repeat(&self) -> String {
        let mut command = String::from("warpweft bench wavefront");
        for part in &self.only {
            let name = part.to_possible_value().map(|value| value.get_name().to_string());
            command.push_str(&format!(" --only {}", name.unwrap_or_default()));
        }
        if let Some(figure) = self.figure.and_then(|figure| figure.to_possible_value()) {
            command.push_str(&format!(" --figure {}", figure.get_name()));
        }
        if self.shrink > 1 {
            command.push_str(&format!(" --shrink {}", self.shrink));
        }
        command + &self.options.command()
    }

    fn measure(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let probe = limits(&machine)?;
        if let Some(figure) = self.figure {
            return self.of_paper(figure, &machine, probe);
        }
        let mut figures = Vec::new();
        let mut peers = Vec::new();
        let wanted = |part| self.only.is_empty() || self.only.contains(&part);
        let together = machine.together()?;
        for case in CASES.into_iter().filter(|case| wanted(case.on)) {
            if !self.has_gpus(case.on, together.len())? {
                continue;
            }
            let case = Case { size: (case.size / self.shrink as usize).max(64), ..case };
            let memory = probe.gpu(0).and_then(|gpu| gpu.bandwidth());
            figures.extend(self.figures_of(case, (&machine, &together), memory)?);
            if (case.on, case.kind) == (Part::Cpu, Kind::LocalSixteen) {
                peers.extend(peers::alignment(&self.options.peers, case.size)?);
            }
        }
        let mut methods = Vec::new();
        if let Some(gpu) = machine.gpus.first().filter(|_| wanted(Part::Methods)) {
            methods = Methods { device: gpu.device()?, shrink: self.shrink as usize }.measure()?;
        }
        let mut paths = Vec::new();
        if wanted(Part::Traceback) {
            let (gpu, shrink) = (together.first(), self.shrink as usize);
            paths = traceback::measure(&machine, gpu, shrink, self.options.repeats)?;
        }
        let mut many = Vec::new();
        let all_sets = wanted(Part::Many);
        if all_sets || self.only.contains(&Part::Reads) {
            let (gpu, shrink) = (together.first(), self.shrink as usize);
            many = many::measure(&machine, gpu, shrink, self.options.repeats, !all_sets)?;
        }
        let mut dependences = Vec::new();
        if wanted(Part::Dependences) {
            let (gpu, shrink) = (!together.is_empty(), self.shrink as usize);
            dependences = dependences::measure(&machine, gpu, shrink, self.options.repeats)?;
        }
        let all = serde_json::json!({
            "rates": figures, "methods": methods, "paths": paths, "many": many, "dependences": dependences
        });
        let name = match &self.only[..] {
            [part] => format!("wavefront-{}", format!("{part:?}").to_lowercase()),
            _ => "wavefront".into(),
        };
        let record = Record::new(&name, &self.repeat(), &machine, probe, &all, &peers);
        let text = table(&figures, &peers)
            + &methods::table(&methods)
            + &traceback::table(&paths)
            + &many::table(&many)
            + &dependences::table(&dependences);
        record.conclude(&self.options, text)
    }

    /// A figure of PeerWave's paper.
    fn of_paper(&self, figure: paper::Figure, machine: &Machine, probe: Probe) -> Result<String> {
        let none = || Error::spec("no GPU for a figure of PeerWave", "see `warpweft info`");
        let gpu = machine.gpus.first().ok_or_else(none)?;
        let size = PAPER_SIZE / self.shrink as usize;
        let rows = paper::measure(figure, &gpu.device()?, size)?;
        let name = figure.to_possible_value().map(|value| value.get_name().to_string());
        let all = serde_json::json!({ "figure": figure, "rows": rows });
        let name = name.unwrap_or_default();
        let none: Vec<Peer> = Vec::new();
        let record = Record::new(&name, &self.repeat(), machine, probe, &all, &none);
        record.conclude(&self.options, paper::table(figure, &rows))
    }

    /// Whether there are as many GPUs as cases of `part` need.
    ///
    /// # Errors
    /// There are not, and nothing else was asked for.
    fn has_gpus(&self, part: Part, there: usize) -> Result<bool> {
        let needed = match part {
            Part::Cpu => 0,
            Part::Gpus => 2,
            Part::Gpu
            | Part::Tables
            | Part::Matrix
            | Part::Methods
            | Part::Traceback
            | Part::Many
            | Part::Reads
            | Part::Dependences => 1,
        };
        if there >= needed {
            return Ok(true);
        }
        if self.only == [part] {
            let name = part.to_possible_value();
            let name = name.map_or(String::new(), |value| value.get_name().to_string());
            return Err(Error::spec(
                format!("--only {name} needs {needed} GPUs, but only {there} can be used"),
                "see `warpweft info`",
            ));
        }
        note(&format!("fewer GPUs than {needed}: their cases are left out"));
        Ok(false)
    }

    /// The figures of a case: of one GPU and of several, or of the cores.
    fn figures_of(
        &self,
        case: Case,
        (machine, together): (&Machine, &[Device]),
        memory: Option<f64>,
    ) -> Result<Vec<Figure>> {
        let mut figures = Vec::new();
        note(&format!("{} {}", case.what, case.size));
        let repeats = self.options.repeats;
        let repeats = if case.keep == Keep::Matrix { repeats.min(MATRICES) } else { repeats };
        // One GPU next to several in the same run.
        let counts = match case.on {
            Part::Cpu => vec![0],
            Part::Gpu
            | Part::Tables
            | Part::Matrix
            | Part::Methods
            | Part::Traceback
            | Part::Many
            | Part::Reads
            | Part::Dependences => vec![1],
            Part::Gpus => {
                let doubled = std::iter::successors(Some(1), |count| Some(2 * count));
                let below = doubled.take_while(|&count| count < together.len());
                below.chain([together.len()]).collect()
            }
        };
        let mut one = None;
        for count in counts {
            let figure = match figure(case, machine, &together[..count], memory, repeats) {
                Err(error @ Error::Memory { .. }) => {
                    note(&format!("{} {} is left out: {error}", case.what, case.size));
                    continue;
                }
                figure => figure?,
            };
            let rate = figure.rate.value;
            // At once: a run that is ended early leaves what it has measured.
            note(&format!("{} {}: {}{}", case.what, case.size, scaled(rate), figure.rate.unit));
            let speedup = one.filter(|_| count > 1).map(|one: f64| rate / one);
            one = one.or(Some(rate));
            figures.push(Figure { speedup, ..figure });
        }
        Ok(figures)
    }
}

fn figure(
    case: Case,
    machine: &Machine,
    gpus: &[Device],
    memory: Option<f64>,
    repeats: u32,
) -> Result<Figure> {
    let mut noise = SplitMix::new(case.size as u64);
    let mut letters =
        || -> Vec<u8> { (0..case.size).map(|_| b"ACGT"[noise.next_u64() as usize % 4]).collect() };
    let mut both = || (letters(), letters());
    let found = match (case.kind, case.on) {
        (Kind::Table(pixels, _), _) => {
            return tables::measure(case, pixels, machine, gpus, memory, repeats);
        }
        (Kind::Warp, _) => {
            let (a, b) = both();
            let series = |letters: &[u8]| letters.iter().map(|&c| f32::from(c)).collect::<Vec<_>>();
            let (a, b) = (series(&a), series(&b));
            rates(
                case,
                Wavefront::of(time_warping::<f32>()).rows(&a).columns(&b),
                machine,
                gpus,
                repeats,
            )?
        }
        (Kind::Affine | Kind::AffineSixteen, _) => {
            let ((a, b), element) = (both(), affine(2, -3, -5, -1));
            let border = Border::Value(Gapped { h: 0, e: element.open, f: element.open });
            let plain = Wavefront::of(element).rows(&a).columns(&b).border(border);
            rates(case, plain, machine, gpus, repeats)?
        }
        (Kind::Transposing, _) => {
            let (a, b) = both();
            let border = dependences::prefixes();
            let plain =
                Wavefront::of(dependences::transposing()).rows(&a).columns(&b).border(border);
            rates(case, plain, machine, gpus, repeats)?
        }
        (Kind::Protein, _) => {
            many::protein(case, |wavefront| rates(case, wavefront, machine, gpus, repeats))?
        }
        (Kind::Local | Kind::LocalSixteen, Part::Cpu) => {
            let ((a, b), element) = (both(), local(2, -1, -1));
            rates(case, Wavefront::of(element).rows(&a).columns(&b), machine, gpus, repeats)?
        }
        (Kind::Local | Kind::LocalSixteen, _) => {
            // Codes of letters, as `warpweft align` has them.
            let (a, b) = both();
            let (a, b) = (Sequence::new("query", &a)?, Sequence::new("target", &b)?);
            let plain = Wavefront::of(Dna::new(Weights::default()));
            rates(case, plain.rows(a.as_rows()).columns(b.as_columns()), machine, gpus, repeats)?
        }
    };
    Ok(figure_of_rates(case, found, gpus, memory))
}

/// The figure of these rates.
fn figure_of_rates(
    case: Case,
    (rates, last): (Vec<f64>, Report),
    gpus: &[Device],
    memory: Option<f64>,
) -> Figure {
    Figure {
        case,
        gpus: [gpus.len(), if gpus.is_empty() { 0 } else { last.devices.len() }],
        speedup: None,
        device: last.devices.join(", "),
        rate: Quantity { value: median(&rates), unit: "cells/s" },
        range: [rates[0], rates[rates.len() - 1]],
        roofline: memory.filter(|_| case.bytes > 0).map(|bandwidth| bandwidth / case.bytes as f64),
        policy: last.policy,
    }
}

/// The rates, ascending, and the last report.
fn rates<E: WavefrontElement>(
    case: Case,
    wavefront: Wavefront<'_, E>,
    machine: &Machine,
    gpus: &[Device],
    repeats: u32,
) -> Result<(Vec<f64>, Report)> {
    let wavefront = wavefront.keep(case.keep);
    let pool;
    let mut executor: Box<dyn WavefrontExecutor<E>> = match gpus {
        [device, ..] if matches!(case.kind, Kind::Table(_, Way::Scans)) => {
            Box::new(ScanExecutor::new(device, None)?)
        }
        [_, ..] => {
            let executor = CudaExecutor::over(gpus, None)?;
            let pairs = matches!(case.kind, Kind::LocalSixteen | Kind::AffineSixteen);
            Box::new(if pairs { executor } else { executor.unpacked() })
        }
        [] => {
            pool = Pool::new(machine.cpu.first(1))?;
            let sixteen =
                matches!(case.kind, Kind::LocalSixteen | Kind::AffineSixteen | Kind::Protein);
            let policy = CpuPolicy::for_domain(case.size, 1);
            let policy = CpuPolicy { tile_rows: 1024, cells_16_bit: sixteen, ..policy };
            Box::new(CpuExecutor::new(&pool, policy)?)
        }
    };
    // The first run pays for what later ones find ready: compiled kernels, touched pages.
    let mut last = executor.run(&wavefront)?.1;
    let mut rates = Vec::new();
    for _ in 0..repeats {
        last = executor.run(&wavefront)?.1;
        rates.push(last.rate.value);
    }
    rates.sort_by(f64::total_cmp);
    Ok((rates, last))
}

fn table(figures: &[Figure], peers: &[Peer]) -> String {
    let mut text = String::new();
    let mut device = "";
    for figure in figures {
        if figure.device != device {
            device = &figure.device;
            text.push_str(&format!("{device}\n"));
        }
        let Figure { case, rate, range, roofline, speedup, .. } = figure;
        text.push_str(&format!(
            "  {:<27} {:>9}  {}{} ({} to {})",
            case.what,
            case.size,
            scaled(rate.value),
            rate.unit,
            scaled(range[0]),
            scaled(range[1])
        ));
        if let Some(roofline) = roofline {
            text.push_str(&format!(", {:.2} of what memory allows", rate.value / roofline));
        }
        if let Some(speedup) = speedup {
            text.push_str(&format!(", {speedup:.2} times one GPU"));
        }
        text.push('\n');
    }
    for Peer { peer, size, cells_per_second, error, .. } in peers {
        match (cells_per_second, error) {
            (Some(rate), _) => {
                text.push_str(&format!("  {peer} {size}: {}cells/s\n", scaled(*rate)));
            }
            (None, error) => {
                let why = error.as_deref().unwrap_or("it gave no rate");
                text.push_str(&format!("  {peer} did not run: {why}\n"));
            }
        }
    }
    text
}
