//! Table 4: lines of code of programs of fork-join tasks and channels, and their time, next to programs in CUDA C++ without
//! tasks, which do the same by one flat kernel.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};
use warpweft::channels::Run;
use warpweft::prelude::*;
use warpweft::run::Target;
use warpweft_apps::strassen::{difference, signs_of_rows};
use warpweft_apps::strassen_teams::{multiplied, rows};
use warpweft_terminal::output::{note, time};

use super::super::cases::answer;
use super::{On, repeated};
use crate::bench::{Options, peers};

#[path = "../../../../../../examples/fibonacci.rs"]
#[allow(dead_code)]
mod fibonacci;
#[path = "queens.rs"]
#[allow(dead_code)]
mod queens;

/// A program of ours, with its source, and the name of the flat one.
struct Program {
    name: &'static str,
    flat: &'static str,
    n: u32,
    sources: &'static [&'static str],
}

/// Rows of the largest leaves of Strassen's product, and vectors by which it is checked.
const LEAF: usize = 4096;
const TRIES: u64 = 4;

const PROGRAMS: [Program; 3] = [
    Program {
        name: "Fibonacci by a channel",
        flat: "fib",
        n: 34,
        sources: &[include_str!("../../../../../../examples/fibonacci.rs")],
    },
    Program {
        name: "queens, spawned",
        flat: "queens",
        n: 16,
        sources: &[include_str!("queens.rs")],
    },
    Program {
        name: "Strassen's product by teams",
        flat: "product",
        n: 8192,
        sources: &[
            include_str!("../../../../../warpweft-apps/src/tasks/strassen_teams/mod.rs"),
            include_str!("../../../../../warpweft-apps/src/tasks/strassen_teams/leaf.rs"),
            include_str!("../../../../../warpweft-apps/src/tasks/strassen_teams/sums.rs"),
        ],
    },
];

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: &'static str,
    n: u32,
    device: String,
    /// Lines of the program in Rust and of the flat one, without blank ones, comments and tests.
    lines: usize,
    flat_lines: usize,
    /// Calls or items, in one launch.
    tasks: u64,
    /// On the device: the median, the fastest and the slowest.
    seconds: f64,
    range: [f64; 2],
    /// Of the flat program, where nvcc built it.
    flat: Option<Flat>,
}

/// What a flat program prints.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Flat {
    app: String,
    n: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    seconds: f64,
    launches: u32,
}

/// Lines of a program without blank ones, comments and what follows the beginning of its tests.
fn lines(text: &str) -> usize {
    let program = text.split("#[cfg(test)]").next().unwrap_or_default().lines().map(str::trim);
    program.filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

pub fn measure(on: On<'_>, options: &Options) -> Result<Vec<Row>> {
    PROGRAMS.iter().map(|program| program.row(on, options)).collect()
}

impl Program {
    fn row(&self, on: On<'_>, options: &Options) -> Result<Row> {
        let &Self { name, flat, n, sources } = self;
        note(&format!("{name}, {n}"));
        let reports = match flat {
            "product" => products(n as usize, on, options)?,
            _ => repeated(options, || self.run(on))?,
        };
        let middle = &reports[reports.len() / 2];
        let folder = options.peers.join("channels_flat");
        let source = folder.join(format!("{flat}.cu"));
        let text = std::fs::read_to_string(&source)
            .map_err(|error| Error::file(&source, error, "run the bench in the repository"))?;
        Ok(Row {
            what: name,
            n,
            device: middle.device_list(),
            lines: sources.iter().map(|source| lines(source)).sum(),
            flat_lines: lines(&text),
            tasks: middle.done,
            seconds: middle.seconds,
            range: [reports[0].seconds, reports[reports.len() - 1].seconds],
            flat: self.flat(&source, options)?,
        })
    }

    /// One run, whose value is right.
    fn run(&self, (machine, _): On<'_>) -> Result<Report> {
        let (value, report) = match self.flat {
            "fib" => fibonacci::fibonacci(self.n, machine)?,
            _ => queens::solutions(self.n, machine)?,
        };
        self.checked(value)?;
        Ok(report)
    }

    fn checked(&self, value: u64) -> Result<()> {
        let expect = answer(self.flat, self.n);
        if value == expect {
            return Ok(());
        }
        let what = format!("{} {}: {value} instead of {expect}", self.flat, self.n);
        Err(Error::spec(what, "report this as a bug"))
    }

    /// The flat program, built by nvcc.
    fn flat(&self, source: &Path, options: &Options) -> Result<Option<Flat>> {
        let name = format!("warpweft-flat-{}-{}", self.flat, std::process::id());
        let program = std::env::temp_dir().join(name);
        let mut nvcc = Command::new("nvcc");
        nvcc.args(["-O3", "-std=c++17", "-arch=native", "-o"]).arg(&program).arg(source);
        if !nvcc.status().is_ok_and(|status| status.success()) {
            note(&format!("no figure of {}: nvcc can't build it", source.display()));
            return Ok(None);
        }
        let arguments = [self.n.to_string(), options.repeats.to_string()];
        let found = peers::run::<Flat>(Command::new(&program).args(arguments), source);
        // A file in the temporary folder: no harm if it stays.
        let _ = std::fs::remove_file(&program);
        let flat = found?.into_iter().next();
        if let Some(value) = flat.as_ref().and_then(|flat| flat.value) {
            self.checked(value)?;
        }
        Ok(flat)
    }
}

/// Products of two matrices of `n` rows.
fn products(n: usize, (machine, gpu): On<'_>, options: &Options) -> Result<Vec<Report>> {
    let of = |seed| signs_of_rows::<f32>(n, rows(n), seed);
    let (a, b) = (of(1)?, of(2)?);
    let run = Run { target: Target::Gpu(gpu.ordinal), ..Run::default() };
    let mut checked = false;
    repeated(options, || {
        let (c, report) = multiplied([&a, &b], LEAF, machine, &run)?;
        if !std::mem::replace(&mut checked, true) && difference([&a, &b, &c], TRIES) != 0.0 {
            return Err(Error::spec("a wrong product", "report this as a bug"));
        }
        Ok(report)
    })
}

pub fn text(rows: &[Row]) -> String {
    let mut text = String::from("Table 4: lines of code and time next to a flat kernel\n");
    for row in rows {
        let Row { what, n, lines, flat_lines, tasks, seconds, range, flat, .. } = row;
        let next_to_flat = flat.as_ref().map_or_else(
            || "flat kernel not measured".into(),
            |flat| {
                let Flat { seconds: its, launches, .. } = flat;
                let ratio = its / seconds;
                format!("flat {} in {launches} launches, {ratio:.2} times as long", time(*its))
            },
        );
        text.push_str(&format!(
            "  {what:<28} {n:>5}  {lines} lines (flat {flat_lines}), {tasks} tasks, {} ({} to {}); {next_to_flat}\n",
            time(*seconds),
            time(range[0]),
            time(range[1]),
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_code_are_counted_without_comments_and_tests() {
        let program = "//! What it is.\n\nfn main() {\n    // Why.\n    run();\n}\n\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!((lines(program), lines("")), (3, 0));
        let ours: Vec<_> = PROGRAMS[..2].iter().map(|program| lines(program.sources[0])).collect();
        assert!(ours.iter().all(|&count| (20..=40).contains(&count)), "{ours:?}");
    }
}
