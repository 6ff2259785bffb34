//! What names the channels and buffers of a graph: numbers that know their type.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use warpweft_core::element::{DeviceType, Unit, Word};

/// What travels through a channel: numbers, arrays and structs with `#[derive(Device)]`.
pub trait Item: DeviceType + Send + Sync {}

impl<T: DeviceType + Send + Sync> Item for T {}

/// Numbers of channels and buffers of a graph are below this. The bits above are their graph's.
pub(super) const MOST: u32 = 1 << 20;
/// Graphs have different numbers, until there have been so many.
const GRAPHS: u32 = u32::MAX / MOST + 1;

/// The number of a new graph.
pub(super) fn next_graph() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed) % GRAPHS
}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident<$t:ident: $bound:ident>) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<$t> {
            number: u32,
            item: PhantomData<fn() -> $t>,
        }

        impl<$t> $name<$t> {
            /// Number `index` of `graph`.
            pub(super) fn new(graph: u32, index: usize) -> Self {
                Self { number: graph * MOST + index as u32 % MOST, item: PhantomData }
            }

            /// Its number in its graph, from 0.
            pub fn index(self) -> usize {
                (self.number % MOST) as usize
            }

            /// Its graph's number.
            pub(super) fn graph(self) -> u32 {
                self.number / MOST
            }
        }

        impl<$t> Clone for $name<$t> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<$t> Copy for $name<$t> {}

        impl<$t> fmt::Debug for $name<$t> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }

        // On a device it is the number, with its graph's.
        impl<$t: $bound> DeviceType for $name<$t> {
            fn cuda(unit: &mut Unit) -> String {
                u32::cuda(unit)
            }
            fn cuda_value(&self, unit: &mut Unit) -> String {
                self.number.cuda_value(unit)
            }
        }
    };
}

handle! {
    /// A channel of a [`FlowGraph`](super::FlowGraph): a bounded queue of items of one type.
    ChannelId<T: Item>
}
handle! {
    /// A buffer of a [`FlowGraph`](super::FlowGraph): words that all firings share.
    BufferId<T: Word>
}
