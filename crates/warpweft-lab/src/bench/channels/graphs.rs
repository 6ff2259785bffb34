//! Random channel-flow graphs on the first GPU, each compared with the reference: no rates, but what a record says of correctness.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde::Serialize;
use warpweft::channels::flow::{FlowGpuExecutor, FlowGpuPolicy, FlowGraph};
use warpweft::machine::Machine;
use warpweft::prelude::*;
use warpweft_conformance::flow::{forest, forest_failure, random, random_failure};
use warpweft_terminal::output::{note, time};

/// Different kernels of each kind; each takes a compilation.
const SHAPES: u64 = 24;

/// What graphs are drawn.
#[derive(Clone, Copy)]
enum Kind {
    /// Up to six channels; kernels emit into two of them and to the host.
    Random,
    /// Trees in a stack of channels, which warps keep and hand over, with a kernel that plants them, and items that go round.
    Forest,
}

/// One kind of graphs, one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    kind: &'static str,
    shapes: u64,
    /// Graphs that ran, and those of them that consumed every item once and left the reference's words and items.
    graphs: u64,
    right: u64,
    /// The first that did not: its shape, its variant and what was wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    seconds: f64,
    first_shape: u64,
}

/// Warps of an SM, blocks, items that are collected for the host and forms, for graph `number` of a shape.
fn policy(shape: u64, number: u64) -> FlowGpuPolicy {
    let at = |of: [u32; 6]| of[(number % 6) as usize];
    FlowGpuPolicy {
        warps: [4, 8, 16, 32][shape as usize % 4],
        blocks: at([1, 2, 7, 33, 132, 0]),
        collected: at([100, 1 << 16, 64, 700, 1 << 20, 300]) as usize,
        aggregated: shape % 8 != 5,
        private: shape % 8 != 3,
        ..FlowGpuPolicy::default()
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Random => "random graphs",
            Self::Forest => "forests",
        }
    }

    fn graph(self, shape: u64) -> FlowGraph {
        match self {
            Self::Random => random(shape, 0).graph,
            Self::Forest => forest(shape, 0).graph,
        }
    }

    fn failure(self, gpu: &mut FlowGpuExecutor, shape: u64, variant: u64) -> Option<String> {
        match self {
            Self::Random => random_failure(gpu, shape, variant),
            Self::Forest => forest_failure(gpu, shape, variant),
        }
    }
}

/// Runs so many graphs, half of each kind.
///
/// # Errors
/// No GPU; the compiler's.
pub fn measure(machine: &Machine, count: u64, first_shape: u64) -> Result<Vec<Row>> {
    let Some(gpu) = machine.gpus.first() else {
        return Err(Error::spec("--graphs where there is no GPU", "see `warpweft info`"));
    };
    let device = gpu.device()?;
    let shapes = first_shape..first_shape + SHAPES;
    let mut rows = vec![];
    for kind in [Kind::Random, Kind::Forest] {
        note(&format!("compiling {SHAPES} kernels of {}", kind.name()));
        compile_all(&device, machine.cpu.threads(), kind, &shapes)?;
        note(&format!("running {}", kind.name()));
        let begin = Instant::now();
        let (mut graphs, mut right, mut failure) = (0, 0, None);
        for shape in shapes.clone() {
            let share = (count / 2).div_ceil(SHAPES);
            for variant in 0..share {
                let mut executor = FlowGpuExecutor::new(&device, policy(shape, variant))?;
                let found = kind.failure(&mut executor, shape, variant);
                graphs += 1;
                right += u64::from(found.is_none());
                let said = |what| format!("shape {shape}, variant {variant}: {what}");
                failure = failure.or(found.map(said));
            }
        }
        let (kind, seconds) = (kind.name(), begin.elapsed().as_secs_f64());
        rows.push(Row { kind, shapes: SHAPES, graphs, right, failure, seconds, first_shape });
    }
    Ok(rows)
}

/// Compiles the kernels of all shapes, on all threads: later runs find them in the cache.
fn compile_all(
    device: &warpweft::cuda::Device,
    threads: usize,
    kind: Kind,
    shapes: &std::ops::Range<u64>,
) -> Result<()> {
    let next = AtomicU64::new(shapes.start);
    let work = || -> Result<()> {
        loop {
            let shape = next.fetch_add(1, Ordering::Relaxed);
            if shape >= shapes.end {
                return Ok(());
            }
            FlowGpuExecutor::new(device, policy(shape, 0))?.compile(&kind.graph(shape))?;
        }
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        all.into_iter().try_for_each(|thread| {
            let panicked = |_| Error::spec("a compiling thread panicked", "report this as a bug");
            thread.join().map_err(panicked)?
        })
    })
}

/// A line a row.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("Channel-flow graphs against the reference\n");
    for row in rows {
        let Row { kind, shapes, graphs, right, failure, seconds, .. } = row;
        text.push_str(&format!(
            "  {right} of {graphs} {kind} of {shapes} shapes are right, {}\n",
            time(*seconds)
        ));
        if let Some(what) = failure {
            text.push_str(&format!("    {what}\n"));
        }
    }
    text
}
