//! What is measured of the cells: the change of a step, and what fields come to.

pub(super) mod ahead;
pub(super) mod change;
mod fold;
mod reduce;
