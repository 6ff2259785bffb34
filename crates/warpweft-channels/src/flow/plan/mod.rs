//! What a graph's structure says: its cycles, what each firing needs, and which channel is served first.
//!
//! A *group* is a cycle of channels (a strongly connected component) or a single channel. Its channels share credits: at
//! most as many items as its smallest channel holds, a level. So a kernel that emits at most one item into its own group
//! for the one that it consumes never waits for room there. docs/models.md has the proof of progress.

mod of_graph;

use warpweft_core::error::Error;

/// Channels that share credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Items of a level at most.
    pub capacity: usize,
    /// Levels; 1 without stacks.
    pub levels: usize,
    /// Whether a kernel may emit into the group that it consumes.
    pub cyclic: bool,
}

/// What a firing takes of a group for each item that it consumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The group.
    pub group: usize,
    /// Credits.
    pub bound: usize,
}

/// Where a kernel's items go.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// The channel that it consumes.
    pub input: usize,
    /// The group that it consumes.
    pub own: usize,
    /// What it may emit into that.
    pub own_bound: usize,
    /// What it may emit into others.
    pub others: Vec<Need>,
}

/// The structure of a graph.
#[derive(Debug)]
pub struct Plan {
    /// All groups, those further down the graph first.
    pub groups: Vec<Group>,
    /// The group of each channel that a kernel consumes.
    pub group_of: Vec<Option<usize>>,
    /// Of each kernel.
    pub needs: Vec<Needs>,
    /// The name of each channel.
    pub names: Vec<String>,
    /// Channels that kernels consume, in the order in which they are served: downstream first.
    pub order: Vec<usize>,
}

impl Plan {
    /// The level at which items of a firing arrive, if they may: of a kernel that consumes `level` of `own` and emits
    /// into `group`.
    pub fn level_after(&self, own: usize, level: usize, group: usize) -> Option<usize> {
        let leveled = own == group && self.groups[group].levels > 1;
        let after = if leveled { level + 1 } else { 0 };
        (after < self.groups[group].levels).then_some(after)
    }

    /// What each channel's group holds, as text.
    pub(super) fn states(&self, held: impl Iterator<Item = (usize, usize)>) -> String {
        let states = held.map(|(channel, held)| {
            let group = &self.groups[self.group_of[channel].unwrap_or_default()];
            let levels = match group.levels {
                1 => String::new(),
                levels => format!(" in each of {levels} levels"),
            };
            let name = &self.names[channel];
            format!("`{name}` holds {held} of {}{levels}", group.capacity)
        });
        states.collect::<Vec<_>>().join(", ")
    }

    /// The error of a run in which nothing can fire, with what each channel's group holds.
    pub(super) fn stuck(
        &self,
        pending: usize,
        held: impl Iterator<Item = (usize, usize)>,
    ) -> Error {
        let states = self.states(held);
        Error::spec(
            format!(
                "no kernel can fire: {pending} items are left and the channels are full: {states}"
            ),
            "make the channels of the cycle a `channel_stack`, or larger",
        )
    }
}
