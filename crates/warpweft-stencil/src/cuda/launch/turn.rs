//! Launches again and again: one turn after another from either state of the arrays, most of them replayed from graphs.

use super::queued::Queued;
use crate::cuda::memory::arrays::STATES;
use warpweft_core::cuda::{Graph, Stream};
use warpweft_core::error::Result;

/// Turns of a captured graph: even, so that it ends in the arrays it began in.
const GRAPH_TURNS: u64 = 16;

/// What is launched to advance by some steps, prepared for either state of the arrays.
pub(crate) struct Turn {
    /// What a turn changes of the state.
    change: usize,
    queued: [Vec<Queued>; STATES],
    graphs: [Option<Graph>; STATES],
}

impl Turn {
    /// Of the launches that `make` has for each state, which change the state by `change`.
    pub fn new(change: usize, mut make: impl FnMut(usize) -> Result<Vec<Queued>>) -> Result<Self> {
        let queued = [make(0)?, make(1)?, make(2)?, make(3)?];
        Ok(Self { change, queued, graphs: [const { None }; STATES] })
    }

    /// Queues `turns` turns from `state`; returns the state they end in.
    ///
    /// # Safety
    /// As [`Queued::launch`], for every launch.
    pub unsafe fn run(&mut self, stream: &Stream, turns: u64, mut state: usize) -> Result<usize> {
        let (queued, change) = (&self.queued, self.change);
        let one = |state: usize| {
            // SAFETY: the caller's contract.
            queued[state].iter().try_for_each(|queued| unsafe { queued.launch(stream) })
        };
        for _ in 0..turns / GRAPH_TURNS {
            if self.graphs[state].is_none() {
                let turns = 0..GRAPH_TURNS as usize;
                let capture = |_: &Stream| {
                    turns.map(|n| if n % 2 == 0 { state } else { state ^ change }).try_for_each(one)
                };
                self.graphs[state] = Some(stream.capture(capture)?);
            }
            if let Some(graph) = &mut self.graphs[state] {
                graph.launch(stream)?;
            }
        }
        for _ in 0..turns % GRAPH_TURNS {
            one(state)?;
            state ^= change;
        }
        Ok(state)
    }
}
