//! What a run gives back: items of channels without a kernel, words of buffers, and what was counted.

use std::any::Any;
use std::sync::Arc;

use serde::Serialize;

use super::buffer::{HostBuffers, Shared, Word};
use super::handle::{BufferId, ChannelId, Item};

/// What was counted at one channel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChannelCounts {
    /// The channel's name.
    pub name: String,
    /// Items that its kernel consumed; 0 where the host consumes.
    pub items: u64,
    /// Firings of its kernel: batches of items that were consumed together.
    pub firings: u64,
    /// Firings that were put off because there was no room for what they might emit: each counts once, however often a warp or
    /// a worker checks again before it fires that kernel.
    pub yields: u64,
    /// The largest number of items seen in one level of this channel or of another channel of its cycle, reserved places
    /// included.
    pub most: u64,
}

/// What a run leaves.
pub struct Results {
    /// Which graph it is of.
    graph: u32,
    sinks: Vec<Option<Box<dyn Any + Send>>>,
    buffers: HostBuffers,
    channels: Vec<ChannelCounts>,
}

impl Results {
    pub(super) fn new(
        graph: u32,
        sinks: Vec<Option<Box<dyn Any + Send>>>,
        buffers: HostBuffers,
        channels: Vec<ChannelCounts>,
    ) -> Self {
        Self { graph, sinks, buffers, channels }
    }

    /// The items of a channel that no kernel consumes, in no particular order; those put there by the host included.
    /// None for other channels, and for those of other graphs.
    pub fn items<T: Item>(&self, channel: ChannelId<T>) -> &[T] {
        let sink = self.sinks.get(channel.index()).filter(|_| channel.graph() == self.graph);
        let sink = sink.and_then(|sink| sink.as_deref());
        sink.and_then(|items| items.downcast_ref::<Vec<T>>()).map_or(&[], Vec::as_slice)
    }

    /// The words of a buffer; none of another graph's.
    pub fn buffer<T: Word>(&self, buffer: BufferId<T>) -> Vec<T> {
        let any =
            self.buffers.0.get(buffer.index()).filter(|_| buffer.graph() == self.graph).cloned();
        let shared: Option<Arc<Shared<T>>> = any.and_then(|any| any.downcast().ok());
        shared.map_or_else(Vec::new, |shared| shared.to_vec())
    }

    /// What was counted at each channel, in the order in which they were made.
    pub fn channels(&self) -> &[ChannelCounts] {
        &self.channels
    }
}
