//! `warpweft channels`: known numbers, whatever the threads, and what can't be asked for.

use crate::warpweft;

#[test]
fn fibonacci_numbers_and_their_calls() {
    for (n, value, calls) in [(0, 0u64, 1u64), (1, 1, 1), (2, 1, 3), (24, 46_368, 150_049)] {
        for threads in ["", "--threads 1", "--threads 5"] {
            let line = format!("channels fib {n} --device cpu --json {threads}");
            let object = warpweft(&line).json();
            assert_eq!((&object["app"], &object["pattern"]), (&"fib".into(), &"channels".into()));
            assert_eq!(object["result"]["value"], value);
            assert_eq!(object["result"]["calls"], calls);
            assert_eq!(object["check"]["passed"], true);
        }
    }
    let said = warpweft("channels fib 20 --device cpu").fine();
    for part in ["fib: F(20)", "value 6765", "calls 21891", "calls/s", "against the doubling"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn queens_on_boards_that_others_counted() {
    for (n, solutions) in [(1, 1), (2, 0), (8, 92), (10, 724)] {
        let object = warpweft(&format!("channels queens {n} --device cpu --json")).json();
        assert_eq!(object["result"]["solutions"], solutions);
        assert_eq!(object["check"]["passed"], true);
    }
}

#[test]
fn what_can_not_be_asked_for() {
    for (line, expect) in [
        ("channels fib 94", ["fib(94) exceeds 64 bits", "take 93 at most"]),
        ("channels fib -1", ["'-1'", "0..=4294967295"]),
        ("channels fib", ["<N>", "required"]),
        ("channels queens 0", ["a board of 0 columns", "take 1 to 32 columns"]),
        ("channels queens 33", ["a board of 33 columns", "take 1 to 32 columns"]),
        ("channels fib 20 --levels 0", ["0 levels of calls", "take 1 to 4000"]),
        ("channels fib 20 --levels 5000", ["5000 levels of calls", "take 1 to 4000"]),
        ("channels fib 20 --threads 0", ["--threads", "at least 1"]),
        ("channels fib 20 --threads 5000", ["--threads", "at most 4096"]),
        ("channels fib 20 --device tpu", ["no device 'tpu'", "cpu, gpu"]),
        (
            "channels fib 20 --device cpu --levels 12",
            ["`fib` spawned deeper than 12 levels", "`levels`"],
        ),
    ] {
        warpweft(line).fails(2, &expect);
    }
}

#[test]
fn a_picture_is_traced_checked_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (plot, trace) = (folder.path().join("a.png"), folder.path().join("a.json"));
    let line = format!(
        "run paths --size 45x80 --samples 3 --device cpu --capacity 500 --json --plot {} --trace {}",
        plot.display(),
        trace.display()
    );
    let object = warpweft(&line).json();
    assert_eq!((&object["app"], &object["pattern"]), (&"paths".into(), &"channels".into()));
    assert_eq!(object["check"]["passed"], true);
    let channels = object["result"]["channels"].as_array().unwrap();
    let items = |name: &str| {
        let found = channels.iter().find(|channel| channel["name"] == name).unwrap();
        found["items"].as_u64().unwrap()
    };
    // Each sample of a pixel is an item, and each ray that meets a material comes back.
    assert_eq!(items("pixels"), 45 * 80 * 3);
    let met = items("matte") + items("mirror") + items("glass");
    assert_eq!(items("rays"), items("pixels") + met);
    assert!(std::fs::metadata(&plot).unwrap().len() > 1000);
    assert!(std::fs::read_to_string(&trace).unwrap().contains("glass"));
    let mean =
        warpweft("run paths --size 9x16 --furnace --bounces 1000 --device cpu --json").json();
    let mean = mean["result"]["mean"].as_f64().unwrap();
    assert!((0.99..=1.0).contains(&mean), "{mean}");
    warpweft("run paths --samples 0").fails(2, &["0 samples a pixel", "take 1 to 65535"]);
    warpweft("run paths --capacity 0").fails(2, &["channel `pixels` for 0 items"]);
}
