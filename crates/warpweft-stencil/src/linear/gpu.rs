//! The transforms on a GPU: cuFFT, and a kernel for the symbol (symbol.cuh).

use std::time::Instant;

use super::symbol::Symbol;
use warpweft_core::cuda::{
    Args, Buffer, Cubin, Device, Fourier, Launch, Module, Options, Precision, Rows, Stream, compile,
};
use warpweft_core::error::{Error, Result};

const TEXT: &str = include_str!("symbol.cuh");
/// Modes of a block.
const CHUNK: usize = 8192;
/// Offsets along x that shared memory holds weights for.
const COLUMNS: usize = 2048;

/// The kernel for values of this type.
fn compiled(precision: Precision, arch: &str) -> Result<Cubin> {
    let complex = match precision {
        Precision::Single => "float2",
        Precision::Double => "double2",
    };
    let text = format!("typedef {complex} ww_complex;\n{TEXT}").replace("#pragma once\n", "");
    // The factors are numbers of f64 with an error of their own: contraction changes nothing that is promised.
    compile(&text, "symbols", arch, &Options { contract: true, ..Options::default() })
}

/// The kernel's taps and box as bytes, and columns.
fn arguments(symbol: &Symbol, steps: u64) -> Result<(Vec<u8>, Vec<u8>, usize)> {
    let dims = symbol.extents.len();
    let of = |offset: &[isize], axis: usize| match (axis + dims).checked_sub(3) {
        Some(axis) => offset[axis] as i64,
        None => 0,
    };
    let along_x = || symbol.taps.iter().map(|(offset, _)| of(offset, 2));
    let (first, last) = (along_x().min().unwrap_or(0), along_x().max().unwrap_or(0));
    let columns = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
    if columns > COLUMNS {
        return Err(Error::Device {
            stage: "regrouping sums".into(),
            device: "a GPU".into(),
            what: format!("neighbours that are {columns} cells apart along x"),
            hint: format!("run on the cores, or read neighbours at most {COLUMNS} cells apart"),
        });
    }
    let mut taps = Vec::new();
    for (offset, weight) in &symbol.taps {
        taps.extend(weight.to_ne_bytes());
        taps.extend(of(offset, 0).to_ne_bytes());
        taps.extend(of(offset, 1).to_ne_bytes());
        taps.extend(((of(offset, 2) - first) as i32).to_ne_bytes());
        taps.extend(0i32.to_ne_bytes());
    }
    let [nz, ny, nx] = [0, 1, 2].map(|axis: usize| match (axis + dims).checked_sub(3) {
        Some(axis) => symbol.extents[axis] as i64,
        None => 1,
    });
    let mut bytes = Vec::new();
    for number in [nz, ny, nx, nx / 2 + 1, first] {
        bytes.extend(number.to_ne_bytes());
    }
    bytes.extend(steps.to_ne_bytes());
    bytes.extend((1.0 / (nz * ny * nx) as f64).to_ne_bytes());
    let even = i32::from(symbol.even());
    for number in [symbol.taps.len() as i32, columns as i32, CHUNK as i32, even] {
        bytes.extend(number.to_ne_bytes());
    }
    Ok((taps, bytes, columns))
}

/// What ended [`advance`].
pub(super) enum Failed {
    /// The cells are as they were.
    Whole(Error),
    /// Copying back: some cells may have taken the steps, others not.
    Partly(Error),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Whole(error)
    }
}

/// Takes `steps` steps of `symbol` over the `cells` of a volume. Returns the seconds from the first transform to the last.
///
/// # Errors
/// There is no cuFFT or no compiler; too little memory; the device's.
pub(super) fn advance(
    device: &Device,
    symbol: &Symbol,
    steps: u64,
    (cells, precision): (&mut [u8], Precision),
) -> std::result::Result<f64, Failed> {
    let (taps, of_box, columns) = arguments(symbol, steps)?;
    let stream = Stream::new(device)?;
    let kernel =
        Module::load(device, &compiled(precision, &device.arch()?)?)?.kernel("ww_symbol")?;
    let fourier = Fourier::new(&stream, &symbol.extents, precision)?;
    let values = Buffer::new(device, cells.len())?;
    let spectrum = Buffer::new(device, 2 * precision.bytes() * fourier.modes())?;
    let taps = Buffer::from_slice(&stream, &taps)?;
    let row = symbol.extents[symbol.extents.len() - 1];
    let rows = cells.len() / (row * precision.bytes()).max(1);
    let modes = row / 2 + 1;
    let extents = [row * precision.bytes(), rows, 1, 1];
    stream.upload_box(extents, (&values, Rows::dense(extents)), (&*cells, Rows::dense(extents)))?;
    let mut args = Args::new();
    args.buffer(&spectrum);
    args.buffer(&taps);
    args.blob(&of_box, 8);
    let shared = (columns * 16) as u32;
    let chunks = modes.div_ceil(CHUNK);
    // Along the grid's first axis there may be 2^31 blocks.
    let Ok(blocks) = i32::try_from(rows * chunks) else {
        return Err(Failed::Whole(Error::Device {
            stage: "regrouping sums".into(),
            device: "a GPU".into(),
            what: format!("{rows} rows of {modes} modes need more blocks than a CUDA grid has"),
            hint: "run on the cores".into(),
        }));
    };
    stream.synchronize()?;
    let begin = Instant::now();
    fourier.forward(&stream, &values, &spectrum)?;
    // SAFETY: the spectrum has `modes` complex numbers in each of `rows` rows, the taps are as many as the box says, and
    // there is shared memory for all columns.
    unsafe {
        stream.launch(
            &kernel,
            Launch::new([blocks as u32, 1, 1], [256, 1, 1]).shared(shared),
            &args,
        )?
    };
    fourier.back(&stream, &spectrum, &values)?;
    stream.synchronize()?;
    let seconds = begin.elapsed().as_secs_f64();
    let dense = Rows::dense(extents);
    stream.download_box(extents, (&values, dense), (cells, dense)).map_err(Failed::Partly)?;
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpweft_core::cuda::compiler;

    #[test]
    fn the_kernel_compiles_and_has_the_hosts_layout() {
        let symbol =
            Symbol { extents: vec![6, 10], taps: vec![(vec![-1, 2], 0.5), (vec![1, -1], 0.25)] };
        let (taps, of_box, columns) = arguments(&symbol, 7).unwrap();
        assert_eq!((taps.len(), of_box.len(), columns), (2 * 32, 72, 4));
        let far = Symbol { extents: vec![9000], taps: vec![(vec![-3000], 1.0), (vec![0], 1.0)] };
        assert!(arguments(&far, 1).unwrap_err().to_string().contains("3001 cells apart"));
        if let Err(reason) = compiler() {
            eprintln!("skipped: {reason}");
            return;
        }
        for precision in [Precision::Single, Precision::Double] {
            for arch in ["sm_80", "sm_90"] {
                compiled(precision, arch).unwrap();
            }
        }
    }
}
