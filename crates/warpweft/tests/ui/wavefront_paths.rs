use warpweft::prelude::*;

#[wavefront(path = max)]
fn least(h: Earlier<i32>, #[row] a: u8) -> i32 {
    (h.n + a as i32).min(h.w)
}

#[wavefront(path = max)]
fn asked(h: Earlier<i32>) -> i32 {
    if h.n > h.w { h.n } else { h.w }
}

#[wavefront(path = min)]
fn both(h: Earlier<i32>) -> i32 {
    let n = h.n + 1;
    n + h.w
}

#[wavefront(path = max)]
fn far(h: Earlier<i32>) -> i32 {
    h[[-2, -2]].max(h.w)
}

#[wavefront(path = max)]
fn real(h: Earlier<f32>) -> f32 {
    h.n.max(h.w)
}

#[wavefront(path = max)]
fn hidden(h: Earlier<i32>, gap: i32) -> i32 {
    let north = h.n - gap;
    let gap = 2 * gap;
    north.max(h.w - gap)
}

#[wavefront(path = max)]
fn hidden_further(h: Earlier<i32>, g: i32) -> i32 {
    let a = h.n - g;
    let b = a.max(h.w);
    let g = 3;
    b.max(h.nw - g)
}

#[wavefront(path = max)]
fn changing(h: Earlier<i32>, gap: i32) -> i32 {
    let mut g = gap;
    let n = h.n - g;
    g = 2 * gap;
    n.max(h.w - g)
}

#[wavefront(path = max)]
fn otherwise(h: Earlier<i32>, #[row] a: u8, g: i32) -> i32 {
    let n = h.n - g;
    if let (1, g) = (a, 2 * g) { n.max(h.w - g) } else { n }
}

#[wavefront(path = max)]
fn early(h: Earlier<i32>, #[row] a: u8) -> i32 {
    if a == b'N' {
        return 0;
    }
    h.n.max(h.w)
}

#[wavefront(path = most)]
fn most(h: Earlier<i32>) -> i32 {
    h.n.max(h.w)
}

fn main() {}
