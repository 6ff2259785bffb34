//! Finding and measuring the machine that the tests run on, whatever it has.

use std::fs;

use warpweft::machine::{Machine, Probe, probe, probed};

#[test]
fn the_machine_found_is_the_one_the_system_describes() {
    let machine = Machine::detect().unwrap();
    let cpu = &machine.cpu;
    assert!(cpu.cores.is_sorted() && !cpu.cores.is_empty());
    // The standard library counts the same set, cut by the same quota.
    assert_eq!(cpu.threads(), std::thread::available_parallelism().unwrap().get());
    let in_nodes: usize = cpu.nodes.iter().map(|node| node.cores.len()).sum();
    assert_eq!(in_nodes, cpu.cores.len());
    if let Ok(info) = fs::read_to_string("/proc/meminfo") {
        let total = info.lines().next().unwrap().split_whitespace().nth(1).unwrap();
        assert!(cpu.memory.total <= total.parse::<u64>().unwrap() * 1024);
        assert!(cpu.memory.available > 0 && cpu.memory.available <= cpu.memory.total);
    }
    if machine.gpus.is_empty() {
        assert!(machine.notes.iter().any(|note| note.starts_with("no GPU: ")), "{machine:?}");
    }
    for gpu in &machine.gpus {
        assert!(gpu.sms > 0 && gpu.memory > 1 << 30 && gpu.clock > 1e8, "{gpu:?}");
        assert!(gpu.arch().starts_with("sm_"));
        assert_eq!(gpu.links.len(), machine.gpus.len() - 1);
        let free = gpu.memory_free().unwrap();
        assert!(free > 0 && free <= gpu.memory);
    }
}

#[test]
fn it_survives_json_and_has_a_fingerprint_that_does_not_change() {
    let machine = Machine::detect().unwrap();
    let text = serde_json::to_string(&machine).unwrap();
    assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
    let mut later = Machine::detect().unwrap();
    later.cpu.memory.available /= 2;
    assert_eq!(later.fingerprint(), machine.fingerprint());
}

#[test]
fn the_probe_measures_plausible_limits() {
    let machine = Machine::detect().unwrap();
    let probe = probe(&machine).unwrap();
    println!("{}", serde_json::to_string_pretty(&probe).unwrap());
    // From a wheezing shared core to what no machine has.
    let within =
        |value: Option<f64>, low: f64, high: f64| value.is_some_and(|v| v > low && v < high);
    assert!(within(probe.cpu.copy, 1e8, 1e13), "{probe:?}");
    assert!(within(probe.cpu.copy_ordinary, 1e8, 1e13), "{probe:?}");
    assert!(within(probe.cpu.read, 1e8, 1e13), "{probe:?}");
    assert_eq!(probe.cpu.hop.is_some(), machine.cpu.threads() > 1);
    assert_eq!(probe.gpus.len(), machine.gpus.len());
    assert_eq!(probe.pairs.len(), machine.gpus.len() * machine.gpus.len().saturating_sub(1));
    for gpu in &probe.gpus {
        assert!(within(gpu.copy_driver, 1e10, 1e14), "{gpu:?}");
        assert!(within(gpu.to_device, 1e8, 1e12) && within(gpu.from_device, 1e8, 1e12), "{gpu:?}");
    }
}

/// A probe as a file has it, of a machine that nobody measured here.
fn made_up(machine: &Machine) -> Probe {
    let cpu = serde_json::json!({"threads": machine.cpu.threads(), "copy": 1.5e10, "copy_ordinary": null, "read": null, "hop": 1e-7});
    let probe = serde_json::json!({"cpu": cpu, "gpus": [], "pairs": [], "notes": [], "seconds": 1.0, "when": u64::MAX});
    serde_json::from_value(probe).unwrap()
}

#[test]
fn a_kept_probe_comes_back_for_its_machine_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, mut notes) = (folder.path().join("new"), Vec::new());
    let machine = Machine::detect().unwrap();
    assert_eq!(Probe::load(&machine, &folder, &mut notes), None);
    let known = made_up(&machine);
    known.save(&machine, &folder).unwrap();
    let silent = |what: &str| panic!("{what}");
    assert_eq!(probed(&machine, Some(&folder), &silent).unwrap(), known);
    let mut other = machine.clone();
    other.cpu.model = "another".into();
    assert_eq!(Probe::load(&other, &folder, &mut notes), None);
    made_up(&machine).save(&other, &folder).unwrap();
    assert_eq!(Probe::load(&machine, &folder, &mut notes), Some(known));
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn a_damaged_file_is_measured_anew_and_noted() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine::detect().unwrap();
    made_up(&machine).save(&machine, folder.path()).unwrap();
    let path = folder.path().join("probe.json");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() / 2]).unwrap();
    let mut notes = Vec::new();
    assert_eq!(Probe::load(&machine, folder.path(), &mut notes), None);
    assert!(notes[0].contains("damaged") && notes[0].contains("measured anew"), "{notes:?}");
    // Writing replaces it whole.
    made_up(&machine).save(&machine, folder.path()).unwrap();
    assert!(Probe::load(&machine, folder.path(), &mut Vec::new()).is_some());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let machine = Machine::detect().unwrap();
    let error = made_up(&machine).save(&machine, &file).unwrap_err().to_string();
    assert!(error.contains("WARPWEFT_CACHE"), "{error}");
}
