use warpweft::prelude::*;

#[wavefront]
fn later(h: Earlier<i32>) -> i32 {
    h.n + h[[0, 1]]
}

#[wavefront]
fn below(h: Earlier<i32>) -> i32 {
    let mut sum = h.w;
    for d in 0..2 {
        sum += h[[d, -1]];
    }
    sum
}

#[wavefront]
fn itself(h: Earlier<i32>) -> i32 {
    h[[0, 0]] + h.n
}

#[wavefront]
fn gone(h: Earlier<f32>, old: Old<f32>) -> f32 {
    h.n + old[[0, -1]]
}

#[wavefront]
fn unknown(h: Earlier<i32>) -> i32 {
    h.n + h.s
}

#[wavefront]
fn unknown_old(h: Earlier<i32>, old: Old<i32>) -> i32 {
    h.n + old.n
}

#[wavefront]
fn at_run_time(h: Earlier<i32>, far: isize) -> i32 {
    h.n + h[[-far, 0]]
}

#[wavefront]
fn three(h: Earlier<i32>) -> i32 {
    h[[-1, 0, 0]]
}

#[wavefront]
fn no_array(h: Earlier<i32>) -> i32 {
    const NORTH: [isize; 2] = [-1, 0];
    h[NORTH]
}

#[wavefront]
fn whole(h: Earlier<i32>) -> i32 {
    let copy = h;
    copy.n
}

#[wavefront]
fn hidden(h: Earlier<i32>) -> i32 {
    let n = h.n;
    let h = n;
    h
}

#[wavefront]
fn too_far(h: Earlier<i32>) -> i32 {
    h[[-5000, 0]]
}

#[wavefront]
fn too_many(h: Earlier<i32>) -> i32 {
    let mut sum = 0;
    for d in 1..=17 {
        sum += h[[0, -d]];
    }
    sum
}

fn main() {}
