//! `warpweft apsp --statistics --histogram`: centralities and pairs by distance of a graph small enough to count by hand.

use crate::warpweft_in;

/// Two roads from 1 to 3, and 4, which no road leads to.
const ROADS: &str = "c a town\np sp 4 4\na 1 2 5\na 2 3 4\na 1 3 10\na 4 1 1\n";

#[test]
fn statistics_and_histogram_are_those_of_the_roads() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("roads.gr"), ROADS).unwrap();
    let line = "apsp roads.gr --statistics own.csv --histogram all.csv --check 4 --json";
    let saved = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let mut found = Vec::new();
    // From counts, and from rows.
    for more in ["", " --distances rows.npy"] {
        let object = warpweft_in(folder.path(), &format!("{line}{more}")).json();
        assert_eq!(object["check"]["passed"], true, "{object}");
        let result = &object["result"];
        let ends = (&result["diameter"], &result["radius"], &result["median_distance"]);
        assert_eq!(ends, (&10.into(), &0.into(), &5.into()));
        found.push((saved("own.csv"), saved("all.csv")));
    }
    assert_eq!(found[0], found[1]);
    let (own, all) = &found[0];
    let lines: Vec<Vec<f64>> = (own.lines().skip(1))
        .map(|line| line.split(',').map(|word| word.parse().unwrap_or(-1.0)).collect())
        .collect();
    // Three of four vertices are reached from 1, at 0, 5 and 9; none but itself from 3.
    let expect = [9.0, 7.0, 2.0 / 3.0 * (2.0 / 14.0), 1.0 / 5.0 + 1.0 / 9.0];
    assert!(lines[0][1..].iter().zip(expect).all(|(a, b)| (a - b).abs() < 1e-12), "{own}");
    assert_eq!(lines[2], [3.0, 0.0, -1.0, 0.0, 0.0]);
    let pairs = "distance,pairs\n0,4\n1,1\n2,0\n3,0\n4,1\n5,1\n6,1\n7,0\n8,0\n9,1\n10,1\n";
    assert_eq!(all, pairs);
}

/// Rows of distances can be saved, but not their statistics: the other sources are.
#[test]
fn a_source_without_statistics_is_skipped_and_takes_no_other_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let far = "p sp 3 2\na 1 2 1\na 2 3 1048576\n";
    std::fs::write(folder.path().join("far.gr"), far).unwrap();
    let line = "apsp far.gr --threads 1 --chunk 1 --distances d.npy --statistics s.csv";
    let said = ["searching from source 1", "a distance is 1048577", "2 sources were skipped"];
    warpweft_in(folder.path(), &format!("{line} --on-failure skip")).fails(1, &said);
    let csv = std::fs::read_to_string(folder.path().join("s.csv")).unwrap();
    assert_eq!(csv, "source,eccentricity,mean,closeness,harmonic\n3,0,,0,0\n");
    let without = "apsp far.gr --distances d.npy";
    warpweft_in(folder.path(), without).fine();
}
