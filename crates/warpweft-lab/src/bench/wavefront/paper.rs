//! Figures 12a and 13 and table 2 of PeerWave: what a tile takes, what passes through memory, and what blocks wait.
//!
//! Not here: misses of the second-level cache (figure 12b), which only a profiler counts.

use serde::Serialize;
use warpweft::cuda::Device;
use warpweft::wavefront::cuda::tiles::{Extras, IdleTime, Plan};
use warpweft::wavefront::{Method, TilePolicy};
use warpweft::{Error, Result};

use crate::waves::{App, Bench};
use warpweft_terminal::output::note;

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// Mean time of a tile, barriers and flags, without and with hyper-tiles.
    #[value(name = "peerwave-12")]
    Tiles,
    /// Bytes a second through memory, for the same.
    #[value(name = "peerwave-13")]
    Throughput,
    /// What blocks wait for one another, barriers and flags with hyper-tiles.
    #[value(name = "peerwave-table-2", alias = "table-2")]
    Waits,
}

impl Figure {
    /// The methods that the paper shows there.
    fn methods(self) -> &'static [Method] {
        match self {
            Self::Tiles | Self::Throughput => &Method::ALL[..4],
            Self::Waits => &[Method::BarriersHyper, Method::FlagsHyper],
        }
    }

    /// The figure in words.
    fn title(self) -> &'static str {
        match self {
            Self::Tiles => "PeerWave figure 12a: mean microseconds of a tile",
            Self::Throughput => "PeerWave figure 13: GB/s of cells and their inputs",
            Self::Waits => {
                "PeerWave table 2: milliseconds that a block waits, at the corners and between"
            }
        }
    }
}

/// A method on an application.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    app: App,
    size: usize,
    method: usize,
    policy: TilePolicy,
    seconds: f64,
    /// Mean seconds of a tile, without waits.
    tile_seconds: f64,
    /// Bytes of the matrix and of the inputs of its cells.
    bytes: u64,
    idle: IdleTime,
}

/// Rows and columns of a tile: the largest that all methods and applications have.
const SIDE: u32 = 512;

/// Measures `figure` on `device`, over `size` rows and columns.
///
/// # Errors
/// A fault of the device. Tiles that do not fit are noted.
pub fn measure(figure: Figure, device: &Device, size: usize) -> Result<Vec<Row>> {
    let bench = Bench { device, size };
    let policies: Vec<_> = (figure.methods().iter())
        .map(|&method| TilePolicy { method, height: SIDE, width: SIDE, blocks: 32 })
        .collect();
    bench.compile(&App::ALL, &policies, Extras { idle: true, ..Extras::default() })?;
    let mut rows = Vec::new();
    for app in App::ALL {
        for &policy in &policies {
            note(&format!("{} {size}, method {}", app.name(), policy.method.number()));
            let (measured, idle) = match bench.idle(app, policy) {
                Ok(found) => found,
                Err(error @ (Error::Spec { .. } | Error::Memory { .. })) => {
                    note(&format!("{}, method {}: {error}", app.name(), policy.method.number()));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Plan { tiles, tile_rows, sweeps, .. } = measured.plan;
            // Tiles that one block computes, on average.
            let own = (tiles * tile_rows * sweeps) as f64 / measured.blocks as f64;
            let bytes = (size * size * app.sweeps()) as u64 * app.cell_bytes() as u64;
            rows.push(Row {
                app,
                size,
                method: policy.method.number(),
                policy,
                seconds: measured.seconds,
                tile_seconds: (idle.total - idle.corner - idle.intermediate) / own,
                bytes,
                idle,
            });
        }
    }
    Ok(rows)
}

/// The figure as a table: a line an application, a column a method.
pub fn table(figure: Figure, rows: &[Row]) -> String {
    let mut text = format!("{}, {SIDE} x {SIDE} tiles\n  {:<6}", figure.title(), "");
    for method in figure.methods() {
        text.push_str(&format!("  {:>16}", format!("method {}", method.number())));
    }
    text.push('\n');
    for app in App::ALL {
        text.push_str(&format!("  {:<6}", app.name()));
        for method in figure.methods() {
            let row = rows.iter().find(|row| row.app == app && row.method == method.number());
            let shown = row.map_or("-".to_string(), |row| match figure {
                Figure::Tiles => format!("{:.2}", 1e6 * row.tile_seconds),
                Figure::Throughput => format!("{:.0}", row.bytes as f64 / row.seconds / 1e9),
                Figure::Waits => {
                    let [corner, between] =
                        [row.idle.corner, row.idle.intermediate].map(|seconds| 1e3 * seconds);
                    format!("{corner:.3} + {between:.3}")
                }
            });
            text.push_str(&format!("  {shown:>16}"));
        }
        text.push('\n');
    }
    text
}
