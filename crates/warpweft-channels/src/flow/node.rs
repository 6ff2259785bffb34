//! Kernels of a graph, whatever their types.

use super::bytes::bytes_of;
use super::cpu::{Consumer, Flow, Step};
use super::kernel::{BufferUse, ChannelKernel, Edge};
use super::reference::queue::{Queue, consume};
use warpweft_core::element::Unit;

/// A kernel as the executors use it.
pub(super) trait Node: Send + Sync {
    /// The function's name.
    fn name(&self) -> &'static str;
    /// Where its outputs go.
    fn edges(&self) -> Vec<Edge>;
    /// What it may emit for one item in all.
    fn total(&self) -> usize;
    /// Which buffers it uses.
    fn uses(&self) -> Vec<BufferUse>;
    /// One item, the newest of its channel, one after the other.
    fn reference(&self, queue: &mut Queue<'_>);
    /// What a worker of the cores fires.
    fn consumer<'f>(&'f self, flow: &'f Flow<'f>, kernel: usize) -> Box<dyn Step + 'f>;
    /// As [`ChannelKernel::cuda`].
    fn cuda(&self, unit: &mut Unit) -> String;
    /// The kernel's constants and handles as a device has them.
    fn bytes(&self) -> &[u8];
}

pub(super) struct NodeOf<K>(pub K);

impl<K: ChannelKernel> Node for NodeOf<K> {
    fn name(&self) -> &'static str {
        K::NAME
    }

    fn edges(&self) -> Vec<Edge> {
        self.0.edges()
    }

    fn total(&self) -> usize {
        K::TOTAL
    }

    fn uses(&self) -> Vec<BufferUse> {
        self.0.uses()
    }

    fn reference(&self, queue: &mut Queue<'_>) {
        consume(&self.0, queue);
    }

    fn consumer<'f>(&'f self, flow: &'f Flow<'f>, kernel: usize) -> Box<dyn Step + 'f> {
        Box::new(Consumer::new(&self.0, flow, kernel))
    }

    fn cuda(&self, unit: &mut Unit) -> String {
        K::cuda(unit)
    }

    fn bytes(&self) -> &[u8] {
        bytes_of(std::slice::from_ref(&self.0))
    }
}
