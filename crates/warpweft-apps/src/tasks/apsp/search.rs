//! Shortest paths from one source on one core.

use warpweft::error::Result;
use warpweft::memory::filled;
use warpweft::prelude::*;

use super::dial::Dial;
use super::graph::{Graph, ROOM};
use super::radix::Radix;
use super::tentative::{Reach, UNREACHED};

/// Weights up to this have a bucket each: levels that are empty cost a look, and buckets 24 bytes.
const DIAL: u32 = 1 << 12;

/// What a search takes its vertices from, nearest first.
enum Queue {
    /// A bucket for every distance ahead.
    Dial(Dial),
    /// A bucket for every bit.
    Radix(Radix),
}

/// A search on one core, with its workspace: four bytes a vertex and what is queued.
pub struct Search {
    distances: Vec<u32>,
    queue: Queue,
}

impl Search {
    /// The search that suits the weights of `graph`.
    ///
    /// # Errors
    /// Too little memory.
    pub fn new(graph: &Graph) -> Result<Self> {
        let queue = match graph.heaviest() <= DIAL {
            true => Queue::Dial(Dial::new(graph)),
            false => Queue::Radix(Radix::new()),
        };
        let distances = filled(std::iter::repeat_n(UNREACHED, graph.vertices() as usize), ROOM)?;
        Ok(Self { distances, queue })
    }

    /// From `source`, a vertex of the graph that the search was made for.
    ///
    /// # Errors
    /// A distance that 32 bits may not hold.
    pub fn run(&mut self, graph: &Graph, source: u32) -> Result<Reach, Failure> {
        match &mut self.queue {
            Queue::Dial(dial) => dial.run(graph, source, &mut self.distances),
            Queue::Radix(radix) => radix.run(graph, source, &mut self.distances),
        }
    }

    /// The distances that the last search found, [`u32::MAX`] where no path leads.
    pub fn distances(&self) -> &[u32] {
        &self.distances
    }
}
