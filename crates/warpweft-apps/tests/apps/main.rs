//! The applications against reference solutions that share no code with them.

mod align;
mod align_modes;
mod align_pairs;
mod align_path;
mod apsp;
mod device;
mod farms;
mod fields;
mod heat;
mod life;
mod mutated;
mod nested;
mod parasail;
mod recurrences;
mod warping_modes;
mod warping_path;
