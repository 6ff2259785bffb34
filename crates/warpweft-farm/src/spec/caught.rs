//! Calls of user code whose panics are failures.

use std::panic::{AssertUnwindSafe, catch_unwind};

use warpweft_core::cpu::panic_text;

/// What a task comes to; a panic is a failure.
pub fn caught<R>(attempt: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(attempt))
        .unwrap_or_else(|panic| Err(format!("it panicked: {}", panic_text(panic.as_ref()))))
}
