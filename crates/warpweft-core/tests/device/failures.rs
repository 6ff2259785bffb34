//! What goes wrong on a device is an error with numbers and a hint, never an abort.

use warpweft::Error;
use warpweft::cuda::{Args, Buffer, Cache, Device, Launch, Module, Options, compile_in};

use crate::{alone, bench};

#[test]
fn too_little_memory_says_how_much_there_is() {
    let Some(b) = bench() else { return };
    match Buffer::new(&b.device, 1 << 50) {
        Err(Error::Memory { whose, needed, available, hint }) => {
            assert_eq!(whose, b.device.label());
            assert_eq!(needed, 1 << 50);
            assert!(available > 0 && available <= b.device.memory_size().unwrap());
            assert!(hint.contains("smaller"), "{hint}");
        }
        other => panic!("{other:?}"),
    }
    Buffer::zeroed(&b.stream, 1000).unwrap();
    b.stream.synchronize().unwrap();
}

#[test]
fn an_impossible_shape_is_refused_with_the_shape() {
    let Some(b) = bench() else { return };
    let mut args = Args::new();
    args.value(0u64);
    // SAFETY: the kernel takes one number; it is refused before it runs.
    let error = unsafe { b.stream.launch(&b.kernel("spin"), Launch::line(1, 2048), &args) };
    let error = error.unwrap_err().to_string();
    assert!(error.contains("launching spin") && error.contains("[2048, 1, 1]"), "{error}");
    b.stream.synchronize().unwrap();
}

#[test]
fn unknown_names_and_devices_are_named() {
    let Some(b) = bench() else { return };
    let error = b.module.kernel("missing").unwrap_err().to_string();
    assert!(error.contains("kernel missing of tests"), "{error}");
    let error = b.module.global("missing").unwrap_err().to_string();
    assert!(error.contains("variable missing of tests"), "{error}");
    assert!(b.module.kernel("nul\0inside").is_err());
    let count = Device::count().unwrap();
    let error = Device::open(count).unwrap_err().to_string();
    assert!(error.contains(&format!("shows {count} GPUs")), "{error}");
}

#[test]
fn code_for_another_architecture_is_refused() {
    let Some(b) = bench() else { return };
    let other = if b.device.arch().unwrap() == "sm_90" { "sm_100" } else { "sm_90" };
    let source = "extern \"C\" __global__ void f() {}";
    let Ok(cubin) = compile_in(&Cache::none(), source, "f", other, &Options::default()) else {
        println!("skipped: this compiler doesn't know {other}");
        return;
    };
    let error = Module::load(&b.device, &cubin).unwrap_err().to_string();
    assert!(error.contains("loading f") && error.contains("architecture"), "{error}");
}

#[test]
fn a_kernel_that_writes_nowhere_is_an_error_at_the_next_wait() {
    let Some(b) = bench() else { return };
    if !alone("failures::a_kernel_that_writes_nowhere_is_an_error_at_the_next_wait") {
        return;
    }
    let buffer = Buffer::zeroed(&b.stream, 64).unwrap();
    let mut args = Args::new();
    args.value(8u64);
    // SAFETY: not sound for the device, which is the point; the host is not harmed.
    unsafe { b.stream.launch(&b.kernel("wild"), Launch::line(1, 1), &args).unwrap() };
    let error = b.stream.synchronize().unwrap_err().to_string();
    assert!(error.contains("illegal memory access"), "{error}");
    assert!(error.contains("compute-sanitizer"), "{error}");
    assert!(b.stream.download(&buffer, 0, &mut [0u8]).is_err());
}
