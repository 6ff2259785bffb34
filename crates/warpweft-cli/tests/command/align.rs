//! `warpweft align`: files in, scores out, and what is wrong with a file.

use std::fs;

use super::{warpweft, warpweft_in};

#[test]
fn a_pair_is_aligned_checked_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one first\nGATTACA\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\nTTTAGATC\nACA\n").unwrap();
    let said = warpweft_in(folder.path(), "align a.fa b.fa --device cpu --json").fine();
    let object: serde_json::Value = serde_json::from_str(&said).unwrap();
    let pair = &object["result"]["pairs"][0];
    assert_eq!((&pair["query"], &pair["target"]), (&"one".into(), &"two".into()));
    assert_eq!(pair["score"], 11);
    assert_eq!((&pair["query_end"], &pair["target_end"]), (&7.into(), &11.into()));
    assert_eq!(object["check"]["passed"], true);
    assert_eq!(object["pattern"], "wavefront");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, says) in [
        (">x\nAC-T\n", "'-' at position 3 of sequence x"),
        (">x\n", "sequence x of a.fa is empty"),
        ("ACGT\n", "line 1 comes before any header"),
        ("", "no records"),
    ] {
        fs::write(folder.path().join("a.fa"), text).unwrap();
        let ran = warpweft_in(folder.path(), "align a.fa a.fa --device cpu");
        assert!(ran.status != Some(0) && ran.err.contains(says), "{}", ran.err);
    }
    let ran = warpweft("align missing.fa missing.fa");
    assert!(ran.status != Some(0) && ran.err.contains("check the path"), "{}", ran.err);
}
