//! `warpweft model`: tables, pictures and refusals.

use super::{warpweft, warpweft_in};

#[test]
fn a_scaling_study_is_a_table_a_picture_and_an_object() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let line = "model stencil --app heat --order 4 --nodes 1,4,64 --size 64 --plot weak.svg";
    let ran = warpweft_in(directory.path(), line);
    assert_eq!(ran.status, Some(0), "{}", ran.err);
    for part in [
        "heat: weak scaling, simulated; nodes of 4 H200\n",
        "8×8×4",
        "predicted",
        "simulated",
        "R: steps between two halo exchanges",
        "efficiency, % over GPUs",
    ] {
        assert!(ran.out.contains(part), "{part} in {}", ran.out);
    }
    let svg = std::fs::read_to_string(directory.path().join("weak.svg")).expect("written");
    assert!(svg.starts_with("<svg") && svg.contains("weak scaling"), "{svg}");

    let ran = warpweft("model stencil --app swim --nodes 1,2 --scaling strong --size 2048 --json");
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(object["rows"].as_array().map(Vec::len), Some(2), "{object}");
    assert!(object["rows"][1]["speedup"].as_f64().is_some_and(|s| s > 1.0), "{object}");
}

#[test]
fn applications_have_the_names_that_runs_have_and_times_the_unit_that_fits() {
    for app in ["heat", "life", "life3d", "edge", "hyperthermia", "himeno", "swim", "tricubic"] {
        warpweft(&format!("model stencil --app {app} --nodes 1 --size 64")).fine();
    }
    let flat = "model stencil --app heat --nodes 1 --gpus 1 --scaling strong --size";
    let plane = warpweft(&format!("{flat} 100000x100000")).fine();
    // 1e10 cells of 8 bytes at 3.98 TB/s.
    assert!(plane.contains(" 20.1 ms "), "{plane}");
    // .. and 7 ms before them.
    let late = warpweft(&format!("{flat} 100000x100000 --launch 7000")).fine();
    assert!(late.contains(" 27.1 ms "), "{late}");
    assert!(warpweft(&format!("{flat} 2048 --dims 2")).fine().contains("1×1 "), "of 2 axes");
    // The bars are of 100 %, not of the largest.
    let line = "model stencil --nodes 512 --size 32 --no-overlap";
    let slow = warpweft(line).fine();
    let bar = slow.lines().last().unwrap().matches('█').count();
    assert!(bar < 50, "{slow}");
}

#[test]
fn simulations_repeat_by_their_seed() {
    let line =
        |seed| format!("model stencil --nodes 2 --size 64 --jitter 0.2 --json --seed {seed}");
    assert_eq!(warpweft(&line(5)).out, warpweft(&line(5)).out);
    assert_ne!(warpweft(&line(5)).out, warpweft(&line(6)).out);
}

#[test]
fn two_of_four_gpus_are_taken_from_two_cards() {
    // Nothing hidden behind computation, so that the shared link shows.
    let line = "model stencil --machine p67-nat --size 128 --app hyperthermia --no-overlap --json";
    let ran = warpweft(line);
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(object["rows"].as_array().map(Vec::len), Some(4), "{object}");
    assert_eq!(object["rows"][1]["placement"], serde_json::json!([0, 2]), "{object}");
}

#[test]
fn machines_of_a_tree_are_nodes_of_a_cluster() {
    let efficiency = |line: &str| {
        let ran = warpweft(&format!("model stencil --json --jitter 0 {line}"));
        let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        let rows = object["rows"].as_array().expect("rows").clone();
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        rows.iter()
            .map(|row| (number(&row["devices"]), number(&row["efficiency"])))
            .collect::<Vec<_>>()
    };
    let weak = efficiency("--machine p67-nf --nodes 1,1024 --size 128");
    assert_eq!((weak[0].0, weak[1].0), (4.0, 4096.0), "{weak:?}");
    // A slow port is felt beyond one node, and only there.
    let slow = efficiency("--machine p67-nf --nodes 1,1024 --size 128 --port-bandwidth 0.1");
    assert_eq!(slow[0].1, weak[0].1);
    assert!(slow[1].1 < 0.9 * weak[1].1, "{slow:?} {weak:?}");
    let strong = efficiency("--machine x79 --nodes 1,8 --scaling strong --size 256");
    assert!(strong[1].1 < strong[0].1, "{strong:?}");
    // One port a node of cores.
    let hosts = efficiency("--device cpu --machine x79 --nodes 1,64 --size 128");
    assert_eq!((hosts[0].0, hosts[1].0), (1.0, 64.0), "{hosts:?}");
    assert!((hosts[0].1 - 1.0).abs() < 0.01 && hosts[1].1 < hosts[0].1, "{hosts:?}");
}

#[test]
fn cores_beside_gpus_are_predicted_alone_and_together() {
    let line = "model stencil --device cpu+gpu --machine x79 --nodes 1,64,1024 --size 256";
    let table = warpweft(line).fine();
    assert!(
        table.contains("heat: weak scaling, predicted; nodes of 4 GTX 590 like x79\n"),
        "{table}"
    );
    assert!(table.contains("planes") && table.contains("equations (2) to (8)"), "{table}");
    let ran = warpweft(&format!("{line} --json"));
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    for (row, devices) in object["rows"].as_array().expect("rows").iter().zip([4, 256, 4096]) {
        let seconds = |name: &str| row[name].as_f64().expect("seconds");
        assert_eq!(row["devices"], devices, "{row}");
        assert!(seconds("both") <= seconds("gpu") && seconds("gpu") < seconds("cores"), "{row}");
        let planes = |n: usize| row["planes"][n].as_u64().expect("planes");
        assert_eq!(planes(0) + planes(1), 256, "{row}");
    }
}

#[test]
fn dimensions_and_cells_are_the_applications_unless_others_are_named() {
    let cells = |line: &str| {
        let ran = warpweft(&format!("model stencil --nodes 1 --gpus 1 --json {line}"));
        let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        object["rows"][0]["cells"].as_f64().expect("cells")
    };
    let (flat, deep) = (2048f64.powi(2), 256f64.powi(3));
    let cases = [("heat", deep), ("heat --dims 2", flat), ("life", flat), ("himeno", deep)];
    cases.iter().for_each(|(app, expect)| assert_eq!(cells(&format!("--app {app}")), *expect));
    // Measured runs have their own.
    let directory = tempfile::tempdir().expect("a temporary directory");
    let run = |depth: u32| {
        let seconds = 1e-5 + 1e-4 / f64::from(depth);
        format!(r#"{{"extents":[512,512],"grid":[4,1],"depth":{depth},"seconds":{seconds}}}"#)
    };
    let runs = [1, 2, 4, 8].map(run).join(",");
    std::fs::write(directory.path().join("flat.json"), format!("[{runs}]")).expect("written");
    let told = warpweft_in(directory.path(), "model stencil --measured flat.json").fine();
    assert!(told.contains("512×512"), "{told}");
}

#[test]
fn a_probe_of_this_machine_is_one_that_models_are_fitted_to() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let told = warpweft_in(directory.path(), "bench tuner --samples here.json").fine();
    assert!(told.contains("15 runs of heat") && told.contains("here.json"), "{told}");
    let written = std::fs::read_to_string(directory.path().join("here.json")).expect("the runs");
    assert_eq!(written.matches(r#""kernel":"#).count(), 15, "{written}");
    let line = "model stencil --measured here.json --json";
    let ran = warpweft_in(directory.path(), line);
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(object["rows"].as_array().map(Vec::len), Some(15), "{object}");
    assert!(object["median_error"].as_f64().is_some_and(f64::is_finite), "{object}");
}

#[test]
fn searches_are_compared_on_a_machine_by_name() {
    let object = warpweft("model searches --machine p67-nat --gpus 2 --json").json();
    assert_eq!(object["searches"][3], "model-guided", "{object}");
    assert_eq!(object["cases"].as_array().map(Vec::len), Some(12), "{object}");
}

#[test]
fn what_cannot_be_modelled_is_refused_with_a_hint() {
    let cases = [
        ("model stencil --nodes 0", "0 nodes of 4 GPUs each; use 1 to 16384 of them"),
        ("model stencil --nodes 60000", "use 1 to 16384 of them: at most 65536 GPUs"),
        ("model stencil --nodes 65536 --gpus 8", "use 1 to 8192 of them: at most 65536 GPUs"),
        ("model stencil --gpus 0", "0 GPUs per node; use 1 to 65536"),
        ("model stencil --order 3", "choose 2, 4, 6 or 8"),
        ("model stencil --app haet", "heat"),
        ("model stencil --nodes 2 --size 32 --depth 99", "the largest feasible R is 32"),
        (
            "model stencil --scaling strong --nodes 512 --size 8",
            "use fewer GPUs (--nodes, --gpus) or a larger --size",
        ),
        ("model stencil --app himeno --size 8x8", "name one extent, or one for each dimension"),
        ("model stencil --jitter nan", "--jitter NaN; give 0 to 1"),
        ("model stencil --port-bandwidth 0", "--port-bandwidth 0; give more than 0"),
        ("model stencil --port-latency=-1", "--port-latency -1; give 0 or more"),
        ("model stencil --rate inf", "--rate inf; give more than 0"),
        (
            "model stencil --size 100000 --nodes 1 --gpus 1 --scaling strong",
            "needs 8.00 PB of memory a GPU, one H200 has 141 GB; use more GPUs",
        ),
        ("model stencil --machine x79 --size 1024", "one GTX 590 has 1.61 GB"),
        ("model stencil --machine x79 --port-latency 7", "for one x79 by itself; name --nodes"),
        ("model stencil --machine x79 --scaling weak", "name --nodes"),
        ("model stencil --machine x79 --jitter 0.5", "chosen without noise; name --nodes"),
        ("model stencil --app life --order 4", "--order of life, which has but one"),
        ("model stencil --app swim --dims 2", "--dims of swim, which has but one"),
        ("model stencil --device cpu --gpus 8", "--gpus for cores alone; choose --device gpu"),
        ("model stencil --device cpu --rate 1", "--rate for cores alone"),
        ("model stencil --cpu-rate 1", "--cpu-rate for GPUs alone; choose --device cpu"),
        ("model stencil --device cpu+gpu --seed 3", "predicted and not simulated"),
        ("model stencil --device cpu+gpu --no-overlap", "predicted and not simulated"),
        ("model stencil --nodes 1 --port-latency 3", "whose port is idle; name more --nodes"),
        ("model stencil --jitter 0 --seed 3", "--seed without noise"),
        ("model searches --jitter 0 --seed 3", "--seed without noise"),
        ("model stencil --measured runs.json --jitter 0.1", "cannot be used with"),
        ("model stencil --measured runs.json --device cpu", "cannot be used with"),
        ("model wavefront --front 40 --sync 370 --corner 2", "cannot be used with"),
        ("model stencil --launch=-1", "--launch -1; give 0 or more"),
        ("model stencil --device cpu --cpu-rate 0", "--cpu-rate 0; give more than 0"),
        ("model stencil --device cpu --nodes 65537", "at most 65536 hosts are simulated"),
        ("model stencil --dims 1", "heat in 1 dimension; model it in 2 or 3"),
        ("model searches --machine x99", "p67-nat"),
        ("model stencil --plot weak.png", "end it in .svg"),
        ("model searches --granularity=-1", "factor"),
    ];
    for (line, hint) in cases {
        let ran = warpweft(line);
        assert_eq!(ran.status, Some(2), "{line}: {} {}", ran.out, ran.err);
        let unmarked = ran.err.replace("; help: ", "; ");
        assert!(unmarked.contains(hint), "{line}: {}", ran.err);
    }
    for line in ["model stencil --measured nowhere.json", "bench tuner --samples nowhere.json/it"] {
        let ran = warpweft(line);
        assert_eq!(ran.status, Some(1), "{line}: {}", ran.err);
        assert!(ran.err.contains("nowhere.json"), "{}", ran.err);
    }
}

#[test]
fn numbers_and_places_that_can_not_be_are_refused() {
    warpweft("model stencil --nodes abc").fails(2, &["write a whole number"]);
    for size in ["18446744073709551615", "1000000000000000", "9223372036854775807x8x8"] {
        warpweft(&format!("model stencil --nodes 1,2 --size {size}"))
            .fails(2, &["more cells than memory can address"]);
    }
    warpweft("model stencil --nodes 1,2 --size 8 --depth 18446744073709551615")
        .fails(2, &["the largest feasible R is"]);
    for line in ["model stencil --plot", "model wavefront --app sw --plot"] {
        warpweft(&format!("{line} x.svg/")).fails(1, &["x.svg/", "names a folder; name a file"]);
        warpweft(&format!("{line} no/such/x.svg"))
            .fails(1, &["no/such/x.svg", "there is no folder no/such; make it with"]);
    }
}

#[test]
fn a_recursion_through_channels_proposes_width_and_batch() {
    let said = warpweft("model channels --fib 18 --warps 64").fine();
    assert!(said.contains("fib(18) as items") && said.contains("proposed: "), "{said}");
    let ran = warpweft("model channels --fib 18 --warps 64 --json");
    let object: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    // Calls of fib(18) that end at 2: 2 F(18) - 1.
    assert_eq!(object["widths"][0]["items"], 5167, "{object}");
    assert!(object["proposed"]["width"].as_u64().is_some_and(|width| width >= 64), "{object}");
    warpweft("model channels --fib 99").fails(2, &["fib(99)", "take 3 to 36"]);
}
