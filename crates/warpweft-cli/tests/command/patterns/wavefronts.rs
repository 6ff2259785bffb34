//! `warpweft sat`, `dtw` and `run laplace`: files in, checked answers out, and bad input named.

use warpweft::element::ScalarKind;
use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::warpweft_in;

fn json(said: &str) -> serde_json::Value {
    serde_json::from_str(said).unwrap()
}

#[test]
fn an_image_is_summed_and_saved() {
    let folder = tempfile::tempdir().unwrap();
    let image = Volume::from_fn([3, 5], |[i, j]| (10 * i + j) as u8);
    npy::write(&folder.path().join("image.npy"), &image, 0).unwrap();
    let line = "sat image.npy --output sums.npy --plot sums.png --device cpu --json";
    let object = json(&warpweft_in(folder.path(), line).fine());
    assert_eq!(object["result"]["sum"], 180.0);
    assert_eq!((&object["app"], &object["pattern"]), (&"sat".into(), &"wavefront".into()));
    assert_eq!(object["check"]["passed"], true);
    assert_eq!(object["outputs"], serde_json::json!(["sums.npy", "sums.png"]));
    let sums: Volume<i32, 2> = npy::read(&folder.path().join("sums.npy")).unwrap();
    assert_eq!(sums.as_slice()[..6], [0, 1, 3, 6, 10, 10]);
    assert_eq!(sums.get([2, 4]), Some(180));

    let field = Volume::from_fn([4, 1], |[i, _]| 0.5 + i as f32);
    npy::write(&folder.path().join("field.npy"), &field, 0).unwrap();
    let object = json(&warpweft_in(folder.path(), "sat field.npy --device cpu --json").fine());
    assert_eq!((&object["result"]["sum"], &object["check"]["passed"]), (&8.0.into(), &true.into()));
    let ran = warpweft_in(folder.path(), "sat sums.npy --device cpu");
    assert!(ran.status != Some(0) && ran.err.contains("holds i32"), "{}", ran.err);
}

#[test]
fn tables_of_bins_channels_squares_and_triangles_are_saved() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let image = Volume::from_fn([4, 5], |[i, j]| (60 * i + j) as u8);
    npy::write(&folder.join("grey.npy"), &image, 0).unwrap();
    let sat = |line: &str| {
        let object = warpweft_in(folder, &format!("sat {line} --device cpu --json")).json();
        assert_eq!(object["check"]["passed"], true, "{object}");
        object
    };
    let object = sat("grey.npy --bins 4 --output bins.npy");
    assert_eq!(object["result"]["bins"], 4);
    let counts: Volume<i32, 3> = npy::read(&folder.join("bins.npy")).unwrap();
    assert_eq!(counts.extents(), [4, 4, 5]);
    // Rows of 0.., 60.., 120.. and 180..: up to the second row all five of the first, and 60 to 63 of the second.
    let ends: Vec<_> = (0..4).map(|bin| counts.get([bin, 3, 4]).unwrap()).collect();
    assert_eq!((counts.get([0, 1, 4]), &ends[..]), (Some(9), &[9, 6, 5, 0][..]));
    sat("grey.npy --squares --output squares.npy");
    let squares: Volume<i64, 2> = npy::read(&folder.join("squares.npy")).unwrap();
    assert_eq!(squares.get([0, 4]), Some(1 + 4 + 9 + 16));
    sat("grey.npy --tilted --output tilted.npy");
    let tilted: Volume<i64, 2> = npy::read(&folder.join("tilted.npy")).unwrap();
    assert_eq!(tilted.get([1, 2]), Some(62 + 1 + 2 + 3));
    let colours = Volume::from_fn([2, 2, 3], |[i, j, channel]| (100 * channel + 2 * i + j) as u8);
    npy::write(&folder.join("rgb.npy"), &colours, 0).unwrap();
    sat("rgb.npy --channels --output sums.npy");
    let sums: Volume<i64, 3> = npy::read(&folder.join("sums.npy")).unwrap();
    let ends: Vec<_> = (0..3).map(|channel| sums.get([channel, 1, 1]).unwrap()).collect();
    assert_eq!(ends, [6, 406, 806]);
    let fails = |line: &str, status, what: &str| {
        warpweft_in(folder, &format!("sat {line} --device cpu")).fails(status, &[what]);
    };
    fails("grey.npy --bins 300", 2, "300 bins");
    fails("grey.npy --bins 4 --output b.png", 2, "end the name in .npy");
    fails("grey.npy --channels", 1, "grey.npy: has shape [4, 5], and not 3 axes");
    fails(
        "squares.npy --tilted",
        1,
        "squares.npy: holds i64, but --bins, --channels and --tilted need uint8",
    );
}

/// More ones than f32 counts.
#[test]
fn sums_of_singles_are_doubles_and_do_not_replace_them() {
    let folder = tempfile::tempdir().unwrap();
    let ones = Volume::from_fn([4100, 4100], |_| 1f32);
    npy::write(&folder.path().join("ones.npy"), &ones, 0).unwrap();
    let object = json(
        &warpweft_in(folder.path(), "sat ones.npy --output sums.npy --device cpu --json").fine(),
    );
    assert_eq!(object["result"]["sum"], 16_810_000.0);
    assert_eq!(npy::header(&folder.path().join("sums.npy")).unwrap().kind, ScalarKind::F64);
    for line in ["sat ones.npy --output ones.npy", "run heat --input ones.npy --output ./ones.npy"]
    {
        warpweft_in(folder.path(), line).fails(2, &["ones.npy is an input and an output"]);
    }
}

/// 255 · 2901² fits 32 bits with a sign, 255 · 2902² does not.
#[test]
fn sums_that_need_more_than_32_bits_get_them() {
    let folder = tempfile::tempdir().unwrap();
    for (n, kind) in [(2901, ScalarKind::I32), (2902, ScalarKind::I64)] {
        let image = Volume::from_fn([n, n], |_| 255u8);
        npy::write(&folder.path().join("white.npy"), &image, 0).unwrap();
        let line = "sat white.npy --output sums.npy --device cpu --json";
        let object = json(&warpweft_in(folder.path(), line).fine());
        assert_eq!(object["result"]["sum"], 255 * n * n);
        assert_eq!(object["check"]["passed"], true);
        assert_eq!(npy::header(&folder.path().join("sums.npy")).unwrap().kind, kind);
    }
}

#[test]
fn series_are_warped() {
    let folder = tempfile::tempdir().unwrap();
    let save = |name: &str, samples: &[f64]| {
        let volume = Volume::from_fn([samples.len()], |[i]| samples[i]);
        npy::write(&folder.path().join(name), &volume, 0).unwrap();
    };
    save("a.npy", &[0.0, 1.0, 5.0, 5.0, 1.0]);
    save("b.npy", &[0.0, 1.0, 1.0, 5.0, 1.0, 3.0]);
    // All but the last pair with an equal sample; 1 and 3 differ by 2.
    let object = json(&warpweft_in(folder.path(), "dtw a.npy b.npy --device cpu --json").fine());
    assert_eq!(object["result"]["distance"], 2.0);
    assert_eq!(object["check"]["passed"], true);
    let over = object["result"]["distance_over_both_lengths"].as_f64().unwrap();
    assert!((over - 2.0 / 11.0).abs() < 1e-12, "{over}");
    let line = "dtw a.npy b.npy --path pairs.npy --plot --device cpu --json";
    let object = json(&warpweft_in(folder.path(), line).fine());
    assert_eq!(object["result"]["distance"], 2.0);
    assert_eq!(object["outputs"], serde_json::json!(["pairs.npy", "dtw.png"]));
    let pairs: Volume<i64, 2> = npy::read(&folder.path().join("pairs.npy")).unwrap();
    assert_eq!(object["result"]["pairs"], pairs.extents()[0]);
    assert_eq!(pairs.as_slice()[..2], [0, 0]);
    let ran = warpweft_in(folder.path(), "dtw a.npy b.npy --band 0 --device cpu");
    assert!(ran.status != Some(0) && ran.err.contains("a band of 0"), "{}", ran.err);
    save("c.npy", &[0.0, f64::NAN]);
    let ran = warpweft_in(folder.path(), "dtw a.npy c.npy --device cpu");
    ran.fails(1, &["c.npy: sample 1 of series b is NaN"]);
}

/// The cores, and those beyond that have a tile-row to compute.
#[test]
fn a_report_has_the_threads_that_ran_and_more_than_have_work_are_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let image = Volume::from_fn([700, 30], |[i, j]| (i + j) as u8);
    npy::write(&folder.path().join("image.npy"), &image, 0).unwrap();
    for name in ["a.npy", "b.npy"] {
        let series = Volume::from_fn([700], |[i]| (i % 13) as f32);
        npy::write(&folder.path().join(name), &series, 0).unwrap();
    }
    for name in ["a.fa", "b.fa"] {
        std::fs::write(folder.path().join(name), format!(">x\n{}\n", "ACGTT".repeat(140))).unwrap();
    }
    let info = warpweft_in(folder.path(), "info --json").json();
    let cores = info["machine"]["cpu"]["cores"].as_array().unwrap().len() as u64;
    let quota = info["machine"]["cpu"]["quota"].as_f64();
    let at_once = quota.map_or(cores, |quota| cores.min(quota.max(1.0) as u64));
    let crowd = |threads: u64| format!("note: --threads {threads} on {at_once} core");
    let label = |threads: u64| match threads > cores {
        true => format!("{threads} threads on {cores} core"),
        false => format!("{threads} core"),
    };
    let lines = [
        "sat image.npy",
        "dtw a.npy b.npy",
        "align a.fa b.fa",
        "align a.fa b.fa --score-only",
        "run laplace --size 700x30 --sweeps 2",
    ];
    for line in lines {
        let ran = |threads: u64| {
            let line = format!("{line} --device cpu --threads {threads} --json");
            let run = warpweft_in(folder.path(), &line);
            let notes = run.err.matches(&crowd(threads)).count();
            assert_eq!(notes, usize::from(threads > at_once), "{line}: {}", run.err);
            let object = json(&run.fine());
            let device = object["devices"][0].as_str().unwrap();
            let ran = (1..=4096).find(|&threads| device.starts_with(&label(threads)));
            (ran.unwrap_or_else(|| panic!("{line}: {device}")), object["result"].clone())
        };
        let (one, alone) = ran(1);
        let (most, many) = ran(4096);
        // 700 rows are six tile-rows of 128, an eighth of them one.
        assert_eq!((one, &many), (1, &alone), "{line}");
        assert!((1..=cores.max(6)).contains(&most), "{line}: {most}");
    }
    let run = warpweft_in(
        folder.path(),
        "run heat --device cpu --size 90x30 --steps 2 --threads 4096 --json",
    );
    assert_eq!(run.err.matches(&crowd(4096)).count(), 1, "{}", run.err);
    let object = json(&run.fine());
    let device = object["devices"][0].as_str();
    assert!(device.unwrap().starts_with(&label(1)), "{device:?}");
}

#[test]
fn a_result_that_was_not_checked_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let letters = "ACGTTGCATT".repeat(1001);
    std::fs::write(folder.path().join("a.fa"), format!(">x\n{letters}\n")).unwrap();
    for line in ["align a.fa a.fa --score-only", "run laplace --size 1000 --sweeps 101"] {
        let said = warpweft_in(folder.path(), &format!("{line} --device cpu")).fine();
        let reason =
            "check    the result was not checked: the straightforward loop is run for up to";
        assert!(said.contains(reason) && !said.contains("passed"), "{said}");
    }
    let said = warpweft_in(folder.path(), "align a.fa a.fa --device cpu").fine();
    assert!(said.contains("passed, but only for the scores of the paths found"), "{said}");
}

#[test]
fn a_plate_is_relaxed_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    for options in ["", "--omega 1.5 --dtype f64"] {
        let line = format!("run laplace --size 20x33 --sweeps 7 {options} --device cpu --json");
        let object = json(&warpweft_in(folder.path(), &line).fine());
        assert_eq!(object["check"]["passed"], true);
        assert_eq!(object["check"]["error"], 0.0);
        assert_eq!(object["settings"]["sweeps"], 7);
    }
    let said = warpweft_in(folder.path(), "run laplace --size 8 --omega 1.5 --plot --device cpu");
    let said = said.fine();
    for part in ["8 x 8 cells of f32, over-relaxed by 1.5", "cores of", "written  laplace.png"] {
        assert!(said.contains(part) || part == "cores of" && said.contains("core of"), "{said}");
    }
    let ran = warpweft_in(folder.path(), "run laplace --omega 2 --device cpu");
    assert!(ran.status != Some(0) && ran.err.contains("relaxation factor 2"), "{}", ran.err);
}
