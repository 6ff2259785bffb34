//! Reading what was written: signatures, parameters, constants, loops, and which expressions read neighbours.
//!
//! Syntax only. What the subset allows in a body is `check`'s.

pub mod cells;
pub mod constant;
pub mod parameters;
pub mod reads;
pub mod signature;
pub mod unroll;
