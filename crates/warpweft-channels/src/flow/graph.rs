//! What is to be computed: channels, kernels, edges, and the first items.

use std::any::{Any, TypeId, type_name};

use super::buffer::{AnyBuffer, Initial, Word};
use super::bytes::{bytes_of, shown, values_of};
use super::cpu::Queues;
use super::handle::{BufferId, ChannelId, Item, MOST, next_graph};
use super::kernel::ChannelKernel;
use super::node::{Node, NodeOf};
use super::reference::queue::Leveled;
use warpweft_core::error::Result;
use warpweft_core::memory::filled;

/// The largest item, in bytes.
pub const MAX_ITEM_BYTES: usize = 1024;
/// The largest capacity of a channel.
pub const MAX_CAPACITY: usize = 1 << 28;
/// The most levels of a stack of channels.
pub const MAX_LEVELS: usize = 4096;

/// A channel-flow graph (Orr et al., section 4.2): kernels that consume the items of one channel each and emit items
/// into channels.
///
/// The host puts the first items in and gets those of channels that no kernel consumes. Cycles are allowed.
///
/// ```
/// use warpweft::channels::flow::{FlowGraph, Out, Shared, channel_kernel};
/// use warpweft::prelude::*;
///
/// #[channel_kernel]
/// fn fib(n: u32, calls: &mut Out<u32, 2>, result: &Shared<u64>) {
///     if n <= 2 {
///         result.add(0, 1);
///     } else {
///         calls.emit(n - 1);
///         calls.emit(n - 2);
///     }
/// }
///
/// # fn main() -> Result<()> {
/// let mut graph = FlowGraph::new();
/// let calls = graph.channel_stack("calls", 4096, 24);
/// let result = graph.buffer([0u64]);
/// graph.connect(calls, fib(calls, result));
/// graph.put(calls, [24]);
/// let (results, report) = graph.run(&Machine::detect()?)?;
/// assert_eq!(results.buffer(result), [46_368]);
/// assert_eq!(report.done, 2 * 46_368 - 1);
/// # Ok(())
/// # }
/// ```
pub struct FlowGraph {
    /// Which one it is, for its handles.
    pub(super) number: u32,
    pub(super) channels: Vec<ChannelNode>,
    pub(super) kernels: Vec<KernelNode>,
    pub(super) buffers: Vec<Box<dyn AnyBuffer>>,
    /// The first thing that was wrong while it was built.
    pub(super) refused: Option<(String, String)>,
}

/// A channel, or a stack of channels.
pub(super) struct ChannelNode {
    pub name: String,
    pub capacity: usize,
    /// Levels of a stack; 1 for a channel.
    pub levels: usize,
    pub item: (TypeId, &'static str),
    /// The kernel that consumes its items; the host if there is none.
    pub consumer: Option<usize>,
    pub first: Box<dyn AnyItems>,
}

/// A kernel and the channel that it consumes.
pub(super) struct KernelNode {
    pub input: usize,
    pub node: Box<dyn Node>,
}

/// Items of a channel, whatever their type.
pub(super) trait AnyItems: Send + Sync {
    /// How many.
    fn len(&self) -> usize;
    /// The vector.
    fn any_mut(&mut self) -> &mut dyn Any;
    /// Bytes that the channel's state takes on cores.
    fn queue_bytes(&self, capacity: usize, levels: usize) -> u64;
    /// The channel's state on cores: so many levels of so many elements, and these as its first items.
    ///
    /// # Errors
    /// Too little memory.
    fn queues(&self, capacity: usize, levels: usize) -> Result<Box<dyn Any + Send + Sync>>;
    /// The items that came to the host, from the channel's state.
    fn sink(&self, queues: Box<dyn Any + Send + Sync>) -> Box<dyn Any + Send>;
    /// For the reference: a vector of these at level 0.
    fn leveled(&self) -> Box<dyn Any>;
    /// The items of such a vector.
    fn without_levels(&self, leveled: &dyn Any) -> Box<dyn Any + Send>;
    /// Bytes of an item.
    fn item_bytes(&self) -> usize;
    /// These as bytes, for a device.
    fn bytes(&self) -> &[u8];
    /// These, and the items that a device has left as bytes.
    fn with_bytes(&self, bytes: &[u8]) -> Box<dyn Any + Send>;
    /// An item that a device has left, as text.
    fn shown(&self, bytes: &[u8]) -> String;
}

pub(super) struct First<T>(pub Vec<T>);

impl<T: Item> AnyItems for First<T> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        &mut self.0
    }

    fn queue_bytes(&self, capacity: usize, levels: usize) -> u64 {
        Queues::<T>::ring_bytes(capacity, levels)
    }

    fn queues(&self, capacity: usize, levels: usize) -> Result<Box<dyn Any + Send + Sync>> {
        let first =
            filled(self.0.iter().copied(), "put fewer items, or run the graph several times")?;
        Ok(Box::new(Queues::new(capacity, levels, first)?))
    }

    fn sink(&self, queues: Box<dyn Any + Send + Sync>) -> Box<dyn Any + Send> {
        let queues = queues.downcast::<Queues<T>>();
        Box::new(queues.map_or_else(|_| Vec::new(), |queues| queues.into_sink()))
    }

    fn leveled(&self) -> Box<dyn Any> {
        let leveled: Leveled<T> = self.0.iter().map(|&item| (item, 0)).collect();
        Box::new(leveled)
    }

    fn without_levels(&self, leveled: &dyn Any) -> Box<dyn Any + Send> {
        let items = leveled.downcast_ref::<Leveled<T>>();
        let items = items.into_iter().flatten().map(|&(item, _)| item);
        Box::new(items.collect::<Vec<T>>())
    }

    fn item_bytes(&self) -> usize {
        size_of::<T>()
    }

    fn bytes(&self) -> &[u8] {
        bytes_of(&self.0)
    }

    fn with_bytes(&self, bytes: &[u8]) -> Box<dyn Any + Send> {
        let mut all = self.0.clone();
        // SAFETY: a kernel has written items of this type, whose layout both languages share.
        all.extend(unsafe { values_of::<T>(bytes) });
        Box::new(all)
    }

    fn shown(&self, bytes: &[u8]) -> String {
        // SAFETY: as above.
        unsafe { values_of::<T>(bytes) }.first().map(shown).unwrap_or_default()
    }
}

impl Default for FlowGraph {
    fn default() -> Self {
        Self::new()
    }
}

impl FlowGraph {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self {
            number: next_graph(),
            channels: Vec::new(),
            kernels: Vec::new(),
            buffers: Vec::new(),
            refused: None,
        }
    }

    /// A channel for at most `capacity` items at once. `name` is what errors and reports call it.
    pub fn channel<T: Item>(&mut self, name: &str, capacity: usize) -> ChannelId<T> {
        self.add(name, capacity, 1)
    }

    /// A stack of `levels` channels of `capacity` items each (section 5.3): a firing at a level emits into the next one,
    /// and the deepest level is served first. Use it where a kernel emits more than one item into its own cycle, as a
    /// recursion does: then the run always makes progress. All channels of a cycle have the same number of levels.
    pub fn channel_stack<T: Item>(
        &mut self,
        name: &str,
        capacity: usize,
        levels: usize,
    ) -> ChannelId<T> {
        if !(2..=MAX_LEVELS).contains(&levels) {
            self.refuse(
                format!("channel stack `{name}` of {levels} levels"),
                format!("take 2 to {MAX_LEVELS} levels, or a `channel`"),
            );
        }
        self.add(name, capacity, levels)
    }

    fn add<T: Item>(&mut self, name: &str, capacity: usize, levels: usize) -> ChannelId<T> {
        const {
            assert!(
                T::ALIKE,
                "an item holds a tuple whose members Rust and C++ order differently; make it a struct with \
                 #[derive(Device)]"
            )
        };
        let bytes = size_of::<T>();
        if bytes > MAX_ITEM_BYTES {
            self.refuse(
                format!("items of channel `{name}` have {bytes} bytes, more than {MAX_ITEM_BYTES}"),
                "put an index into the item, and the data into a buffer",
            );
        }
        if !(1..=MAX_CAPACITY).contains(&capacity) {
            self.refuse(
                format!("channel `{name}` for {capacity} items"),
                format!("take a capacity of 1 to {MAX_CAPACITY}"),
            );
        }
        self.channels.push(ChannelNode {
            name: name.into(),
            capacity,
            levels,
            item: (TypeId::of::<T>(), type_name::<T>()),
            consumer: None,
            first: Box::new(First(Vec::<T>::new())),
        });
        self.few(name, self.channels.len());
        ChannelId::new(self.number, self.channels.len() - 1)
    }

    /// A buffer that all firings share, with its words before each run.
    pub fn buffer<T: Word>(&mut self, words: impl IntoIterator<Item = T>) -> BufferId<T> {
        self.buffers.push(Box::new(Initial(words.into_iter().collect())));
        self.few("a buffer", self.buffers.len());
        BufferId::new(self.number, self.buffers.len() - 1)
    }

    /// Handles have room for the numbers of so many.
    fn few(&mut self, name: &str, count: usize) {
        if count > MOST as usize {
            self.refuse(format!("`{name}`, number {count}"), format!("take at most {MOST}"));
        }
    }

    /// Lets `kernel` consume the items of `channel`. A channel has one consumer.
    pub fn connect<K: ChannelKernel>(&mut self, channel: ChannelId<K::Item>, kernel: K) {
        let index = self.kernels.len();
        let item = (TypeId::of::<K::Item>(), type_name::<K::Item>());
        let own = channel.graph() == self.number;
        let node = self.channels.get_mut(channel.index());
        match node.filter(|node| own && node.item == item) {
            None => self.foreign(K::NAME, "channel", channel.index()),
            Some(node) => match node.consumer.replace(index) {
                None => self
                    .kernels
                    .push(KernelNode { input: channel.index(), node: Box::new(NodeOf(kernel)) }),
                Some(_) => {
                    let what = format!("channel `{}` is connected to two kernels", node.name);
                    self.refuse(what, "connect each channel to one kernel; emit into two channels");
                }
            },
        }
    }

    /// Adds to the initial items of `channel`. The host holds them until kernels consume them, so they do not count towards
    /// the channel's capacity.
    pub fn put<T: Item>(&mut self, channel: ChannelId<T>, items: impl IntoIterator<Item = T>) {
        let own = channel.graph() == self.number;
        let node = self.channels.get_mut(channel.index()).filter(|_| own);
        match node.and_then(|node| node.first.any_mut().downcast_mut::<Vec<T>>()) {
            Some(first) => first.extend(items),
            None => self.foreign("put", "channel", channel.index()),
        }
    }

    fn foreign(&mut self, whose: &str, what: &str, index: usize) {
        self.refuse(
            format!("`{whose}` got {what} {index} of another graph"),
            format!("use the {what}s that this graph returned"),
        );
    }

    fn refuse(&mut self, what: impl Into<String>, hint: impl Into<String>) {
        self.refused.get_or_insert((what.into(), hint.into()));
    }

    /// Whether it can be run.
    ///
    /// # Errors
    /// Channels or buffers of another graph; a channel with two kernels; capacities, levels or items out of range; no
    /// kernels; no first items; a channel too small for what one firing may emit: the error names the smallest legal
    /// capacity.
    pub fn check(&self) -> Result<()> {
        self.plan().map(|_| ())
    }
}
