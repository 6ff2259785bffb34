//! The commands of each pattern and each application.

mod align;
mod align_many;
mod align_modes;
mod apps;
mod apsp;
mod apsp_statistics;
mod channels;
mod checks;
mod farms;
mod warping;
mod wavefronts;
