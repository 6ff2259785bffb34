//! What is outside the subset is an error on its span that says what to write instead.
//!
//! Each file of `tests/ui` stands next to what rustc says of it; with `WARPWEFT_BLESS` in the environment
//! that is written anew.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::rustc::rustc;

/// What the compiler says of `source`, a path in this crate's folder, or why it can't be asked.
fn rejected(source: &Path) -> Result<String, String> {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rejects");
    std::fs::create_dir_all(&out).map_err(|error| error.to_string())?;
    let mut rustc = rustc()?;
    let output = rustc.args(["--emit", "metadata", "--out-dir"]).arg(out).arg(source).output();
    let output = output.map_err(|error| error.to_string())?;
    assert!(!output.status.success(), "{} compiles", source.display());
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What a message says, without what changes while neither it nor its source does: lines of the
/// library and how many types it has, numbers in margins, the compiler's last words, and the path of a trait
/// of whose name the library's crates have another or not.
fn essence(message: &str) -> String {
    let message = &message.replace("std::convert::From", "From");
    let last_words =
        ["error: aborting due to", "For more information", "Some errors have detailed"];
    let mut said = String::new();
    let mut in_library = false;
    for line in message.lines().filter(|line| !last_words.iter().any(|w| line.starts_with(w))) {
        let bare = line.trim_start();
        let text = bare.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        if let Some(place) = bare.strip_prefix("--> ") {
            let library = place.find("src/");
            in_library = library.is_some();
            let file = library.map(|at| place[at..].split(':').next().unwrap_or_default());
            said.push_str(&format!("--> {}", file.unwrap_or(place)));
        } else if text.starts_with('|') || bare == "..." {
            if in_library {
                continue;
            }
            said.push_str(text);
        } else {
            in_library = false;
            let types = bare.strip_prefix("and ").is_some_and(|rest| rest.ends_with(" others"));
            said.push_str(match text.starts_with("= ") {
                true => text,
                false if types => "and more",
                false => line.trim_end(),
            });
        }
        said.push('\n');
    }
    said.trim_end().to_string() + "\n"
}

#[test]
fn each_rejection_says_what_to_write_instead() {
    if let Err(reason) = rustc() {
        return println!("skipped: {reason}");
    }
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files = std::fs::read_dir(ui).unwrap().map(|file| file.unwrap().file_name());
    let files: Vec<PathBuf> = files.map(|name| Path::new("tests/ui").join(name)).collect();
    let is_source = |file: &PathBuf| file.extension().is_some_and(|ext| ext == "rs");
    let of = |ext: &str| {
        files.iter().filter(|file| file.extension().is_some_and(|it| it == ext)).count()
    };
    assert!(of("rs") > 0 && of("rs") == of("stderr"), "{files:?}");
    let sources = Mutex::new(files.clone().into_iter().filter(is_source));
    let next = || sources.lock().unwrap().next();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let different = Mutex::new(String::new());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(source) = next() {
                    let said = essence(&rejected(&source).unwrap());
                    let file = source.with_extension("stderr");
                    if std::env::var_os("WARPWEFT_BLESS").is_some() {
                        std::fs::write(&file, &said).unwrap();
                    }
                    let expected = std::fs::read_to_string(&file).unwrap_or_default();
                    if essence(&expected) != said {
                        let text = format!("== {} is not what is said:\n{said}\n", file.display());
                        different.lock().unwrap().push_str(&text);
                    }
                }
            });
        }
    });
    let different = different.into_inner().unwrap();
    assert!(different.is_empty(), "{different}");
}

/// Beside these messages rustc lists types of the library, which come and go: the lines that matter
/// are compared, not all of them.
#[test]
fn a_type_without_a_form_on_a_device_is_named() {
    if let Err(reason) = rustc() {
        return println!("skipped: {reason}");
    }
    let text = rejected(Path::new("tests/ui_by_line/types.rs")).unwrap();
    for line in [
        "error[E0277]: `Plain` is not a type of device code",
        "fn takes(p: Plain) -> f32 {",
        "let p = Plain { x: a };",
        "error[E0277]: `&str` is not a type of device code",
        "NAMES.len()",
        "this value has no form on a device",
        "put `#[derive(Device)]` on a struct or an enum without data",
    ] {
        assert!(text.contains(line), "{line} is missing in\n{text}");
    }
}
