//! The paper's first program: short, and right.

use warpweft::machine::Machine;

#[path = "../../../../examples/fibonacci.rs"]
#[allow(dead_code)]
mod program;

#[test]
fn figure_6_is_forty_lines_and_counts_right() {
    let lines = include_str!("../../../../examples/fibonacci.rs").lines().count();
    assert!(lines <= 40, "{lines} lines");
    let machine = Machine { gpus: Vec::new(), ..Machine::detect().unwrap() };
    let (mut this, mut next) = (1, 1);
    for n in 1..=22 {
        assert_eq!(program::fibonacci(n, &machine).unwrap().0, this, "fib({n})");
        (this, next) = (next, this + next);
    }
}
