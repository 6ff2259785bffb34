//! What the command says of the machine.

use crate::warpweft;

#[test]
fn the_machine_is_described_for_people_and_programs() {
    let text = warpweft("info").fine();
    assert!(!text.contains("Avx"), "{text}");
    for expect in ["cpu ", "memory ", "measured ", "--probe measures again"] {
        assert!(text.contains(expect), "{text}");
    }
    let json = warpweft("info --json").json();
    assert!(json["machine"]["cpu"]["cores"].as_array().is_some_and(|cores| !cores.is_empty()));
    assert!(
        json["machine"]["cpu"]["memory"]["total"].as_u64().is_some_and(|total| total > 1 << 20)
    );
    assert!(json["machine"]["gpus"].is_array());
    // What the first run measured is what reports refer to, so it is shown.
    assert!(json["probe"]["cpu"]["threads"].as_u64().is_some_and(|threads| threads > 0), "{json}");
    assert!(text.lines().all(|line| line.trim_end() == line), "{text:?}");
}
