//! Solutions of the n-queens problem by a recursion whose calls are spawned, on a GPU or on the cores: a complete program,
//! whose lines table 4 counts.

use warpweft::prelude::*;
use warpweft::report::Report;

/// Solutions below this row of the board.
#[spawning]
fn queens(all: u32, columns: u32, left: u32, right: u32) -> u64 {
    if columns == all {
        return 1;
    }
    let mut free = all & !(columns | left | right);
    let mut found = 0;
    while free != 0 {
        let square = free & free.wrapping_neg();
        free ^= square;
        found += spawn!(queens(all, columns | square, (left | square) << 1, (right | square) >> 1));
    }
    sync!();
    found
}

/// The solutions on a board of `n` columns, at most 32.
pub fn solutions(n: u32, machine: &Machine) -> Result<(u64, Report)> {
    let board = u32::MAX >> (32 - n);
    Channels::of(queens::call(board, 0, 0, 0)).levels(n + 1).run(machine)
}

fn main() -> Result<()> {
    let n = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(10);
    let (solutions, report) = solutions(n, &Machine::detect()?)?;
    println!("{solutions} solutions on a board of {n} columns\n{report}");
    Ok(())
}
