//! How a volume is partitioned, before anything runs: which axes, how deep ghost zones can be, which devices, and a
//! simulation of the outcome. Pure functions.

pub(crate) mod distribution;
pub(crate) mod feasible;
pub(crate) mod orient;
pub(crate) mod select;
pub(crate) mod simulate;
