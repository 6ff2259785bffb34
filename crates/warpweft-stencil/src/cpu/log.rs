//! What a worker did when, for the trace; nothing, at no cost, when there is none.

use std::time::{Duration, Instant};

use warpweft_core::trace::{Span, Trace};

/// Shorter waits are part of the pipeline's rhythm and would drown the rest.
const SHORT: Duration = Duration::from_micros(20);

/// The spans of one worker in one block; recorded when dropped.
pub(super) struct Log<'a> {
    trace: Option<&'a Trace>,
    worker: usize,
    spans: Vec<Span>,
}

impl<'a> Log<'a> {
    pub fn new(trace: Option<&'a Trace>, worker: usize) -> Self {
        Self { trace, worker, spans: Vec::new() }
    }

    /// The time, if anybody wants to know.
    pub fn now(&self) -> Option<Instant> {
        self.trace.map(|_| Instant::now())
    }

    /// Ends a span that began at `from`.
    pub fn end(&mut self, from: Option<Instant>, name: impl FnOnce() -> String) {
        if let (Some(trace), Some(from)) = (self.trace, from) {
            self.spans.push(trace.span(format!("worker {}", self.worker), name(), from));
        }
    }

    /// Ends a wait that began at `from`.
    pub fn waited(&mut self, from: Option<Instant>) {
        if from.is_some_and(|from| from.elapsed() >= SHORT) {
            self.end(from, || "waiting".into());
        }
    }
}

impl Drop for Log<'_> {
    fn drop(&mut self) {
        if let Some(trace) = self.trace {
            trace.add_all(std::mem::take(&mut self.spans));
        }
    }
}
