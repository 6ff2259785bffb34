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
fn ambiguous_nucleotides_are_scored_by_a_matrix_on_both_strands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let letters = [("t.fa", ">t\nGGACGTTRCATT\n"), ("q.fa", ">q\nAUGNAACGU\n")];
    write(folder, &letters);
    // The query's other strand is ACGTTNCAT: eight pairs of 5, and N with R, which scores -1.
    let options = "--matrix NUC44 --gap-open -10 --gap-extend -1 --strand both --output x.sam";
    let found = pairs(folder, &format!("q.fa t.fa {options}"));
    let [pair] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&pair["score"], &pair["strand"]), (&39.into(), &"-".into()));
    let sam = fs::read_to_string(folder.join("x.sam")).unwrap();
    let line = sam.lines().last().unwrap();
    assert!(line.starts_with("q\t16\tt\t3\t255\t9M"), "{line}");
    assert!(line.contains("\tACGTTNCAT\t") && line.contains("NM:i:1"), "{line}");
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
        &["BLOSUM61", "give BLOSUM62, BLOSUM50, PAM250, NUC44 or a file"],
    );
    fails("d.fa d.fa --matrix missing.txt", 1, &["missing.txt", "no line for letter C follows"]);
    fails("short.fq d.fa", 1, &["short.fq", "record r has 2 qualities for 4 letters"]);
    fails("d.fa d.fa --matrix PAM250 --match 3", 2, &["--match", "--matrix"]);
    fails(
        "d.fa d.fa --matrix PAM250 --strand both",
        2,
        &["--strand with --matrix", "leave out --strand"],
    );
    fails("d.fa d.fa --global --overlap", 2, &["--global", "--overlap"]);
    fails("d.fa d.fa --batch --top 2", 2, &["--top with --batch"]);
    fails(
        "d.fa d.fa --overlap --checkpoint c",
        2,
        &["a checkpoint of an alignment with free ends"],
    );
}

#[test]
fn bands_and_drops_limit_how_far_an_alignment_goes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // Four letters more in the middle: a gap of four, unless a band forbids it.
    write(folder, &[("a.fa", ">a\nACGTTGCAGGCCTTAA\n"), ("b.fa", ">b\nACGTTGCATTTTGGCCTTAA\n")]);
    let weights = "--match 2 --mismatch -3 --gap -2";
    for (options, score) in
        [("--global", 24), ("--global --band 4", 24), ("--band 3", 16), ("--band 0", 16)]
    {
        let found = pairs(folder, &format!("a.fa b.fa {weights} {options}"));
        assert_eq!(found[0]["score"], score, "{options}");
    }
    let line = "align a.fa b.fa --global --band 3 --device cpu";
    warpweft_in(folder, line)
        .fails(2, &["a band of 3 for sequences of 16 and 20 letters", "make it 4 at least"]);
    // The gap costs 8, so a drop of 7 ends before it.
    for (drop, score, end) in [(7, 16, 8), (8, 24, 16)] {
        let found = pairs(folder, &format!("a.fa b.fa {weights} --x-drop {drop}"));
        assert_eq!((&found[0]["score"], &found[0]["query_end"]), (&score.into(), &end.into()));
    }
    warpweft_in(folder, "align a.fa b.fa --x-drop -1").fails(2, &["-1"]);
    warpweft_in(folder, "align a.fa b.fa --x-drop 9 --device gpu").fails(2, &["on the cores"]);
}

#[test]
fn several_alignments_of_a_pair_are_listed_as_blast_does() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let target = format!(">t\n{0}GGGG{0}GGGG{1}\n", "ACTTACTA", "ACTTAATA");
    write(folder, &[("q.fa", ">q\nACTTACTA\n"), ("t.fa", &target)]);
    let scores = "--match 2 --mismatch -3 --gap-open -7 --gap-extend -2";
    let found = pairs(folder, &format!("q.fa t.fa {scores} --best 2 --output h.tsv"));
    assert_eq!(found.len(), 2);
    let table = fs::read_to_string(folder.join("h.tsv")).unwrap();
    let lines: Vec<Vec<_>> = table.lines().map(|line| line.split('\t').collect()).collect();
    // Identity, columns, mismatches, gaps, places of both.
    assert_eq!(lines[0][..10], ["q", "t", "100.000", "8", "0", "0", "1", "8", "1", "8"]);
    assert_eq!(lines[1][..10], ["q", "t", "100.000", "8", "0", "0", "1", "8", "13", "20"]);
    // (0.625 * 16 - ln 0.41) / ln 2 bits, and 8 * 32 * 2^-bits by chance.
    assert_eq!(lines[0][10..], ["4.77e-3", "15.7"]);
    let found = pairs(folder, "q.fa t.fa --best 9 --output h.m8");
    assert!(found.len() >= 3);
    let table = fs::read_to_string(folder.join("h.m8")).unwrap();
    assert!(table.lines().all(|line| line.ends_with("nan\tnan")), "{table}");
}

#[test]
fn a_batch_names_what_it_leaves_out_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let reads = "@a\nACGT\n+\nIIII\n@b\nAC*T\n+\nIIII\n@c\nACGT\n+\nII\n@d\nACGT\n+\nIIII\n";
    write(folder, &[("r.fq", reads), ("t.fa", ">1\nACGT\n>2\nAC\n>3\nGT\n>4\nCG\nT!\n")]);
    let line = "align r.fq t.fa --batch --device cpu";
    warpweft_in(folder, line).fails(1, &["r.fq", "record c has 2 qualities for 4 letters"]);
    let ran = warpweft_in(folder, &format!("{line} --skip-invalid --json"));
    for note in [
        "r.fq: character '*' at position 3 of sequence b, line 6",
        "r.fq: line 12: record c has 2 qualities for 4 letters",
        "t.fa: character '!' at position 4 of sequence 4, line 9",
    ] {
        assert!(ran.err.contains(&format!("note: a record is left out: {note}")), "{}", ran.err);
    }
    let object = ran.json();
    let found = object["result"]["pairs"].as_array().unwrap();
    assert_eq!(
        (found.len(), &found[0]["query"], &found[0]["target"]),
        (1, &"a".into(), &"1".into())
    );
    write(folder, &[("none.fa", ">x\n>y\nA-\n")]);
    let line = "align none.fa t.fa --skip-invalid --device cpu";
    warpweft_in(folder, line).fails(2, &["no records are left"]);
}

/// The same file, whether all records are in memory or some at a time.
#[test]
fn streamed_records_are_aligned_as_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let read = |k: usize| format!(">r{k}\nACGT{}GATTACA\n", &"TTGCAACG"[k % 8..]);
    let window = |k: usize| format!(">w{k}\nCC{}GATTACACC\n", &"TTGCAACG"[k % 5..]);
    let [reads, windows] = [read as fn(usize) -> String, window];
    let [reads, windows] = [reads, windows].map(|one| (0..200).map(one).collect::<String>());
    // More than are aligned at once.
    let many: String = (0..66_000).map(|k| format!(">s{k}\n{}\n", &"ACGTTGCA"[k % 5..])).collect();
    write(folder, &[("many.fa", &many)]);
    let line = "align many.fa many.fa --batch --no-check --device cpu";
    warpweft_in(folder, &format!("{line} --output a.paf")).fine();
    let said = warpweft_in(folder, &format!("{line} --output b.paf --stream")).fine();
    assert!(said.contains("66000 pairs of sequences"), "{said}");
    let [a, b] = ["a.paf", "b.paf"].map(|name| fs::read_to_string(folder.join(name)).unwrap());
    assert!(a.lines().count() > 65_536 && a == b);
    write(folder, &[("r.fa", &reads), ("w.fa", &windows), ("few.fa", ">w\nACGT\n")]);
    for options in ["", "--semi-global --strand both --eqx"] {
        let line = format!("align r.fa w.fa --batch {options} --device cpu");
        warpweft_in(folder, &format!("{line} --output a.paf")).fine();
        let said = warpweft_in(folder, &format!("{line} --output b.paf --stream")).fine();
        assert!(said.contains("200 pairs of sequences"), "{said}");
        let [a, b] = ["a.paf", "b.paf"].map(|name| fs::read_to_string(folder.join(name)).unwrap());
        assert!(a.lines().count() > 100);
        assert_eq!(a, b, "{options}");
    }
    for (line, what) in [
        (
            "r.fa few.fa --output c.paf",
            "the target file ends after 1 records, but there are more queries",
        ),
        ("r.fa w.fa --output c.sam", "--stream needs exactly one --output, a .paf file"),
    ] {
        let line = format!("align {line} --batch --stream --device cpu");
        warpweft_in(folder, &line).fails(2, &[what]);
        assert!(!folder.join("c.paf").exists());
    }
}
