//! The names by which kernels know an element and its types.

use super::strips::carried;
use crate::spec::{ElementType, Keep};
use warpweft_core::element::Unit;

/// Defines an element and its types in `unit`: the line that names it, and those that name them. For
/// kernels that compare scores, `scores` says what is kept: a cell's score is reversed for the least.
pub(super) fn names(unit: &mut Unit, element: &ElementType, scores: Option<Keep>) -> [String; 2] {
    let names = &element.names;
    let own = if element.carried { "own_" } else { "" };
    let itself = format!("using ww_{own}element = {};\n", (names.element)(unit));
    let mut types = String::new();
    let mut name = |what: &str, named: fn(&mut Unit) -> String| {
        types.push_str(&format!("using ww_{what} = {};\n", named(unit)));
    };
    name(&format!("{own}cell"), names.cell);
    name("row_input", names.row);
    name("column_input", names.column);
    name("cell_input", names.input);
    if element.carried {
        types.push_str(&carried::text(element));
    }
    if let Some(keep) = scores {
        types.push_str(&format!("using ww_score_type = {};\n", (names.score)(unit)));
        let own = if element.carried { ".own" } else { "" };
        let order = if keep == Keep::Least { "ww_reversed" } else { "" };
        types.push_str(&format!(
            "#define ww_score(cell) ({order}((cell){own}{}))\n",
            element.member
        ));
    }
    [itself, types]
}
