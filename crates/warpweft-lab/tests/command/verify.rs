//! `warpweft verify`: its totals.

use super::warpweft;

#[test]
fn wavefronts_are_verified_too() {
    let text = warpweft("verify wavefront").fine();
    // Four elements over 12 extents, 4 things to keep and 2 borders on the cores at least.
    let last = text.lines().last().unwrap_or_default();
    let passed: usize = last.split(' ').next().unwrap_or_default().parse().unwrap();
    assert!(passed >= 4 * 12 * 4 * 2 && last.contains(" 0 failed"), "{text}");
}

#[test]
fn verify_ends_with_its_totals() {
    let text = warpweft("verify stencil").fine();
    let last = text.trim_end().lines().last().unwrap_or_default();
    let counts: Vec<u64> =
        last.split(", ").filter_map(|part| part.split(' ').next()?.parse().ok()).collect();
    assert!(matches!(counts[..], [passed, 0, _] if passed > 400), "{last}");
    assert!(last.ends_with(" skipped"), "{last}");
}
