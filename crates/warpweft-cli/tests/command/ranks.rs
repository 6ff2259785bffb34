//! `warpweft run --ranks`: the same answer from several ranks.

use super::warpweft;

fn object(line: &str) -> serde_json::Value {
    let ran = warpweft(line);
    assert_eq!(ran.status, Some(0), "{line}: {}", ran.err);
    serde_json::from_str(&ran.out).expect("JSON")
}

#[test]
fn any_number_of_ranks_gives_the_same_answer_and_it_is_checked() {
    let line = |ranks| {
        format!("run life --device cpu --size 48 --steps 40 --seed 3 --json --ranks {ranks}")
    };
    let alone = object(&line(1));
    for ranks in [2, 3, 8] {
        let spread = object(&line(ranks));
        assert_eq!(spread["result"], alone["result"]);
        assert_eq!(spread["check"]["passed"], true);
        assert_eq!(spread["policy"]["ranks"], ranks);
    }
    let heat = object("run heat --size 16x12x20 --steps 30 --ranks 4 --depth 2 --json");
    assert_eq!(heat["check"]["passed"], true);
    assert_eq!(heat["policy"]["depth"], 2);
}

#[test]
fn too_many_ranks_or_too_deep_zones_are_refused_with_what_fits() {
    let ran = warpweft("run heat --size 16 --steps 4 --ranks 8 --depth 50");
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert!(ran.err.contains("the largest feasible R is"), "{}", ran.err);
    let ran = warpweft("run heat --size 4 --steps 4 --order 8 --ranks 64");
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert!(ran.err.contains("use fewer parts or a larger volume"), "{}", ran.err);
    assert_eq!(warpweft("run life --ranks 0").status, Some(2));
}
