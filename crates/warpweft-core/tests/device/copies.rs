//! What is copied comes back, wherever it went.

use warpweft::Error;
use warpweft::cuda::{Buffer, Device, Extents, Pinned, Rows, Stream};

use crate::bench;

#[test]
fn values_come_back_from_any_offset() {
    let Some(b) = bench() else { return };
    let values: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.5).collect();
    let buffer = Buffer::zeroed(&b.stream, 8 * 1000 + 24).unwrap();
    b.stream.upload(&buffer, 24, &values).unwrap();
    let mut back = vec![0.0; 1000];
    b.stream.download(&buffer, 24, &mut back).unwrap();
    assert_eq!(back, values);
    let mut before = [1u8; 24];
    b.stream.download(&buffer, 0, &mut before).unwrap();
    assert_eq!(before, [0; 24]);
    b.stream.fill_part(&buffer, 24..32, 0xff).unwrap();
    let mut words = [0u64; 2];
    b.stream.download(&buffer, 24, &mut words).unwrap();
    assert_eq!(words, [u64::MAX, values[1].to_bits()]);
    b.stream.upload::<u8>(&buffer, 24, &[]).unwrap();
}

#[test]
fn what_leaves_a_buffer_is_refused() {
    let Some(b) = bench() else { return };
    let buffer = Buffer::new(&b.device, 100).unwrap();
    let refused = |result: warpweft::Result<()>| assert!(matches!(result, Err(Error::Spec { .. })));
    refused(b.stream.upload(&buffer, 97, &[1i32]));
    refused(b.stream.download(&buffer, usize::MAX, &mut [0i32]));
    refused(b.stream.copy(&buffer, 0, &buffer, 50, 51));
    refused(b.stream.fill_part(&buffer, 90..101, 0));
    let rows = Rows::dense([10, 11, 1, 1]);
    refused(b.stream.upload_box([10, 11, 1, 1], (&buffer, rows), (&[0; 200], rows)));
}

#[test]
fn pinned_memory_goes_there_and_back_without_waiting() {
    let Some(b) = bench() else { return };
    let mut there = Pinned::<u32>::new(&b.device, 1 << 20).unwrap();
    for (i, word) in there.iter_mut().enumerate() {
        *word = i as u32 ^ 0x5a5a;
    }
    let mut back = Pinned::<u32>::new(&b.device, 1 << 20).unwrap();
    let one = Buffer::new(&b.device, 4 << 20).unwrap();
    let two = Buffer::new(&b.device, 4 << 20).unwrap();
    // SAFETY: neither is touched before the stream is done.
    unsafe {
        b.stream.upload_async(&one, 0, &there, 0..1 << 20).unwrap();
        b.stream.copy(&two, 0, &one, 0, 4 << 20).unwrap();
        b.stream.download_async(&two, 0, &mut back, 0..1 << 20).unwrap();
        assert!(b.stream.upload_async(&one, 0, &there, 5..(1 << 20) + 1).is_err());
    }
    b.stream.synchronize().unwrap();
    assert!(b.stream.is_done().unwrap());
    assert!(there[..] == back[..]);
}

/// Copies a box of distinct values into a padded array and back; looks at every byte on the way.
fn round_trip(stream: &Stream, extents: Extents, padded: Rows, bytes: usize) {
    let dense = Rows::dense(extents);
    let count: usize = extents.iter().product();
    let host: Vec<u8> = (0..count).map(|i| (i * 7 % 251 + 1) as u8).collect();
    let buffer = Buffer::new(stream.device(), bytes).unwrap();
    stream.fill(&buffer, 0).unwrap();
    stream.upload_box(extents, (&buffer, padded), (&host, dense)).unwrap();
    let mut raw = vec![9u8; bytes];
    stream.download(&buffer, 0, &mut raw).unwrap();
    let mut expect = vec![0u8; bytes];
    let [row, rows, planes, blocks] = extents;
    for (line, values) in host.chunks(row).enumerate() {
        let (y, z, w) = (line % rows, line / rows % planes, line / rows / planes);
        assert!(w < blocks);
        let at =
            padded.offset + y * padded.strides[0] + z * padded.strides[1] + w * padded.strides[2];
        expect[at..at + row].copy_from_slice(values);
    }
    assert!(raw == expect, "{extents:?} {padded:?}");
    let mut back = vec![0u8; count];
    stream.download_box(extents, (&buffer, padded), (&mut back, dense)).unwrap();
    assert!(back == host, "{extents:?} {padded:?}");
}

#[test]
fn boxes_lie_where_a_padded_layout_has_them() {
    let Some(b) = bench() else { return };
    let s = &b.stream;
    // A line, a plane, a whole number of rows between planes, skewed planes, four axes.
    round_trip(s, [100, 1, 1, 1], Rows { offset: 28, strides: [0, 0, 0] }, 128);
    round_trip(s, [36, 5, 1, 1], Rows { offset: 4, strides: [64, 0, 0] }, 400);
    round_trip(s, [36, 5, 3, 1], Rows { offset: 260, strides: [64, 64 * 7, 0] }, 2000);
    round_trip(s, [36, 5, 3, 1], Rows { offset: 0, strides: [64, 64 * 5 + 16, 0] }, 2000);
    round_trip(s, [20, 3, 4, 2], Rows { offset: 8, strides: [32, 32 * 4, 32 * 4 * 6] }, 2000);
    round_trip(s, [20, 3, 4, 2], Rows { offset: 8, strides: [32, 100, 500] }, 1200);
    round_trip(s, [1, 1, 7, 1], Rows { offset: 0, strides: [0, 16, 0] }, 128);
}

#[test]
fn peers_copy_to_each_other_and_reach_each_others_memory() {
    let Some(b) = bench() else { return };
    if Device::count().unwrap() < 2 {
        println!("skipped: this machine has one GPU");
        return;
    }
    let other = Device::open(1).unwrap();
    let there = Stream::new(&other).unwrap();
    let values: Vec<i32> = (0..4096).collect();
    let here = Buffer::from_slice(&b.stream, &values).unwrap();
    let far = Buffer::zeroed(&there, 4 * 4096).unwrap();
    there.synchronize().unwrap();
    b.stream.copy(&far, 0, &here, 0, 4 * 4096).unwrap();
    b.stream.synchronize().unwrap();
    if b.device.can_access(&other).unwrap() {
        b.device.enable_peer(&other).unwrap();
        b.device.enable_peer(&other).unwrap();
        let mut args = warpweft::cuda::Args::new();
        args.buffer(&far);
        args.value(4096);
        let launch = warpweft::cuda::Launch::line(16, 256);
        // SAFETY: the kernel takes a pointer to 4096 integers, on a peer it may address.
        unsafe { b.stream.launch(&b.kernel("increment"), launch, &args).unwrap() };
        b.stream.synchronize().unwrap();
    } else {
        println!("no peer access between the first two GPUs");
    }
    let mut back = vec![0; 4096];
    there.download(&far, 0, &mut back).unwrap();
    let plus = i32::from(b.device.can_access(&other).unwrap());
    assert!(back.iter().zip(&values).all(|(back, value)| *back == value + plus));
}
