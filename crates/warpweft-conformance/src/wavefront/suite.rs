//! The elements of the suite, each with its inputs and border, on one executor.

use super::elements::{
    AffineCell, affine_local, area, far, local, mix, relax, remix, sliced, warp,
};
use super::{Inputs, KEEPS, Outcome, Pick, Samples, conforms_picked};
use warpweft::wavefront::Keep;
use warpweft::wavefront::WavefrontExecutor;

/// An executor of all elements of the suite.
pub trait Runs:
    WavefrontExecutor<mix>
    + WavefrontExecutor<local>
    + WavefrontExecutor<warp>
    + WavefrontExecutor<affine_local>
    + WavefrontExecutor<area>
    + WavefrontExecutor<far>
    + WavefrontExecutor<relax>
    + WavefrontExecutor<remix>
    + WavefrontExecutor<sliced<'static>>
{
}

impl<X> Runs for X where
    X: WavefrontExecutor<mix>
        + WavefrontExecutor<local>
        + WavefrontExecutor<warp>
        + WavefrontExecutor<affine_local>
        + WavefrontExecutor<area>
        + WavefrontExecutor<far>
        + WavefrontExecutor<relax>
        + WavefrontExecutor<remix>
        + WavefrontExecutor<sliced<'static>>
{
}

/// Weights of 19 symbols of rows and 24 of columns.
const WEIGHTS: [i16; 19 * 24] = {
    let mut weights = [0; 19 * 24];
    let mut k = 0;
    while k < weights.len() {
        weights[k] = (k * 7919 % 61) as i16 - 30;
        k += 1;
    }
    weights
};

fn nothing(_: &mut Inputs) {}

fn word(inputs: &mut Inputs) -> u32 {
    inputs.bits() as u32
}

fn half(inputs: &mut Inputs) -> u16 {
    inputs.bits() as u16
}

fn byte(inputs: &mut Inputs) -> u8 {
    inputs.bits() as u8
}

fn letter(inputs: &mut Inputs) -> u8 {
    inputs.one_of(b"ACGT")
}

fn small(inputs: &mut Inputs) -> i32 {
    i32::from(byte(inputs))
}

fn sample(inputs: &mut Inputs) -> f32 {
    (inputs.bits() % 1000) as f32 / 8.0
}

fn mixed(i: isize, j: isize) -> u64 {
    (i * 31 + j * 7) as u64
}

/// Runs every element of the suite over [`super::EXTENTS`] × [`KEEPS`] × borders, bands and sweeps on
/// `executor`; returns what came of each element.
pub fn suite(executor: &mut dyn Runs) -> Vec<(&'static str, Outcome)> {
    suite_of(executor, &KEEPS)
}

/// The same for some of the things to keep.
pub fn suite_of(executor: &mut dyn Runs, keeps: &[Keep]) -> Vec<(&'static str, Outcome)> {
    suite_picked(executor, keeps, &mut Pick::all())
}

/// [`suite_of`] as far as its cases are picked.
pub fn suite_picked(
    executor: &mut dyn Runs,
    keeps: &[Keep],
    pick: &mut Pick<'_>,
) -> Vec<(&'static str, Outcome)> {
    let mut all = of_sequences(executor, keeps, pick);
    all.extend(of_planes(executor, keeps, pick));
    all
}

/// The elements that compare a row's input with a column's.
fn of_sequences(
    executor: &mut dyn Runs,
    keeps: &[Keep],
    pick: &mut Pick<'_>,
) -> Vec<(&'static str, Outcome)> {
    let zero = |_, _| 0;
    let corner = |i, j| if (i, j) == (-1, -1) { 0.0 } else { f32::INFINITY };
    let gaps = |_, _| AffineCell { h: 0, e: -1_000_000, f: -1_000_000 };
    let low = |inputs: &mut Inputs| AffineCell { h: -(byte(inputs) as i32), e: -9, f: -9 };
    let affine = affine_local(2, -3, -5, -1);
    let by_slice = sliced(&WEIGHTS, 24, -5);
    let wide_mix =
        Samples { row: &word, column: &half, input: &nothing, cell: &|inputs| inputs.bits() };
    let pair = Samples { row: &letter, column: &letter, input: &nothing, cell: &small };
    let symbols = Samples {
        row: &|inputs| byte(inputs) % 19,
        column: &|inputs| half(inputs) % 24,
        input: &nothing,
        cell: &small,
    };
    let series = Samples { row: &sample, column: &sample, input: &nothing, cell: &sample };
    let gapped = Samples { row: &letter, column: &letter, input: &nothing, cell: &low };
    vec![
        (
            "mixture of u64",
            conforms_picked::<mix>(executor, mix(99), keeps, &wide_mix, mixed, pick),
        ),
        (
            "local alignment, i32",
            conforms_picked::<local>(executor, local(2, -1, -1), keeps, &pair, zero, pick),
        ),
        (
            "local alignment by a slice",
            conforms_picked::<sliced<'static>>(executor, by_slice, keeps, &symbols, zero, pick),
        ),
        (
            "time warping, f32",
            conforms_picked::<warp>(executor, warp(), keeps, &series, corner, pick),
        ),
        (
            "affine gaps, a struct",
            conforms_picked::<affine_local>(executor, affine, keeps, &gapped, gaps, pick),
        ),
    ]
}

/// The elements of a plane: with an input of the cell's own, or none.
fn of_planes(
    executor: &mut dyn Runs,
    keeps: &[Keep],
    pick: &mut Pick<'_>,
) -> Vec<(&'static str, Outcome)> {
    let mixed_word = |i, j| mixed(i, j) as u32;
    let edge = |i: isize, j: isize| (i * 5 - j) as f32 / 4.0;
    let table = Samples { row: &nothing, column: &nothing, input: &byte, cell: &small };
    let wide = Samples { row: &half, column: &byte, input: &word, cell: &word };
    let heat = Samples { row: &nothing, column: &nothing, input: &sample, cell: &sample };
    let words = Samples { row: &word, column: &word, input: &nothing, cell: &word };
    vec![
        (
            "summed area table",
            conforms_picked::<area>(executor, area(), keeps, &table, |_, _| 0, pick),
        ),
        (
            "cells further away",
            conforms_picked::<far>(executor, far(5), keeps, &wide, mixed_word, pick),
        ),
        (
            "relaxation, f32",
            conforms_picked::<relax>(executor, relax(1.5), keeps, &heat, edge, pick),
        ),
        (
            "mixture of old and new",
            conforms_picked::<remix>(executor, remix(), keeps, &words, mixed_word, pick),
        ),
    ]
}
