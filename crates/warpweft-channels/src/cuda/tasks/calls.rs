//! The calls of one function with its types as values, for what only moves bytes. Not here: the values that come back.

use std::any::TypeId;

use super::super::text::bytes_of;
use crate::spawning::DeviceCall;
use crate::spec::Channels;
use warpweft_core::element::Unit;

/// Calls of a function, as bytes.
pub(in crate::cuda) struct Calls<'c> {
    /// The function's name, the type of its calls and what defines it in C++.
    pub name: &'static str,
    pub of: TypeId,
    pub cuda: fn(&mut Unit) -> String,
    /// All calls, and how many there are.
    pub roots: &'c [u8],
    pub count: usize,
    /// Bytes of a call and its alignment.
    pub bytes: usize,
    pub align: usize,
    /// Bytes of a value.
    pub value: usize,
}

impl<'c> Calls<'c> {
    /// Those of `channels`.
    pub fn of<C: DeviceCall>(channels: &'c Channels<C>) -> Self {
        Self {
            name: C::NAME,
            of: TypeId::of::<C>(),
            cuda: C::cuda,
            roots: bytes_of(&channels.roots),
            count: channels.roots.len(),
            bytes: size_of::<C>(),
            align: align_of::<C>(),
            value: size_of::<C::Value>(),
        }
    }

    /// Whether the only one may be taken for one in what each call passes on.
    pub fn is_uniform(&self, unit: &Unit) -> bool {
        self.count == 1 && unit.numbered().len() == 1 && self.bytes > 0
    }
}
