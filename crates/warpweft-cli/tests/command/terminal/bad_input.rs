//! What users get wrong, and the machines they do it on: each has a message and a status.

use warpweft::grid::Volume;
use warpweft::grid::io::npy;

use crate::{warpweft, warpweft_in};

#[test]
fn extents_of_nothing_or_of_more_than_there_is() {
    warpweft("run heat --size 0").fails(2, &["extent 0 on axis z", "at least 1"]);
    warpweft("run heat --size 16x0").fails(2, &["extent 0 on axis x of 16 x 0"]);
    let huge = "run heat --size 9999999999x9999999999x9999999999";
    warpweft(huge).fails(2, &["more cells than memory can address"]);
    warpweft("run heat --size 99999999999999999999999999").fails(2, &["--size", "not an extent"]);
    warpweft("run heat --size 200000x200000x1000 --device cpu").fails(
        1,
        &["host memory: 480000000000000 bytes needed", "available", "--size up to about"],
    );
}

#[test]
fn footprints_wider_than_the_volume() {
    warpweft("run heat --size 3x64x64 --order 8")
        .fails(2, &["reads 4 cells beyond axis z, which has 3"]);
    warpweft("run life3d --size 2x1x1 --boundary mirror").fails(2, &["beyond axis y"]);
    warpweft("run life --size 1x9 --boundary mirror").fails(2, &["beyond axis y", "at least 2"]);
}

#[test]
fn parameters_out_of_range() {
    warpweft("run heat --rate 0.3")
        .fails(2, &["rate 0.3 at order 2 in 3 dimensions", "at most 0.166666,"]);
    warpweft("run heat --rate nan").fails(2, &["rate NaN"]);
    warpweft("run seismic --vp 1e30")
        .fails(2, &["v_P 1000000000000000000000000000000", "of light"]);
    warpweft("run heat --order 3").fails(2, &["order 3", "2, 4, 6 and 8"]);
    warpweft("run heat --dims 5").fails(2, &["5 dimensions", "1, 2 or 3"]);
    warpweft("run heat --dims 2 --size 8x8x8").fails(2, &["--dims says 2 dimensions, --size 3"]);
    warpweft("run heat --dtype f8").fails(2, &["f8", "f32, f64"]);
    warpweft("run heat --size 8 --steps 1 --dtype float32").fine();
    warpweft("run heat --rate -1").fails(2, &["rate -1 at order 2", "above 0"]);
    warpweft("run heat --size -1").fails(2, &["--size", "'-1' is not an extent"]);
    warpweft("run heat --steps -5").fails(2, &["--steps", "-5", "a whole number, 0 or more"]);
    warpweft("run heat --rate warm").fails(2, &["--rate", "write a number"]);
    warpweft("run heat --threads 0").fails(2, &["--threads", "at least 1"]);
    warpweft("run heat --until -1").fails(2, &["'-1' is not a tolerance"]);
    for omega in ["0", "2", "-1", "nan"] {
        warpweft(&format!("run laplace --omega {omega}")).fails(
            2,
            &[&format!("relaxation factor {omega}").replace("nan", "NaN"), "above 0 and below 2"],
        );
    }
    // No words of the standard library's for programmers.
    for (line, expect) in [
        (
            "run heat --steps 18446744073709551616",
            "too large; write a whole number, 0 or more, below 2^64",
        ),
        ("run heat --ranks 99999999999999999999", "a whole number of at least 1, below 2^64"),
        ("tune heat --budget -1", "a whole number of at least 1"),
        ("tune heat --budget 0", "a whole number of at least 1"),
        ("align a b --gap warm", "write a whole number"),
        ("dtw a b --band -1", "write a whole number"),
        ("align a b --band -1", "write a whole number, 0 or more"),
        ("align a b --top 0", "write a whole number of at least 1"),
        ("run seismic --vp fast", "write a number"),
    ] {
        let ran = warpweft(line);
        ran.fails(2, &[expect]);
        assert!(
            !ran.err.contains("found in string") && !ran.err.contains("literal"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn numbers_that_no_machine_is_large_enough_for() {
    let most = ["4097", "20000", "9999999999", "18446744073709551615"];
    for (line, threads) in [
        ("align a.fa b.fa", most[1]),
        ("align a.fa b.fa", most[3]),
        ("dtw a.npy b.npy", most[3]),
        ("sat a.png", most[2]),
        ("run laplace", most[3]),
        ("run heat --size 64 --ranks 2", most[3]),
        ("run heat --size 64", most[0]),
        ("tune heat", most[0]),
    ] {
        let ran = warpweft(&format!("{line} --threads {threads}"));
        ran.fails(2, &["--threads", threads, "at most 4096"]);
    }
    for depth in ["65537", "1000000000000", "9223372036854775807", "18446744073709551615"] {
        let ran = warpweft(&format!("run heat --device cpu --size 16 --ranks 2 --depth {depth}"));
        ran.fails(2, &[&format!("R = {depth} steps"), "the largest feasible R is 8"]);
        let one = r#"{"executor":"cpu","temporal_depth":1,"tile_rows":8,"slab_planes":4,"tile_cells":64,"unroll_and_jam":1}"#;
        let policy = format!(r#"{{"grid":[2,1,1],"depth":{depth},"rank":{one}}}"#);
        let ran = warpweft(&format!("run heat --device cpu --size 16 --policy {policy}"));
        ran.fails(2, &["the largest feasible R is 8"]);
    }
    warpweft("run heat --device cpu --size 16 --ranks 2 --depth 9")
        .fails(2, &["R = 9 steps between halo exchanges need 9", "the largest feasible R is 8"]);
}

#[test]
fn outputs_take_no_file_that_is_read_or_written_already() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["q.paf", "t.fa"] {
        std::fs::write(directory.path().join(name), ">one\nACGT\n").expect("a small file");
    }
    let ran = |line: &str| warpweft_in(directory.path(), line);
    ran("align q.paf t.fa --output ./q.paf").fails(2, &["q.paf is an input and an output"]);
    ran("align q.paf t.fa --output a.paf --output ./a.paf").fails(2, &["to be written twice"]);
    ran("run laplace --size 8 --output a.npy --output a.npy").fails(2, &["to be written twice"]);
    let read = std::fs::read(directory.path().join("q.paf")).expect("still there");
    assert_eq!(read, b">one\nACGT\n");
}

#[test]
fn boundaries_that_fit_nothing() {
    warpweft("run heat --size 8 --boundary dirichlet:1e40").fails(2, &["infinite as f32", "f64"]);
    warpweft("run heat --size 8 --steps 1 --dtype f64 --boundary dirichlet:1e40").fine();
    warpweft("run heat --boundary open")
        .fails(2, &["'open' is not a boundary", "dirichlet, dirichlet:VALUE or dirichlet=VALUE"]);
    for spelling in ["dirichlet=2", "dirichlet:2"] {
        let line = format!("run heat --size 8 --steps 1 --boundary {spelling} --json");
        assert_eq!(warpweft(&line).json()["settings"]["boundary"], "dirichlet:2");
    }
    warpweft("run heat --boundary neumann=2")
        .fails(2, &["neumann takes no value", "dirichlet:VALUE"]);
    warpweft("run heat --boundary z:periodic").fails(2, &["'z:periodic'; write z=periodic"]);
    let half = "run heat --size 8 --boundary neumann,z-low=periodic";
    warpweft(half).fails(2, &["axis z is periodic on one face", "both faces"]);
    warpweft("run heat --size 8x8 --boundary z=neumann")
        .fails(2, &["axis z, but there are only 2 dimensions"]);
    warpweft("run life --size 8 --boundary dirichlet:2")
        .fails(2, &["life has cells of 0 or 1, but --boundary has the value 2"]);
}

#[test]
fn unknown_words_are_answered_with_the_nearest_known_ones() {
    warpweft("run heart").fails(2, &["heart", "heat"]);
    warpweft("run foo")
        .fails(2, &["foo", "heat, life, life3d, edge", "laplace", "Usage: warpweft run"]);
    warpweft("foo").fails(2, &["run, align, sat, dtw"]);
    warpweft("run lief").fails(2, &["life"]);
    warpweft("rum heat").fails(2, &["'run'"]);
    warpweft("run heat --stesp 3").fails(2, &["--steps"]);
    warpweft("run heat --device tpu").fails(2, &["no device 'tpu'", "gpu:N"]);
}

#[test]
fn a_gpu_by_name_where_there_is_none() {
    let gpus = warpweft("info --json").json()["machine"]["gpus"].as_array().map_or(0, Vec::len);
    let ran = warpweft("run heat --size 8 --steps 1 --device gpu:97");
    ran.fails(1, &["gpu:97", "--device cpu"]);
    if gpus > 0 {
        return println!("skipped: {gpus} GPUs, and the rest is about none");
    }
    for line in ["run heat --device gpu", "run heat --device gpus", "tune heat --device gpu:0"] {
        let ran = warpweft(line);
        ran.fails(1, &["no GPU can be used", "--device cpu"]);
        assert_eq!(ran.err.to_lowercase().matches("no gpu").count(), 1, "{}", ran.err);
    }
}

#[test]
fn options_that_contradict_one_another() {
    let policy = warpweft("run heat --device cpu --size 8 --steps 1 --threads 1 --json").json();
    let policy = policy["policy"].to_string();
    let run =
        |options: &str| warpweft(&format!("run heat --device cpu --size 8 --steps 1 {options}"));
    run(&format!("--policy {policy}")).fine();
    run(&format!("--policy {policy} --threads 1")).fine();
    run(&format!("--policy {policy} --threads 2")).fine();
    let former = policy.replacen('{', r#"{"threads":1,"#, 1);
    run(&format!("--policy {former}")).fails(2, &["`threads` is now `--threads`"]);
    let slip = policy.replace("unroll_and_jam", "jelly");
    run(&format!("--policy {slip}")).fails(2, &["--policy"]);
    let more = policy.replacen('{', r#"{"jelly":1,"#, 1);
    run(&format!("--policy {more}")).fails(2, &["no tunable `jelly`", "tile_rows"]);
    for (field, most) in
        [("temporal_depth", 4096u64), ("tile_rows", 1 << 40), ("tile_cells", 1 << 40)]
    {
        let mut huge: serde_json::Value = serde_json::from_str(&policy).expect("JSON");
        huge[field] = u64::MAX.into();
        run(&format!("--policy {huge}"))
            .fails(2, &[&format!("`{field}` 18446744073709551615"), &format!("use 1 to {most}")]);
    }
    run("--depth 3").fails(2, &["--depth 3 with one rank", "give --ranks"]);
    run("--depth 3 --ranks 1").fails(2, &["--depth 3 with one rank"]);
}

#[test]
fn grids_of_ranks_that_fit_no_volume() {
    let run = |options: &str| warpweft(&format!("run heat --device cpu --size 16 {options}"));
    for (grid, axes) in [
        ("2x2", "2x2 does not fit 3 axes; name the subdomains along z, y, x, such as 4x1x1,"),
        ("2", "2 does not fit 3 axes; name the subdomains along z, y, x, such as 2x1x1,"),
        ("1x2x1x1", "such as 2x1x1,"),
    ] {
        run(&format!("--rank-grid {grid}")).fails(2, &["the rank grid ", axes, "--rank-grid"]);
    }
    run("--dims 1 --ranks 2 --rank-grid 2x1")
        .fails(2, &["does not fit 1 axis; name the subdomains along x"]);
    run("--rank-grid 2x0x1").fails(2, &["the rank grid 2x0x1", "write 1 for axes"]);
    run("--rank-grid 17x1x1 --steps 1")
        .fails(2, &["17 subdomains along axis z, which has 16 cells"]);
    run("--rank-grid 2x1x1 --steps 1").fine();
}

#[test]
fn input_files_that_are_missing_damaged_or_of_the_wrong_kind() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let ran = |line: &str| warpweft_in(directory.path(), line);
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(directory.path().join(name), bytes).expect("a small file");
    };
    ran("run heat --input none.npy").fails(1, &["none.npy", "check the path"]);
    ran("run heat --input none.csv").fails(2, &["none.csv", "end it in .npy or .png"]);

    ran("run heat --size 6x7 --steps 1 --output a.npy").fine();
    let whole = std::fs::read(directory.path().join("a.npy")).expect("just written");
    for (length, expect) in [(0, "not in the NPY format"), (20, "ends inside"), (200, "truncated")]
    {
        file("cut.npy", &whole[..length]);
        ran("run heat --input cut.npy").fails(1, &["cut.npy", expect]);
    }
    ran("run heat --input a.npy --dtype f64")
        .fails(1, &["holds f32, but --dtype is f64", "leave --dtype out", "float64"]);
    ran("run swim --size 4 --steps 0 --dtype f32 --output single.npy").fine();
    let json = ran("run swim --input single.npy --steps 1 --json").json();
    assert_eq!(json["settings"]["dtype"], "10 fields of f32", "as the input");
    ran("run swim --input single.npy --dtype f64")
        .fails(1, &["holds f32, but --dtype is f64", "leave --dtype out"]);
    ran("run heat --input a.npy --dims 3").fails(2, &["--dims says 3 dimensions, --input 2"]);
    ran("run heat --input a.npy --size 7x6").fails(2, &["--size is 7 x 6, but --input has 6 x 7"]);
    ran("run life3d --input a.npy").fails(1, &["a.npy: has 2 axes, but", "reshape it to 3 axes"]);
    file("five.npy", &with_shape(&whole, "(1, 2, 3, 1, 7)"));
    for (line, axes) in [("run edge --input", 2), ("run life3d --input", 3), ("sat", 2)] {
        let expect = format!("reshape it to {axes} axes");
        ran(&format!("{line} five.npy")).fails(1, &["five.npy", &expect]);
    }
    ran("dtw five.npy five.npy").fails(1, &["five.npy", "reshape it to 1 axis"]);
    ran("run heat --input five.npy").fails(2, &["heat in 5 dimensions", "choose 1, 2 or 3"]);

    ran("run life --size 6x7 --steps 1 --output b.npy").fine();
    for line in ["run heat --input b.npy", "run swim --input b.npy"] {
        ran(line).fails(1, &["holds u8, and cells are f32 or f64", "astype('float32')"]);
    }
    ran("run edge --input b.npy").fails(1, &["holds u8, but f32 is wanted", "astype('float32')"]);
    // As integers 0.7 would be a dead cell; those that are integers are what they are.
    let life = ran("run life --input a.npy");
    life.fails(1, &["a.npy: holds f32; cells are 0 or 1; save `(array > threshold).astype("]);
    let cells = Volume::from_fn([6, 7], |[y, x]| ((x + y) % 2) as i64);
    npy::write(&directory.path().join("long.npy"), &cells, 0).expect("a small file");
    ran("run life --input long.npy").fails(1, &["holds i64", "with `array.astype('uint8')`"]);
    let mut cells = std::fs::read(directory.path().join("b.npy")).expect("just written");
    *cells.last_mut().expect("it has cells") = 7;
    file("seven.npy", &cells);
    ran("run life --input seven.npy").fails(1, &["a cell of 7", "0 or 1"]);

    ran("run life --size 6x7 --steps 1 --output c.png").fine();
    let whole = std::fs::read(directory.path().join("c.png")).expect("just written");
    file("cut.png", &whole[..whole.len() - 9]);
    ran("run life --input cut.png").fails(1, &["cut.png", "whole PNG file"]);
    file("a.png", b"GIF89a");
    ran("run life --input a.png").fails(1, &["a.png", "PNG"]);
}

/// The NPY file with another shape in its header.
fn with_shape(file: &[u8], shape: &str) -> Vec<u8> {
    let (header, cells) = file.split_at(128);
    let text = String::from_utf8_lossy(&header[10..]);
    let (before, rest) = text.split_once('(').expect("it has a shape");
    let (_, after) = rest.split_once(')').expect("it has a shape");
    let text = format!("{before}{shape}{}", after.trim_end());
    [&header[..10], format!("{text:<117}\n").as_bytes(), cells].concat()
}

#[test]
fn outputs_are_found_unwritable_before_any_work() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("file"), "").expect("a small file");
    std::fs::create_dir(folder.path().join("folder.npy")).expect("a folder");
    let long = "run heat --size 400 --steps 1000000000";
    for (option, expect) in [
        (
            "--output no/such/place.npy",
            "place.npy: there is no folder no/such; make it with `mkdir",
        ),
        ("--checkpoint no/such", "no/such: there is no folder no; make it with `mkdir -p no`"),
        ("--checkpoint file", "file: is a file; choose a folder"),
        ("--checkpoint file/folder", "file/folder: file is a file; choose a folder"),
        ("--output .", "no format known here"),
        ("--output a.npy/", "a.npy/: names a folder; name a file"),
        ("--output a.npy/.", "a.npy/.: names a folder; name a file"),
        ("--output folder.npy", "folder.npy: is a directory"),
        ("--output folder.npy/", "folder.npy/: names a folder"),
        ("--output a.bmp", ".npy or .vti or .png"),
        ("--plot a.jpg", "end it in .png"),
        ("--trace no/such/place.json", "place.json"),
        ("--trace a.txt", "end it in .json"),
    ] {
        let ran = warpweft_in(folder.path(), &format!("{long} {option}"));
        assert!(matches!(ran.status, Some(1 | 2)), "{option}: {:?}", ran.status);
        let unmarked = ran.err.replace("; help: ", "; ");
        assert!(ran.err.starts_with("error: ") && unmarked.contains(expect), "{}", ran.err);
    }
}

/// Before what they are to read is looked for.
#[test]
fn every_command_finds_its_outputs_unwritable_before_any_work() {
    for (line, ending) in [
        ("align a.fa b.fa --output", "paf"),
        ("align a.fa b.fa --output", "sam"),
        ("align a.fa b.fa --plot", "png"),
        ("sat a.npy --output", "npy"),
        ("sat a.npy --plot", "png"),
        ("run laplace --size 40000 --sweeps 1000000 --output", "vti"),
    ] {
        for (place, expect) in [
            (format!("x.{ending}/"), "names a folder; name a file"),
            (format!("no/such/x.{ending}"), "there is no folder no/such; make it with"),
        ] {
            warpweft(&format!("{line} {place}")).fails(1, &[&place, expect]);
        }
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let series = Volume::from_fn([3], |[i]| i as f32);
    npy::write(&folder.path().join("a.npy"), &series, 0).expect("a small file");
    for place in ["x.npy/", "no/such/x.npy"] {
        warpweft_in(folder.path(), &format!("dtw a.npy a.npy --path {place}")).fails(1, &[place]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let ran = warpweft("run heat --size 64x64 --steps 1 --trace /dev/full");
    ran.fails(1, &["/dev/full", "has room"]);
}
