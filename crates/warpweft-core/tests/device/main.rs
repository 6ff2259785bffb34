//! The CUDA mechanism on a real device. Without one every test says why it is skipped, unless
//! `WARPWEFT_NEED_GPU` is 1: then it fails.

mod copies;
mod failures;
mod kernels;
mod waiting;

use std::process::Command;

use warpweft::cuda::{Cache, Device, Kernel, Module, Options, Stream, compile_in, compiler};

/// A device with a stream and the kernels of `kernels.cu`.
struct Bench {
    device: Device,
    stream: Stream,
    module: Module,
}

const SOURCE: &str = include_str!("kernels.cu");

/// The first device; `None`, with the reason printed, where there is none.
fn bench() -> Option<Bench> {
    let make = || {
        let device = Device::open(0)?;
        let cubin =
            compile_in(&Cache::none(), SOURCE, "tests", &device.arch()?, &Options::default())?;
        let (stream, module) = (Stream::new(&device)?, Module::load(&device, &cubin)?);
        Ok::<_, warpweft::Error>(Bench { device, stream, module })
    };
    if let Err(error) = Device::count().and_then(|_| compiler()) {
        assert_ne!(std::env::var("WARPWEFT_NEED_GPU").as_deref(), Ok("1"), "{error}");
        println!("skipped: {error}");
        return None;
    }
    Some(make().unwrap())
}

/// Runs the test `name` again in a process of its own, because it loses the device, or would if it
/// failed. True in that process, false in the one that started it and has seen it hold.
fn alone(name: &str) -> bool {
    const CHILD: &str = "WARPWEFT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        return true;
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args([name, "--exact", "--nocapture"]).env(CHILD, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let held = output.status.success() && text.contains("1 passed");
    assert!(held, "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    false
}

impl Bench {
    fn kernel(&self, name: &str) -> Kernel {
        self.module.kernel(name).unwrap()
    }

    /// Whether the device has what came with Hopper; says so if not.
    fn is_hopper(&self) -> bool {
        let (major, _) = self.device.capability().unwrap();
        if major < 9 {
            println!("skipped: {} is older than compute capability 9.0", self.device.label());
        }
        major >= 9
    }
}

#[test]
fn the_kernels_of_these_tests_compile_without_a_device() {
    if let Err(error) = compiler() {
        println!("skipped: {error}");
        return;
    }
    for arch in ["sm_80", "sm_90"] {
        compile_in(&Cache::none(), SOURCE, "tests", arch, &Options::default()).unwrap();
    }
}
