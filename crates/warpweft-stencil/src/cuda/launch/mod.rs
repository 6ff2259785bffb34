//! What goes into a stream: kernels with their arguments, over the boxes that they cover. Not: the kernels (`kernels/`),
//! or when they are launched (`sweeps`).

pub(super) mod boxes;
pub(super) mod faces;
pub(super) mod ghosts;
pub(super) mod place;
pub(super) mod queue;
pub(super) mod queued;
pub(super) mod reduce;
pub(super) mod residual;
pub(super) mod scalars;
pub(super) mod turn;
