use warpweft::prelude::*;

#[device]
fn no_value(a: i32) -> i32 {
    let x;
    x = a;
    x
}

#[device]
fn let_else(a: i32) -> i32 {
    let 1 = a else { return 2 };
    3
}

#[device]
fn inner_function(a: i32) -> i32 {
    fn inner(a: i32) -> i32 {
        a
    }
    inner(a)
}

#[device]
fn inner_use(a: f32) -> f32 {
    use std::f32::consts::PI;
    a * PI
}

#[device]
fn labelled_block(a: i32) -> i32 {
    'out: {
        if a > 0 {
            break 'out 1;
        }
        2
    }
}

#[device]
fn while_let(a: i32) -> i32 {
    while let 1 = a {}
    a
}

#[device]
fn over_items(a: [f32; 3]) -> f32 {
    let mut sum = 0.0;
    for x in a {
        sum += x;
    }
    sum
}

#[device]
fn mutable_variable(n: i32) -> i32 {
    for mut i in 0..n {
        i += 1;
    }
    n
}

#[device]
fn pair_variable(n: i32) -> i32 {
    for (a, b) in 0..n {}
    n
}

#[device]
fn two_steps(n: i32) -> i32 {
    for i in (0..n).step_by(2).step_by(3) {}
    for i in (0..n).step_by(2).rev() {}
    n
}

fn main() {}
