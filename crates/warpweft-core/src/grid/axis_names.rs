//! Names of axes, for messages.

/// Names of axes, fastest first: with three dimensions `z`, `y` and `x` are axes 0, 1 and 2.
pub const AXES: [&str; 4] = ["x", "y", "z", "w"];

/// The name of an axis of `dims` dimensions; its number if there are more than four.
pub fn axis_name(axis: usize, dims: usize) -> String {
    let from_fastest = dims.checked_sub(axis + 1);
    let name = from_fastest.and_then(|number| AXES.get(number));
    name.map_or_else(|| axis.to_string(), ToString::to_string)
}

/// Extents or a grid of subdomains in readable form, slowest axis first: `256 x 256 x 128`.
pub fn across(extents: &[usize]) -> String {
    let extents: Vec<_> = extents.iter().map(ToString::to_string).collect();
    extents.join(" x ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_axis_is_x() {
        for (dims, expect) in [(1, "x"), (2, "yx"), (3, "zyx"), (4, "wzyx"), (5, "0wzyx")] {
            let names: String = (0..dims).map(|axis| axis_name(axis, dims)).collect();
            assert_eq!(names, expect);
        }
        assert_eq!(axis_name(3, 2), "3");
    }
}
