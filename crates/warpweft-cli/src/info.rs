//! `warpweft info`: the machine's cores, memory and GPUs, and with `--probe` their measured limits.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use warpweft::Result;
use warpweft::machine::{Gpu, Machine, Probe, probe};

use crate::output::{fail, note, say, scaled, time};
use crate::progress::Progress;

/// Show the cores, the memory, the GPUs and their links.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  warpweft info
  warpweft info --probe          also measure bandwidths, flags, barriers and launches
  warpweft info --probe --json")]
pub struct Info {
    /// Measure the machine's limits and keep them for reports; takes a few seconds.
    #[arg(long)]
    probe: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

impl Info {
    /// Detects, measures and prints.
    pub fn execute(&self) -> ExitCode {
        match self.text() {
            Ok(text) => say(&text),
            Err(error) => fail(&error),
        }
    }

    fn text(&self) -> Result<String> {
        let machine = Machine::detect()?;
        let (folder, mut notes) = match warpweft::cuda::trusted_folder() {
            Ok(folder) => (folder, Vec::new()),
            Err(why) => (None, vec![why]),
        };
        // Earlier measurements, which reports use.
        let load = |folder: &PathBuf| Probe::load(&machine, folder, &mut notes);
        let known = folder.as_ref().and_then(load);
        let measured = if self.probe {
            let _waiting = Progress::waiting("measuring");
            Some(probe(&machine)?.or_better(known.as_ref()))
        } else {
            known
        };
        notes.iter().for_each(|what| note(what));
        if self.probe
            && let (Some(measured), Some(folder)) = (&measured, folder)
            && let Err(error) = measured.save(&machine, &folder)
        {
            note(&error.to_string());
        }
        let compiler = warpweft::cuda::compiler();
        if self.json {
            let compiler = compiler.ok();
            let object = json!({"machine": machine, "compiler": compiler, "probe": measured});
            return Ok(object.to_string());
        }
        let mut text = String::new();
        describe(&mut text, &machine);
        match compiler {
            Ok(compiler) => line(&mut text, "compiler", &compiler),
            // Without a GPU there is nothing to compile, so a missing compiler is not reported.
            Err(_) if machine.gpus.is_empty() => {}
            Err(error) => line(&mut text, "compiler", &format!("none: {error}")),
        }
        for note in &machine.notes {
            line(&mut text, "note", note);
        }
        match measured {
            Some(measured) => describe_probe(&mut text, &measured, self.probe),
            None => line(
                &mut text,
                "measured",
                "nothing yet; --probe measures, and so does the first run",
            ),
        }
        Ok(text.trim_end().into())
    }
}

fn line(text: &mut String, name: &str, value: &str) {
    // Writing to a string can't fail.
    let _ = writeln!(text, "{name:<9}{value}");
}

fn describe(text: &mut String, machine: &Machine) {
    let cpu = &machine.cpu;
    let nodes =
        if cpu.nodes.len() > 1 { format!(", {} nodes", cpu.nodes.len()) } else { String::new() };
    line(text, "cpu", &format!("{}{nodes}, {}", cpu.label(cpu.cores.len()), cpu.simd));
    let caches = &cpu.caches;
    let sizes: Vec<_> = [("L1d", caches.l1d), ("L2", caches.l2), ("L3", caches.l3)]
        .into_iter()
        .filter_map(|(name, size)| Some(format!("{name} {}", binary(size?))))
        .collect();
    if !sizes.is_empty() {
        line(text, "caches", &sizes.join(", "));
    }
    let memory = &cpu.memory;
    line(text, "memory", &format!("{}, {} free", binary(memory.total), binary(memory.available)));
    if machine.gpus.is_empty() {
        line(text, "gpus", "none");
    }
    for gpu in &machine.gpus {
        describe_gpu(text, gpu);
    }
}

fn describe_gpu(text: &mut String, gpu: &Gpu) {
    let what = format!(
        "{}, {}, {} SMs at {}Hz, {}, L2 {}, shared {} an SM",
        gpu.name,
        gpu.arch(),
        gpu.sms,
        scaled(gpu.clock),
        binary(gpu.memory),
        binary(gpu.l2_bytes),
        binary(gpu.shared_per_sm.into()),
    );
    line(text, &format!("gpu {}", gpu.ordinal), &what);
    let peers: Vec<_> =
        gpu.links.iter().filter(|link| link.peer).map(|link| link.to.to_string()).collect();
    if !peers.is_empty() {
        line(text, "", &format!("peer access to {}", peers.join(", ")));
    }
}

fn describe_probe(text: &mut String, measured: &Probe, now: bool) {
    let rates = |parts: &[(&str, Option<f64>, &str)]| {
        let parts = parts.iter().map(|(name, value, unit)| match value {
            Some(value) if *unit == "s" => format!("{name} {}", time(*value)),
            Some(value) => format!("{name} {}{unit}", scaled(*value)),
            None => format!("{name} not measured"),
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let when = if now { "" } else { " earlier; --probe measures again" };
    text.push('\n');
    line(text, "measured", &format!("in {:.1} s{when}", measured.seconds));
    let cpu = &measured.cpu;
    let parts = [
        ("copy", cpu.copy, "B/s"),
        ("with ordinary stores", cpu.copy_ordinary, "B/s"),
        ("read", cpu.read, "B/s"),
        ("flag", cpu.hop, "s"),
    ];
    line(text, "cpu", &format!("{} threads: {}", cpu.threads, rates(&parts)));
    for gpu in &measured.gpus {
        let parts = [
            ("copy", gpu.copy, "B/s"),
            ("by the driver", gpu.copy_driver, "B/s"),
            ("read", gpu.read, "B/s"),
            ("host to device", gpu.to_device, "B/s"),
            ("device to host", gpu.from_device, "B/s"),
        ];
        line(text, &format!("gpu {}", gpu.ordinal), &rates(&parts));
        let parts = [
            ("flag", gpu.hop, "s"),
            ("grid barrier", gpu.barrier, "s"),
            ("launch", gpu.launch, "s"),
            ("in a graph", gpu.graph_launch, "s"),
        ];
        line(text, "", &rates(&parts));
    }
    for pair in &measured.pairs {
        let parts =
            [("copy", pair.copy, "B/s"), ("4 KiB", pair.latency, "s"), ("flag", pair.hop, "s")];
        line(text, &format!("{} to {}", pair.from, pair.to), &rates(&parts));
    }
    for note in &measured.notes {
        line(text, "note", note);
    }
}

/// Bytes with a binary prefix.
fn binary(bytes: u64) -> String {
    let scale = (0..4).rev().find(|&scale| bytes >= 1 << (10 * scale)).unwrap_or(0);
    let value = bytes as f64 / f64::from(1u32 << (10 * scale));
    let digits = usize::from(value < 100.0 && scale > 0);
    format!("{value:.digits$} {}", ["B", "KiB", "MiB", "GiB"][scale])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(binary(48 << 10), "48.0 KiB");
        assert_eq!(binary(140 << 30), "140 GiB");
        assert_eq!(binary(0), "0 B");
    }
}
