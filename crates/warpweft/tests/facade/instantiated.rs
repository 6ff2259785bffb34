//! How much of the library a user's crate compiles again: the row loops, which are generic over the element, and
//! nothing else. What counts is the intermediate representation before LLVM, which its time goes by.

use std::path::Path;

use crate::rustc::rustc;

/// Lines of functions that the crate of [`PROGRAM`] may instantiate.
const LIMIT: usize = 20_000;

/// The README's first program.
const PROGRAM: &str = r#"use warpweft::prelude::*;

#[stencil]
fn diffuse(u: Near<f32, 3>, rate: f32) -> f32 {
    let around = u[[-1, 0, 0]] + u[[1, 0, 0]] + u[[0, -1, 0]] + u[[0, 1, 0]] + u[[0, 0, -1]] + u[[0, 0, 1]];
    u[[0, 0, 0]] + rate * (around - 6.0 * u[[0, 0, 0]])
}

fn main() -> Result<()> {
    let mut volume = Volume::from_fn([32, 32, 32], |[z, y, x]| ((z * 7 + y * 3 + x) % 11) as f32);
    let report = Stencil::of(diffuse(0.1))
        .boundary(Boundary::Periodic)
        .until(Residual::Max, 1e-4)
        .run(&mut volume, Steps(2000), &Machine::detect()?)?;
    println!("{report}");
    Ok(())
}
"#;

#[test]
fn a_user_s_crate_instantiates_little() {
    let mut rustc = match rustc() {
        Ok(rustc) => rustc,
        Err(reason) => return println!("skipped: {reason}"),
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("instantiated");
    std::fs::create_dir_all(&folder).unwrap();
    let (source, text) = (folder.join("main.rs"), folder.join("main.ll"));
    std::fs::write(&source, PROGRAM).unwrap();
    // Optimised crates share no instances with those that they use.
    rustc.args(["--crate-name", "readme", "--crate-type", "bin", "--emit", "llvm-ir"]);
    rustc.args(["-Copt-level=3", "-Cno-prepopulate-passes", "-Ccodegen-units=1", "-Cdebuginfo=0"]);
    let output = rustc.arg("-o").arg(&text).arg(&source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = lines_of_functions(&std::fs::read_to_string(&text).unwrap());
    println!("{lines} lines of LLVM's representation");
    assert!(lines < LIMIT, "{lines} lines, {LIMIT} are allowed");
}

fn lines_of_functions(text: &str) -> usize {
    let (mut inside, mut lines) = (false, 0);
    for line in text.lines() {
        inside |= line.starts_with("define ");
        lines += usize::from(inside);
        inside &= line != "}";
    }
    lines
}

#[test]
fn declarations_are_not_counted() {
    let text =
        "declare void @f()\ndefine void @g() {\n  ret void\n}\n; end\n\ndefine void @h() {\n}\n";
    assert_eq!(lines_of_functions(text), 5);
}
