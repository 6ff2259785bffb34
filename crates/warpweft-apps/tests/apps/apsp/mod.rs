//! Shortest paths: searches against reference solutions that share no code with them, graphs with known distances, files.
mod cuda;

use std::io::Write;
use std::path::{Path, PathBuf};

use warpweft::farm::{Run, reference};
use warpweft::prelude::*;
use warpweft_apps::apsp::{
    Arc, Centrality, Graph, Random, Reach, Search, ShortestPaths, certificate, dijkstra, random,
    read,
};
use warpweft_apps::soup::SplitMix;

fn arcs(arcs: &[(u32, u32, u32)]) -> Vec<Arc> {
    arcs.iter().map(|&(from, to, weight)| Arc { from, to, weight }).collect()
}

fn graph(vertices: u32, list: &[(u32, u32, u32)]) -> Graph {
    Graph::new(vertices, &arcs(list), 0).unwrap()
}

/// Distances of every source, by Floyd and Warshall.
fn all_pairs(graph: &Graph) -> Vec<Vec<Option<u64>>> {
    let n = graph.vertices() as usize;
    let mut all = vec![vec![None; n]; n];
    for (from, row) in all.iter_mut().enumerate() {
        for edge in graph.edges(from as u32) {
            let known = &mut row[edge.to as usize];
            *known = Some(known.map_or(u64::from(edge.weight), |d: u64| d.min(edge.weight.into())));
        }
        row[from] = Some(0);
    }
    for by in 0..n {
        for from in 0..n {
            let Some(first) = all[from][by] else { continue };
            for to in 0..n {
                if let Some(rest) = all[by][to] {
                    all[from][to] =
                        Some(all[from][to].map_or(first + rest, |d| d.min(first + rest)));
                }
            }
        }
    }
    all
}

/// Every search against Floyd and Warshall, Dijkstra and the certificate, workspaces kept from source to source.
fn check(name: &str, graph: &Graph) {
    let all = all_pairs(graph);
    let mut search = Search::new(graph).unwrap();
    for source in 0..graph.vertices() {
        let reach = search.run(graph, source).unwrap();
        let found = search.distances();
        let plain: Vec<_> = found.iter().map(|&d| (d < u32::MAX).then_some(u64::from(d))).collect();
        assert_eq!(plain, all[source as usize], "{name} from {source}");
        assert_eq!(plain, dijkstra(graph, source), "{name} from {source}");
        assert_eq!(certificate(graph, source, found), Ok(()), "{name} from {source}");
        let there: Vec<_> = plain.into_iter().flatten().collect();
        let expect = Reach {
            reached: there.len() as u32,
            farthest: there.iter().copied().max().unwrap_or(0) as u32,
            total: there.iter().sum(),
        };
        assert_eq!(reach, expect, "{name} from {source}");
    }
}

#[test]
fn searches_agree_with_three_reference_solutions_on_graphs_of_every_kind() {
    check("one vertex", &graph(1, &[]));
    check("one vertex and a loop", &graph(1, &[(0, 0, 3)]));
    check("vertices without edges", &graph(40, &[(3, 7, 1)]));
    check("parallel edges", &graph(3, &[(0, 1, 9), (0, 1, 2), (0, 1, 5), (1, 2, 1), (1, 1, 0)]));
    check("weights of zero in a ring", &graph(4, &[(0, 1, 0), (1, 2, 0), (2, 0, 0), (2, 3, 1)]));
    for (seed, degree, weight) in [
        (1, 1, 1),
        (2, 2, 10),
        (3, 7, 10),
        (4, 3, 255),
        (5, 2, 4096),
        (6, 2, 4097),
        (7, 3, 50_000_000),
    ] {
        let graph = random(Random { vertices: 70, degree, weight, seed }).unwrap();
        check(&format!("random, weights to {weight}"), &graph);
    }
    let mut stream = SplitMix::new(9);
    let mut below = |n: u64| (stream.next_u64() % n) as u32;
    let zeros: Vec<_> = (0..300).map(|_| (below(90), below(90), below(3))).collect();
    check("a third of the weights zero", &graph(90, &zeros));
    let hub: Vec<_> = (1..200).flat_map(|v| [(0, v, v % 7), (v, 0, v % 5)]).collect();
    check("a hub", &graph(200, &hub));
}

#[test]
fn distances_are_those_that_geometry_gives() {
    let reach = |graph: &Graph, source| Search::new(graph).unwrap().run(graph, source).unwrap();
    let n = 1000u32;
    let ring: Vec<_> = (0..n).map(|v| (v, (v + 1) % n, 3)).collect();
    let (n64, ring) = (u64::from(n), graph(n, &ring));
    for source in [0, 1, n - 1] {
        let expect = Reach { reached: n, farthest: 3 * (n - 1), total: 3 * n64 * (n64 - 1) / 2 };
        assert_eq!(reach(&ring, source), expect);
    }
    // A path ends: k vertices before the end reach k + 1.
    let path: Vec<_> = (0..n - 1).map(|v| (v, v + 1, v)).collect();
    let path = graph(n, &path);
    assert_eq!(reach(&path, n - 1), Reach { reached: 1, farthest: 0, total: 0 });
    assert_eq!(reach(&path, 0).farthest, (n - 1) * (n - 2) / 2);
    // A hypercube: as far as there are bits that differ.
    let bits = 10;
    let cube: Vec<_> =
        (0..1 << bits).flat_map(|v: u32| (0..bits).map(move |bit| (v, v ^ 1 << bit, 1))).collect();
    let expect = Reach { reached: 1 << bits, farthest: bits, total: u64::from(bits) << (bits - 1) };
    assert_eq!(reach(&graph(1 << bits, &cube), 77), expect);
    // A torus of 30 by 30: 15 steps along either axis at most, 7.5 on average.
    let at = |y: u32, x: u32| y % 30 * 30 + x % 30;
    let torus: Vec<_> = (0..900)
        .flat_map(|v| {
            let (y, x) = (v / 30, v % 30);
            [at(y + 1, x), at(y + 29, x), at(y, x + 1), at(y, x + 29)].map(|to| (v, to, 1))
        })
        .collect();
    assert_eq!(
        reach(&graph(900, &torus), 431),
        Reach { reached: 900, farthest: 30, total: 900 * 15 }
    );
}

#[test]
fn distances_beyond_32_bits_are_refused_and_the_next_search_is_right() {
    let long = 3_000_000_000;
    let far = graph(4, &[(0, 1, long), (1, 2, long), (3, 2, 1)]);
    let mut search = Search::new(&far).unwrap();
    assert!(search.run(&far, 0).unwrap_err().to_string().contains("length 3000000000"));
    assert_eq!(search.run(&far, 3).unwrap(), Reach { reached: 2, farthest: 1, total: 1 });
    assert_eq!(search.run(&far, 1).unwrap().farthest, long);
}

#[test]
fn an_edge_beyond_32_bits_matters_only_where_no_shorter_path_ends() {
    // Closed roads, as graphs have them, next to open ones.
    let closed = u32::MAX - 1;
    let roads = graph(4, &[(0, 1, 10), (0, 3, 20), (1, 2, closed), (3, 2, 5)]);
    check("closed roads", &roads);
    // The longest distance that 32 bits hold, and one more.
    let brim = graph(3, &[(0, 1, closed - 7), (1, 2, 7)]);
    check("to the brim", &brim);
    let over = graph(3, &[(0, 1, closed - 7), (1, 2, 8)]);
    let refusal = Search::new(&over).unwrap().run(&over, 0).unwrap_err().to_string();
    assert!(
        refusal.contains("length 4294967287, and with its next edge the length exceeds"),
        "{refusal}"
    );
}

#[test]
fn wrong_distances_have_no_certificate() {
    let ring = graph(4, &[(0, 1, 2), (1, 0, 0), (0, 1, 0), (2, 3, 0), (3, 2, 0), (1, 2, 5)]);
    assert_eq!(certificate(&ring, 0, &[0, 0, 5, 5]), Ok(()));
    for wrong in
        [[0, 1, 6, 6], [0, 0, 4, 4], [0, 0, 6, 6], [1, 0, 5, 5], [0, 0, u32::MAX, u32::MAX]]
    {
        assert!(certificate(&ring, 0, &wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_farm_of_sources_is_the_reference_on_any_number_of_cores() {
    let graph = random(Random { vertices: 600, degree: 4, weight: 10, seed: 5 }).unwrap();
    let machine = Machine::detect().unwrap();
    let expect = reference(&ShortestPaths::reach(&graph), &(0..600u32).into());
    for threads in [1, 3] {
        let mut found = vec![None; 600];
        let run = Run { threads: Some(threads), ..Run::default() };
        let mut sink = |k: u64, reach| {
            found[k as usize] = Some(Ok(reach));
            Ok(())
        };
        let farm = Farm::of(ShortestPaths::reach(&graph));
        farm.run_into(0..600u32, &machine, &run, &mut sink).unwrap();
        assert!(found.into_iter().flatten().eq(expect.iter().cloned()));
    }
    let (rows, _) = Farm::of(ShortestPaths::distances(&graph)).run([5u32, 9], &machine).unwrap();
    assert_eq!(certificate(&graph, 5, &rows[0].1), Ok(()));
    assert_eq!(certificate(&graph, 9, &rows[1].1), Ok(()));
    assert_eq!([&rows[0].0, &rows[1].0], [5, 9].map(|k: usize| expect[k].as_ref().unwrap()));
}

/// Counts and what follows from them, by definitions applied to the distances of Floyd and Warshall.
#[test]
fn statistics_are_those_of_their_definitions() {
    let machine = Machine::detect().unwrap();
    let sparse = random(Random { vertices: 150, degree: 1, weight: 9, seed: 8 }).unwrap();
    let zeros = graph(4, &[(0, 1, 0), (1, 2, 3), (2, 0, 4)]);
    for graph in [sparse, zeros, graph(1, &[])] {
        let (all, n) = (all_pairs(&graph), graph.vertices());
        let farm = Farm::of(ShortestPaths::spread(&graph));
        let (found, _) = farm.run(0..n, &machine).unwrap();
        for (source, (reach, counts)) in found.into_iter().enumerate() {
            let there: Vec<_> = all[source].iter().flatten().copied().collect();
            let expect: Vec<u32> = (0..counts.len() as u64)
                .map(|d| there.iter().filter(|distance| **distance == d).count() as u32)
                .collect();
            assert_eq!(counts, expect, "from {source}");
            assert_eq!(counts.iter().sum::<u32>(), there.len() as u32);
            let own = Centrality::of(reach, &counts, n);
            let (sum, others) = (there.iter().sum::<u64>() as f64, there.len() as f64 - 1.0);
            let harmonic: f64 = there.iter().filter(|d| **d > 0).map(|d| 1.0 / *d as f64).sum();
            let closeness = if sum > 0.0 { others * others / sum / f64::from(n - 1) } else { 0.0 };
            assert_eq!(u64::from(own.eccentricity), there.iter().copied().max().unwrap());
            assert_eq!(own.mean, (others > 0.0).then_some(sum / others));
            assert!((own.closeness - closeness).abs() < 1e-12, "{own:?} {closeness}");
            assert!((own.harmonic - harmonic).abs() < 1e-12 * harmonic.max(1.0), "{own:?}");
        }
    }
}

#[test]
fn short_rows_are_the_long_ones_and_refuse_what_16_bits_do_not_hold() {
    let machine = Machine::detect().unwrap();
    let sparse = random(Random { vertices: 150, degree: 1, weight: 9, seed: 8 }).unwrap();
    let (long, _) = Farm::of(ShortestPaths::distances(&sparse)).run(0..150u32, &machine).unwrap();
    let short = Farm::of(ShortestPaths::short_distances(&sparse));
    let (short, _) = short.run(0..150u32, &machine).unwrap();
    for ((reach, short), (expect, long)) in short.into_iter().zip(long) {
        assert_eq!(reach, expect);
        let wide = |&d: &u16| if d == u16::MAX { u32::MAX } else { d.into() };
        assert!(short.iter().map(wide).eq(long));
    }
    for (weight, fits) in [(65_534, true), (65_535, false)] {
        let far = graph(2, &[(0, 1, weight)]);
        let row = Farm::of(ShortestPaths::short_distances(&far)).run([0u32], &machine);
        assert_eq!(row.is_ok(), fits);
        if let Err(refused) = row {
            assert!(
                refused.to_string().contains("a distance is 65535, but 16 bits hold at most 65534")
            );
        }
    }
}

fn written(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn one_graph_is_read_from_every_format_plain_and_zipped() {
    let folder = tempfile::tempdir().unwrap();
    let list = [(0, 1, 5), (2, 0, 1), (1, 2, 7), (1, 2, 7)];
    let texts = [
        ("a.gr", 1, "c roads\np sp 3 4\na 1 2 5\n\na 3 1 1\r\na 2 3 7\na 2 3 7\n"),
        (
            "a.mtx",
            1,
            "%%MatrixMarket matrix coordinate real general\n% x\n3 3 4\n1 2 5.0\n3 1 1\n2 3 7e0\n2 3 7\n",
        ),
        ("a.txt", 0, "# from to weight\n0 1 5\n2,0,1\n1\t2\t7\n1, 2, 7"),
    ];
    for (name, first, text) in texts {
        let expect = Graph::new(3, &arcs(&list), first).unwrap();
        assert_eq!(read(&written(folder.path(), name, text)).unwrap(), expect, "{name}");
        let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        zip.write_all(text.as_bytes()).unwrap();
        let zipped = zip.finish().unwrap();
        assert_eq!(read(&written(folder.path(), "a.gz", &zipped)).unwrap(), expect, "{name}");
        let cut = read(&written(folder.path(), "cut.gz", &zipped[..zipped.len() - 9]));
        assert!(cut.unwrap_err().to_string().contains("check that the file is a complete graph"));
    }
    let symmetric = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n";
    let both = Graph::new(3, &arcs(&[(1, 0, 1), (0, 1, 1), (2, 2, 1)]), 1).unwrap();
    assert_eq!(read(&written(folder.path(), "s.mtx", symmetric)).unwrap(), both);
}

#[test]
fn a_format_is_known_however_its_file_begins() {
    let folder = tempfile::tempdir().unwrap();
    let matrix = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 2\n3 1\n";
    let expect = Graph::new(3, &arcs(&[(0, 1, 1), (2, 0, 1)]), 1).unwrap();
    for text in
        [format!("\n \r\n{matrix}"), matrix.to_lowercase(), matrix.to_uppercase(), matrix.into()]
    {
        assert_eq!(read(&written(folder.path(), "a", &text)).unwrap(), expect, "{text:?}");
        // Members of one byte, of five, and none at all between them: what is read at once is short.
        for first in [1, 5] {
            let (head, tail) = text.as_bytes().split_at(first);
            let members = [head, b"", tail].map(|part| {
                let mut zip =
                    flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                zip.write_all(part).unwrap();
                zip.finish().unwrap()
            });
            let zipped = written(folder.path(), "a.gz", members.concat());
            assert_eq!(read(&zipped).unwrap(), expect, "{text:?} in members");
        }
    }
    // Comments of another time.
    let latin = b"c Stra\xdfe\np sp 2 1\na 1 2 3\n";
    let street = Graph::new(2, &arcs(&[(0, 1, 3)]), 1).unwrap();
    assert_eq!(read(&written(folder.path(), "latin.gr", latin)).unwrap(), street);
    let comment = format!("c {}\np sp 2 1\na 1 2 3\n", "x".repeat(60_000));
    assert_eq!(read(&written(folder.path(), "long.gr", comment)).unwrap(), street);
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let mtx = "%%MatrixMarket matrix coordinate";
    let wrong = [
        ("", "is empty"),
        ("\n \n", "is empty"),
        (&format!("# mine\n{mtx} real general\n2 2 1\n1 2 1\n"), "line 2: the line %%Matrix"),
        (&format!("0 1 1\n\n{}\n", mtx.to_lowercase()), "line 3: the line %%Matrix"),
        (&"0 ".repeat(40_000), "line 1 is longer than 64 KiB"),
        (&format!("0 1 1\n{}", " ".repeat(70_000)), "line 2 is longer than 64 KiB"),
        ("\n# nothing\n", "has no edges"),
        ("0 1\n", "line 1: no weight"),
        ("0 1 2 3\n", "line 1: \"3\" after the weight"),
        ("0 1 2\n0 1 -2\n", "line 2: the weight -2 is negative"),
        ("0 1 nan\n", "line 1: the weight nan is no whole number"),
        ("0 1 0.5\n", "line 1: the weight 0.5 is no whole number (scale and round"),
        ("0 1 1e10\n", "line 1: the weight 1e10 is too large"),
        ("0 1 x\n", "line 1: the weight \"x\" is no number"),
        ("0 -1 1\n", "line 1: the vertex \"-1\" is not a whole number"),
        ("from to weight\n", "line 1: the vertex \"from\""),
        ("0 4294967295 1\n", "line 1: vertex 4294967295 is not among 0 to 4294967293"),
        ("a 1 2 3\np sp 2 1\n", "line 1: an edge before the line `p`"),
        ("c x\n", "has no line `p sp"),
        ("p sp 2 1\np sp 2 1\n", "line 2: a second line `p`"),
        ("p sp 2\n", "line 1: write `p sp VERTICES EDGES`"),
        ("p sp 2 2\na 1 2 3\n", "has 1 edge, but its header says 2"),
        ("p sp 2 1\na 1 2 3\na 1 2 3\n", "has 2 edges, but its header says 1"),
        ("p sp 2 1\na 0 2 3\n", "line 2: vertex 0 is not among 1 to 2"),
        ("p sp 2 1\na 1 3 3\n", "line 2: vertex 3 is not among 1 to 2"),
        ("p sp 0 0\n", "a graph of 0 vertices"),
        ("p sp 2 1\nb 1 2 3\n", "line 2: \"b 1 2 3\" begins with neither"),
        (&format!("{mtx} real general\n3 2 1\n"), "line 2: a matrix of 3 rows and 2 columns"),
        (&format!("{mtx} complex general\n"), "line 1: values that are complex"),
        (&format!("{mtx} real hermitian\n"), "line 1: a matrix that is hermitian"),
        (
            "%%MatrixMarket matrix array real general\n",
            "line 1: write `%%MatrixMarket matrix coordinate",
        ),
        (&format!("{mtx} real general\n"), "has no line `ROWS COLUMNS ENTRIES`"),
        (&format!("{mtx} real general\n2 2 3\n1 2 1\n"), "has 1 edge, but its header says 3"),
    ];
    for (text, expect) in wrong {
        let path = written(folder.path(), "wrong", text);
        let refusal = read(&path).unwrap_err();
        assert!(matches!(refusal, Error::File { .. }), "{refusal}");
        assert!(refusal.to_string().contains(expect), "{text:?}: {refusal}");
    }
    assert!(
        read(&written(folder.path(), "binary", [b'0', 0xff, b'\n']))
            .unwrap_err()
            .to_string()
            .contains("line 1: the vertex \"0\u{fffd}\" is not a whole number")
    );
    let missing = read(&folder.path().join("none")).unwrap_err().to_string();
    assert!(missing.contains("check the path"), "{missing}");
    assert!(read(folder.path()).is_err());
}
