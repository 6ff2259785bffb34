//! `warpweft align`: files in, scores out, and what is wrong with a file.

use std::fs;

use super::{Ran, warpweft, warpweft_in};

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
fn both_scopes_and_affine_gaps_score_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nACGTTTACGT\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\nGGACGTACGT\n").unwrap();
    let score = |options: &str| {
        let line = format!("align a.fa b.fa --device cpu --json {options}");
        let said = warpweft_in(folder.path(), &line).fine();
        let object: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(object["check"]["passed"], true);
        object["result"]["pairs"][0]["score"].as_i64().unwrap()
    };
    // ACGTTTACGT against ACGT--ACGT: eight letters match, a gap of two.
    assert_eq!(score("--gap -3"), 16 - 6);
    assert_eq!(score("--gap-open -5 --gap-extend -1"), 16 - 6);
    assert_eq!(score("--gap-open 4 --gap-extend 0"), 16 - 4);
    // Whole: two letters more against nothing.
    assert_eq!(score("--global --gap-open -5 --gap-extend -1 --mismatch -9"), 16 - 12);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (text, says) in [
        (">x\nAC-T\n", "'-' at position 3 of sequence x"),
        (">x\n", "a.fa: sequence x is empty"),
        ("ACGT\n", "line 1 comes before any header"),
        ("", "no records"),
    ] {
        fs::write(folder.path().join("a.fa"), text).unwrap();
        let ran = warpweft_in(folder.path(), "align a.fa a.fa --device cpu");
        ran.fails(1, &[says, "a.fa"]);
    }
    warpweft("align missing.fa missing.fa").fails(1, &["check the path"]);
}

#[test]
fn several_pairs_have_a_line_each_and_letters_that_match_nothing_one_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nGATTACANN\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\nGATTACA\n>three\nCCRGATT\n").unwrap();
    let said = warpweft_in(folder.path(), "align a.fa b.fa --device cpu").fine();
    assert!(said.contains("result   alignments 2\n"), "{said}");
    assert!(said.contains("pair     one and two: score 14, query end 7, target end 7\n"), "{said}");
    assert!(said.contains("note     3 ambiguous letters in all"), "{said}");
}

#[test]
fn a_dash_is_standard_input_which_can_be_read_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nGATTACA\n").unwrap();
    let line = "align - a.fa --device cpu";
    let mut command = crate::command(folder.path());
    let input = fs::File::open(folder.path().join("a.fa")).unwrap();
    let ran = Ran::of(command.args(line.split_whitespace()).stdin(input));
    assert!(ran.fine().contains("score 14"));
    warpweft("align - -").fails(2, &["standard input can be read once"]);
}
