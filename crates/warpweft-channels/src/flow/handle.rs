//! What names the channels and buffers of a graph: numbers that know their type.

use std::fmt;
use std::marker::PhantomData;

use warpweft_core::element::{DeviceType, Unit, Word};

/// What travels through a channel: numbers, arrays and structs with `#[derive(Device)]`.
pub trait Item: DeviceType + Send + Sync {}

impl<T: DeviceType + Send + Sync> Item for T {}

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident<$t:ident: $bound:ident>) => {
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<$t> {
            pub(super) index: u32,
            item: PhantomData<fn() -> $t>,
        }

        impl<$t> $name<$t> {
            pub(super) fn new(index: usize) -> Self {
                Self { index: index as u32, item: PhantomData }
            }

            /// Its number in its graph, from 0.
            pub fn index(self) -> usize {
                self.index as usize
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
                write!(f, concat!(stringify!($name), "({})"), self.index)
            }
        }

        // On a device it is the number.
        impl<$t: $bound> DeviceType for $name<$t> {
            fn cuda(unit: &mut Unit) -> String {
                u32::cuda(unit)
            }
            fn cuda_value(&self, unit: &mut Unit) -> String {
                self.index.cuda_value(unit)
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
