//! The commands of each pattern and each application.

mod align;
mod apps;
mod apsp;
mod channels;
mod farms;
mod wavefronts;
