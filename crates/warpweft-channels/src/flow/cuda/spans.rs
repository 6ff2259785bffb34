//! Single firings of a GPU's warps on the timeline.

use std::time::Duration;

use warpweft_core::trace::Span;

/// Firings that a warp records at most.
pub(super) const SPANS: usize = 64;
/// Words of a warp: a header, and three of each record.
pub(super) const WORDS: usize = 2 + 3 * SPANS;

/// The recorded firings and waits of all warps of `device`, by the kernels of these names, of a launch that began at `from` of the timeline. The
/// first firing counts as its beginning.
pub(super) fn spans(words: &[u64], names: &[&str], device: &str, from: Duration) -> Vec<Span> {
    let records = || {
        words.chunks_exact(WORDS).enumerate().flat_map(|(warp, of_warp)| {
            let count = (of_warp[0] as u32 as usize).min(SPANS);
            of_warp[2..].chunks_exact(3).take(count).map(move |record| (warp, record))
        })
    };
    let Some(first) = records().map(|(_, record)| record[0]).min() else { return Vec::new() };
    let each = records().filter_map(|(warp, record)| {
        let (kernel, items) = ((record[2] >> 32) as usize, record[2] as u32);
        let name = match names.get(kernel) {
            Some(name) => format!("{name}, {items} items"),
            // A wait, in which so many firings were put off.
            None if kernel == names.len() && items == 0 => "waits".into(),
            None if kernel == names.len() => format!("waits, {items} firings put off"),
            None => return None,
        };
        Some(Span {
            lane: format!("{device}, warp {warp}"),
            name,
            start: from + Duration::from_nanos(record[0] - first),
            duration: Duration::from_nanos(record[1].saturating_sub(record[0])),
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_become_spans_from_the_first_firing_on() {
        let mut words = vec![0; 2 * WORDS];
        words[..5].copy_from_slice(&[1, 0, 7_000, 9_000, 32]);
        words[WORDS..WORDS + 5].copy_from_slice(&[(7 << 32) | 3, 0, 5_000, 5_500, 3]);
        // Of one kernel: 1 is none, a wait.
        words[WORDS + 5..WORDS + 11].copy_from_slice(&[
            5_600,
            5_700,
            1 << 32,
            5_800,
            5_900,
            (1 << 32) | 2,
        ]);
        let found = spans(&words, &["pass"], "GPU", Duration::from_micros(10));
        let said = |span: &Span| (span.lane.clone(), span.name.clone(), span.start, span.duration);
        let nanos = Duration::from_nanos;
        let expect = [
            ("GPU, warp 0".into(), "pass, 32 items".into(), nanos(12_000), nanos(2_000)),
            ("GPU, warp 1".into(), "pass, 3 items".into(), nanos(10_000), nanos(500)),
            ("GPU, warp 1".into(), "waits".into(), nanos(10_600), nanos(100)),
            ("GPU, warp 1".into(), "waits, 2 firings put off".into(), nanos(10_800), nanos(100)),
        ];
        assert_eq!(found.iter().map(said).collect::<Vec<_>>(), expect);
    }
}
