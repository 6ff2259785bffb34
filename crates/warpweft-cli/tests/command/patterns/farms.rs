//! `warpweft run mandelbrot` and `options`: checked answers, files, and what can't be asked for.

use crate::warpweft;

#[test]
fn a_picture_in_tiles_is_checked_and_written_with_its_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let (plot, trace) = (folder.path().join("a.png"), folder.path().join("a.json"));
    let line = format!(
        "run mandelbrot --size 75x100 --limit 300 --device cpu --threads 2 --json --plot {} --trace {}",
        plot.display(),
        trace.display()
    );
    let object = warpweft(&line).json();
    assert_eq!((&object["app"], &object["pattern"]), (&"mandelbrot".into(), &"farm".into()));
    assert_eq!(
        (&object["check"]["passed"], &object["check"]["error"]),
        (&true.into(), &0.0.into())
    );
    assert_eq!(object["result"]["tiles"], 13 * 10);
    assert_eq!(object["outputs"].as_array().map(Vec::len), Some(2));
    let picture = std::fs::read(plot).unwrap();
    assert_eq!(&picture[1..4], b"PNG");
    let trace: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(trace).unwrap()).unwrap();
    let names: Vec<_> = trace["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|event| event["name"].as_str())
        .collect();
    for kind in ["tasks ", "request"] {
        assert!(names.iter().any(|name| name.starts_with(kind)), "{kind} in {names:?}");
    }
}

#[test]
fn options_are_priced_alike_by_every_schedule() {
    let folder = tempfile::tempdir().unwrap();
    let mut texts = Vec::new();
    for schedule in ["master", "eq1", "eq2", "single"] {
        let path = folder.path().join(format!("{schedule}.csv"));
        let line = format!(
            "run options --count 200 --paths 500 --device cpu --threads 2 --json --schedule {schedule} --output {}",
            path.display()
        );
        let object = warpweft(&line).json();
        assert_eq!(object["check"]["passed"], true);
        assert_eq!(object["rate"]["unit"], "options/s");
        texts.push(std::fs::read_to_string(path).unwrap());
    }
    assert_eq!(texts[0].lines().count(), 201);
    assert!(texts.iter().all(|text| *text == texts[0]));
}

#[test]
fn what_can_not_be_asked_for() {
    for (line, expect) in [
        ("run mandelbrot --limit 0", ["0 iterations", "take 1 to 65535"]),
        ("run mandelbrot --size 0x4", ["a picture of 4 x 0 pixels", "take 1 to 268435456"]),
        ("run mandelbrot --centre=1", ["--centre has 1 numbers", "real and the imaginary"]),
        ("run mandelbrot --width 1e-18", ["64-bit floats", "greater width"]),
        ("run mandelbrot --plot a.gif", ["a.gif", "end it in .png"]),
        ("run options --count 0", ["--count", "at least 1"]),
        ("run options --paths 3", ["3 paths", "use 100 to 100000000"]),
        ("run options --lanes 9", ["9 lanes", "give 1 to 8"]),
    ] {
        warpweft(line).fails(2, &expect);
    }
}
