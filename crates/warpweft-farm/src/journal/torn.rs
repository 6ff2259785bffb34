//! Whether the end of a file of frames is one that a kill cut short, or is damaged. Both are left out of a resumed run; what is
//! damaged is kept for the user.

use super::frame::{HEAD, Link, chained, numbers};

/// Longer ends are not searched; they count as damaged.
pub const LONGEST: u64 = 128 << 20;

/// A frame that says it has more bytes than any memory is damaged.
const MOST: u64 = 1 << 40;

/// Bytes to be summed for each byte of the end. Numbers among outputs may look like frames; what is still not decided counts as
/// cut short, which is the ordinary case.
const EFFORT: usize = 128;
/// The same for all of it: this takes a second or two.
const MOST_EFFORT: usize = 1 << 30;

/// Whether `rest`, all that follows the frame that ends in `before`, may be the beginning of a frame of this farm of so many
/// `tasks`, whose end a kill prevented.
pub fn is_cut_short(rest: &[u8], before: &Link, tasks: u64) -> bool {
    if rest.len() < HEAD {
        return true;
    }
    let [bytes, first, count] = numbers(rest);
    let is_longer = bytes <= MOST && bytes + frame_bytes(0) > rest.len() as u64;
    is_longer && are_tasks(first, count, tasks) && !has_damaged_length(rest, before, tasks)
}

/// Bytes of a frame with so many bytes of outputs.
fn frame_bytes(outputs: u64) -> u64 {
    outputs.saturating_add((HEAD + size_of::<Link>()) as u64)
}

fn are_tasks(first: u64, count: u64, tasks: u64) -> bool {
    count > 0 && first.checked_add(count).is_some_and(|end| end <= tasks)
}

/// Whether `rest` has what a frame that was cut short has not: its end, or another frame behind it.
fn has_damaged_length(rest: &[u8], before: &Link, tasks: u64) -> bool {
    let mut effort = EFFORT.saturating_mul(rest.len()).min(MOST_EFFORT);
    let mut chains = |before: &Link, frame: &[u8], length: u64| {
        effort = effort.saturating_sub(frame.len());
        if effort == 0 {
            return false;
        }
        let [body, link] = split(frame);
        let mut body = body.to_vec();
        body[..8].copy_from_slice(&length.to_le_bytes());
        link == chained(before, &body)
    };
    let least = frame_bytes(0) as usize;
    if rest.len() < least {
        return false;
    }
    if chains(before, rest, (rest.len() - least) as u64) {
        return true;
    }
    (least..=rest.len() - least).any(|at| {
        let behind = &rest[at..];
        let [bytes, first, count] = numbers(behind);
        let whole = frame_bytes(bytes);
        let fits = whole <= behind.len() as u64 && are_tasks(first, count, tasks);
        fits && chains(&link_before(rest, at), &behind[..whole as usize], bytes)
    })
}

/// A frame without its link, and its link.
fn split(frame: &[u8]) -> [&[u8]; 2] {
    let (body, link) = frame.split_at(frame.len() - size_of::<Link>());
    [body, link]
}

/// The link of a frame that ends at `at`.
fn link_before(rest: &[u8], at: usize) -> Link {
    let mut link = Link::default();
    link.copy_from_slice(&rest[at - size_of::<Link>()..at]);
    link
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::journal::frame::{end_of, frame, link};

    /// Three frames of ten tasks; where each begins.
    fn file() -> (Vec<u8>, [usize; 3]) {
        let (mut all, mut begins, mut before) = (Vec::new(), [0; 3], link("a"));
        for (k, begin) in begins.iter_mut().enumerate() {
            let outputs: Vec<u8> = (0..100).map(|n| (n % 7 + k) as u8).collect();
            let next = frame(&(3 * k as u64..3 * k as u64 + 3), &outputs, &before);
            (*begin, before) = (all.len(), end_of(&next));
            all.extend(next);
        }
        (all, begins)
    }

    #[test]
    fn every_cut_is_a_cut_and_no_damaged_length_is_one() {
        let (all, begins) = file();
        for (begin, end) in [(0, begins[1]), (begins[1], begins[2]), (begins[2], all.len())] {
            let before = if begin == 0 { link("a") } else { end_of(&all[..begin]) };
            for cut in begin + 1..end {
                assert!(is_cut_short(&all[begin..cut], &before, 10), "{begin}..{cut}");
            }
            for (at, bits) in (0..24).flat_map(|at| (0..8).map(move |bit| (at, 1 << bit))) {
                let mut wrong = all[begin..].to_vec();
                wrong[at] ^= bits;
                assert!(!is_cut_short(&wrong, &before, 10), "{begin} at {at}: {bits}");
            }
            let mut wrong = all[begin..].to_vec();
            wrong[..8].fill(0xff);
            assert!(!is_cut_short(&wrong, &before, 10), "{begin}");
        }
    }

    #[test]
    fn what_costs_too_much_to_decide_is_cut_short() {
        // Each word may be read as the length of a frame that fits.
        let like_frames: Vec<u8> =
            (0..20_000u64).flat_map(|k| (160_000 - 8 * k).min(80_000).to_le_bytes()).collect();
        let mut cut = frame(&(0..3), &[like_frames, vec![1; 9]].concat(), &link("a"));
        cut.truncate(cut.len() - 20);
        assert!(is_cut_short(&cut, &link("a"), u64::MAX));
    }
}
