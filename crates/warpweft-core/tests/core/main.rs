//! The mechanisms below the patterns, on machines with and without a GPU. What needs a device is in `device`.

mod compiler;
mod machine;
