//! `warpweft align` by matrices, with free ends, on both strands, of FASTQ, and the best of many targets.

use std::fs;
use std::path::Path;

use crate::warpweft_in;

fn write(folder: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        fs::write(folder.join(name), text).unwrap();
    }
}

/// The pairs that `line` prints, after its check has passed.
fn pairs(folder: &Path, line: &str) -> Vec<serde_json::Value> {
    let said = warpweft_in(folder, &format!("align {line} --device cpu --json")).fine();
    let object: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(object["check"]["passed"], true, "{said}");
    object["result"]["pairs"].as_array().unwrap().clone()
}

#[test]
fn the_best_proteins_of_a_database_are_found_by_a_matrix() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let database = ">far\nGGGGG\n>near\nMKWVSFISLL\n>same\nMKWVTFISLL\n>part\nAAMKWVTFAA\n";
    write(folder, &[("q.fa", ">q\nmkwvtfisll\n"), ("db.fa", database)]);
    // M, K, W, V, T, F, I, S, L, L with themselves; S for T scores 1, not 5.
    let scores = [("same", 5 + 5 + 11 + 4 + 5 + 6 + 4 + 4 + 4 + 4), ("near", 48), ("part", 36)];
    for (options, count) in [("--top 3", 3), ("--top 2 --score-only", 2), ("--top 9", 4)] {
        let found = pairs(folder, &format!("q.fa db.fa --matrix blosum62 {options}"));
        assert_eq!(found.len(), count, "{options}");
        for (pair, (target, score)) in found.iter().zip(scores) {
            assert_eq!((&pair["target"], &pair["score"]), (&target.into(), &score.into()));
        }
    }
    // A matrix of one's own: only W counts.
    write(folder, &[("w.txt", "# mine\n W M K\nW 9 -1 -1\nM -1 1 -1\nK -1 -1 0\n")]);
    write(folder, &[("m.fa", ">m\nMKW\n")]);
    let found = pairs(folder, "m.fa m.fa --matrix w.txt --gap -3");
    assert_eq!(found[0]["score"], 10);
}

#[test]
fn free_ends_score_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &[("a.fa", ">a\nTTTTACGT\n"), ("b.fa", ">b\nACGTGGGG\n")]);
    // ACGT ends the one and begins the other.
    for (options, score, start) in [
        ("--overlap", 8, 5),
        ("--free-ends query-start,target-end", 8, 5),
        ("--free-ends target-start,target-end", 4, 1),
        ("--semi-global", 4, 1),
        ("--global", 0, 1),
    ] {
        let found = pairs(folder, &format!("a.fa b.fa {options}"));
        assert_eq!((&found[0]["score"], &found[0]["query_start"]), (&score.into(), &start.into()));
        let found = pairs(folder, &format!("a.fa b.fa {options} --score-only"));
        assert_eq!(found[0]["score"], score, "{options}");
    }
}

#[test]
fn reverse_complements_are_written_as_formats_want_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let reads = "@r\nACGTTTGACC\n+\nABCDEFGHIJ\n@s\nAATCAAAC\n+\n12345678\n@n\nCCCCCC\n+\nKKKKKK\n";
    write(folder, &[("r.fq", reads), ("t.fa", ">t\nAATCAAACGTAA\n")]);
    let line = "r.fq t.fa --strand both --gap -9 --mismatch -9 --output h.sam --output h.paf";
    let found = pairs(folder, line);
    let strands: Vec<_> = found.iter().map(|pair| pair["strand"].as_str().unwrap()).collect();
    assert_eq!(strands[..2], ["-", "+"]);
    assert_eq!((&found[0]["query_start"], &found[0]["query_end"]), (&1.into(), &8.into()));
    let paf = fs::read_to_string(folder.join("h.paf")).unwrap();
    let lines: Vec<_> = paf.lines().collect();
    assert_eq!(lines[0], "r\t10\t0\t8\t-\tt\t12\t2\t10\t8\t8\t255\tAS:i:16\tNM:i:0\tcg:Z:8M");
    assert_eq!(lines[1], "s\t8\t0\t8\t+\tt\t12\t0\t8\t8\t8\t255\tAS:i:16\tNM:i:0\tcg:Z:8M");
    let sam = fs::read_to_string(folder.join("h.sam")).unwrap();
    let lines: Vec<_> = sam.lines().filter(|line| !line.starts_with('@')).collect();
    let of_r = "r\t16\tt\t3\t255\t2S8M\t*\t0\t0\tGGTCAAACGT\tJIHGFEDCBA\tAS:i:16\tNM:i:0";
    assert_eq!(lines[0], of_r);
    assert_eq!(lines[1], "s\t0\tt\t1\t255\t8M\t*\t0\t0\tAATCAAAC\t12345678\tAS:i:16\tNM:i:0");
}

#[test]
fn what_is_wrong_with_letters_and_matrices_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(
        folder,
        &[
            ("p.fa", ">first\nMKWV\n>second\nMKW-VL\n"),
            ("d.fa", ">d\nACGT\n"),
            ("missing.txt", "A C\nA 1 0\n"),
            ("short.fq", "@r\nACGT\n+\nII\n"),
        ],
    );
    let fails = |line: &str, status, what: &[&str]| {
        warpweft_in(folder, &format!("align {line} --device cpu")).fails(status, what);
    };
    let letter = ["p.fa", "'-' at position 4 of sequence second", "use the letters of BLOSUM62"];
    fails("p.fa p.fa --matrix BLOSUM62", 1, &letter);
    fails(
        "d.fa d.fa --matrix BLOSUM61",
        1,
        &["BLOSUM61", "give BLOSUM62, BLOSUM50, PAM250 or a file"],
    );
    fails("d.fa d.fa --matrix missing.txt", 1, &["missing.txt", "no line for letter C follows"]);
    fails("short.fq d.fa", 1, &["short.fq", "record r has 2 qualities for 4 letters"]);
    fails("d.fa d.fa --matrix PAM250 --match 3", 2, &["--match", "--matrix"]);
    fails(
        "d.fa d.fa --matrix PAM250 --strand both",
        2,
        &["the other strand", "leave out --strand"],
    );
    fails("d.fa d.fa --global --overlap", 2, &["--global", "--overlap"]);
    fails("d.fa d.fa --batch --top 2", 2, &["--top with --batch"]);
    fails(
        "d.fa d.fa --overlap --checkpoint c",
        2,
        &["a checkpoint of an alignment with free ends"],
    );
}
