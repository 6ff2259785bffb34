use warpweft::prelude::*;

fn plain(a: f32) -> f32 {
    a
}

#[device]
fn calls_plain(a: f32) -> f32 {
    plain(a) + 1.0
}

mod further {
    pub fn out(a: f32) -> f32 {
        a
    }
}

#[stencil]
fn calls_by_path(u: Near<f32, 1>) -> f32 {
    plain(u[[0]]) + further::out(u[[1]])
}

fn inner() {
    /// Its attributes are none of ours.
    #[inline]
    fn beside(a: f32) -> f32 {
        a
    }

    #[device]
    fn calls_beside(a: f32) -> f32 {
        beside(a)
    }
}

#[spawning]
fn spawns_plain(n: u32) -> u32 {
    let a = spawn!(whole(n));
    sync!();
    a
}

fn whole(n: u32) -> u32 {
    n
}

fn main() {
    let stencil = Stencil::of(calls_by_path());
}
