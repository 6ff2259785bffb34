use warpweft::prelude::*;

#[spawning]
fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let a = spawn!(fib(n - 1));
    let b = spawn!(fib(n - 2));
    a + b
}

#[spawning]
fn inside(n: u32) -> u64 {
    let sum = 1 + spawn!(fib(n));
    sync!();
    sum
}

#[spawning]
fn valued(n: u32) -> u64 {
    let x = if n > 2 { spawn!(fib(n)) } else { 0 };
    sync!();
    x
}

#[spawning]
fn nested(n: u32) -> u64 {
    if n > 2 {
        let a = spawn!(fib(n));
        sync!();
        return a;
    }
    0
}

#[spawning]
fn in_a_block(n: u32) -> u64 {
    let mut a = 0;
    for k in 0..n {
        a += spawn!(fib(k));
        sync!();
    }
    a
}

#[spawning]
fn in_a_branch(n: u32) -> u64 {
    if n > 2 {
        let mut a = 0u64;
        a += spawn!(fib(n));
    }
    sync!();
    0
}

#[spawning]
fn twice(n: u32) -> u64 {
    let mut a = 0u64;
    a += spawn!(fib(n));
    a |= spawn!(fib(n + 1));
    sync!();
    a
}

#[spawning]
fn in_every_iteration(n: u32) -> u64 {
    let mut a = 0u64;
    while a < 9 {
        a += spawn!(fib(n));
    }
    sync!();
    a
}

#[spawning]
fn passed_on(n: u32) -> u64 {
    let a = spawn!(fib(n));
    let b = spawn!(fib(a as u32));
    sync!();
    b
}

#[spawning]
fn hidden(n: u32) -> u64 {
    let a = spawn!(fib(n));
    let a = n as u64;
    sync!();
    a + 1
}

#[spawning]
fn itself(n: u32) -> u32 {
    if n == 0 { 0 } else { itself(n - 1) }
}

#[spawning]
fn of_references(n: &u32) -> u32 {
    *n
}

#[spawning]
fn of_many((a, b): (u32, u32)) -> u32 {
    a + b
}

#[spawning]
fn taken_apart(n: u32) -> u64 {
    let (a, b) = spawn!(pair(n));
    sync!();
    a + b
}

#[spawning]
fn pair(n: u32) -> (u64, u64) {
    (n as u64, 1)
}

#[spawning]
fn no_call(n: u32) -> u32 {
    let a = spawn!(n + 1);
    sync!();
    a
}

#[spawning]
fn into_a_member(n: u32) -> u64 {
    let mut list = [0u64; 2];
    list[1] = spawn!(fib(n));
    sync!();
    list[1]
}

#[spawning]
fn by_pattern(n: u32) -> u64 {
    let mut a = 0;
    if let 0..=3 = n {
        a += spawn!(fib(n));
    }
    sync!();
    a
}

#[spawning(levels = 3)]
fn with_arguments(n: u32) -> u32 {
    n
}

#[spawning]
fn of_a_slice(keys: &mut [u32]) -> u32 {
    keys.sort();
    keys[0..=1][0]
}

#[spawning(cores)]
fn unsynced(keys: &mut [u32]) -> usize {
    let (low, high) = keys.split_at_mut(1);
    let a = spawn!(unsynced(low));
    let b = spawn!(unsynced(high));
    a + b
}

#[spawning(cores)]
fn first_of(keys: &[u32]) -> &u32 {
    &keys[0]
}

#[spawning(team)]
fn without_team(keys: &mut [u32]) {
    keys[0] = 1;
}

#[spawning(team)]
fn a_team_that_spawns(team: &warpweft::channels::Team, n: u32) -> usize {
    spawn!(fib(n));
    team.lane()
}

#[spawning(team)]
fn a_team_as_a_value(team: &warpweft::channels::Team) -> usize {
    let same = team;
    same.lane()
}

fn main() {}
