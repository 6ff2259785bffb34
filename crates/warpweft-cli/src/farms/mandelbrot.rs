//! `warpweft run mandelbrot`: a picture in tiles, a farm of uneven tasks.

use std::path::PathBuf;

use serde_json::json;
use warpweft::farm::Inputs;
use warpweft::grid::io::png;
use warpweft::prelude::*;
use warpweft_apps::mandelbrot::Mandelbrot as Spec;

use super::{About, FarmOptions};
use crate::arguments::{Size, as_size, number, whole};
use crate::place;
use crate::run::check::{Check, scattered};
use crate::run::files::{Format, Write};
use crate::run::outcome::Outcome;

/// Iterations of the check: about a fifth of a second.
const CHECKED: u64 = 40_000_000;

/// The Mandelbrot set in tiles of 8 x 8 pixels.
#[derive(clap::Args)]
#[command(
    after_help = "Each tile is a task. A tile inside the set takes the largest allowed number of iterations, a tile outside only a few. \
The iteration counts of some pixels (all with --check full) are checked against a plain loop over complex numbers. \
After Ctrl-C, missing tiles are black in the picture.

Examples:
  warpweft run mandelbrot --plot
  warpweft run mandelbrot --size 2160x3840 --limit 20000 --device gpu --plot set.png
  warpweft run mandelbrot --centre -0.743644,0.131826 --width 1e-4 --trace tiles.json"
)]
pub struct Mandelbrot {
    /// Rows and columns of pixels.
    #[arg(long, value_name = "N|HxW", default_value = "540x960")]
    size: Size,
    /// The point in the middle: its real and its imaginary part.
    #[arg(long, value_name = "RE,IM", default_value = "-0.65,0", value_delimiter = ',',
          allow_hyphen_values = true, value_parser = number::<f64>)]
    centre: Vec<f64>,
    /// How far the picture reaches along the real axis.
    #[arg(long, value_name = "X", default_value = "3.6", value_parser = number::<f64>)]
    width: f64,
    /// Iterations of a pixel at most, 1 to 65535.
    #[arg(long, value_name = "N", default_value = "2000", value_parser = whole::<u32>)]
    limit: u32,
    /// Write the picture [default file: mandelbrot.png].
    #[arg(long, value_name = "FILE.png", num_args = 0..=1)]
    plot: Option<Option<PathBuf>>,
    #[command(flatten)]
    options: FarmOptions,
}

impl Mandelbrot {
    /// Computes, checks and saves.
    pub fn run(&self) -> Result<Option<Outcome>> {
        let extents = self.size.extents(2)?.array::<2>();
        let side = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
        let [re, im] = self.centre[..] else {
            let what = format!("--centre has {} numbers", self.centre.len());
            return Err(Error::spec(
                what,
                "give the real and the imaginary part, as in --centre=-0.65,0",
            ));
        };
        let spec = Spec {
            size: [side(extents[1]), side(extents[0])],
            centre: [re, im],
            width: self.width,
            limit: self.limit,
        };
        spec.check()?;
        let plot = self.plot.as_ref().map(|path| path.clone().unwrap_or("mandelbrot.png".into()));
        if let Some(plot) = plot.as_ref().filter(|_| place::speaks()) {
            Format::of(plot, &[Format::Png])?;
        }
        self.options.check(plot.iter())?;
        let about = About {
            app: "mandelbrot",
            title: format!(
                "{} pixels around {re}, {im}, to {} iterations",
                as_size(&extents),
                self.limit
            ),
            settings: vec![
                ("size", json!(as_size(&extents))),
                ("centre", json!([re, im])),
                ("width", json!(self.width)),
                ("limit", json!(self.limit)),
            ],
            task: "tile",
            tasks: ["tiles", "tiles/s"],
        };
        let inputs = Inputs::from(0..spec.tiles());
        let farm = Farm::of(spec.task());
        let Some(farmed) = self.options.run(&farm, inputs, &about)? else { return Ok(None) };
        let done = farmed.outputs.iter().flatten().count();
        let whole = done == spec.tiles() as usize;
        let black = [u16::try_from(self.limit).unwrap_or(u16::MAX); 64];
        let tiles: Vec<_> = farmed.outputs.into_iter().map(|tile| tile.unwrap_or(black)).collect();
        let (check, inside) = match whole {
            false => (Check::none("interrupted"), None),
            true => {
                let most = self.options.checking.most(CHECKED);
                let check = self.options.checking.unless_none(|| checked(&spec, &tiles, most));
                (check, Some(inside(&spec, &tiles)))
            }
        };
        let write = |path| png::write(path, &spec.picture(&tiles)?);
        let result = plot.as_deref().map(|path| (path, Box::new(move || write(path)) as Write<'_>));
        let saved = self.options.save(result, farmed.trace.as_deref());
        let answer = vec![("tiles", json!(done)), ("inside_fraction", json!(inside))];
        Ok(Some(self.options.outcome(about, answer, check, saved, farmed.outcome)))
    }
}

/// The fraction of all pixels that never left.
fn inside(spec: &Spec, tiles: &[[u16; 64]]) -> f64 {
    let [columns, rows] = spec.size;
    let pixels = (0..rows).flat_map(|row| (0..columns).map(move |column| (column, row)));
    let inside =
        pixels.filter(|&(column, row)| u32::from(spec.count(tiles, column, row)) == spec.limit);
    inside.count() as f64 / (f64::from(columns) * f64::from(rows))
}

/// Whether pixels all over the picture have the counts of a plain loop, which iterates about `most` times.
fn checked(spec: &Spec, tiles: &[[u16; 64]], most: u64) -> Check {
    let [columns, rows] = spec.size.map(u64::from);
    let pixels = columns * rows;
    let (mut spent, mut worst, mut compared) = (0, 0, 0);
    for pixel in scattered(pixels) {
        if spent >= most {
            break;
        }
        let (column, row) = ((pixel % columns) as u32, (pixel / columns) as u32);
        let expect = spec.plain(column, row);
        worst = worst.max(expect.abs_diff(spec.count(tiles, column, row).into()));
        spent += u64::from(expect) + 10;
        compared += 1;
    }
    let check = Check::made("plain loop over complex numbers", worst.into(), 0.0);
    match compared < pixels {
        true => check.of(format!("{compared} of {pixels} pixels")),
        false => check,
    }
}
