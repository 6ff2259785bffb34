//! Running a task so that a panic is its failure. Not: what becomes of the failure.

use super::caught::caught;
use super::inputs::Inputs;
use super::task::Task;
use crate::report::shortened;

/// Runs task `k` and passes its output to `take`, which may refuse it. A panic of user code (making the input, the task, packing
/// the output, printing the error) becomes a failure with the panic's text.
pub fn attempt<T: Task, R>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    k: u64,
    take: impl FnOnce(T::Output) -> Result<R, String>,
) -> Result<R, String> {
    caught(|| take(task.on_core(inputs.there(k)?).map_err(|why| why.to_string())?))
}

/// What the user's code says of an input in `words`; nothing if it panics.
pub fn described(words: impl FnOnce() -> Option<String>) -> Option<String> {
    caught(|| Ok(words().map(|input| shortened(&input)))).ok().flatten()
}
