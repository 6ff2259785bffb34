//! What is kept between runs or written by hand: tuned policies, measured limits, the table of kernels. A policy that is
//! read is used.

use std::path::Path;
use std::sync::OnceLock;

use warpweft::farm::{self, KernelTable};
use warpweft::grid::Volume;
use warpweft::machine::{CpuProbe, Machine, Probe};
use warpweft::run::Target;
use warpweft::stencil::{self, Boundary, Steps};
use warpweft::tune::{Entry, Measured, TuningCache};
use warpweft::wavefront::{self, Wavefront};
use warpweft_apps::align::{Weights, letters};
use warpweft_apps::life;

use super::Kind;

/// The machine, which takes a while to look at.
pub fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| Machine::detect().expect("this machine"))
}

/// Of all that is kept.
pub fn kinds() -> Vec<Kind> {
    let value = |policy| serde_json::to_value(policy).expect("a policy");
    let of_stencil = value(stencil::Policy::Cpu(stencil::CpuPolicy::default()));
    let of_wavefront = wavefront::CpuPolicy::for_domain(14, 1);
    let of_wavefront =
        serde_json::to_value(wavefront::Policy::Cpu(of_wavefront)).expect("a policy");
    let of_farm = serde_json::to_value(farm::Policy::default()).expect("a policy");
    let tuned = |name, policy, reads| Kind::of(name, "tuning.json", tuning(policy), reads);
    vec![
        tuned("a tuned policy of a stencil", of_stencil, stencil_by),
        tuned("a tuned policy of a wavefront", of_wavefront, wavefront_by),
        tuned("a tuned policy of a farm", of_farm, farm_by),
        Kind::of("measured limits", "probe.json", limits(), |at| {
            let mut notes = Vec::new();
            drop(Probe::load(machine(), at, &mut notes));
        }),
        Kind::of("the table of kernels", "a.toml", ROWS, |at| {
            drop(KernelTable::from_file(&at.join("a.toml")));
        }),
    ]
}

const ROWS: &str = "[[row]]\nmemory = \"scatter\"\n[row.hopper]\nblock = 256\nshared = 8\nconcurrent = 2\n\
                    evidence = \"x\"\n[[row]]\n[row.ada]\nblock = 128\nconcurrent = 1\n";

/// A file of tuning results with this policy, as `key`.
fn tuning(policy: serde_json::Value) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let measured = Measured { median: 0.5, least: 0.25, runs: 3 };
    let entry = Entry { policy, measured, rate: 2.0, tried: 4 };
    TuningCache::open(folder.path()).keep("key", entry).expect("a small file");
    std::fs::read(folder.path().join("tuning.json")).expect("just written")
}

fn limits() -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder");
    let cpu = CpuProbe { threads: 2, copy: Some(1e10), hop: Some(1e-7), ..CpuProbe::default() };
    let probe = Probe { cpu, gpus: vec![], pairs: vec![], notes: vec![], seconds: 1.0, when: 1 };
    probe.save(machine(), folder.path()).expect("a small file");
    std::fs::read(folder.path().join("probe.json")).expect("just written")
}

fn stencil_by(at: &Path) {
    let Some(policy) = TuningCache::open(at).policy::<stencil::Policy>("key") else { return };
    let start = || Volume::from_fn([9, 11], |[y, x]| u8::from((y * 3 + x * 5) % 7 < 3));
    let stencil = life::stencil().boundary(Boundary::Periodic);
    let run = stencil::Run { target: Target::Cpu, policy: Some(policy), ..stencil::Run::default() };
    let mut found = start();
    if stencil.run_with(&mut found, Steps(5), machine(), &run).is_ok() {
        let mut expect = start();
        stencil::reference(&stencil, &mut expect, 5).expect("few cells");
        assert_eq!(found.as_slice(), expect.as_slice(), "{policy:?}");
    }
}

fn wavefront_by(at: &Path) {
    let Some(policy) = TuningCache::open(at).policy::<wavefront::Policy>("key") else { return };
    let (rows, columns) = (b"ACGTTGCATTGACC", b"ACGTGCATCTGACACT");
    let local =
        Wavefront::of(letters::with(Weights::linear(2, -1, -1))).rows(rows).columns(columns);
    let local = local.keep(wavefront::Keep::Best);
    let run = wavefront::Run { target: Target::Cpu, policy: Some(policy), ..Default::default() };
    if let Ok((found, _)) = local.run_with(machine(), &run) {
        assert_eq!(found, wavefront::reference(&local).expect("few cells"), "{policy:?}");
    }
}

fn farm_by(at: &Path) {
    let Some(policy) = TuningCache::open(at).policy::<farm::Policy>("key") else { return };
    let farm = farm::Farm::of(farm::on_cores(|k: u64| Ok(k * k)));
    let run = farm::Run {
        target: Target::Cpu,
        policy: Some(policy),
        threads: Some(1),
        ..Default::default()
    };
    if let Ok((found, _)) = farm.run_with(0..30u64, machine(), &run) {
        assert!(found.into_iter().eq((0..30u64).map(|k| Some(k * k))), "{policy:?}");
    }
}
