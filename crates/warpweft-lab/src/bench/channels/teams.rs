//! Programs of teams of lanes on the first GPU: sorts by two algorithms, and Strassen's product.

use serde::Serialize;
use warpweft::channels::{Policy, Run, StacksPolicy};
use warpweft::machine::Machine;
use warpweft::memory::filled;
use warpweft::prelude::*;
use warpweft::report::Report;
use warpweft::run::Target;
use warpweft_apps::sort_radix::{self, Digits, table_words};
use warpweft_apps::sort_teams::team_sort;
use warpweft_apps::strassen::{difference, signs_of_rows};
use warpweft_apps::strassen_teams::{multiplied, rows};
use warpweft_terminal::output::{note, time};

/// How many keys.
const KEYS: [usize; 3] = [1_000_000, 10_000_000, 100_000_000];
/// Keys from which on fewer cases are measured.
const LARGE: usize = 1 << 25;
/// Rows of matrices, and of the largest leaves.
const MATRICES: [(usize, usize); 3] = [(4096, 4096), (8192, 8192), (8192, 4096)];
/// Warps of an SM; 0 is what the program takes by itself.
const WARPS: [u32; 3] = [0, 16, 32];
/// Vectors by which a product is checked.
const TRIES: u64 = 4;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
pub enum What {
    /// Sorts.
    Sorts,
    /// Products of matrices.
    Products,
    /// Both.
    Both,
}

impl What {
    /// As an argument, after a space.
    pub fn said(self) -> &'static str {
        match self {
            Self::Sorts => " sorts",
            Self::Products => " products",
            Self::Both => "",
        }
    }
}

/// An order in which keys are before: its name, and the key at a place of so many.
type Order = (&'static str, fn(u32, usize) -> u32);

const ORDERS: [Order; 4] = [
    ("random", |k, _| scrambled(k)),
    ("sorted", |k, _| k),
    ("reversed", |k, count| count as u32 - k),
    ("equal", |_, _| 7),
];

/// One program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    what: String,
    /// Keys, or rows of a matrix.
    n: usize,
    /// The most warps of an SM, where they were given.
    warps: Option<u32>,
    /// On the device, without copies: the median, the fastest and the slowest.
    seconds: f64,
    range: [f64; 2],
}

/// One to one on numbers of 32 bits: the finaliser of MurmurHash3 (Appleby).
pub fn scrambled(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

/// Where programs run, and how often.
struct Bench<'m> {
    machine: &'m Machine,
    target: Target,
    repeats: u32,
}

/// Those that `what` says.
///
/// Hands `so_far` what is measured, since all of it takes minutes.
///
/// # Errors
/// No GPU; as a run; a wrong result; those of `so_far`.
pub fn measure(
    what: What,
    machine: &Machine,
    repeats: u32,
    so_far: impl Fn(&[Row]) -> Result<()>,
) -> Result<Vec<Row>> {
    let Some(gpu) = machine.gpus.first() else {
        return Err(Error::spec("--teams where there is no GPU", "see `warpweft info`"));
    };
    let bench = Bench { machine, target: Target::Gpu(gpu.ordinal), repeats };
    let mut found = Vec::new();
    let (sorts, products) = (what != What::Products, what != What::Sorts);
    for count in KEYS.into_iter().filter(|_| sorts) {
        // Copies of the largest take longer than sorting them.
        let orders = if count < LARGE { &ORDERS[..] } else { &ORDERS[..2] };
        for &order in orders {
            found.extend(bench.words(count, order)?);
        }
        found.extend(bench.pairs(count)?);
        so_far(&found)?;
    }
    for (n, leaf) in MATRICES.into_iter().filter(|_| products) {
        found.push(bench.product(n, leaf)?);
        so_far(&found)?;
    }
    Ok(found)
}

impl Bench<'_> {
    fn run(&self, warps: u32) -> Run<'static> {
        let policy = StacksPolicy { warps, ..StacksPolicy::default() };
        let policy = (warps > 0).then_some(Policy::Stacks(policy));
        Run { target: self.target, policy, ..Run::default() }
    }

    fn words(&self, count: usize, (order, key): Order) -> Result<Vec<Row>> {
        let keys: Vec<u32> = filled((0..count).map(|k| key(k as u32, count)), "sort fewer")?;
        let merged = |check| merged(&keys, self.machine, &self.run(0), check);
        let mut found = vec![self.row(format!("mergesort, u32, {order}"), (count, 0), merged)?];
        let all = order == "random" && count < LARGE;
        let warps = if all { &WARPS[..] } else { &WARPS[..1] };
        for &warps in warps {
            let what = format!("radix sort, u32, {order}");
            let run = |check| by_digits(&keys, self.machine, &self.run(warps), check);
            found.push(self.row(what, (count, warps), run)?);
        }
        Ok(found)
    }

    fn pairs(&self, count: usize) -> Result<[Row; 2]> {
        let pairs = (0..count).map(|k| u64::from(scrambled(k as u32)) << 32 | k as u64);
        let pairs: Vec<u64> = filled(pairs, "sort fewer")?;
        let merged = |check| merged(&pairs, self.machine, &self.run(0), check);
        let by_digits = |check| by_digits(&pairs, self.machine, &self.run(0), check);
        Ok([
            self.row("mergesort, u64, random".into(), (count, 0), merged)?,
            self.row("radix sort, u64, random".into(), (count, 0), by_digits)?,
        ])
    }

    fn product(&self, n: usize, leaf: usize) -> Result<Row> {
        let of = |seed| signs_of_rows::<f32>(n, rows(n), seed);
        let (a, b) = (of(1)?, of(2)?);
        let product = |check: bool| {
            let (c, report) = multiplied([&a, &b], leaf, self.machine, &self.run(0))?;
            match !check || difference([&a, &b, &c], TRIES) == 0.0 {
                true => Ok(report),
                false => Err(Error::spec("a wrong product", "report this as a bug")),
            }
        };
        let by = if leaf < n { "Strassen's product" } else { "product of blocks" };
        self.row(format!("{by}, f32, leaves of {leaf}"), (n, 0), product)
    }

    /// The median of the repeats, after one that compiles and is checked.
    fn row(
        &self,
        what: String,
        (n, warps): (usize, u32),
        run: impl Fn(bool) -> Result<Report>,
    ) -> Result<Row> {
        run(true)?;
        let seconds = (0..self.repeats).map(|_| Ok(run(false)?.seconds));
        let mut seconds = seconds.collect::<Result<Vec<_>>>()?;
        seconds.sort_by(f64::total_cmp);
        let range = [seconds[0], seconds[seconds.len() - 1]];
        let warps = (warps > 0).then_some(warps);
        let row = Row { what, n, warps, seconds: seconds[seconds.len() / 2], range };
        note(row.text().trim());
        Ok(row)
    }
}

fn merged<T: Scalar + warpweft::element::Word + Ord + Into<u64>>(
    keys: &[T],
    machine: &Machine,
    run: &Run<'_>,
    check: bool,
) -> Result<Report> {
    let (mut sorted, mut other) = (keys.to_vec(), vec![T::default(); keys.len()]);
    let calls = Channels::of(team_sort::call(&mut sorted, &mut other, false));
    let (_, report) = calls.run_borrowing(machine, run)?;
    checked((keys, &sorted), report, check)
}

fn by_digits<T: Digits + Copy + Default + Ord + Into<u64>>(
    keys: &[T],
    machine: &Machine,
    run: &Run<'_>,
    check: bool,
) -> Result<Report> {
    let (mut sorted, mut other) = (keys.to_vec(), vec![T::default(); keys.len()]);
    let mut table = vec![0; table_words(keys.len(), T::BITS)];
    let report = sort_radix::sorted(&mut sorted, &mut other, &mut table, machine, run)?;
    checked((keys, &sorted), report, check)
}

/// The report, if the sorted keys are in order and are those that there were: as many, of the same sum of hashes.
fn checked<T: Ord + Copy + Into<u64>>(
    (keys, sorted): (&[T], &[T]),
    report: Report,
    check: bool,
) -> Result<Report> {
    let hash = |key: u64| (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let hash = |&key: &T| hash(hash(key.into()));
    let sum = |keys: &[T]| keys.iter().map(hash).fold(0, u64::wrapping_add);
    let is_right = || sorted.is_sorted() && keys.len() == sorted.len() && sum(keys) == sum(sorted);
    if check && !is_right() {
        return Err(Error::spec("keys that are not sorted", "report this as a bug"));
    }
    Ok(report)
}

impl Row {
    fn text(&self) -> String {
        let Self { what, n, warps, seconds, range } = self;
        let warps = warps.map_or_else(String::new, |warps| format!(", {warps} warps per SM"));
        let what = format!("{what}{warps}");
        let [seconds, least, most] = [*seconds, range[0], range[1]].map(time);
        format!("  {what:<44} {n:>11} {seconds:>9} ({least} to {most})\n")
    }
}

/// A line a row.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::from("Programs of teams of lanes, one GPU, without copies\n");
    rows.iter().for_each(|row| text.push_str(&row.text()));
    text
}
