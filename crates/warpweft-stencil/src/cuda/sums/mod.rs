//! The text of exact sums on a device, and of steps that take them in along the way. Not: their kernels (`summing`).

use crate::spec::reduction::Reduce;
use crate::spec::reduction::ahead::Asked;
use warpweft_core::element::{CellType, ScalarKind};

/// How several threads add to a digit.
pub(super) const DIGIT: &str = include_str!("digit.cuh");
/// Exact sums, after that.
pub(super) const SUMS: &str = include_str!("sums.cuh");
/// Steps that sum up, after both and Direct.
pub(super) const SUMMED: &str = include_str!("summed.cuh");

/// Copies of an accumulator that blocks of such a step add to.
pub(super) const COPIES: usize = 8;

/// What the last stage of a step sums up: a field, or products of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summand {
    pub fields: [usize; 2],
    pub dot: bool,
}

impl Summand {
    /// What was asked for, where a step can take it in.
    pub fn of(asked: &Asked, cell: CellType) -> Option<Self> {
        let number = |f: &usize| matches!(cell.kind(*f), ScalarKind::F32 | ScalarKind::F64);
        let sums = matches!(asked.what, Reduce::Sum | Reduce::Dot);
        (sums && asked.fields.iter().all(number))
            .then_some(Self { fields: asked.fields, dot: asked.what == Reduce::Dot })
    }
}
