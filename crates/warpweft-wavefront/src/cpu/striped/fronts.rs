//! The loop over vectors of lanes in striped order, four fronts at once.
//!
//! As in `front`, every array is an argument of a function that is never inlined. The loop over the elements of a vector
//! holds all of the work, in arrays of a vector's length: the compiler makes one vector of each, in a register.

use super::FRONTS;
use crate::cpu::form::Form;
use crate::cpu::front::Track;
use crate::cpu::given::Given;
use crate::cpu::parts::{GROUP, Vectors};
use crate::recurrence::{MOST_PARTS, Parts, WavefrontElement};

/// What the fronts overwrite, and what they read next to that, vector by vector.
pub(in crate::cpu) struct Striped<'l, E: WavefrontElement, F: Form<E>, G: Given<E, F>> {
    pub form: F,
    pub last: Vectors<'l, F::Held>,
    pub before: Vectors<'l, F::Held>,
    pub winning: &'l mut [[F::Score; GROUP]],
    pub rows: &'l [[G::Row; GROUP]],
    /// From the vector that the first lanes read in the last front; where they don't slide, in the first.
    pub columns: &'l [[G::Column; GROUP]],
}

/// The cells above lane 0, from the column before the first front on, and room for those of the last lane.
pub(in crate::cpu) struct Lines<'l, H> {
    pub above: &'l [H],
    pub bottom: &'l mut [H],
}

/// A vector of cells, part by part.
struct Group<H: Parts>([H::Part; GROUP], [H::Part; GROUP], [H::Part; GROUP], [H::Part; GROUP]);

impl<H: Parts> Group<H> {
    #[inline(always)]
    fn new() -> Self {
        let none = [H::Part::default(); GROUP];
        Self(none, none, none, none)
    }

    /// Vector `v` of `arrays`.
    #[inline(always)]
    fn of([a, b, c, d]: &Vectors<'_, H>, v: usize) -> Self {
        let none = [H::Part::default(); GROUP];
        let second = if const { H::PARTS > 1 } { b[v] } else { none };
        let third = if const { H::PARTS > 2 } { c[v] } else { none };
        let fourth = if const { H::PARTS > 3 } { d[v] } else { none };
        Self(a[v], second, third, fourth)
    }

    #[inline(always)]
    fn at(&self, k: usize) -> H {
        H::of(|part| match part {
            0 => self.0[k],
            1 => self.1[k],
            2 => self.2[k],
            _ => self.3[k],
        })
    }

    #[inline(always)]
    fn set(&mut self, k: usize, cell: H) {
        self.0[k] = cell.part(0);
        if const { H::PARTS > 1 } {
            self.1[k] = cell.part(1);
        }
        if const { H::PARTS > 2 } {
            self.2[k] = cell.part(2);
        }
        if const { H::PARTS > 3 } {
            self.3[k] = cell.part(3);
        }
    }

    /// The cells of the lanes one further on, of which the first is `first`.
    #[inline(always)]
    fn moved(&self, first: H) -> Self {
        let mut moved = Self::new();
        moved.0 = one_on(&self.0);
        if const { H::PARTS > 1 } {
            moved.1 = one_on(&self.1);
        }
        if const { H::PARTS > 2 } {
            moved.2 = one_on(&self.2);
        }
        if const { H::PARTS > 3 } {
            moved.3 = one_on(&self.3);
        }
        moved.set(0, first);
        moved
    }
}

/// Each element one further on.
#[inline(always)]
fn one_on<P: Copy + Default>(from: &[P; GROUP]) -> [P; GROUP] {
    let mut to = [P::default(); GROUP];
    to[1..].copy_from_slice(&from[..GROUP - 1]);
    to
}

/// A vector of each array; those beyond the parts stand for nothing.
type Vector<'l, H> = [&'l mut [<H as Parts>::Part; GROUP]; MOST_PARTS];
/// The same, only read.
type Read<'l, H> = [&'l [<H as Parts>::Part; GROUP]; MOST_PARTS];

/// Vector `v` of `arrays`, taken before the loop over its elements: the compiler makes no vectors where an array is
/// indexed twice in there. `none` stands for what lies beyond the parts.
#[inline(always)]
fn vector<'l, H: Parts>(
    [a, b, c, d]: &'l mut Vectors<'_, H>,
    v: usize,
    [second, third, fourth]: &'l mut [[H::Part; GROUP]; MOST_PARTS - 1],
) -> Vector<'l, H> {
    [
        &mut a[v],
        if const { H::PARTS > 1 } { &mut b[v] } else { second },
        if const { H::PARTS > 2 } { &mut c[v] } else { third },
        if const { H::PARTS > 3 } { &mut d[v] } else { fourth },
    ]
}

/// The same to be read; the first part stands for what lies beyond the parts.
#[inline(always)]
fn read<'l, H: Parts>([a, b, c, d]: &'l Vectors<'_, H>, v: usize) -> Read<'l, H> {
    let a = &a[v];
    [
        a,
        if const { H::PARTS > 1 } { &b[v] } else { a },
        if const { H::PARTS > 2 } { &c[v] } else { a },
        if const { H::PARTS > 3 } { &d[v] } else { a },
    ]
}

/// The cell in element `k`.
#[inline(always)]
fn cell<H: Parts>([a, b, c, d]: &Vector<'_, H>, k: usize) -> H {
    H::of(|part| match part {
        0 => a[k],
        1 => b[k],
        2 => c[k],
        _ => d[k],
    })
}

/// The same of a vector that is only read.
#[inline(always)]
fn seen<H: Parts>([a, b, c, d]: &Read<'_, H>, k: usize) -> H {
    H::of(|part| match part {
        0 => a[k],
        1 => b[k],
        2 => c[k],
        _ => d[k],
    })
}

/// Replaces it.
#[inline(always)]
fn put<H: Parts>([a, b, c, d]: &mut Vector<'_, H>, k: usize, cell: H) {
    a[k] = cell.part(0);
    if const { H::PARTS > 1 } {
        b[k] = cell.part(1);
    }
    if const { H::PARTS > 2 } {
        c[k] = cell.part(2);
    }
    if const { H::PARTS > 3 } {
        d[k] = cell.part(3);
    }
}

/// Cuts arrays to `count` vectors, so that the compiler knows their lengths.
#[inline(always)]
fn cut<H: Parts>([a, b, c, d]: Vectors<'_, H>, count: usize) -> Vectors<'_, H> {
    let of = |k: usize| if k < H::PARTS { count } else { 0 };
    [&mut a[..of(0)], &mut b[..of(1)], &mut c[..of(2)], &mut d[..of(3)]]
}

/// The cells of as many fronts as there are cells of the last lane wanted, a multiple of four, in all lanes. With `WIDE` a
/// vector is one register and there are 32: then the last vector stays in registers from quad to quad, and is not
/// waited for in memory.
#[inline(always)]
pub(in crate::cpu) fn quads<E, F, G, T, const WIDE: bool>(
    Striped { form, last, before, winning, rows, columns }: Striped<'_, E, F, G>,
    Lines { above, bottom }: Lines<'_, F::Held>,
) where
    E: WavefrontElement,
    F: Form<E>,
    G: Given<E, F>,
    T: Track,
{
    let count = last[0].len();
    let fronts = bottom.len();
    let wanted = if G::SLIDES { count + fronts - 1 } else { count * fronts };
    assert!(count >= super::LEAST && above.len() > fronts && columns.len() >= wanted);
    let (mut last, mut before) = (cut::<F::Held>(last, count), cut::<F::Held>(before, count));
    let (winning, rows) = (&mut winning[..count], &rows[..count]);
    let (mut older, mut old) = (Group::of(&before, count - 1), Group::of(&last, count - 1));
    for (quad, bottom) in bottom.as_chunks_mut::<FRONTS>().0.iter_mut().enumerate() {
        // A front later, each lane reads the column after.
        let of = |front: usize| match G::SLIDES {
            true => &columns[fronts - 1 - FRONTS * quad - front..][..count],
            false => &columns[(FRONTS * quad + front) * count..][..count],
        };
        let (b0, b1, b2, b3) = (of(0), of(1), of(2), of(3));
        let above = &above[FRONTS * quad..][..FRONTS + 1];
        let (was_older, was_old, of_0, of_1, of_2) =
            ahead::<E, F, G>(form, &last, &before, rows, [b0, b1, b2]);
        if !WIDE {
            (older, old) = (was_older, was_old);
        }
        let mut n0 = older.moved(above[0]);
        let mut n1 = old.moved(above[1]);
        let mut n2 = of_0.moved(above[2]);
        let mut n3 = of_1.moved(above[3]);
        let mut n4 = of_2.moved(above[4]);
        let mut n5 = Group::new();
        let none = [<F::Held as Parts>::Part::default(); GROUP];
        let (mut beyond, mut beyond_too) = ([none; MOST_PARTS - 1], [none; MOST_PARTS - 1]);
        for v in 0..count {
            let (a, b0, b1, b2, b3) = (&rows[v], &b0[v], &b1[v], &b2[v], &b3[v]);
            let winning = &mut winning[v];
            let mut last = vector::<F::Held>(&mut last, v, &mut beyond);
            let mut before = vector::<F::Held>(&mut before, v, &mut beyond_too);
            for k in 0..GROUP {
                let (w, ww) = (cell::<F::Held>(&last, k), cell::<F::Held>(&before, k));
                let [c0, c1] = [n1.at(k), n2.at(k)];
                let x0 = G::next(form, [n0.at(k), c0, w], a[k], b0[k], G::Input::default());
                let x1 = G::next(form, [c0, c1, x0], a[k], b1[k], G::Input::default());
                let c2 = n3.at(k);
                let x2 = G::next(form, [c1, c2, x1], a[k], b2[k], G::Input::default());
                let x3 = G::next(form, [c2, n4.at(k), x2], a[k], b3[k], G::Input::default());
                n0.set(k, ww);
                n1.set(k, w);
                n2.set(k, x0);
                n3.set(k, x1);
                n4.set(k, x2);
                if WIDE {
                    n5.set(k, x3);
                }
                put(&mut before, k, x2);
                put(&mut last, k, x3);
                if let Some(extreme) = T::EXTREME {
                    let better = |a, b| if extreme.better(b, a) { b } else { a };
                    let [s0, s1, s2, s3] = [x0, x1, x2, x3].map(F::score);
                    winning[k] = better(winning[k], better(better(s0, s1), better(s2, s3)));
                }
            }
        }
        let (z, end) = (count - 1, GROUP - 1);
        let latest = if WIDE { n5.at(end) } else { F::Held::of(|part| last[part][z][end]) };
        *bottom = [n2.at(end), n3.at(end), n4.at(end), latest];
        (older, old) = (n4, n5);
    }
}

/// A tuple: of an array of vectors the compiler makes none.
type Five<T> = (T, T, T, T, T);

/// The last vector's cells of the two fronts before and of the first three, which the first vector's lanes are next to:
/// they depend on the three vectors before it.
#[inline(always)]
fn ahead<E: WavefrontElement, F: Form<E>, G: Given<E, F>>(
    form: F,
    last: &Vectors<'_, F::Held>,
    before: &Vectors<'_, F::Held>,
    rows: &[[G::Row; GROUP]],
    [b0, b1, b2]: [&[[G::Column; GROUP]]; 3],
) -> Five<Group<F::Held>> {
    let (mut older, mut old) = (Group::new(), Group::new());
    let (mut of_0, mut of_1, mut of_2) = (Group::new(), Group::new(), Group::new());
    let z = rows.len() - 1;
    let (y, x, u) = (z - 1, z - 2, z - 3);
    let (lu, lx) = (read::<F::Held>(last, u), read::<F::Held>(last, x));
    let (ly, lz) = (read::<F::Held>(last, y), read::<F::Held>(last, z));
    let (bu, bx) = (read::<F::Held>(before, u), read::<F::Held>(before, x));
    let (by, bz) = (read::<F::Held>(before, y), read::<F::Held>(before, z));
    let (ax, ay, az) = (&rows[x], &rows[y], &rows[z]);
    let (b0x, b0y, b0z, b1y, b1z, b2z) = (&b0[x], &b0[y], &b0[z], &b1[y], &b1[z], &b2[z]);
    for k in 0..GROUP {
        let (wu, wx) = (seen::<F::Held>(&lu, k), seen::<F::Held>(&lx, k));
        let (wy, wz) = (seen::<F::Held>(&ly, k), seen::<F::Held>(&lz, k));
        let (vu, vx) = (seen::<F::Held>(&bu, k), seen::<F::Held>(&bx, k));
        let vy = seen::<F::Held>(&by, k);
        let x0 = G::next(form, [vu, wu, wx], ax[k], b0x[k], G::Input::default());
        let y0 = G::next(form, [vx, wx, wy], ay[k], b0y[k], G::Input::default());
        let z0 = G::next(form, [vy, wy, wz], az[k], b0z[k], G::Input::default());
        let y1 = G::next(form, [wx, x0, y0], ay[k], b1y[k], G::Input::default());
        let z1 = G::next(form, [wy, y0, z0], az[k], b1z[k], G::Input::default());
        older.set(k, seen::<F::Held>(&bz, k));
        old.set(k, wz);
        of_0.set(k, z0);
        of_1.set(k, z1);
        of_2.set(k, G::next(form, [y0, y1, z1], az[k], b2z[k], G::Input::default()));
    }
    (older, old, of_0, of_1, of_2)
}
