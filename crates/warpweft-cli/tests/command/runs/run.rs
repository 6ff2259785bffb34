//! Runs report what they did, and every answer is checked.

use crate::warpweft;

#[test]
fn the_json_object_has_what_is_promised() {
    let json = warpweft("run heat --size 16 --steps 10 --json").json();
    let names: Vec<_> = json.as_object().expect("an object").keys().cloned().collect();
    let promised = [
        "app",
        "check",
        "devices",
        "kernels",
        "notes",
        "outputs",
        "pattern",
        "policy",
        "rate",
        "result",
        "roofline",
        "roofline_fraction",
        "seconds",
        "settings",
        "setup_seconds",
        "title",
    ];
    assert_eq!(names, promised);
    assert_eq!((&json["app"], &json["pattern"]), (&"heat".into(), &"stencil".into()));
    let settings = &json["settings"];
    assert_eq!((&settings["order"], &settings["rate"]), (&2.into(), &0.1.into()));
    assert_eq!((&settings["size"], &settings["dtype"]), (&"16x16x16".into(), &"f32".into()));
    assert_eq!((&settings["boundary"], &settings["seed"]), (&"periodic".into(), &().into()));
    assert_eq!(json["rate"]["unit"], "cells/s");
    let rate = json["rate"]["value"].as_f64().expect("a number");
    let seconds = json["seconds"].as_f64().expect("a number");
    assert!((rate * seconds / (16.0f64.powi(3) * 10.0) - 1.0).abs() < 1e-6);
    assert_eq!(json["result"]["steps"], 10);
    assert_eq!(json["check"]["passed"], true);
    assert!(
        json["check"]["reference"].as_str().is_some_and(|reference| reference.contains("exact"))
    );
}

#[test]
fn every_app_is_right_at_every_boundary() {
    for boundary in
        ["periodic", "neumann", "mirror", "dirichlet=1", "mirror,x-low=dirichlet,y=periodic"]
    {
        for app in [
            "heat --size 17x18",
            "life --size 40",
            "life3d --size 12x13x14",
            "heat --size 10 --dtype f64 --order 8",
        ] {
            let json =
                warpweft(&format!("run {app} --steps 12 --boundary {boundary} --json")).json();
            assert_eq!(json["check"]["passed"], true, "{app}, {boundary}: {json}");
        }
    }
}

#[test]
fn heat_of_every_order_takes_all_steps_at_once() {
    for order in ["2", "8"] {
        let line = format!(
            "run heat --size 40x30 --order {order} --steps 100 --seed 2 --device cpu --json"
        );
        let [stepped, at_once] = ["", " --linear"].map(|more| {
            let json = warpweft(&format!("{line}{more}")).json();
            let depth = (!more.is_empty()).then_some(100);
            assert_eq!(json["policy"]["fourier"]["depth"].as_u64(), depth, "{json}");
            json["result"]["maximum"].as_f64().expect("a number")
        });
        assert!((stepped - at_once).abs() <= 1e-5 * stepped, "{order}: {stepped} {at_once}");
    }
}

#[test]
fn heat_is_neither_made_nor_lost_on_a_torus() {
    let mean = |steps: u32| {
        let line = format!("run heat --dtype f64 --seed 3 --size 20x21x22 --steps {steps} --json");
        warpweft(&line).json()["result"]["mean"].as_f64().expect("a number")
    };
    let (before, after) = (mean(0), mean(40));
    assert!((before - 0.5).abs() < 0.02 && (before - after).abs() < 1e-13, "{before} {after}");
}

#[test]
fn threads_change_nothing_but_time() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for threads in [1, 2, 3] {
        let line = format!(
            "run heat --device cpu --size 20x30x40 --order 4 --seed 1 --steps 25 --threads {threads} --output {threads}.npy"
        );
        crate::warpweft_in(directory.path(), &line).fine();
    }
    let read = |name| std::fs::read(directory.path().join(name)).expect("just written");
    assert_eq!(read("1.npy"), read("2.npy"));
    assert_eq!(read("1.npy"), read("3.npy"));
}

#[test]
fn the_report_names_device_rate_and_check() {
    let report = warpweft("run heat --size 16 --steps 3").fine();
    for expect in ["heat: 16 x 16 x 16 cells of f32", "device", "cells/s", "check    passed"] {
        assert!(report.contains(expect), "{report}");
    }
}

/// 20 million cell updates are compared: of a small run all, of a large one the beginning.
#[test]
fn the_report_says_where_only_a_part_was_checked() {
    let run = |steps: u32| {
        warpweft(&format!("run life --device cpu --threads 1 --size 1000 --steps {steps}")).fine()
    };
    assert!(run(20).contains("check    passed: largest error 0"), "all of it");
    let report = run(30);
    assert!(report.contains("check    passed, but only for the first 20 of 30 steps"), "{report}");
}

#[test]
fn a_report_of_no_steps_has_no_rate_and_of_one_no_plural() {
    let report = warpweft("run heat --size 16 --steps 0").fine();
    assert!(report.contains("rate     none") && !report.contains("NaN"), "{report}");
    assert!(!report.contains("roofline"), "{report}");
    let report = warpweft("run heat --device cpu --threads 1 --size 16 --steps 1").fine();
    assert!(report.contains(" 1 step, ") && report.contains("1 core of"), "{report}");
    let roofline = report.lines().find(|line| line.contains("roofline")).expect("it was measured");
    assert!(roofline.contains("at one step per pass") && !roofline.contains("NaN"), "{roofline}");
}

#[test]
fn a_run_stops_when_the_change_is_small_enough() {
    let json = warpweft("run heat --dims 2 --size 16 --steps 5000 --until 1e-4 --json").json();
    let steps = json["result"]["steps"].as_u64().expect("a count");
    assert!(steps > 10 && steps < 5000, "{json}");
    assert_eq!(json["result"]["converged"], true);
    assert!(json["result"]["residual"].as_f64().is_some_and(|residual| residual <= 1e-4), "{json}");
    let json = warpweft("run heat --dims 2 --size 16 --steps 5 --until 1e-9 --json").json();
    assert_eq!(
        (&json["result"]["steps"], &json["result"]["converged"]),
        (&5.into(), &false.into())
    );
}
