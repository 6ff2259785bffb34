//! What reductions come to, as values and as numbers of a session.

use super::*;

#[test]
fn reductions_are_those_of_the_exact_numbers() {
    // Multiples of 1/8 of which every sum of products is exact.
    let number = |n: usize| ((n * 7919) % 4001) as f64 / 8.0 - 250.0;
    let mut volume = Volume::from_fn([33, 47], |[y, x]| Cell {
        u: number(y * 47 + x),
        v: number(x * 33 + y),
        fixed: -(x as f32) / 4.0,
    });
    let (u, v) = (volume.field::<f64>("u").unwrap(), volume.field::<f64>("v").unwrap());
    let dot: f64 = u.iter().zip(v).map(|(u, v)| u * v).sum();
    let [sum, squares] = [u.iter().sum::<f64>(), u.iter().map(|u| u * u).sum::<f64>()];
    let least = u.iter().copied().fold(f64::INFINITY, f64::min);
    let machine = machine();
    let stencil = Stencil::of(spread(0.2));
    let mut on = stencil.on(&mut volume, &machine).unwrap();
    assert_eq!([on.sum("u").unwrap(), on.dot("u", "v").unwrap()], [sum, dot]);
    assert_eq!([on.norm("u").unwrap(), on.min(0).unwrap()], [squares.sqrt(), least]);
    assert_eq!([on.min("fixed").unwrap(), on.max("fixed").unwrap()], [-11.5, 0.0]);
    on.set([3, 4], Cell { u: f64::NAN, v: 0.0, fixed: 0.0 }).unwrap();
    assert!(on.sum("u").unwrap().is_nan() && on.max("u").unwrap().is_nan());
    let error = on.sum("w").unwrap_err().to_string();
    assert!(error.contains("help: there are 3 fields: u, v, fixed"), "{error}");
}

#[test]
fn numbers_on_cores_are_values() {
    let machine = machine();
    let (mut one, mut other) = (start(), start());
    let stencil = Stencil::of(spread(0.2));
    let mut on = stencil.on_with(&mut one, &machine, &on_the_cores()).unwrap();
    let sum = on.queue_sum("u").unwrap();
    assert_eq!(on.value(&(&sum - &sum)).unwrap(), 0.0);
    assert!(on.value(&(&sum / 0.0 * 0.0)).unwrap().is_nan());
    // On cores a number is a value, which any session may take.
    let mut second = stencil.on_with(&mut other, &machine, &on_the_cores()).unwrap();
    second.apply(scale::with(1.0 / sum)).unwrap();
    second.run(Steps(1)).unwrap();
}

#[test]
fn sums_of_integers_do_not_overflow() {
    #[stencil]
    fn keep(u: Near<i64, 1>) -> i64 {
        u[[0]]
    }
    let (mut line, machine) = (Volume::from_fn([1000], |_| i64::MAX), machine());
    let stencil = Stencil::of(keep());
    let mut on = stencil.on(&mut line, &machine).unwrap();
    assert_eq!(on.sum(0).unwrap(), 1000.0 * 2f64.powi(63));
    assert_eq!(on.dot(0, 0).unwrap(), 1000.0 * 2f64.powi(126));
}

/// Neither associative nor commutative.
#[reduction]
pub fn twisted(a: Cell, b: Cell, weight: f64) -> Cell {
    let fixed = if b.fixed > a.fixed { b.fixed } else { a.fixed * 0.75 };
    Cell { u: a.u * weight - b.u, v: a.v + b.v / 3.0, fixed }
}

/// All cells by the tree: neighbours in pairs, until one is left.
pub fn by_pairs(volume: &Volume<Cell, 2>, weight: f64) -> Cell {
    let [rows, columns] = volume.extents();
    let at = |n: usize| volume.get([n / columns, n % columns]).unwrap();
    let mut cells: Vec<_> = (0..rows * columns).map(at).collect();
    while cells.len() > 1 {
        let one = |some: &[Cell]| match *some {
            [a, b] => twisted::cell(a, b, weight),
            _ => some[0],
        };
        cells = cells.chunks(2).map(one).collect();
    }
    cells[0]
}

#[test]
fn a_users_function_reduces_in_one_order_on_any_threads() {
    let machine = machine();
    let mut volume = Volume::from_fn([130, 77], |[y, x]| Cell {
        u: ((y * 31 + x * 17) % 29) as f64 / 7.0,
        v: (y as f64 - x as f64) / 11.0,
        fixed: ((y * x) % 13) as f32,
    });
    let expect = by_pairs(&volume, 0.5);
    for threads in 1..4 {
        let run = Run { threads: Some(threads), ..on_the_cores() };
        let stencil = Stencil::of(spread(0.2));
        let mut on = stencil.on_with(&mut volume, &machine, &run).unwrap();
        assert_eq!(on.fold(twisted(0.5)).unwrap(), expect, "{threads}");
        let number = on.queue_fold(twisted(0.5), "fixed").unwrap();
        assert_eq!(on.value(&number).unwrap(), f64::from(expect.fixed), "{threads}");
    }
    #[reduction]
    fn quotient(a: Cell, b: Cell) -> Cell {
        Cell { fixed: (a.fixed as i32 / (b.fixed as i32)) as f32, ..a }
    }
    let mut on = Stencil::of(spread(0.2)).on_with(&mut volume, &machine, &on_the_cores()).unwrap();
    let error = on.queue_fold(twisted(0.5), "w").unwrap_err().to_string();
    assert!(error.contains("help: there are 3 fields: u, v, fixed"), "{error}");
    let error = on.fold(quotient()).unwrap_err().to_string();
    assert!(error.contains("`quotient`") && error.contains("divide by zero"), "{error}");
}
