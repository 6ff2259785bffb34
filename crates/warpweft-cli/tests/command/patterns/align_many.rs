//! `warpweft align` of many pairs: searches, pairs that are left out, both strands, and what formats allow.

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

/// The names and scores of `pairs`.
fn scores(pairs: &[serde_json::Value]) -> Vec<(String, String, i64)> {
    let name = |value: &serde_json::Value| value.as_str().unwrap().to_string();
    let of = |pair: &serde_json::Value| {
        (name(&pair["query"]), name(&pair["target"]), pair["score"].as_i64().unwrap())
    };
    pairs.iter().map(of).collect()
}

/// So many targets are a database, which is searched strand by strand.
#[test]
fn the_best_targets_are_those_of_all_scores_on_both_strands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut state = 1u64;
    let mut record = |name: String, count: usize| {
        let letter = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b"ACGT"[(state >> 33) as usize % 4])
        };
        format!(">{name}\n{}\n", (0..count).map(letter).collect::<String>())
    };
    let queries: String = (0..3).map(|k| record(format!("q{k}"), 12)).collect();
    let targets: String = (0..1100).map(|k| record(format!("t{k}"), 15)).collect();
    write(folder, &[("q.fa", &queries), ("t.fa", &targets)]);
    let options = "q.fa t.fa --match 2 --mismatch -3 --gap -4 --strand both --score-only";
    let all = scores(&pairs(folder, options));
    assert_eq!(all.len(), 3 * 1100);
    let mut expected = Vec::new();
    for of_query in all.chunks(1100) {
        let mut of_query = of_query.to_vec();
        of_query.sort_by_key(|(_, _, score)| -score);
        expected.extend_from_slice(&of_query[..4]);
    }
    let found = pairs(folder, &format!("{options} --top 4"));
    assert_eq!(scores(&found), expected);
    let strands: Vec<_> = found.iter().map(|pair| pair["strand"].as_str().unwrap()).collect();
    assert!(strands.contains(&"+") && strands.contains(&"-"), "{strands:?}");
    let paths = options.replace(" --score-only", " --top 4");
    assert_eq!(scores(&pairs(folder, &paths)), expected);
}

#[test]
fn pairs_outside_of_the_band_are_named_and_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (short, long) = ("ACGTTGCAGG", "ACGTTGCAGGCCTTAACCGG");
    let queries = format!(">a\n{short}\n>b\n{short}\n>c\n{long}\n");
    let targets = format!(">x\n{short}\n>y\n{long}\n>z\n{long}\n");
    write(folder, &[("q.fa", &queries), ("t.fa", &targets)]);
    let line = "align q.fa t.fa --batch --global --band 5 --device cpu";
    let error = "b and y: a band of 5 for sequences of 10 and 20 letters";
    warpweft_in(folder, line).fails(2, &[error, "make it 10 at least"]);
    for more in ["", " --score-only", " --strand both", " --stream --output s.paf"] {
        let ran = warpweft_in(folder, &format!("{line} --skip-invalid --json{more}"));
        assert!(ran.err.contains(&format!("note: a pair is left out: {error}")), "{}", ran.err);
        let result = &ran.json()["result"];
        if more.contains("--stream") {
            assert_eq!(result["alignments"], 2);
            continue;
        }
        let names = ["a", "x", "c", "z"].map(String::from);
        let found = scores(result["pairs"].as_array().unwrap());
        let found: Vec<_> =
            found.into_iter().flat_map(|(query, target, _)| [query, target]).collect();
        assert_eq!(found, names, "{more}");
    }
    // All targets of all queries: five of nine pairs are too far apart.
    let ran =
        warpweft_in(folder, "align q.fa t.fa --top 2 --global --band 5 --skip-invalid --json");
    assert_eq!(ran.json()["result"]["pairs"].as_array().unwrap().len(), 4);
}

#[test]
fn several_alignments_are_of_both_strands() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The query, then its reverse complement without its first two letters.
    let target = format!(">t\n{}GGGGGGGG{}\n", "ACTTACTACA", "TGTAGTAA");
    write(folder, &[("q.fa", ">q\nACTTACTACA\n"), ("t.fa", &target)]);
    let line = "q.fa t.fa --match 2 --mismatch -9 --gap -9 --best 2";
    let place = |pair: &serde_json::Value| {
        let at = ["target_start", "target_end"].map(|key| pair[key].as_u64().unwrap());
        (pair["strand"].as_str().unwrap().to_string(), at, pair["score"].as_i64().unwrap())
    };
    let found: Vec<_> = pairs(folder, &format!("{line} --strand both")).iter().map(place).collect();
    assert_eq!(found, [("+".into(), [1, 10], 20), ("-".into(), [19, 26], 16)]);
    let found: Vec<_> = pairs(folder, line).iter().map(place).collect();
    assert!(found.iter().all(|(strand, ..)| strand == "+"), "{found:?}");
}

#[test]
fn files_hold_what_their_formats_define() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, &[("n.fa", ">n\nACGNACGT\n"), ("p.fa", ">p\nMKWV*\n")]);
    // N with N is no match, whatever it scores.
    let found =
        pairs(folder, "n.fa n.fa --matrix NUC44 --global --eqx --output n.sam --output n.paf");
    assert_eq!((&found[0]["matches"], &found[0]["cigar"]), (&7.into(), &"3=1X4=".into()));
    let sam = fs::read_to_string(folder.join("n.sam")).unwrap();
    assert!(sam.contains("\t3=1X4=\t") && sam.contains("\tACGNACGT\t*\tAS:i:34\tNM:i:1"), "{sam}");
    let paf = fs::read_to_string(folder.join("n.paf")).unwrap();
    assert!(paf.contains("\t7\t8\t255\tAS:i:34\tNM:i:1\t"), "{paf}");
    // SAM has no letter for the end of a protein.
    pairs(folder, "p.fa p.fa --matrix BLOSUM62 --output p.sam");
    let sam = fs::read_to_string(folder.join("p.sam")).unwrap();
    assert!(sam.contains("\t5M\t*\t0\t0\tMKWVX\t*\t"), "{sam}");
    // The statistics are those of local alignments.
    let evalue = |options: &str| {
        pairs(folder, &format!("p.fa p.fa --matrix BLOSUM62 {options} --output e.tsv"));
        let table = fs::read_to_string(folder.join("e.tsv")).unwrap();
        table.trim_end().rsplit('\t').take(2).all(|field| field == "nan")
    };
    assert!(!evalue(""));
    for options in ["--global", "--semi-global", "--overlap", "--x-drop 20"] {
        assert!(evalue(options), "{options}");
    }
}
