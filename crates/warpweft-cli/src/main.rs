//! The `warpweft` command.

fn main() {}
