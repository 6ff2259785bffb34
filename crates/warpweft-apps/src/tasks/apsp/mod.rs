//! Shortest paths from many sources, each a task of a farm (TuCCompi, section 5).
//!
//! The paper's case study: all pairs of a graph with weights that are not negative, source by source, since
//! all distances of its graphs would be terabytes: a task returns how far its source reaches. On a core,
//! Dial's buckets, or a radix heap where weights are large; on a GPU many sources at once, since one by the
//! paper's Crauser is some 30 passes over the graph that leave the device waiting. No paths, no weights below zero.

mod check;
mod crauser;
pub mod cuda;
mod dial;
mod graph;
mod order;
mod paths;
mod predict;
mod radix;
mod random;
mod read;
mod search;
mod spread;
mod tentative;

pub use check::{certificate, dijkstra};
pub use graph::{Arc, Edge, Graph, fingerprint};
pub use order::by_landmarks;
pub use paths::{Form, Shape, ShortestPaths};
pub use predict::predict;
pub use random::{Random, random};
pub use read::read;
pub use search::Search;
pub use spread::{Centrality, SPREAD_MOST, spread};
pub use tentative::Reach;
