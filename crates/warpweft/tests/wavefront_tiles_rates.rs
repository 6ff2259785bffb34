//! Seconds of the paper's methods over their tiles, for a quiet GPU.
//!
//! `SIZES=8192 cargo test --release -p warpweft --test wavefront_tiles_rates -- --ignored --nocapture`

use warpweft::cuda::Device;
use warpweft::wavefront::cuda::tiles::{Contents, Extras, TileExecutor};
use warpweft::wavefront::{Keep, Method, TilePolicy, Wavefront, WavefrontElement};
use warpweft_lab::conformance::wavefront::{Inputs, Samples, area, local, relax, warp};

fn policies(flexible: bool) -> Vec<TilePolicy> {
    let mut all = Vec::new();
    for height in [128, 256] {
        for method in [Method::BarriersHyper, Method::FlagsHyper] {
            all.push(TilePolicy { method, height, width: height, blocks: 32 });
        }
        for width in [32, 64, 128] {
            let method = Method::FlagsFlexible;
            if flexible {
                all.push(TilePolicy { method, height, width, blocks: 32 });
            }
        }
    }
    all
}

fn sweep<E: WavefrontElement>(
    device: &Device,
    element: E,
    size: usize,
    sweeps: usize,
    samples: &Samples<'_, E>,
) {
    let mut inputs = Inputs(7);
    let rows: Vec<_> = (0..size).map(|_| (samples.row)(&mut inputs)).collect();
    let columns: Vec<_> = (0..size).map(|_| (samples.column)(&mut inputs)).collect();
    let each: Vec<_> = (0..1 << 20).map(|_| (samples.input)(&mut inputs)).collect();
    let cells: Vec<_> = (0..1 << 20).map(|_| (samples.cell)(&mut inputs)).collect();
    let plain = Wavefront::of(element).rows(&rows).columns(&columns).keep(Keep::Matrix);
    let wavefront = plain.sweeps(sweeps);
    let mut executor = TileExecutor::new(device, None)
        .unwrap()
        .with(Extras { idle: std::env::var_os("IDLE").is_some(), ..Extras::default() });
    for policy in policies(true) {
        executor.set_policy(policy);
        let contents = Contents::Repeated { inputs: &each, cells: &cells };
        let prepared = match executor.prepare(&wavefront, contents) {
            Ok(prepared) => prepared,
            Err(error) => {
                println!("{policy:?}: {error}");
                continue;
            }
        };
        let mut seconds: Vec<f64> = (0..3).map(|_| prepared.launch().unwrap()).collect();
        seconds.sort_by(f64::total_cmp);
        let idle = prepared.idle().unwrap();
        println!(
            "RATE {} {size} {sweeps} {} {} {} {} {:.6e} {:.4} {:.3} {:.3}",
            E::NAME,
            policy.method.number(),
            policy.height,
            policy.width,
            prepared.blocks(),
            seconds[0],
            (size * size * sweeps) as f64 / seconds[0] / 1e12,
            idle.corner / idle.total,
            idle.intermediate / idle.total,
        );
    }
}

#[test]
#[ignore = "takes minutes of a quiet GPU"]
fn methods_over_their_tiles() {
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(error) => return println!("skipped: {error}"),
    };
    let sizes = std::env::var("SIZES").unwrap_or_else(|_| "8192".into());
    let apps = std::env::var("APPS").unwrap_or_else(|_| "local warp area relax".into());
    let letter = |inputs: &mut Inputs| inputs.one_of(b"ACGT");
    let sample = |inputs: &mut Inputs| (inputs.bits() % 1000) as f32 / 8.0;
    let byte = |inputs: &mut Inputs| inputs.bits() as u8;
    let zero = |_: &mut Inputs| 0;
    let none = |_: &mut Inputs| ();
    for size in sizes.split(' ').map(|size| size.parse().unwrap()) {
        for app in apps.split(' ') {
            match app {
                "local" => {
                    let of = Samples { row: &letter, column: &letter, input: &none, cell: &zero };
                    sweep(&device, local(2, -1, -1), size, 1, &of);
                }
                "warp" => {
                    let of = Samples { row: &sample, column: &sample, input: &none, cell: &sample };
                    sweep(&device, warp(), size, 1, &of);
                }
                "area" => {
                    let of = Samples { row: &none, column: &none, input: &byte, cell: &zero };
                    sweep(&device, area(), size, 1, &of);
                }
                _ => {
                    let of = Samples { row: &none, column: &none, input: &sample, cell: &sample };
                    sweep(&device, relax(1.0), size, 4, &of);
                }
            }
        }
    }
}
