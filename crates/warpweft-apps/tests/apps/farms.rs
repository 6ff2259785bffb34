//! The farms of functions with `#[task]`: exact answers, and plain loops.

use warpweft::cuda::compiler;
use warpweft::farm::{Inputs, Run, Target, compile_check};
use warpweft::prelude::*;
use warpweft_apps::mandelbrot::{Mandelbrot, tile};
use warpweft_apps::pricing::{Contract, Price, compared, contract, price};

fn on_cores<T: Task>(task: T, inputs: Inputs<'_, T::Input>) -> Vec<T::Output> {
    let run = Run { target: Target::Cpu, threads: Some(2), ..Run::default() };
    let (outputs, _) = Farm::of(task).run_with(inputs, &Machine::detect().unwrap(), &run).unwrap();
    outputs.into_iter().map(Option::unwrap).collect()
}

#[test]
fn the_mandelbrot_set_is_that_of_complex_numbers_mirrored_and_of_its_area() {
    // Pixels 1/32 apart: coordinates are exact, so both halves have the same ones.
    let width = 131.0 / 32.0;
    let spec = Mandelbrot { size: [131, 91], centre: [-0.625, 0.0], width, limit: 700 };
    spec.check().unwrap();
    let tiles = on_cores(spec.task(), (0..spec.tiles()).into());
    let mut inside = 0;
    for row in 0..91 {
        for column in 0..131 {
            let count = spec.count(&tiles, column, row);
            assert_eq!(u32::from(count), spec.plain(column, row), "{column}, {row}");
            assert_eq!(count, spec.count(&tiles, column, 90 - row), "{column}, {row} mirrored");
            inside += u32::from(u32::from(count) == spec.limit);
        }
    }
    // The middle of the main cardioid never leaves; a corner of the picture does at once.
    assert_eq!((spec.plain(70, 45), spec.plain(0, 0)), (700, 1));
    let area = f64::from(inside) / 1024.0;
    // 1.5066 (Ewing and Schober 1992), a little more with so few iterations and coarse pixels.
    assert!((area - 1.52).abs() < 0.06, "{area}");
}

#[test]
fn what_is_no_picture() {
    let spec = Mandelbrot { size: [8, 8], centre: [0.0, 0.0], width: 4.0, limit: 10 };
    for (spec, expect) in [
        (Mandelbrot { size: [0, 8], ..spec }, "0 x 8 pixels"),
        (Mandelbrot { limit: 70_000, ..spec }, "70000 iterations"),
        (Mandelbrot { width: f64::NAN, ..spec }, "NaN wide"),
        (Mandelbrot { width: 1e-17, centre: [-0.75, 0.0], ..spec }, "64-bit floats"),
    ] {
        let refusal = spec.check().unwrap_err().to_string();
        assert!(refusal.contains(expect), "{refusal}");
    }
}

/// An example of Hull, "Options, futures and other derivatives", whose price is 4.76.
const HULL: Contract =
    Contract { spot: 42.0, strike: 40.0, rate: 0.1, volatility: 0.2, years: 0.5, seed: 7 };

#[test]
fn prices_are_those_of_black_and_scholes_within_their_errors() {
    assert!((HULL.closed_form() - 4.759_422).abs() < 1e-6, "{}", HULL.closed_form());
    let Price { mean, error } = price::task(HULL, 400_000);
    assert!((mean - HULL.closed_form()).abs() < 4.0 * error && error < 0.01, "{mean} {error}");
    // The closed form of the error is that of so many paths.
    assert!((error * 400_000f64.sqrt() / HULL.deviation() - 1.0).abs() < 0.01, "{error}");
    // Without uncertainty nearly the discounted gain; an option of no strike is the share.
    let sure = Contract { volatility: 1e-9, ..HULL };
    assert!((sure.closed_form() - (42.0 - 40.0 * (-0.05f64).exp())).abs() < 1e-9);
    let share = Contract { strike: 1e-9, ..HULL };
    assert!((price::task(share, 100_000).mean - 42.0).abs() < 0.2);
    let prices = on_cores(price(2000), Inputs::by(300, contract));
    let found = compared((0..300).map(contract).zip(prices.iter().copied()), 2000);
    assert!(found.difference < 4.0 * found.error, "{found:?}");
    assert!((0.90..=0.99).contains(&found.within_two) && found.worst < 6.0, "{found:?}");
    // A wrong price is found.
    let wrong = prices.iter().map(|price| Price { mean: 1.02 * price.mean, ..*price });
    let found = compared((0..300).map(contract).zip(wrong), 2000);
    assert!(found.difference > 5.0 * found.error, "{found:?}");
}

#[test]
fn few_paths_of_which_none_ends_above_the_strike_are_no_wrong_price() {
    let far = Contract { strike: 70.0, ..HULL };
    let price = price::task(far, 100);
    assert_eq!(price, Price { mean: 0.0, error: 0.0 });
    let found = compared(std::iter::once((far, price)), 100);
    assert!(found.worst < 1.0 && found.difference < found.error, "{found:?}");
    let wrong = Price { mean: 0.5, ..price };
    assert!(compared(std::iter::once((far, wrong)), 100).worst > 15.0);
    let none = Price { mean: f64::NAN, ..price };
    assert_eq!(compared([(far, none), (far, price)].into_iter(), 100).worst, f64::INFINITY);
}

#[test]
fn what_has_no_price() {
    (0..1000).for_each(|k| contract(k).check().unwrap());
    for contract in [
        Contract { volatility: 0.0, ..HULL },
        Contract { strike: f64::NAN, ..HULL },
        Contract { years: 1e9, ..HULL },
    ] {
        assert!(contract.check().unwrap_err().to_string().contains("as an option"));
    }
}

#[test]
fn both_are_translated_for_gpus() {
    match compiler() {
        Ok(_) => {
            compile_check::<tile>("sm_80").unwrap();
            compile_check::<price>("sm_90").unwrap();
        }
        Err(why) => println!("skipped: {why}"),
    }
}

#[test]
fn gpus_give_the_same_bits() {
    let machine = Machine::detect().unwrap();
    if machine.gpus.is_empty() {
        return println!("skipped: no GPU");
    }
    let run = Run { target: Target::AnyGpu, ..Run::default() };
    let spec = Mandelbrot { size: [400, 300], centre: [-0.7, 0.2], width: 1.0, limit: 3000 };
    let inputs = || Inputs::from(0..spec.tiles());
    let (tiles, _) = Farm::of(spec.task()).run_with(inputs(), &machine, &run).unwrap();
    let tiles: Vec<_> = tiles.into_iter().map(Option::unwrap).collect();
    assert_eq!(tiles, on_cores(spec.task(), inputs()));
    let inputs = || Inputs::by(5000, contract);
    let (prices, _) = Farm::of(price(1000)).run_with(inputs(), &machine, &run).unwrap();
    let prices: Vec<_> = prices.into_iter().map(Option::unwrap).collect();
    assert_eq!(prices, on_cores(price(1000), inputs()));
}
