//! Measures the host's memory and the latency between cores.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::{CpuProbe, DISTURBED, keep, median};
use crate::cpu::{Buffer, Pool, Progress};
use crate::error::{Error, Result};
use crate::machine::Cpu;

/// Number of measurements, of which the median is used.
const TRIES: usize = 7;
/// Number of round trips of a flag in one measurement.
const ROUNDS: usize = 4000;

pub(super) fn measure(cpu: &Cpu, notes: &mut Vec<String>) -> Result<CpuProbe> {
    let threads = cpu.threads();
    let pool = Pool::new(cpu.first(threads))?;
    let bytes = array_bytes(cpu);
    let mut probe = CpuProbe { threads, ..CpuProbe::default() };
    let mut worst = others();
    let mut with = |others: Option<f64>| worst = worst.into_iter().chain(others).reduce(f64::max);
    match Buffer::zeroed(bytes, &pool).and_then(|a| Ok((a, Buffer::zeroed(bytes, &pool)?))) {
        Ok((from, to)) => {
            let mut rate = |what: &str, bytes: usize, body: &dyn Fn() -> Result<()>| {
                let mut load = Load::default();
                let rate = try_rate(bytes, &mut load, body);
                with(load.others());
                keep(what, rate, notes)
            };
            let what = "copying host memory";
            probe.copy = rate(what, 2 * bytes, &|| copy(&pool, &from, &to, copy_streaming));
            probe.copy_ordinary = rate(what, 2 * bytes, &|| copy(&pool, &from, &to, copy_ordinary));
            probe.read = rate("reading host memory", bytes, &|| sum(&pool, &from));
        }
        Err(error) => notes.push(format!("host memory was not measured: {error}")),
    }
    if threads > 1 {
        let mut load = Load::default();
        let hop = Pool::new(cpu.first(2)).and_then(|pair| hop(&pair, &mut load));
        with(load.others());
        probe.hop = keep("the way from core to core", hop, notes);
    }
    probe.others = worst;
    if probe.disturbed() {
        notes.push(DISTURBED.into());
    }
    Ok(probe)
}

/// Other tasks that want a core, averaged over a twentieth of a second; `None` if the system does not say.
pub(super) fn others() -> Option<f64> {
    let mut load = Load::default();
    for _ in 0..10 {
        load.look();
        std::thread::sleep(Duration::from_millis(5));
    }
    load.others()
}

/// The load of the cores by other work, sampled several times.
#[derive(Default)]
struct Load {
    sum: f64,
    looks: u32,
}

impl Load {
    /// Takes a sample while this process is idle.
    fn look(&mut self) {
        let Ok(text) = std::fs::read_to_string("/proc/loadavg") else { return };
        let running = text.split_whitespace().nth(3).and_then(|part| part.split('/').next());
        let Some(Ok(running)) = running.map(str::parse::<f64>) else { return };
        self.sum += (running - 1.0).max(0.0);
        self.looks += 1;
    }

    /// Average number of other tasks.
    fn others(&self) -> Option<f64> {
        (self.looks > 0).then(|| self.sum / f64::from(self.looks))
    }
}

/// Larger than all caches, but a fraction of the free memory.
///
/// Virtual machines report less cache than their host has: with arrays of 128 MiB where 32 MiB were reported,
/// the rates came out twice too high.
fn array_bytes(cpu: &Cpu) -> usize {
    let cached = cpu.caches.l3.unwrap_or(0).saturating_mul(cpu.caches.l3_count as u64);
    let wanted = (4 * cached).clamp(512 << 20, 2 << 30);
    // Whole pages, so that each worker's part begins on a cache line.
    (wanted.min(cpu.memory.available / 8) as usize).max(1 << 20) & !4095
}

/// Time after which idle workers sleep.
const REST: Duration = Duration::from_millis(1);

/// The rate of one run of `body`, which moves `bytes`.
fn try_rate(bytes: usize, load: &mut Load, body: impl Fn() -> Result<()>) -> Result<Option<f64>> {
    body()?;
    let mut seconds = Vec::new();
    for _ in 0..TRIES {
        let start = Instant::now();
        body()?;
        seconds.push(start.elapsed().as_secs_f64());
        std::thread::sleep(REST);
        load.look();
    }
    Ok(median(seconds).map(|seconds| bytes as f64 / seconds))
}

fn failed(panic: crate::cpu::WorkerPanic) -> Error {
    Error::Device {
        stage: "measuring".into(),
        device: format!("worker {}", panic.worker),
        what: panic.message,
        hint: "please report this".into(),
    }
}

/// Copies a number of 64-byte lines.
type CopyLines = unsafe fn(*const u8, *mut u8, usize);

fn copy(pool: &Pool, from: &Buffer, to: &Buffer, lines_of: CopyLines) -> Result<()> {
    let lines = from.len() / 64;
    let run = pool.run(|worker| {
        let share = worker.share(lines);
        let (start, count) = (share.start * 64, share.len());
        // SAFETY: the parts are disjoint and inside both buffers, which are aligned to lines.
        unsafe { lines_of(from.as_ptr().add(start), to.as_ptr().add(start), count) };
        Ok(())
    });
    run.map_err(failed)
}

/// Copies 64-byte lines with streaming stores, so that lines are not read before they are written.
///
/// # Safety
/// Both must hold `count` lines, aligned to 64, that don't overlap.
unsafe fn copy_streaming(from: *const u8, to: *mut u8, count: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_load_si128, _mm_sfence, _mm_stream_si128};
        for part in 0..count * 4 {
            // SAFETY: SSE2 is part of the architecture; the caller guarantees bounds and alignment.
            unsafe {
                let value = _mm_load_si128(from.cast::<__m128i>().add(part));
                _mm_stream_si128(to.cast::<__m128i>().add(part), value);
            }
        }
        // SAFETY: SSE is part of the architecture too.
        unsafe { _mm_sfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller guarantees it.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, count * 64);
    }
}

/// Copies lines as ordinary loops do: each written line is read first.
///
/// # Safety
/// See [`copy_streaming`].
unsafe fn copy_ordinary(from: *const u8, to: *mut u8, count: usize) {
    for word in 0..count * 8 {
        // SAFETY: the caller guarantees bounds and alignment. The change of the value keeps the compiler from
        // calling `memcpy`, which streams.
        unsafe { to.cast::<u64>().add(word).write(from.cast::<u64>().add(word).read() ^ 1) };
    }
}

fn sum(pool: &Pool, from: &Buffer) -> Result<()> {
    let lines = from.len() / 64;
    let run = pool.run(|worker| {
        let share = worker.share(lines);
        // SAFETY: inside the buffer, whose bytes are initialised; no one writes it meanwhile.
        let lines: &[[u64; 8]] = unsafe {
            std::slice::from_raw_parts(
                from.as_ptr().cast::<[u64; 8]>().add(share.start),
                share.len(),
            )
        };
        let mut sums = [0u64; 8];
        for line in lines {
            for (sum, word) in sums.iter_mut().zip(line) {
                *sum = sum.wrapping_add(*word);
            }
        }
        black_box(sums);
        Ok(())
    });
    run.map_err(failed)
}

/// Two workers set flags for each other in turn: half a round is one hop.
fn hop(pair: &Pool, load: &mut Load) -> Result<Option<f64>> {
    let mut seconds = Vec::new();
    for _ in 0..TRIES {
        let flags = [Progress::default(), Progress::default()];
        let start = Instant::now();
        let run = pair.run(|worker| {
            for round in 1..=ROUNDS {
                if worker.index == 0 {
                    flags[0].publish(round);
                    flags[1].wait_for(round, worker.abort)?;
                } else {
                    flags[0].wait_for(round, worker.abort)?;
                    flags[1].publish(round);
                }
            }
            Ok(())
        });
        run.map_err(failed)?;
        seconds.push(start.elapsed().as_secs_f64() / (2 * ROUNDS) as f64);
        std::thread::sleep(REST);
        load.look();
    }
    Ok(median(seconds))
}

#[cfg(test)]
mod tests {
    use super::super::DISTURBING;
    use super::*;

    #[test]
    fn work_beside_a_measurement_is_seen() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        let going = || !stop.load(std::sync::atomic::Ordering::Relaxed);
        let load = std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while going() {
                        std::hint::spin_loop()
                    }
                });
            }
            let mut load = Load::default();
            let rate = try_rate(1, &mut load, || Ok(()));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
            rate.map(|_| load)
        });
        let others = load.unwrap().others();
        assert!(others.is_none_or(|others| others > DISTURBING), "{others:?}");
    }

    #[test]
    fn what_is_timed_as_a_copy_is_one() {
        #[repr(align(64))]
        struct Lines([u64; 64]);
        let from = Lines(std::array::from_fn(|i| i as u64 * 7));
        let mut to = Lines([0; 64]);
        // SAFETY: both hold 8 lines and are aligned to 64.
        unsafe { copy_streaming(from.0.as_ptr().cast(), to.0.as_mut_ptr().cast(), 7) };
        assert_eq!(to.0[..56], from.0[..56]);
        assert_eq!(to.0[56..], [0; 8]);
        // SAFETY: as above.
        unsafe { copy_ordinary(from.0.as_ptr().cast(), to.0.as_mut_ptr().cast(), 8) };
        assert!(to.0.iter().zip(from.0).all(|(to, from)| to ^ 1 == from));
    }
}
