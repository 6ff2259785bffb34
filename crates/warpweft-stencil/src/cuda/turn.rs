//! Launches again and again: one turn after another from either state of the arrays, most of them replayed from graphs.

use super::queue::Queued;
use warpweft_core::cuda::{Graph, Stream};
use warpweft_core::error::Result;

/// Turns of a captured graph: even, so that it ends in the arrays it began in.
const GRAPH_TURNS: u64 = 16;

/// What is launched to advance by some steps, prepared for either state of the arrays.
pub(super) struct Turn {
    queued: [Vec<Queued>; 2],
    graphs: [Option<Graph>; 2],
}

impl Turn {
    /// Of the launches that `make` has for either state.
    pub fn new(mut make: impl FnMut(usize) -> Result<Vec<Queued>>) -> Result<Self> {
        Ok(Self { queued: [make(0)?, make(1)?], graphs: [None, None] })
    }

    /// Queues `turns` turns from `state`; returns the state they end in.
    ///
    /// # Safety
    /// As [`Queued::launch`], for every launch.
    pub unsafe fn run(&mut self, stream: &Stream, turns: u64, mut state: usize) -> Result<usize> {
        let queued = &self.queued;
        let one = |state: usize| {
            // SAFETY: the caller's contract.
            queued[state].iter().try_for_each(|queued| unsafe { queued.launch(stream) })
        };
        for _ in 0..turns / GRAPH_TURNS {
            if self.graphs[state].is_none() {
                let turns = 0..GRAPH_TURNS as usize;
                let capture = |_: &Stream| turns.map(|n| (state + n) % 2).try_for_each(one);
                self.graphs[state] = Some(stream.capture(capture)?);
            }
            if let Some(graph) = &mut self.graphs[state] {
                graph.launch(stream)?;
            }
        }
        for _ in 0..turns % GRAPH_TURNS {
            one(state)?;
            state = 1 - state;
        }
        Ok(state)
    }
}
