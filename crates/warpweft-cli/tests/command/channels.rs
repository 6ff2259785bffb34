//! `warpweft channels`: known numbers, whatever the threads, and what can't be asked for.

use crate::warpweft;

#[test]
fn fibonacci_numbers_and_their_calls() {
    for (n, value, calls) in [(0, 0u64, 1u64), (1, 1, 1), (2, 1, 3), (24, 46_368, 150_049)] {
        for threads in ["", "--threads 1", "--threads 5"] {
            let line = format!("channels fib {n} --device cpu --json {threads}");
            let object = warpweft(&line).json();
            assert_eq!((&object["app"], &object["pattern"]), (&"fib".into(), &"channels".into()));
            assert_eq!(object["result"]["value"], value);
            assert_eq!(object["result"]["calls"], calls);
            assert_eq!(object["check"]["passed"], true);
        }
    }
    let said = warpweft("channels fib 20 --device cpu").fine();
    for part in ["fib: F(20)", "value 6765", "calls 21891", "calls/s", "against the doubling"] {
        assert!(said.contains(part), "{part} in {said}");
    }
}

#[test]
fn queens_on_boards_that_others_counted() {
    for (n, solutions) in [(1, 1), (2, 0), (8, 92), (10, 724)] {
        let object = warpweft(&format!("channels queens {n} --device cpu --json")).json();
        assert_eq!(object["result"]["solutions"], solutions);
        assert_eq!(object["check"]["passed"], true);
    }
}

#[test]
fn what_can_not_be_asked_for() {
    for (line, expect) in [
        ("channels fib 94", ["fib(94) exceeds 64 bits", "take 93 at most"]),
        ("channels fib -1", ["'-1'", "0..=4294967295"]),
        ("channels fib", ["<N>", "required"]),
        ("channels queens 0", ["a board of 0 columns", "take 1 to 32 columns"]),
        ("channels queens 33", ["a board of 33 columns", "take 1 to 32 columns"]),
        ("channels fib 20 --levels 0", ["0 levels of calls", "take 1 to 4000"]),
        ("channels fib 20 --levels 5000", ["5000 levels of calls", "take 1 to 4000"]),
        ("channels fib 20 --threads 0", ["--threads", "at least 1"]),
        ("channels fib 20 --threads 5000", ["--threads", "at most 4096"]),
        ("channels fib 20 --device tpu", ["no device 'tpu'", "cpu, gpu"]),
        (
            "channels fib 20 --device cpu --levels 12",
            ["`fib` spawned deeper than 12 levels", "`levels`"],
        ),
    ] {
        warpweft(line).fails(2, &expect);
    }
}
