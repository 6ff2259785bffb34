use warpweft::prelude::*;

#[wavefront(choice, sums)]
fn not_alone(h: Earlier<i32>, #[cell] cell: i32) -> u8 {
    u8::from(cell == h.w)
}

#[wavefront(choice)]
fn wide(h: Earlier<i32>, #[cell] cell: i32) -> i32 {
    i32::from(cell == h.w)
}

#[wavefront(choice)]
fn of_old(h: Earlier<i32>, old: Old<i32>, #[cell] cell: i32) -> u8 {
    u8::from(cell == h.w + old.here)
}

fn main() {}
