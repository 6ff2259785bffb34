//! What holds of the driver whatever computes: faults, origins, overlap, validity of cells.

mod faults;
mod kept;
mod origins;
mod overlap;
mod tried;
mod validity;
