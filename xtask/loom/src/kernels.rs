//! The sources of kernels that models follow line by line, and the check that they still have those lines.

macro_rules! source {
    ($name:ident, $path:literal) => {
        pub const $name: &str =
            include_str!(concat!("../../../crates/warpweft-channels/src/", $path));
    };
}
source!(SHARING, "cuda/tasks_sharing.cuh");
source!(JOINS, "cuda/tasks_joins.cuh");
source!(QUEUE, "flow/cuda/queue.cuh");
source!(FLOW, "flow/cuda/flow.cuh");

/// All `lines` are in `source`.
pub fn stands_in(source: &str, lines: &[&str]) {
    for line in lines {
        assert!(source.contains(line), "the kernel has changed: {line}");
    }
}
