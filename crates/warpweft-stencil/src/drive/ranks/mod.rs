//! Runs over ranks: threads of this process, processes, or several threads of each.

pub(crate) mod advice;
pub(crate) mod count;
pub(crate) mod launch;
pub(crate) mod network;
pub(crate) mod notes;
pub(crate) mod points;
pub(crate) mod residual;
pub(crate) mod several;
pub(crate) mod watched;
