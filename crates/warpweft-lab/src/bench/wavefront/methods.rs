//! PeerWave's five methods, each at its best tile, on its six applications.

use std::collections::BTreeMap;

use serde::Serialize;
use warpweft::cuda::Device;
use warpweft::wavefront::cuda::tiles::Extras;
use warpweft::wavefront::{Method, TilePolicy};
use warpweft::{Error, Result};

use crate::waves::{App, Bench};
use warpweft_terminal::output::{note, scaled};

/// Measures all methods.
pub struct Methods {
    /// The GPU.
    pub device: Device,
    /// Divides every extent.
    pub shrink: usize,
}

/// A method at one of its tiles.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// The application.
    pub app: App,
    /// Rows and columns.
    pub size: usize,
    /// Number of the method, as in the paper.
    pub method: usize,
    /// The tile.
    pub policy: TilePolicy,
    /// The fastest of three runs.
    pub seconds: f64,
    /// Cells a second, sweeps counted.
    pub rate: f64,
}

/// Heights of tiles that are tried, and widths of flexible ones.
const HEIGHTS: [u32; 3] = [128, 256, 512];
const WIDTHS: [u32; 3] = [32, 64, 128];

impl Methods {
    /// Every method at every tile, at 8192 and at the largest size that memory holds.
    ///
    /// # Errors
    /// A fault of the device. Tiles that do not fit are noted.
    pub fn measure(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        let tiles =
            |method| HEIGHTS.map(|height| TilePolicy { method, height, width: height, blocks: 32 });
        let policies: Vec<_> = Method::ALL.into_iter().flat_map(tiles).collect();
        let bench = Bench { device: &self.device, size: 64 };
        bench.compile(&App::ALL, &policies, Extras::default())?;
        for app in App::ALL {
            for size in [8192, self.largest(app)?].map(|size| size / self.shrink) {
                note(&format!("{} {size}, methods 1 to 5", app.name()));
                for method in Method::ALL {
                    for height in HEIGHTS {
                        self.tiles(app, size, method, height, &mut rows)?;
                    }
                }
            }
        }
        Ok(rows)
    }

    fn tiles(
        &self,
        app: App,
        size: usize,
        method: Method,
        height: u32,
        rows: &mut Vec<Row>,
    ) -> Result<()> {
        let bench = Bench { device: &self.device, size };
        let policy = TilePolicy { method, height, width: height, blocks: 32 };
        let widths = if method.equal() { &[height][..] } else { &WIDTHS[..] };
        let runs = match bench.widths(app, policy, widths) {
            Ok(runs) => runs,
            Err(error @ (Error::Spec { .. } | Error::Memory { .. })) => {
                note(&format!("{} {size}, method {}: {error}", app.name(), method.number()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for (run, &width) in runs.iter().zip(widths) {
            let cells = (size * size * app.sweeps()) as f64;
            rows.push(Row {
                app,
                size,
                method: method.number(),
                policy: TilePolicy { width, ..policy },
                seconds: run.seconds,
                rate: cells / run.seconds,
            });
        }
        Ok(())
    }

    /// The side of the largest domain whose matrix and inputs fill nine tenths of free memory,
    /// corners of tile-rows included.
    fn largest(&self, app: App) -> Result<usize> {
        let (free, _) = self.device.memory()?;
        let side = (0.9 * free as f64 / app.cell_bytes() as f64).sqrt() as usize;
        Ok((side - side / 100).next_multiple_of(1024) - 1024)
    }
}

/// The best tile of each method, and the ratios.
pub fn table(rows: &[Row]) -> String {
    let mut best: BTreeMap<(usize, &str, usize, usize), Row> = BTreeMap::new();
    let mut equal: BTreeMap<(&str, usize, usize, u32), f64> = BTreeMap::new();
    for row in rows {
        let order = App::ALL.iter().position(|app| *app == row.app).unwrap_or(0);
        let key = (order, row.app.name(), row.size, row.method);
        let known = best.entry(key).or_insert(*row);
        if row.seconds < known.seconds {
            *known = *row;
        }
        if row.policy.width == row.policy.height {
            equal.insert((row.app.name(), row.size, row.method, row.policy.height), row.seconds);
        }
    }
    let mut text = String::new();
    let mut ratios = Vec::new();
    for (&(order, app, size, method), row) in &best {
        text.push_str(&format!(
            "  {app:<6} {size:>7} method {method}, {:>3} x {:<3}  {}cells/s",
            row.policy.height,
            row.policy.width,
            scaled(row.rate)
        ));
        if method == 5
            && let Some(barriers) = best.get(&(order, app, size, 3))
        {
            let ratio = barriers.seconds / row.seconds;
            ratios.push(ratio);
            text.push_str(&format!(", {ratio:.2} of method 3"));
            // The same tile by flags and by barriers.
            let tile = barriers.policy.height;
            if let Some(flags) = equal.get(&(app, size, 4, tile)) {
                let ratio = barriers.seconds / flags;
                text.push_str(&format!(" ({ratio:.2} at its tile, {tile} x {tile})"));
            }
        }
        text.push('\n');
    }
    if !ratios.is_empty() {
        let mean = ratios.iter().map(|ratio: &f64| ratio.ln()).sum::<f64>() / ratios.len() as f64;
        text.push_str(&format!("  method 5 over method 3: geometric mean {:.2}\n", mean.exp()));
    }
    text
}
