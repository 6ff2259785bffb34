//! Farms on a GPU that is gone, or whose lanes fail, panic, trap or hang: what they had is done by others, and they are
//! named. Skipped, with the reason, where a GPU is needed and there is none.

use std::process::Command;
use std::time::{Duration, Instant};

use warpweft::cuda::{Args, Cache, Device, Kernel, Launch, Module, Options, compile_in, compiler};
use warpweft::farm::{
    ChunkExecutor, ChunkOutputs, ChunkSize, GpuLane, Grain, OnGpu, Outcome, Place, Policy, Run,
    Schedule, Target, on_cores,
};
use warpweft::prelude::*;

const KERNELS: &str = r#"
extern "C" __global__ void trap() { asm volatile("trap;"); }
extern "C" __global__ void spin(unsigned long long nanoseconds) {
    unsigned long long from, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); while (now - from < nanoseconds);
}
"#;

#[test]
fn the_kernels_of_these_tests_compile_without_a_device() {
    if let Err(error) = compiler() {
        return println!("skipped: {error}");
    }
    for arch in ["sm_80", "sm_90"] {
        compile_in(&Cache::none(), KERNELS, "tests", arch, &Options::default()).unwrap();
    }
}

/// The machine with its first GPU.
fn with_a_gpu() -> Option<Machine> {
    let mut machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        assert_ne!(std::env::var("WARPWEFT_NEED_GPU").as_deref(), Ok("1"), "{:?}", machine.notes);
        println!("skipped: {}", machine.notes.join("; "));
        return None;
    }
    machine.gpus.truncate(1);
    Some(machine)
}

/// How a lane ends in its second chunk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Never,
    Error,
    Panic,
    Trap,
    Hang,
}

/// Cubes, of which lane 0 of the GPU does one chunk.
struct Cubes {
    end: End,
}

struct Lane<'a> {
    task: &'a Cubes,
    lane: GpuLane,
    trap: Kernel,
    spin: Kernel,
    chunks: u32,
}

impl Task for Cubes {
    type Input = u64;
    type Output = u64;
    fn on_core(&self, k: u64) -> Result<u64, Failure> {
        // Opening a lane takes some tenths of a second: cores must not be through by then.
        std::thread::sleep(Duration::from_millis(2));
        Ok(k * k * k)
    }
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        Some(self)
    }
}

impl OnGpu<Self> for Cubes {
    fn open(&self, lane: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        let device = lane.device();
        let cubin =
            compile_in(&Cache::none(), KERNELS, "tests", &device.arch()?, &Options::default())?;
        let module = Module::load(device, &cubin)?;
        let (trap, spin) = (module.kernel("trap")?, module.kernel("spin")?);
        Ok(Box::new(Lane { task: self, lane, trap, spin, chunks: 0 }))
    }
}

impl ChunkExecutor<Cubes> for Lane<'_> {
    fn grain(&self) -> Grain {
        Grain { of: 10, most: 10 }
    }

    fn run(&mut self, inputs: &[u64], outputs: &mut ChunkOutputs<'_, Cubes>) -> Result<()> {
        self.chunks += 1;
        let (stream, mut args) = (self.lane.stream(), Args::new());
        if self.chunks == 2 && self.lane.number() == 0 {
            match self.task.end {
                End::Never => {}
                End::Error => return Err(Error::spec("the lane broke", "mend it")),
                End::Panic => std::panic::resume_unwind(Box::new("the lane fell over")),
                // SAFETY: the kernel takes nothing.
                End::Trap => unsafe { stream.launch(&self.trap, Launch::line(1, 1), &args)? },
                End::Hang => {
                    args.value(2_000_000_000u64);
                    // SAFETY: the kernel takes one number.
                    unsafe { stream.launch(&self.spin, Launch::line(1, 1), &args)? };
                }
            }
        } else {
            args.value(100_000u64);
            // SAFETY: the kernel takes one number.
            unsafe { stream.launch(&self.spin, Launch::line(1, 1), &args)? };
        }
        self.lane.wait(Duration::from_millis(500))?;
        inputs.iter().enumerate().for_each(|(k, input)| outputs.done(k, &(input * input * input)));
        Ok(())
    }
}

/// Runs 2000 tasks, each of which must come out once.
fn ran(end: End, machine: &Machine, target: Target, lanes: usize) -> Result<Outcome> {
    let policy = Policy { lanes, ..Policy::default() };
    let run = Run { target, policy: Some(policy), threads: Some(2), ..Run::default() };
    let mut had = vec![0; 2000];
    let mut sink = |k: u64, cube| {
        assert_eq!(cube, k * k * k);
        had[k as usize] += 1;
        Ok(())
    };
    let farm = Farm::of(Cubes { end });
    let outcome = farm.run_into(0..2000u64, machine, &run, &mut sink)?;
    assert!(had.iter().all(|times| *times == 1), "{end:?}");
    Ok(outcome)
}

/// Workers that were lost, with the reasons.
fn lost(outcome: &Outcome) -> Vec<(Place, String)> {
    let lost = outcome.shares.iter().filter_map(|s| Some((s.worker.place, s.lost.clone()?)));
    lost.collect()
}

#[test]
fn lanes_work_beside_the_cores_and_alone() {
    let Some(machine) = with_a_gpu() else { return };
    for lanes in [1, 2, 4] {
        for target in [Target::Auto, Target::AllGpus] {
            let outcome = ran(End::Never, &machine, target, lanes).unwrap();
            assert!(lost(&outcome).is_empty());
            let on_lanes =
                outcome.shares.iter().filter(|s| matches!(s.worker.place, Place::Lane { .. }));
            assert_eq!(on_lanes.count(), lanes);
            let cores = outcome.shares.len() - lanes;
            assert_eq!(cores, if target == Target::AllGpus { 0 } else { 2 });
        }
    }
}

#[test]
fn a_lane_that_fails_or_panics_leaves_its_tasks_to_the_other() {
    let Some(machine) = with_a_gpu() else { return };
    for (end, why) in [(End::Error, "the lane broke"), (End::Panic, "the lane fell over")] {
        let outcome = ran(end, &machine, Target::AllGpus, 2).unwrap();
        let [(place, told)] = &lost(&outcome)[..] else { panic!("{:?}", lost(&outcome)) };
        assert_eq!(*place, Place::Lane { gpu: machine.gpus[0].ordinal, lane: 0 });
        assert!(told.contains(why), "{told}");
        assert!(outcome.report.notes[0].contains("lane 0 was lost"), "{:?}", outcome.report.notes);
        let alone = ran(end, &machine, Target::AllGpus, 1).unwrap_err().to_string();
        assert!(alone.contains(why), "{alone}");
    }
}

/// Runs the test `name` again in a process of its own, which loses the device. True in that process.
fn alone(name: &str) -> bool {
    const CHILD: &str = "WARPWEFT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child
        .args([&format!("cuda::{name}"), "--exact", "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let held = output.status.success() && text.contains("1 passed");
    assert!(held, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    false
}

#[test]
fn a_kernel_that_traps_takes_its_device_along_and_the_cores_do_the_rest() {
    let Some(machine) = with_a_gpu() else { return };
    if !alone("a_kernel_that_traps_takes_its_device_along_and_the_cores_do_the_rest") {
        return;
    }
    let outcome = ran(End::Trap, &machine, Target::Auto, 2).unwrap();
    let lost = lost(&outcome);
    assert!(lost.iter().any(|(place, _)| matches!(place, Place::Lane { lane: 0, .. })), "{lost:?}");
    assert!(lost.iter().all(|(place, _)| matches!(place, Place::Lane { .. })), "{lost:?}");
    // Nothing runs on that device in this process any more.
    let device = Device::open(machine.gpus[0].ordinal).unwrap();
    assert!(device.synchronize().is_err());
}

#[test]
fn a_kernel_that_hangs_is_given_up_and_the_cores_do_the_rest() {
    let Some(machine) = with_a_gpu() else { return };
    if !alone("a_kernel_that_hangs_is_given_up_and_the_cores_do_the_rest") {
        return;
    }
    let begin = Instant::now();
    let outcome = ran(End::Hang, &machine, Target::Auto, 1).unwrap();
    let [(Place::Lane { .. }, told)] = &lost(&outcome)[..] else { panic!("{:?}", lost(&outcome)) };
    assert!(told.contains("not done after 0.5"), "{told}");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

/// Squares, on lanes too, which no test here reaches where there is no GPU.
struct Squares;

impl Task for Squares {
    type Input = u64;
    type Output = u64;
    fn on_core(&self, k: u64) -> Result<u64, Failure> {
        Ok(k * k)
    }
    fn on_gpu(&self) -> Option<&dyn OnGpu<Self>> {
        Some(self)
    }
}

impl OnGpu<Self> for Squares {
    fn open(&self, _: GpuLane) -> Result<Box<dyn ChunkExecutor<Self> + '_>> {
        Err(Error::spec("no room for squares", "take a larger GPU"))
    }
}

/// A machine with a GPU of which its driver, if it has one, knows nothing.
fn with_a_gpu_that_is_gone() -> Machine {
    let gpu = serde_json::json!({
        "ordinal": 1000, "name": "gone", "capability": [9, 0], "sms": 1, "memory": 1, "l2_bytes": 1,
        "shared_per_sm": 1, "shared_per_block": 1, "registers_per_sm": 1, "threads_per_sm": 1,
        "blocks_per_sm": 1, "clock": 1.0, "cooperative": true, "links": [],
    });
    let gpus = vec![serde_json::from_value(gpu).unwrap()];
    Machine { gpus, ..Machine::detect().unwrap() }
}

#[test]
fn a_gpu_that_is_gone_leaves_its_tasks_to_the_cores_and_is_named() {
    let machine = with_a_gpu_that_is_gone();
    for lanes in [1, 3] {
        let policy = Policy { lanes, chunk: ChunkSize::Tasks(5), ..Policy::default() };
        for schedule in [Schedule::MasterWorker, Schedule::Eq2] {
            let policy = Policy { schedule, ..policy };
            let run = Run { policy: Some(policy), threads: Some(2), ..Run::default() };
            let mut had = vec![0; 1000];
            let mut sink = |k: u64, square| {
                assert_eq!(square, k * k);
                had[k as usize] += 1;
                Ok(())
            };
            let farm = Farm::of(Squares);
            let outcome = farm.run_into(0..1000u64, &machine, &run, &mut sink).unwrap();
            assert!(had.iter().all(|times| *times == 1));
            let workers: Vec<_> =
                outcome.shares.iter().map(|share| share.worker.to_string()).collect();
            assert_eq!(workers[..2], ["core 0", "core 1"]);
            assert_eq!(workers[2..].len(), lanes);
            assert_eq!(workers[2], "GPU 1000 lane 0");
            assert!(
                outcome.shares[2..].iter().all(|share| share.lost.is_some() && share.tasks == 0)
            );
            assert_eq!(outcome.report.notes.len(), lanes);
            assert!(
                outcome.report.notes[0].starts_with("GPU 1000 lane"),
                "{:?}",
                outcome.report.notes
            );
            assert_eq!(outcome.report.devices[1], "gone (1000)");
        }
    }
}

#[test]
fn a_farm_on_gpus_alone_says_what_it_lacks() {
    let run = Run { target: Target::AllGpus, ..Run::default() };
    let refused = |machine: &Machine| {
        let refusal = Farm::of(Squares).run_into(0..9u64, machine, &run, &mut |_, _| Ok(()));
        refusal.unwrap_err().to_string()
    };
    let none = Machine { gpus: Vec::new(), ..Machine::detect().unwrap() };
    assert!(refused(&none).contains("no GPU can be used"), "{}", refused(&none));
    let gone = refused(&with_a_gpu_that_is_gone());
    assert!(gone.contains("GPU 1000") || gone.contains("driver"), "{gone}");
    let farm = Farm::of(on_cores(|k: u64| Ok(k)));
    let refusal = farm.run_into(0..9u64, &with_a_gpu_that_is_gone(), &run, &mut |_, _| Ok(()));
    assert!(refusal.unwrap_err().to_string().contains("its task runs on cores only"));
    // Left to itself, it never asks for the GPU.
    let (same, report) = farm.run(0..9u64, &with_a_gpu_that_is_gone()).unwrap();
    assert!(same.into_iter().eq(0..9) && report.devices.len() == 1 && report.notes.is_empty());
}
