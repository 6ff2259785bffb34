//! The names by which kernels know an element and its types.

use crate::spec::{ElementType, Keep};
use warpweft_core::element::Unit;

/// Which of them a kernel needs in addition to those of cells and of the inputs of rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The type of the input of a cell.
    pub inputs: bool,
    /// The type of scores and how a cell's is read, which is reversed where the least is kept.
    pub scores: Option<Keep>,
}

/// Defines an element and its types in `unit`: the line that names it, and those that name them.
pub(super) fn names(unit: &mut Unit, element: &ElementType, wanted: Wanted) -> [String; 2] {
    let names = &element.names;
    let itself = format!("using ww_element = {};\n", (names.element)(unit));
    let mut types = String::new();
    let mut name = |what, named: fn(&mut Unit) -> String| {
        types.push_str(&format!("using ww_{what} = {};\n", named(unit)));
    };
    name("cell", names.cell);
    name("row_input", names.row);
    name("column_input", names.column);
    if wanted.inputs {
        name("cell_input", names.input);
    }
    if let Some(keep) = wanted.scores {
        name("score_type", names.score);
        let order = if keep == Keep::Least { "ww_reversed" } else { "" };
        types.push_str(&format!("#define ww_score(cell) ({order}((cell){}))\n", element.member));
    }
    [itself, types]
}
