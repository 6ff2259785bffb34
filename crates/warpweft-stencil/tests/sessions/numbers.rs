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
