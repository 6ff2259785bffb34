//! Launches of every kind do what the kernel says.

use std::time::Duration;

use warpweft::Error;
use warpweft::cuda::{
    Args, Buffer, Element, Event, Launch, Priority, SharedMemory, Stream, Swizzle, TensorMap,
    Tiled, Watchdog,
};

use crate::{alone, bench};

#[test]
fn arguments_of_every_size_arrive_in_order() {
    let Some(b) = bench() else { return };
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let (from, to) =
        (Buffer::from_slice(&b.stream, &x).unwrap(), Buffer::new(&b.device, 8000).unwrap());
    let mut line = Vec::new();
    line.extend(2.5f32.to_ne_bytes());
    line.extend([7, 0, 0, 0]);
    line.extend(0.125f64.to_ne_bytes());
    let mut args = Args::new();
    args.buffer(&from);
    args.buffer(&to);
    args.blob(&line, 8);
    let n = args.value(1000i32);
    let kernel = b.kernel("line");
    // SAFETY: the arguments are the kernel's, and both arrays hold 1000 values.
    unsafe { b.stream.launch(&kernel, Launch::line(8, 128), &args).unwrap() };
    let mut y = vec![0.0f64; 1000];
    b.stream.download(&to, 0, &mut y).unwrap();
    for (i, y) in y.iter().enumerate() {
        assert_eq!(*y, f64::from(i as f32 * 2.5 + 7.0) * 0.125);
    }
    b.stream.fill(&to, 0).unwrap();
    args.set(n, 10i32);
    // SAFETY: as above, for ten of the values.
    unsafe { b.stream.launch(&kernel, Launch::line(8, 128), &args).unwrap() };
    b.stream.download(&to, 0, &mut y).unwrap();
    assert!(y[9] != 0.0 && y[10] == 0.0);
    let attributes = kernel.attributes();
    assert!((1..=255).contains(&attributes.registers) && attributes.max_threads >= 128);
    assert_eq!(attributes.local_bytes, 0);
}

#[test]
fn variables_of_a_module_are_read_and_written() {
    let Some(b) = bench() else { return };
    let fault = b.module.global("ww_fault").unwrap();
    assert_eq!(fault.read::<i32>(&b.stream).unwrap(), 0);
    let mut args = Args::new();
    args.value(17i32);
    // SAFETY: the kernel takes one integer.
    unsafe { b.stream.launch(&b.kernel("fault"), Launch::line(1, 1), &args).unwrap() };
    assert_eq!(fault.read::<i32>(&b.stream).unwrap(), 17);
    fault.write(&b.stream, 0i32).unwrap();
    assert_eq!(fault.read::<u32>(&b.stream).unwrap(), 0);
    assert!(matches!(fault.read::<u64>(&b.stream), Err(Error::Spec { .. })));

    b.module.global("factor").unwrap().write(&b.stream, 3.0f32).unwrap();
    let x = Buffer::from_slice(&b.stream, &[1.0f32, -2.0]).unwrap();
    let mut args = Args::new();
    args.buffer(&x);
    // SAFETY: the kernel takes a pointer to as many floats as there are threads.
    unsafe { b.stream.launch(&b.kernel("scale_by_constant"), Launch::line(1, 2), &args).unwrap() };
    let mut back = [0.0f32; 2];
    b.stream.download(&x, 0, &mut back).unwrap();
    assert_eq!(back, [3.0, -6.0]);
}

#[test]
fn shared_memory_beyond_48_kib_needs_permission_and_then_works() {
    let Some(b) = bench() else { return };
    let (kernel, out) = (b.kernel("shared_sum"), Buffer::new(&b.device, 8).unwrap());
    let words = 20_000i32;
    let launch = Launch::line(2, 256).shared(words as u32 * 4);
    let mut args = Args::new();
    args.buffer(&out);
    args.value(words);
    // SAFETY: the kernel takes a pointer to an integer a block, and uses the shared memory given.
    let refused = unsafe { b.stream.launch(&kernel, launch, &args) }.unwrap_err().to_string();
    assert!(refused.contains("shared_sum") && refused.contains("80000 bytes"), "{refused}");
    kernel.allow_shared(words as u32 * 4).unwrap();
    // SAFETY: as above.
    unsafe { b.stream.launch(&kernel, launch, &args).unwrap() };
    let mut sums = [0i32; 2];
    b.stream.download(&out, 0, &mut sums).unwrap();
    assert_eq!(sums, [words * (words - 1) / 2; 2]);
    let known = SharedMemory::of_capability(b.device.capability().unwrap());
    assert_eq!(b.device.shared_memory().unwrap(), known);
    // A tuner takes this for no candidate, as it does whatever has no room.
    let refused = kernel.allow_shared(1 << 30).unwrap_err();
    let limits = (1 << 30, known.block as u64);
    assert!(
        matches!(&refused, Error::Memory { needed, available, .. } if (*needed, *available) == limits),
        "{refused}"
    );
    assert!(kernel.blocks_per_sm(256, 0).unwrap() >= 4);
    assert!(kernel.blocks_per_sm(256, 80_000).unwrap() <= 2);
    assert_eq!(kernel.blocks_per_sm(256, 1 << 30).unwrap_or(0), 0);
}

#[test]
fn all_blocks_of_a_cooperative_launch_meet() {
    let Some(b) = bench() else { return };
    let kernel = b.kernel("meet");
    let resident = kernel.blocks_per_sm(96, 0).unwrap() * b.device.sms().unwrap();
    let words = Buffer::new(&b.device, 512).unwrap();
    let mut args = Args::new();
    for offset in [0, 128, 256] {
        args.pointer(&words, offset);
    }
    args.value(100i32);
    let dog = Watchdog::new(&b.device, Duration::from_secs(5)).unwrap();
    dog.argument(&mut args).unwrap();
    for blocks in [1, 2, 7, b.device.sms().unwrap(), resident] {
        b.stream.fill(&words, 0).unwrap();
        // The barrier's word is not reset in between: it is good for any number of launches.
        for _ in 0..2 {
            b.stream.fill_part(&words, 128..132, 0).unwrap();
            // SAFETY: the kernel takes three pointers to words, each on a line of its own, a number
            // and a watchdog.
            unsafe {
                b.stream.launch_cooperative(&kernel, Launch::line(blocks, 96), &args).unwrap();
            }
        }
        let mut back = [0u32; 128];
        b.stream.download(&words, 0, &mut back).unwrap();
        assert_eq!((back[32], back[64]), (100 * blocks, 0), "{blocks} blocks");
    }
    // SAFETY: as above; it is refused before it runs.
    let refused =
        unsafe { b.stream.launch_cooperative(&kernel, Launch::line(resident + 1, 96), &args) };
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("meet") && refused.contains("resident"), "{refused}");
}

#[test]
fn a_graph_replays_what_was_captured() {
    let Some(b) = bench() else { return };
    let x = Buffer::zeroed(&b.stream, 4096).unwrap();
    let kernel = b.kernel("increment");
    let mut args = Args::new();
    args.buffer(&x);
    args.value(1024i32);
    let queue = |stream: &Stream| {
        for _ in 0..10 {
            // SAFETY: the kernel takes a pointer to 1024 integers, alive until the graph is done.
            unsafe { stream.launch(&kernel, Launch::line(4, 256), &args)? };
        }
        Ok(())
    };
    let mut graph = b.stream.capture(queue).unwrap();
    let mut back = vec![1i32; 1024];
    b.stream.download(&x, 0, &mut back).unwrap();
    assert!(back.iter().all(|&x| x == 0), "capturing runs nothing");
    for _ in 0..3 {
        graph.launch(&b.stream).unwrap();
    }
    b.stream.download(&x, 0, &mut back).unwrap();
    assert!(back.iter().all(|&x| x == 30));

    assert!(b.stream.capture(|stream| stream.synchronize()).is_err());
    graph.launch(&b.stream).unwrap();
    b.stream.download(&x, 0, &mut back).unwrap();
    assert_eq!(back[1023], 40, "the stream works on after a capture that failed");
}

#[test]
fn streams_wait_for_events_and_events_tell_the_time() {
    let Some(b) = bench() else { return };
    let urgent = Stream::with_priority(&b.device, Priority::High).unwrap();
    let (start, end) = (Event::new(&b.device).unwrap(), Event::new(&b.device).unwrap());
    let x = Buffer::zeroed(&b.stream, 4).unwrap();
    let (mut spin, mut args) = (Args::new(), Args::new());
    spin.value(20_000_000u64);
    args.buffer(&x);
    args.value(1i32);
    b.stream.record(&start).unwrap();
    // SAFETY: the kernel takes one number.
    unsafe { b.stream.launch(&b.kernel("spin"), Launch::line(1, 1), &spin).unwrap() };
    // SAFETY: the kernel takes a pointer to one integer.
    unsafe { b.stream.launch(&b.kernel("increment"), Launch::line(1, 1), &args).unwrap() };
    b.stream.record(&end).unwrap();
    assert!(!end.is_done().unwrap() && !b.stream.is_done().unwrap());
    urgent.wait(&end).unwrap();
    let mut back = [0i32];
    urgent.download(&x, 0, &mut back).unwrap();
    assert_eq!(back, [1]);
    end.synchronize().unwrap();
    let seconds = start.seconds_until(&end).unwrap();
    assert!((0.02..2.0).contains(&seconds), "{seconds}");
}

#[test]
fn clusters_and_early_starts_are_passed_on() {
    let Some(b) = bench() else { return };
    if !b.is_hopper() {
        return;
    }
    let ranks = Buffer::zeroed(&b.stream, 32).unwrap();
    let mut args = Args::new();
    args.buffer(&ranks);
    let launch = Launch { cluster: Some([4, 1, 1]), ..Launch::line(8, 32) };
    // SAFETY: the kernel takes a pointer to a word a block.
    unsafe { b.stream.launch(&b.kernel("cluster_rank"), launch, &args).unwrap() };
    let mut back = [9u32; 8];
    b.stream.download(&ranks, 0, &mut back).unwrap();
    assert_eq!(back, [0, 1, 2, 3, 0, 1, 2, 3]);

    let x = Buffer::zeroed(&b.stream, 4 << 20).unwrap();
    let mut args = Args::new();
    args.buffer(&x);
    args.value(1i32 << 20);
    let launch = Launch { early: true, ..Launch::line(4096, 256) };
    for _ in 0..50 {
        // SAFETY: the kernel takes a pointer to so many integers.
        unsafe { b.stream.launch(&b.kernel("increment_early"), launch, &args).unwrap() };
    }
    let mut back = vec![0i32; 1 << 20];
    b.stream.download(&x, 0, &mut back).unwrap();
    assert!(back.iter().all(|&x| x == 50));
}

#[test]
fn the_copy_engine_brings_tiles_with_zeros_beyond_the_array() {
    let Some(b) = bench() else { return };
    let name = "kernels::the_copy_engine_brings_tiles_with_zeros_beyond_the_array";
    if !b.is_hopper() || !alone(name) {
        return;
    }
    // 20 x 6 x 3 floats in rows of 24 and planes of 7 rows, from byte 32 on.
    let (nx, ny, nz) = (20i32, 6i32, 3i32);
    let value = |x: i32, y: i32, z: i32| (1 + x + 100 * y + 1000 * z) as f32;
    let mut host = vec![-1.0f32; 8 + 24 * 7 * 3];
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                host[(8 + x + 24 * (y + 7 * z)) as usize] = value(x, y, z);
            }
        }
    }
    let array = Buffer::from_slice(&b.stream, &host).unwrap();
    let out = Buffer::new(&b.device, 4 * 128).unwrap();
    let tiled = Tiled {
        element: Element::F32,
        extents: &[20, 6, 3],
        strides: &[96, 96 * 7],
        tile: &[16, 4, 2],
        swizzle: Swizzle::None,
    };
    let map = TensorMap::tiled(&array, 32, &tiled).unwrap();
    // The last element ends 144 bytes before the end of the buffer.
    TensorMap::tiled(&array, 144, &tiled).unwrap();
    assert!(TensorMap::tiled(&array, 160, &tiled).is_err(), "16 bytes beyond the buffer");
    for (x0, y0, z0) in [(0, 0, 0), (-4, -1, -1), (12, 4, 2)] {
        let mut args = Args::new();
        args.tensor_map(&map);
        args.buffer(&out);
        for at in [x0, y0, z0] {
            args.value(at);
        }
        // SAFETY: the kernel takes the map, a pointer to 128 floats and three integers.
        unsafe { b.stream.launch(&b.kernel("tile"), Launch::line(1, 64), &args).unwrap() };
        let mut back = vec![0.0f32; 128];
        b.stream.download(&out, 0, &mut back).unwrap();
        for (i, back) in back.iter().enumerate() {
            let i = i as i32;
            let (x, y, z) = (x0 + i % 16, y0 + i / 16 % 4, z0 + i / 64);
            let inside = (0..nx).contains(&x) && (0..ny).contains(&y) && (0..nz).contains(&z);
            let expect = if inside { value(x, y, z) } else { 0.0 };
            assert_eq!(*back, expect, "{x} {y} {z}");
        }
    }
}
