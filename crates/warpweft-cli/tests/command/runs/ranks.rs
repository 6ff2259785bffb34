//! `warpweft run --ranks`: the same answer from several ranks.

use crate::warpweft;

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
    // Of rates too: one process and one rank count the bytes of their passes alike, against the same roofline.
    for line in ["--depth 8 --ranks 2", "--ranks 1"] {
        let line = format!("run heat --device cpu --size 64 --steps 24 --threads 2 {line}");
        let json = object(&format!("{line} --json"));
        assert!(json["roofline"]["value"].as_f64().is_some_and(|bound| bound > 0.0), "{json}");
        let text = warpweft(&line).fine();
        assert!(text.contains("memory bandwidth at one step per pass"), "{text}");
    }
    let heat = object("run heat --size 16x12x20 --steps 30 --ranks 4 --depth 2 --json");
    assert_eq!(heat["check"]["passed"], true);
    assert_eq!(heat["policy"]["depth"], 2);
}

#[test]
fn a_grid_of_ranks_says_how_many_there_are() {
    let line = "run life --device cpu --size 16x24 --steps 6 --json --rank-grid";
    let spread = object(&format!("{line} 2x3"));
    assert_eq!((&spread["policy"]["ranks"], &spread["check"]["passed"]), (&6.into(), &true.into()));
    warpweft(&format!("{line} 2x2x2")).fails(2, &["the rank grid 2x2x2 does not fit 2 axes"]);
}

#[test]
fn too_many_ranks_or_too_deep_zones_are_refused_with_what_fits() {
    let ran = warpweft("run heat --size 16 --steps 4 --ranks 8 --depth 50");
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert!(ran.err.contains("the largest feasible R is"), "{}", ran.err);
    let ran = warpweft("run heat --size 4 --steps 4 --order 8 --ranks 64");
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert!(ran.err.contains("use fewer subdomains or a larger volume"), "{}", ran.err);
    assert_eq!(warpweft("run life --ranks 0").status, Some(2));
    warpweft("run heat --size 64 --steps 4 --ranks 257")
        .fails(2, &["257 ranks in one process", "use 256 or fewer"]);
}

#[test]
fn the_policy_of_a_report_is_one_that_can_be_asked_for() {
    let line = "run heat --device cpu --size 16x12x20 --steps 30 --json";
    let searched = object(&format!("{line} --ranks 4"));
    let policy = searched["policy"].to_string();
    let again = object(&format!("{line} --policy {policy}"));
    for part in ["ranks", "grid", "depth", "rank"] {
        assert_eq!(again["policy"][part], searched["policy"][part], "{part}");
    }
    assert_eq!(again["policy"]["searched"], false);
    assert_eq!(again["result"], searched["result"]);
    let other = warpweft(&format!("{line} --ranks 3 --policy {policy}"));
    other.fails(2, &["--ranks says 3, --policy 4"]);
    warpweft(&format!("run heat --dims 2 --device cpu --policy {policy}"))
        .fails(2, &["the rank grid 1x1x4 does not fit 2 axes"]);
}

#[test]
fn every_rank_has_a_lane_on_the_timeline() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "run life --device cpu --size 40 --steps 12 --ranks 3 --depth 2 --trace t.json";
    crate::warpweft_in(directory.path(), line).fine();
    let trace = std::fs::read_to_string(directory.path().join("t.json")).expect("just written");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    let lanes: Vec<_> = events
        .iter()
        .filter(|event| event["ph"] == "M")
        .map(|event| &event["args"]["name"])
        .collect();
    for rank in 0..3 {
        assert!(lanes.contains(&&format!("rank {rank}").into()), "{lanes:?}");
    }
    let exchanges = events.iter().filter(|event| event["name"] == "halo exchange").count();
    assert_eq!(exchanges, 3 * 5, "six blocks of two steps have five exchanges between them");
}
