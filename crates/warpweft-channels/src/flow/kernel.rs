//! What `#[channel_kernel]` promises: what a firing takes, where its items go, and both its forms.

use std::any::{TypeId, type_name};

use super::buffer::{HostBuffers, Word};
use super::handle::{BufferId, ChannelId, Item};
use warpweft_core::element::Unit;

/// A kernel: the function that consumes the items of one channel, one item a call, with its constant arguments.
///
/// A type of the function's own name implements this; `name(arguments)` makes one. See
/// [`channel_kernel`](macro@super::channel_kernel).
///
/// # Safety
/// The C++ struct that `cuda` names has this type's members with this type's layout.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a kernel of a channel-flow graph",
    note = "put `#[channel_kernel]` on the function, and give its channels, buffers and constants: `kernel(channel, 7)`"
)]
pub unsafe trait ChannelKernel: Copy + Send + Sync + 'static {
    /// What it consumes.
    type Item: Item;
    /// Its outputs, as [`Out`]s.
    type Ports: Send;
    /// The buffers that it uses.
    type Buffers: Send + Sync;
    /// The function's name.
    const NAME: &'static str;
    /// Items that one call emits at most into all outputs together.
    const TOTAL: usize;

    /// Empty outputs.
    fn ports() -> Self::Ports;
    /// The buffers of a run.
    fn bind(&self, buffers: &HostBuffers) -> Self::Buffers;
    /// Consumes one item.
    fn consume(&self, item: Self::Item, ports: &mut Self::Ports, buffers: &Self::Buffers);
    /// Shows each output, in the order of [`ChannelKernel::edges`].
    fn visit(&self, ports: &mut Self::Ports, visitor: &mut impl PortVisitor);
    /// Where its outputs go.
    fn edges(&self) -> Vec<Edge>;
    /// Which buffers it uses.
    fn uses(&self) -> Vec<BufferUse>;
    /// The name of the C++ struct of the function; it and all it calls are added to `unit` on first use.
    fn cuda(unit: &mut Unit) -> String;
}

/// An output of a kernel: `items: &mut Out<T, N>` takes at most `N` items from one call.
///
/// ```
/// use warpweft::channels::flow::Out;
///
/// let mut halves = Out::<u32, 2>::new();
/// (1..=2).for_each(|half| halves.emit(half));
/// assert_eq!((halves.items(), halves.overflowed()), (&[1, 2][..], false));
/// halves.emit(3);
/// assert!(halves.overflowed());
/// ```
#[derive(Clone, Debug)]
pub struct Out<T, const N: usize> {
    items: Vec<T>,
    /// Items that there may be after the present call.
    limit: usize,
    overflowed: bool,
}

impl<T: Item, const N: usize> Default for Out<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Item, const N: usize> Out<T, N> {
    /// An output without items, for one call.
    pub fn new() -> Self {
        Self { items: Vec::new(), limit: N, overflowed: false }
    }

    /// Puts an item into the channel.
    #[inline]
    pub fn emit(&mut self, item: T) {
        match self.items.len() < self.limit {
            true => self.items.push(item),
            false => self.overflowed = true,
        }
    }

    /// What was emitted.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Whether a call emitted more than `N` items. The run then ends with an error.
    pub fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Another call emits.
    #[doc(hidden)]
    #[inline]
    pub fn begin(&mut self) {
        self.limit = self.items.len() + N;
    }

    /// Items of the present call.
    #[doc(hidden)]
    #[inline]
    pub fn emitted(&self) -> usize {
        N - (self.limit - self.items.len())
    }

    /// The present call has emitted too many items in all.
    #[doc(hidden)]
    pub fn exceed(&mut self) {
        self.overflowed = true;
    }

    pub(super) fn clear(&mut self) {
        self.items.clear();
    }
}

/// What looks at the outputs of a kernel.
pub trait PortVisitor {
    /// An output, and the channel that its items go to.
    fn port<T: Item, const N: usize>(&mut self, channel: ChannelId<T>, out: &mut Out<T, N>);
}

/// An edge from a kernel to a channel.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The channel's number.
    pub channel: usize,
    /// Items of one call at most.
    pub bound: usize,
    /// Its graph's number.
    pub(super) graph: u32,
    pub(super) item: (TypeId, &'static str),
}

impl Edge {
    /// The edge to `channel`.
    pub fn to<T: Item>(channel: ChannelId<T>, bound: usize) -> Self {
        let item = (TypeId::of::<T>(), type_name::<T>());
        Self { channel: channel.index(), bound, graph: channel.graph(), item }
    }
}

/// A buffer that a kernel uses.
#[derive(Clone, Copy, Debug)]
pub struct BufferUse {
    pub(super) buffer: usize,
    /// Its graph's number.
    pub(super) graph: u32,
    pub(super) word: (TypeId, &'static str),
    /// Whether the kernel does nothing but add to its words, and does not ask what they were.
    pub(super) only_added: bool,
}

impl BufferUse {
    /// The use of `buffer`.
    pub fn of<T: Word>(buffer: BufferId<T>) -> Self {
        let word = (TypeId::of::<T>(), type_name::<T>());
        Self { buffer: buffer.index(), graph: buffer.graph(), word, only_added: false }
    }

    /// The use of `buffer` by a kernel that adds to its words, and does nothing else with it.
    pub fn only_added<T: Word>(buffer: BufferId<T>) -> Self {
        Self { only_added: true, ..Self::of(buffer) }
    }
}
