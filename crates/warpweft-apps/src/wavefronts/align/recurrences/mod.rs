//! The recurrences of alignments, and what their cells were made from.

mod back;
mod by_matrix;
mod elements;
mod form;
mod gapped;

pub(super) use back::{ACROSS, DOWN, OPENED_ACROSS, OPENED_DOWN, PAIR, Through, gapped};
pub use by_matrix::scored;
pub use elements::{Dna, global_letters, letters};
pub(super) use form::by_form;
pub use gapped::{Gapped, affine, global_affine};
pub(super) use gapped::{NONE, Unreached};
