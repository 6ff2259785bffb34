//! What every run must equal: the tasks one after another.

use crate::spec::attempt::attempt;
use crate::spec::inputs::Inputs;
use crate::spec::task::Task;

/// The output of each task, in order, or in words why it has none.
pub fn reference<T: Task>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
) -> Vec<Result<T::Output, String>> {
    (0..inputs.count()).map(|k| attempt(task, inputs, k, Ok)).collect()
}
