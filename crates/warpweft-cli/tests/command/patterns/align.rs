//! `warpweft align`: files in, scores out, and what is wrong with a file.

use std::fs;

use warpweft::grid::io::Claim;

use crate::{Ran, warpweft, warpweft_in};

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
fn weights_that_32_bits_are_too_few_for_are_named_as_the_options_are() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nGATTACA\n>two\nGATT\n").unwrap();
    for options in ["--match 2147483647", "--gap 2147483647", "--global --gap -2147483648"] {
        for how in ["", "--score-only"] {
            let line = format!("align a.fa a.fa --device cpu {options} {how}");
            let ran = warpweft_in(folder.path(), &line);
            ran.fails(2, &["more than 32 bits hold; choose a match, mismatch and gap nearer to 0"]);
        }
    }
}

/// Seven letters of eight columns are equal.
#[test]
fn identities_are_as_short_of_several_pairs_as_of_one() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nGATACAG\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\nGATTACAG\n").unwrap();
    fs::write(folder.path().join("c.fa"), ">two\nGATTACAG\n>three\nGGTACAGG\n").unwrap();
    for target in ["b.fa", "c.fa"] {
        let line = format!("align a.fa {target} --device cpu --global --mismatch -9");
        let said = warpweft_in(folder.path(), &line).fine();
        assert!(said.contains("identity 0.875, gaps 1"), "{said}");
    }
    let line = "align a.fa c.fa --device cpu --global --mismatch -9 --gap -9";
    let said = warpweft_in(folder.path(), line).fine();
    let digits = said.split("identity ").skip(1).map(|rest| rest.split(',').next().unwrap_or(""));
    assert!(digits.clone().count() == 2 && digits.clone().all(|one| one.len() < 10), "{said}");
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
    let one =
        "pair     one and two: score 14, query start 1, query end 7, target start 1, target end 7";
    assert!(
        said.contains(&format!("{one}, identity 1, gaps 0, letters in gaps 0\n  cigar    7M\n"))
    );
    assert!(
        said.starts_with("align: 2 pairs of sequences locally, match 2, mismatch -1, gap -1\n")
    );
    // A gap costs, whatever its sign.
    let said =
        warpweft_in(folder.path(), "align a.fa b.fa --device cpu --score-only --gap 1").fine();
    assert!(said.contains("pair     one and two: score 14, query end 7, target end 7\n"), "{said}");
    assert!(said.contains("note     3 ambiguous letters in all"), "{said}");
    let said = warpweft_in(folder.path(), "align a.fa b.fa --device cpu --no-check").fine();
    assert!(said.contains("check    the result was not checked: --no-check\n"), "{said}");
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

#[test]
fn an_alignment_is_written_letter_by_letter_in_both_formats_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    // ACGTTTACGTA against ACG--TACGCA: a gap of two as far ahead as it can be, one mismatch.
    fs::write(folder.path().join("a.fa"), ">one\nCCACGTTTACGTA\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\nGGACGTACGCATT\n").unwrap();
    let line = "align a.fa b.fa --device cpu --gap-open -3 --gap-extend -1 --eqx --json \
                --match 3 --output x.paf --output x.sam --plot";
    let said = warpweft_in(folder.path(), line).fine();
    let object: serde_json::Value = serde_json::from_str(&said).unwrap();
    let pair = &object["result"]["pairs"][0];
    // 8 equal letters, one different, a gap of two: 24 - 1 - 4.
    assert_eq!((&pair["score"], &pair["cigar"]), (&19.into(), &"3=2I4=1X1=".into()));
    assert_eq!((&pair["query_start"], &pair["target_start"]), (&3.into(), &3.into()));
    assert_eq!(
        (&pair["matches"], &pair["columns"], &pair["gap_letters"]),
        (&8.into(), &11.into(), &2.into())
    );
    assert_eq!(object["outputs"], serde_json::json!(["x.paf", "x.sam", "align.png"]));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let paf = "one\t13\t2\t13\t+\ttwo\t13\t2\t11\t8\t11\t255\tAS:i:19\tNM:i:3\tcg:Z:3=2I4=1X1=\n";
    assert_eq!(read("x.paf"), paf);
    let sam = read("x.sam");
    let lines: Vec<_> = sam.lines().collect();
    assert_eq!(lines[..2], ["@HD\tVN:1.6\tSO:unknown", "@SQ\tSN:two\tLN:13"]);
    let hit = "one\t0\ttwo\t3\t255\t2S3=2I4=1X1=\t*\t0\t0\tCCACGTTTACGTA\t*\tAS:i:19\tNM:i:3";
    assert_eq!(lines[3..], [hit]);
    assert!(fs::read(folder.path().join("align.png")).unwrap().starts_with(b"\x89PNG"));
    // Without --eqx both kinds of pairs are M.
    let said = warpweft_in(folder.path(), &line.replace("--eqx --json", "")).fine();
    assert!(said.contains("cigar    3M2I6M\n"), "{said}");
}

/// As the format has it, one line of a query is not secondary, and only that has its letters.
#[test]
fn one_line_of_a_query_is_its_primary_and_a_query_without_an_alignment_is_unmapped() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    put("a.fa", ">q\nGATTACAG\n>none\nNNNN\n>r\nCCCC\n");
    put("b.fa", ">t\nGATTA\n>u\nTGATTACAG\n>v\nGATTACAG\n");
    let ran = |line: &str| warpweft_in(folder.path(), &format!("align {line} --device cpu"));
    let lines = |name: &str| -> Vec<String> {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        text.lines().filter(|line| !line.starts_with('@')).map(str::to_string).collect()
    };
    let found = ran("a.fa b.fa --output x.sam --output x.paf");
    let note = "note: no alignment of none and t scores above 0, nor any of 3 further pairs: ";
    assert!(found.err.contains(note), "{}", found.err);
    found.fine();
    let expect = [
        "q\t256\tt\t1\t255\t5M3S\t*\t0\t0\t*\t*\tAS:i:10\tNM:i:0",
        "q\t0\tu\t2\t255\t8M\t*\t0\t0\tGATTACAG\t*\tAS:i:16\tNM:i:0",
        "q\t256\tv\t1\t255\t8M\t*\t0\t0\t*\t*\tAS:i:16\tNM:i:0",
        "none\t4\t*\t0\t0\t*\t*\t0\t0\tNNNN\t*",
        "r\t0\tu\t7\t255\t1M3S\t*\t0\t0\tCCCC\t*\tAS:i:2\tNM:i:0",
        "r\t256\tv\t6\t255\t1M3S\t*\t0\t0\t*\t*\tAS:i:2\tNM:i:0",
    ];
    assert_eq!(lines("x.sam"), expect);
    assert_eq!(lines("x.paf").len(), 5);

    // One pair that has none: an empty file is written, and that is said.
    put("c.fa", ">c\nAAAA\n");
    put("d.fa", ">d\nTTTT\n");
    let found = ran("c.fa d.fa --output y.paf --output y.sam");
    let note = "note: no alignment of c and d scores above 0: there is none to write\n";
    assert!(found.err.contains(note), "{}", found.err);
    assert!(found.fine().contains("written  y.paf, y.sam"));
    assert_eq!(lines("y.paf"), Vec::<String>::new());
    assert_eq!(lines("y.sam"), ["c\t4\t*\t0\t0\t*\t*\t0\t0\tAAAA\t*"]);
    // Nothing is noted where nothing is missing.
    assert_eq!(ran("a.fa b.fa --global --output z.paf").err, "");
    assert_eq!(lines("z.paf").len(), 9);
}

#[test]
fn files_of_other_systems_are_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), "\u{feff}>one first\r\nGATT\r\nACA\r\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">two\rGATTACA\r").unwrap();
    let json = warpweft_in(folder.path(), "align a.fa b.fa --device cpu --json").json();
    let pair = &json["result"]["pairs"][0];
    assert_eq!((&pair["query"], &pair["target"]), (&"one".into(), &"two".into()));
    assert_eq!(pair["cigar"], "7M");
}

#[test]
fn files_that_an_alignment_can_not_be_written_to_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">one\nACGT\n>one\nAC\n").unwrap();
    let fails = |options: &str, says: &str| {
        let line = format!("align a.fa a.fa --device cpu {options}");
        warpweft_in(folder.path(), &line).fails(2, &[says]);
    };
    fails("--output x.bam", "x.bam is in no format known here");
    fails("--output x.sam", "have this name");
    fails("--plot", "--plot shows one pair, but there are 4");
    let long = "q".repeat(255);
    for (query, target, says) in [
        ("@one", "two", "the query name \"@one\""),
        ("\u{e9}", "two", "the query name \"\u{e9}\""),
        (&long[..], "two", &long[..]),
        ("one", "a,b", "the target name \"a,b\""),
        ("one", "=two", "the target name \"=two\""),
    ] {
        fs::write(folder.path().join("q.fa"), format!(">{query}\nACGT\n")).unwrap();
        fs::write(folder.path().join("t.fa"), format!(">{target}\nACGT\n")).unwrap();
        let ran = warpweft_in(folder.path(), "align q.fa t.fa --device cpu --output x.sam");
        ran.fails(2, &[says, "SAM does not allow"]);
    }
    fs::write(folder.path().join("q.fa"), format!(">{}\nACGT\n", &long[1..])).unwrap();
    fs::write(folder.path().join("t.fa"), ">chr1:2-3|x\nACGT\n").unwrap();
    warpweft_in(folder.path(), "align q.fa t.fa --device cpu --output x.sam").fine();
    fails("--resume", "--checkpoint");
    fails("--score-only --eqx", "--eqx");
    fails("--gap -4 --gap-open -5 --gap-extend -2", "--gap");
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    let mut letters = |count: usize| -> String {
        let mut letter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b"ACGT"[(state >> 62) as usize])
        };
        (0..count).map(|_| letter()).collect()
    };
    fs::write(folder.path().join("a.fa"), format!(">a\n{}\n", letters(11_000))).unwrap();
    fs::write(folder.path().join("b.fa"), format!(">b\n{}\n", letters(12_000))).unwrap();
    let line = "align a.fa b.fa --device cpu --gap-open -3 --gap-extend -1 --output";
    warpweft_in(folder.path(), &format!("{line} alone.paf")).fine();

    let line = format!("{line} found.paf --checkpoint saved");
    let mut command = crate::command(folder.path());
    let mut child = command.args(line.split_whitespace()).spawn().unwrap();
    let row = |number: usize| folder.path().join(format!("saved/pair-1/row-{number:04}.edges"));
    while !row(1).exists() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path().join("found.paf").exists() || row(7).exists());
    let first = fs::metadata(row(0)).unwrap().modified().unwrap();
    warpweft_in(folder.path(), &line).fails(1, &["earlier run", "--resume"]);
    let said = warpweft_in(folder.path(), &format!("{line} --resume")).fine();
    assert!(said.contains("  result   resumed from row "), "{said}");
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("found.paf") == read("alone.paf"));
    assert_eq!(fs::metadata(row(0)).unwrap().modified().unwrap(), first);
    // From the rows that are there, eighths; all of them leave the path to be found.
    for (left, from) in [(8, 11_000), (5, 6_875)] {
        (left..8).for_each(|number| fs::remove_file(row(number)).unwrap());
        let json = warpweft_in(folder.path(), &format!("{line} --resume --json")).json();
        assert_eq!(json["result"]["pairs"][0]["resumed_from_row"], from);
        let nothing =
            json["notes"].to_string().contains("nothing was left to be done but the path");
        assert_eq!(nothing, left == 8, "{}", json["notes"]);
    }
    let other = format!("{line} --resume --match 3");
    warpweft_in(folder.path(), &other).fails(1, &["another problem"]);
}

#[test]
fn what_can_not_be_resumed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">a\nGATTACA\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">b\nTTTAGATCACA\n>c\nGATTTACA\n").unwrap();
    let align = |more: &str| {
        let line = format!("align a.fa b.fa --device cpu --checkpoint saved {more}");
        warpweft_in(folder.path(), &line)
    };
    let nothing = ["holds no checkpoint to resume", "begin without --resume"];
    align("--resume").fails(1, &nothing);
    assert!(!folder.path().join("saved").exists());
    warpweft_in(folder.path(), "align a.fa b.fa --device cpu --checkpoint no/such")
        .fails(1, &["no/such: there is no folder no; make it with"]);
    // One run at a time, whichever pair it is at.
    let claim = Claim::of(&folder.path().join("saved")).unwrap();
    align("").fails(1, &["saved: another run saves its state there"]);
    drop(claim);
    fs::remove_dir_all(folder.path().join("saved")).unwrap();
    // The state of a stencil is none of an alignment.
    warpweft_in(folder.path(), "run heat --device cpu --size 8 --steps 2 --checkpoint saved")
        .fine();
    align("--resume").fails(1, &nothing);

    align("--output whole.paf").fine();
    align("").fails(1, &["of an earlier run", "--resume"]);
    align("--match 3 --resume").fails(1, &["another problem", "another folder"]);
    // As a run leaves it that was killed before its second pair.
    fs::remove_dir_all(folder.path().join("saved/pair-2")).unwrap();
    align("--resume --output resumed.paf").fine();
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(!read("whole.paf").is_empty() && read("whole.paf") == read("resumed.paf"));
}

#[test]
fn records_are_paired_one_by_one_and_many_scores_come_at_once() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.fa"), ">a\nGATTACA\n>b\nACGT\n").unwrap();
    fs::write(folder.path().join("b.fa"), ">c\nTTTAGATCACA\n>d\nACGTACGT\n").unwrap();
    let scores = |options: &str| -> Vec<i64> {
        let line = format!("align a.fa b.fa --device cpu --json {options}");
        let said = warpweft_in(folder.path(), &line).fine();
        let object: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert_eq!(object["check"]["passed"], true);
        let pairs = object["result"]["pairs"].as_array().unwrap().clone();
        pairs.iter().map(|pair| pair["score"].as_i64().unwrap()).collect()
    };
    let all = scores("");
    assert_eq!((all[0], all[3]), (11, 8));
    assert_eq!(scores("--score-only"), all);
    assert_eq!(scores("--global --score-only"), scores("--global"));
    assert_eq!(scores("--batch"), [11, 8]);
    assert_eq!(scores("--batch --score-only"), [11, 8]);
    fs::write(folder.path().join("b.fa"), ">c\nTTTAGATCACA\n").unwrap();
    let ran = warpweft_in(folder.path(), "align a.fa b.fa --batch --device cpu");
    ran.fails(2, &["2 queries for 1 targets", "leave out --batch"]);
}

#[test]
fn a_path_is_the_same_whichever_way_it_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let letters = |step: usize| -> String {
        (0..700).map(|i| ["A", "C", "G", "T"][(i * i / step + i / 7) % 4]).collect()
    };
    fs::write(folder.path().join("a.fa"), format!(">one\n{}\n", letters(5))).unwrap();
    fs::write(folder.path().join("b.fa"), format!(">two\n{}\n", letters(6))).unwrap();
    for options in ["", "--global", "--gap-open -5 --gap-extend -1"] {
        let found = ["auto", "directions", "linear-space"].map(|way| {
            let line = format!("align a.fa b.fa --device cpu --json --traceback {way} {options}");
            let said = warpweft_in(folder.path(), &line).fine();
            let object: serde_json::Value = serde_json::from_str(&said).unwrap();
            assert_eq!(object["check"]["passed"], true);
            let notes = object["notes"].to_string();
            let said = match way {
                "directions" => "by directions",
                "linear-space" => "in linear space",
                _ => "the path was found",
            };
            assert!(notes.contains(said), "{way}: {notes}");
            object["result"]["pairs"][0]["cigar"].clone()
        });
        assert!(found[0].is_string() && found[0] == found[1] && found[0] == found[2], "{found:?}");
    }
    let refused = "align a.fa b.fa --device cpu --traceback directions --checkpoint saved";
    warpweft_in(folder.path(), refused).fails(2, &["directions with a checkpoint"]);
}
