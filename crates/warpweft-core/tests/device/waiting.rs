//! Kernels that wait: for one another, for the host, and for what never comes.

use std::time::{Duration, Instant};

use warpweft::Error;
use warpweft::cuda::{Args, Buffer, Launch, Stream, Stuck, Watchdog, Words};

use crate::{alone, bench};

#[test]
fn a_wait_that_never_ends_is_reported_by_who_waits_for_what() {
    let Some(b) = bench() else { return };
    let dog = Watchdog::new(&b.device, Duration::from_millis(200)).unwrap();
    let blocks = 8;
    let flags = Buffer::zeroed(&b.stream, 128 * blocks as usize).unwrap();
    let run = |skip: u32| {
        b.stream.fill(&flags, 0).unwrap();
        let mut args = Args::new();
        args.buffer(&flags);
        dog.argument(&mut args).unwrap();
        args.value(skip);
        // SAFETY: the kernel takes a flag a block, a watchdog and a number.
        unsafe {
            b.stream
                .launch_cooperative(&b.kernel("chain"), Launch::line(blocks, 32), &args)
                .unwrap()
        };
        dog.wait(&b.stream, Duration::from_secs(20))
    };
    run(blocks).unwrap();
    assert_eq!(dog.stuck(), None);

    let start = Instant::now();
    // Block 4 never sets its flag. Any block behind it may be the first whose time is up.
    match run(4) {
        Err(Error::Device { stage, what, .. }) => {
            let stuck = dog.stuck().unwrap();
            assert_eq!(stage, "waiting");
            assert!(stuck.block > 4 && stuck.other == stuck.block - 1, "{stuck:?}");
            assert_eq!(Stuck { flag: 3, wanted: 5, seen: 0, ..stuck }, stuck);
            assert_eq!(what, stuck.to_string());
            println!("{what}");
        }
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // The kernel ended by itself: the device works on.
    b.stream.synchronize().unwrap();
    dog.reset();
    run(blocks).unwrap();
}

#[test]
fn a_kernel_that_takes_too_long_is_not_waited_for() {
    let Some(b) = bench() else { return };
    // What other tests wait for on the device would delay the start of the wait beyond the kernel.
    if !alone("waiting::a_kernel_that_takes_too_long_is_not_waited_for") {
        return;
    }
    let dog = Watchdog::new(&b.device, Duration::from_secs(1)).unwrap();
    let (held, other) = (Buffer::new(&b.device, 1 << 20).unwrap(), Stream::new(&b.device).unwrap());
    let mut args = Args::new();
    args.value(400_000_000u64);
    // SAFETY: the kernel takes one number.
    unsafe { b.stream.launch(&b.kernel("spin"), Launch::line(1, 1), &args).unwrap() };
    let error = dog.wait(&b.stream, Duration::from_millis(50)).unwrap_err().to_string();
    assert!(error.contains("waiting on") && error.contains("not done after 0."), "{error}");
    // The driver would free neither before the kernel has ended: nothing may wait for that.
    let start = Instant::now();
    drop((held, other));
    let refused = Buffer::new(&b.device, 8).unwrap_err().to_string();
    assert!(refused.contains("given up") && refused.contains("end this process"), "{refused}");
    assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
    // It ends after all: the device works on.
    while Buffer::new(&b.device, 8).is_err() {
        assert!(start.elapsed() < Duration::from_secs(5));
        std::thread::sleep(Duration::from_millis(10));
    }
    b.stream.synchronize().unwrap();
}

#[test]
fn a_block_that_misses_the_barrier_is_reported() {
    let Some(b) = bench() else { return };
    let dog = Watchdog::new(&b.device, Duration::from_millis(200)).unwrap();
    let word = Buffer::zeroed(&b.stream, 4).unwrap();
    let run = |absent: u32| {
        b.stream.fill(&word, 0).unwrap();
        let mut args = Args::new();
        args.buffer(&word);
        dog.argument(&mut args).unwrap();
        args.value(absent);
        // SAFETY: the kernel takes a word, a watchdog and a number.
        unsafe {
            b.stream.launch_cooperative(&b.kernel("absence"), Launch::line(8, 64), &args).unwrap()
        };
        dog.wait(&b.stream, Duration::from_secs(20))
    };
    run(8).unwrap();
    assert!(matches!(run(3), Err(Error::Device { .. })));
    assert!(dog.stuck().is_some_and(|stuck| stuck.block != 3), "{:?}", dog.stuck());
    dog.reset();
    run(8).unwrap();
}

#[test]
fn a_running_kernel_and_the_host_see_each_others_words() {
    let Some(b) = bench() else { return };
    let dog = Watchdog::new(&b.device, Duration::from_secs(5)).unwrap();
    let words = Words::new(&b.device, 2).unwrap();
    let mut args = Args::new();
    args.value(words.device_address().unwrap());
    dog.argument(&mut args).unwrap();
    // SAFETY: the kernel takes a pointer to two words and a watchdog.
    unsafe { b.stream.launch(&b.kernel("answer"), Launch::line(1, 1), &args).unwrap() };
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(words.load(1), Some(0));
    assert!(words.store(0, 1));
    dog.wait(&b.stream, Duration::from_secs(10)).unwrap();
    assert_eq!((words.load(1), words.load(2)), (Some(42), None));
}
