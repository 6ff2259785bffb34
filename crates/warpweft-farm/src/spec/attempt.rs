//! Running user code so that a panic is a failure of its task. Not: what becomes of the failure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::inputs::Inputs;
use super::task::Task;
use warpweft_core::cpu::panic_text;

/// What `take` makes of a task's output. Whatever of the user's code panics is a failure with the panic's text: the
/// task, its output's bytes, its error's words.
pub fn attempt<T: Task, R>(
    task: &T,
    inputs: &Inputs<'_, T::Input>,
    k: u64,
    take: impl FnOnce(T::Output) -> R,
) -> Result<R, String> {
    caught(|| task.on_core(inputs.at(k)).map(take).map_err(|why| why.to_string()))
}

/// What a task comes to; a panic is a failure.
pub fn caught<R>(attempt: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(attempt))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_text(panic.as_ref()))))
}
