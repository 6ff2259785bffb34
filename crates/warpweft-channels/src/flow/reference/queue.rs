//! Items of all channels without bounds, of which kernels consume one after the other.

use std::any::Any;

use crate::flow::buffer::HostBuffers;
use crate::flow::handle::{ChannelId, Item};
use crate::flow::kernel::{ChannelKernel, Out, PortVisitor};
use crate::flow::plan::Plan;
use warpweft_core::error::Error;

/// Items of all channels, without bounds, as a kernel sees them.
pub(in crate::flow) struct Queue<'q> {
    /// Of each channel a vector of items with their levels.
    pub(super) channels: &'q mut [Box<dyn Any>],
    pub(super) buffers: &'q HostBuffers,
    pub(super) plan: &'q Plan,
    /// The kernel that fires, and the channel that it consumes.
    pub(super) kernel: (usize, usize),
    pub(super) level: usize,
    /// Why the run ends.
    pub(super) failure: Option<Error>,
}

/// A vector of items with their levels, whatever their type.
pub(in crate::flow) type Leveled<T> = Vec<(T, usize)>;

/// Consumes the newest item of the kernel's channel, if there is one.
pub(in crate::flow) fn consume<K: ChannelKernel>(kernel: &K, queue: &mut Queue<'_>) {
    let input = queue.channels[queue.kernel.1].downcast_mut::<Leveled<K::Item>>();
    let Some((item, level)) = input.and_then(Vec::pop) else { return };
    queue.level = level;
    let mut ports = K::ports();
    kernel.consume(item, &mut ports, &kernel.bind(queue.buffers));
    kernel.visit(&mut ports, &mut Push { queue, name: K::NAME, total: K::TOTAL });
}

struct Push<'p, 'q> {
    queue: &'p mut Queue<'q>,
    name: &'static str,
    total: usize,
}

impl PortVisitor for Push<'_, '_> {
    fn port<T: Item, const N: usize>(&mut self, channel: ChannelId<T>, out: &mut Out<T, N>) {
        let Queue { channels, plan, kernel, level, failure, .. } = &mut *self.queue;
        if out.overflowed() {
            failure.get_or_insert_with(|| too_many(self.name, N, self.total));
        }
        let own = plan.needs[kernel.0].own;
        let level = match plan.group_of[channel.index()] {
            None => Some(0),
            Some(group) => plan.level_after(own, *level, group),
        };
        let Some(level) = level.or(out.items().is_empty().then_some(0)) else {
            failure.get_or_insert_with(|| too_deep(self.name, plan.groups[own].levels));
            return;
        };
        if let Some(items) = channels[channel.index()].downcast_mut::<Leveled<T>>() {
            items.extend(out.items().iter().map(|&item| (item, level)));
        }
    }
}

/// The error of a kernel that emits more than it declares.
pub(in crate::flow) fn too_many(name: &str, bound: usize, total: usize) -> Error {
    let in_all = match total {
        usize::MAX => String::new(),
        total => format!(", {total} in all"),
    };
    Error::spec(
        format!(
            "`{name}` emitted more for one item than it declares: {bound} into one output{in_all}"
        ),
        "declare as many as it may emit: `&mut Out<T, N>`, `#[channel_kernel(total = N)]`",
    )
}

/// The error of a kernel that emits from the last level.
pub(in crate::flow) fn too_deep(name: &str, levels: usize) -> Error {
    Error::spec(
        format!("`{name}` emitted below level {levels} of its channel stack"),
        "check that the recursion ends, then give the stack more levels",
    )
}
