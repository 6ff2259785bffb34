//! Shortest paths from many sources, each a task of a farm (TuCCompi, section 5).
//!
//! The paper's case study: all pairs of a graph with weights that are not negative, source by source, since
//! all distances of its graphs would be terabytes: a task returns how far its source reaches. On a core,
//! Dial's buckets, or a radix heap where weights are large; the paper's Crauser needs some 30 passes over
//! the graph, which only a GPU has the width for. No paths, no weights below zero.

mod check;
mod dial;
mod graph;
mod radix;
mod random;
mod read;
mod search;

pub use check::{certificate, dijkstra};
pub use graph::{Arc, Edge, Graph, fingerprint};
pub use random::{Random, random};
pub use read::read;
pub use search::{Reach, Search, ShortestPaths};
