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
    // The same program under `run`.
    let object = warpweft("run fib 20 --device cpu --json").json();
    assert_eq!((&object["app"], &object["result"]["value"]), (&"fib".into(), &6765.into()));
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
fn trees_whose_nodes_others_counted() {
    let object = warpweft("channels uts T1 --device cpu --json").json();
    assert_eq!(object["result"]["nodes"], 4_130_071);
    // A call for each node.
    assert_eq!(object["result"]["calls"], 4_130_071);
    assert_eq!(object["check"]["passed"], true);
    let said = warpweft("channels uts t1l --depth 5 --threads 3").fine();
    for part in ["uts: T1L, 5 levels below the root", "calls/s", "against the loop over all nodes"]
    {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn searches_find_what_tables_and_formulas_do() {
    let object = warpweft("channels quadrature --tolerance 1e-9 --device cpu --json").json();
    assert_eq!(object["check"]["passed"], true);
    let integral = object["result"]["integral"].as_f64().unwrap();
    // Two whole peaks are 2 pi, less their ends.
    let ends = std::f64::consts::TAU - integral;
    assert!((0.005..0.007).contains(&ends), "{integral}");
    for seed in [1, 2] {
        let line = format!("channels knapsack 40 --seed {seed} --device cpu --json");
        let object = warpweft(&line).json();
        assert_eq!(object["check"]["passed"], true, "seed {seed}");
        assert_eq!(object["pattern"], "channels");
    }
}

#[test]
fn keys_of_every_kind_are_sorted() {
    for keys in ["u32", "i32", "f32", "pairs"] {
        for by in ["quick", "merge", "teams", "radix"] {
            let line = format!("channels sort 30000 --keys {keys} --by {by} --threads 3 --json");
            let object = warpweft(&line).json();
            assert_eq!(object["check"]["passed"], true, "{line}");
        }
    }
    for order in ["sorted", "reversed", "equal"] {
        let said = warpweft(&format!("channels sort 100000 --order {order}")).fine();
        assert!(said.contains("sort: 100000 keys (u32) by quicksort"), "{said}");
    }
}

#[test]
fn products_by_strassen_are_exact() {
    for dtype in ["f32", "f64"] {
        let line = format!("channels strassen 513 --dtype {dtype} --json");
        let object = warpweft(&line).json();
        assert_eq!(
            (&object["check"]["passed"], &object["check"]["error"]),
            (&true.into(), &0.0.into())
        );
        // Seven products of halves and the whole.
        assert_eq!(object["result"]["calls"], 57, "{object}");
    }
}

#[test]
fn products_by_teams_are_exact_on_cores() {
    let object =
        warpweft("channels strassen 130 --leaf 128 --dtype f32 --device cpu --json").json();
    assert_eq!(
        (&object["check"]["passed"], &object["check"]["error"]),
        (&true.into(), &0.0.into())
    );
    warpweft("channels strassen 9 --leaf 1").fails(2, &["the leaf size is 1 rows", "at least 128"]);
}

#[test]
fn keys_that_no_policy_has_are_refused() {
    let wrong = r#"{"executor":"cpu","deque_capacity":4096,"stack":16777216,"stak":1}"#;
    let said = warpweft(&format!("channels fib 20 --policy {wrong}"));
    said.fails(2, &["has no key `stak`", "deque_capacity"]);
    let object = warpweft("channels fib 20 --device cpu --json").json();
    let policy = object["policy"].to_string();
    warpweft(&format!("channels fib 20 --device cpu --policy {policy}")).fine();
}

#[test]
fn runs_end_at_their_deadline() {
    let begin = std::time::Instant::now();
    warpweft("channels queens 20 --device cpu --deadline 0.2")
        .fails(130, &["the deadline of 0.2 s passed", "interrupted"]);
    assert!(begin.elapsed().as_secs() < 20);
    warpweft("run paths --samples 60000 --device cpu --deadline 0.3").fails(130, &["interrupted"]);
    warpweft("channels knapsack 40 --deadline 0").fails(2, &["--deadline", "above 0"]);
}

#[test]
fn a_function_is_tuned_on_cores() {
    let object = warpweft("tune channels fib 16 --device cpu --threads 2 --budget 1 --json").json();
    assert_eq!((&object["app"], &object["policy"]["executor"]), (&"fib".into(), &"cpu".into()));
    assert!(!object["trials"].as_array().unwrap().is_empty());
    warpweft("tune channels uts 3").fails(2, &["uts of 3", "leave the number out"]);
}

#[test]
fn a_timeline_has_what_every_worker_ran() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("t.json");
    let line = format!("channels queens 10 --threads 2 --trace {}", trace.display());
    let said = warpweft(&line).fine();
    assert!(said.contains("written"), "{said}");
    let text = std::fs::read_to_string(&trace).unwrap();
    let read: serde_json::Value = serde_json::from_str(&text).unwrap();
    let events = read["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["name"] == "queens" && event["ph"] == "X"), "{text}");
    assert!(text.contains("worker 0"), "{text}");
}

#[test]
fn what_can_not_be_asked_for() {
    for (line, expect) in [
        ("channels fib 94", ["fib(94) exceeds 64 bits", "take 93 at most"]),
        ("channels fib -1", ["'-1'", "0..=4294967295"]),
        ("channels fib", ["<N>", "required"]),
        ("channels queens 0", ["a board of 0 columns", "take 1 to 32 columns"]),
        ("channels queens 33", ["a board of 33 columns", "take 1 to 32 columns"]),
        ("channels fib 20 --levels 0", ["0 levels of calls", "take 1 to 60000"]),
        ("channels fib 20 --levels 70000", ["70000 levels of calls", "take 1 to 60000"]),
        ("channels fib 20 --threads 0", ["--threads", "at least 1"]),
        ("channels fib 20 --threads 5000", ["--threads", "at most 4096"]),
        ("channels uts T9", ["no tree 'T9'", "T1, T1L"]),
        ("channels uts T3 --depth 4", ["the depth of the tree T3", "use T1, T1L or T1XL"]),
        ("channels quadrature --tolerance 0", ["a tolerance of 0", "take 1e-14 to 1"]),
        ("channels knapsack 0", ["0 things", "take 1 to 200"]),
        ("channels sort 0", ["0 keys", "take 1 to"]),
        ("channels sort 9 --device gpu --by quick", ["quicksort on a GPU", "--by teams"]),
        ("channels strassen 0", ["matrices of 0 rows", "take 1 to 16384"]),
        ("channels fib 20 --device tpu", ["no device 'tpu'", "cpu, gpu"]),
        ("channels fib 20 --policy {\"executor\":\"nobody\"}", ["nobody", "`levels`"]),
        (
            "channels fib 20 --device cpu --policy {\"executor\":\"levels\"}",
            ["GPUs", "give a policy for that target"],
        ),
        (
            "channels fib 20 --device cpu --levels 12",
            ["`fib` spawned deeper than 12 levels", "`levels`"],
        ),
    ] {
        warpweft(line).fails(2, &expect);
    }
}

#[test]
fn width_and_batch_of_a_graph_are_tuned() {
    let line = "tune channels paths 1 --device cpu --threads 2 --budget 1 --json";
    let object = warpweft(line).json();
    let trials = object["trials"].as_array().unwrap();
    // As a run without tuning is.
    assert_eq!((&trials[0]["width"], &trials[0]["policy"]["batch"]), (&65_536.into(), &32.into()));
    let tried = |trial: &serde_json::Value| {
        trial["width"] == object["width"] && trial["policy"] == object["policy"]
    };
    assert!(trials.iter().any(tried));
    let rate = |of: &str| object[of]["value"].as_f64().unwrap();
    assert!(rate("rate") >= rate("untuned"));
    warpweft("tune channels uts 3").fails(2, &["uts of 3", "only fib, queens and paths"]);
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
