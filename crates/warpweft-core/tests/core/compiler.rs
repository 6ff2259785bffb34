//! The compiler and its cache, on machines with and without a GPU.

use std::fs;
use std::time::Instant;

use warpweft::Error;
use warpweft::cuda::{self, Cache, Options, Request, compile_all, compile_in, compiler};

const SCALE: &str = r#"
extern "C" __global__ void scale(float* x, float by, float plus, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * by + plus;
}
"#;

/// Whether there is a compiler; says why not.
fn compiler_here() -> bool {
    match compiler() {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: {error}");
            assert!(error.to_string().contains("pip install nvidia-cuda-nvrtc"), "{error}");
            false
        }
    }
}

#[test]
fn a_missing_driver_is_an_error_with_a_hint_and_not_a_panic() {
    match cuda::available().and_then(|()| cuda::Device::count()) {
        Ok(count) => println!("skipped: this machine has a driver and {count} devices"),
        Err(Error::Device { what, hint, .. }) => {
            assert!(!what.is_empty() && hint.contains("CPU"), "{what}; {hint}");
            assert!(cuda::Device::open(0).is_err());
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn kernels_compile_to_machine_code_without_a_gpu() {
    if !compiler_here() {
        return;
    }
    for (arch, number) in [("sm_80", 80), ("sm_90", 90)] {
        let cubin = compile_in(&Cache::none(), SCALE, "scale", arch, &Options::default()).unwrap();
        let image = cubin.image();
        assert!(image.starts_with(b"\x7fELF"));
        // CUDA's ELF machine, and the architecture in the flags: bits 0..8 up to CUDA 12, 8..16 since.
        assert_eq!(u16::from_le_bytes([image[18], image[19]]), 190);
        assert!(image[48] == number || image[49] == number, "{:?}", &image[48..52]);
        assert!(!cubin.cached);
    }
}

#[test]
fn what_a_kernel_may_include_compiles() {
    if !compiler_here() {
        return;
    }
    let source = r#"
        #include "watchdog.cuh"
        #include "mine.cuh"
        extern "C" __global__ void meet(ww_word* flags, ww_watchdog dog) {
            if (!ww_grid_barrier(flags, dog)) return;
            if (!ww_wait(flags + 1, NUMBER, dog, 1, 2)) return;
            if (!ww_wait<true>(flags + 2, mine(), dog, 1, 2)) return;
            ww_store_release(flags + 3, 1);
        }"#;
    let options = Options {
        defines: vec![("NUMBER".into(), "7".into())],
        headers: vec![("mine.cuh".into(), "__device__ unsigned mine() { return 3; }".into())],
        ..Options::default()
    };
    for arch in ["sm_80", "sm_90"] {
        compile_in(&Cache::none(), source, "meet", arch, &options).unwrap();
    }
}

#[test]
fn a_wrong_kernel_gives_the_compilers_log() {
    if !compiler_here() {
        return;
    }
    let refused = |source: &str, arch: &str| match compile_in(
        &Cache::none(),
        source,
        "broken",
        arch,
        &Options::default(),
    ) {
        Err(Error::Compile { kernel, log }) => {
            assert_eq!(kernel, "broken");
            log
        }
        other => panic!("{other:?}"),
    };
    let log = refused("__global__ void f() { undeclared = 1; }", "sm_90");
    assert!(log.contains("undeclared") && log.contains("broken(1)"), "{log}");
    assert!(refused(SCALE, "sm_1").contains("sm_1") || refused(SCALE, "sm_1").contains("arch"));
    assert!(refused("a\0b", "sm_90").contains("NUL byte"));
}

#[test]
fn contraction_is_off_unless_asked_for() {
    if !compiler_here() {
        return;
    }
    let code = |contract| {
        let options = Options { contract, ..Options::default() };
        compile_in(&Cache::none(), SCALE, "scale", "sm_90", &options).unwrap().image().to_vec()
    };
    assert_eq!(code(false), code(false));
    assert_ne!(code(false), code(true));
}

#[test]
fn a_second_compilation_comes_from_the_cache_until_anything_changes() {
    if !compiler_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let get = |source: &str, arch: &str, options: &Options| {
        compile_in(&cache, source, "scale", arch, options).unwrap()
    };
    let plain = Options::default();
    let first = get(SCALE, "sm_90", &plain);
    let again = get(SCALE, "sm_90", &plain);
    assert!(!first.cached && again.cached);
    assert_eq!(first.image(), again.image());
    println!("cold {:.1} ms, cached {:.2} ms", first.seconds * 1e3, again.seconds * 1e3);

    let contracted = Options { contract: true, ..plain.clone() };
    let defined = Options { defines: vec![("A".into(), "1".into())], ..plain.clone() };
    let limited = Options { max_registers: Some(32), ..plain.clone() };
    let with = Options { headers: vec![("a.cuh".into(), "".into())], ..plain.clone() };
    for options in [contracted, defined, limited, with] {
        assert!(!get(SCALE, "sm_90", &options).cached, "{options:?}");
    }
    assert!(!get(SCALE, "sm_80", &plain).cached);
    assert!(!get(&format!("{SCALE}\n"), "sm_90", &plain).cached);
}

#[test]
fn damaged_entries_are_compiled_anew_and_noted() {
    if !compiler_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let get = || compile_in(&cache, SCALE, "scale", "sm_90", &Options::default()).unwrap();
    let first = get();
    let entry = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let bytes = fs::read(&entry).unwrap();
    fs::write(&entry, &bytes[..bytes.len() / 2]).unwrap();
    let second = get();
    assert!(!second.cached && second.image() == first.image());
    assert!(second.notes[0].contains("damaged"), "{:?}", second.notes);
    let third = get();
    assert!(third.cached && third.notes.is_empty(), "{:?}", third.notes);
}

#[test]
fn a_cache_that_cannot_be_written_costs_only_time() {
    if !compiler_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "in the way").unwrap();
    let cache = Cache::at(&file);
    let get = || compile_in(&cache, SCALE, "scale", "sm_90", &Options::default()).unwrap();
    let (first, second) = (get(), get());
    assert!(!first.cached && !second.cached);
    assert_eq!(first.notes.len() + second.notes.len(), 1, "{:?} {:?}", first.notes, second.notes);
}

#[test]
fn many_variants_compile_at_once_each_to_its_own_result() {
    if !compiler_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let start = Instant::now();
    let requests: Vec<Request> = (0..8)
        .map(|i| Request {
            name: format!("variant {i}"),
            source: if i == 5 { "broken".into() } else { format!("{SCALE}// {i}") },
            arch: "sm_90".into(),
            options: Options::default(),
        })
        .collect();
    let results = compile_all(&cache, &requests, 4);
    assert_eq!(results.len(), 8);
    for (i, result) in results.iter().enumerate() {
        match result {
            Ok(cubin) => assert_eq!(cubin.name(), format!("variant {i}")),
            Err(error) => assert!(i == 5 && error.to_string().contains("variant 5"), "{error}"),
        }
    }
    println!("8 variants in {:.0} ms", start.elapsed().as_secs_f64() * 1e3);
    assert!(compile_all(&cache, &requests[..1], 1)[0].as_ref().unwrap().cached);
}
