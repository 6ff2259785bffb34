//! What is noted of each cell in addition to its value: nothing, or its choice.

use std::marker::PhantomData;

use super::cell::{CellOfLanes, Each, LANES};
use crate::recurrence::{Traced, WavefrontElement, choice_of};

/// What is noted of the cells of all lanes.
pub(super) trait Note<E: WavefrontElement>: Copy + Sync {
    /// Bytes of all lanes together.
    const BYTES: usize;

    /// Notes `cells`, next to which are those to the north-west, north and west.
    fn note(
        &self,
        near: [&CellOfLanes<E::Cell>; 3],
        cells: &CellOfLanes<E::Cell>,
        a: &Each<E::Row>,
        b: &Each<E::Column>,
        to: &mut [u8],
    );
}

/// Nothing.
#[derive(Clone, Copy)]
pub(super) struct Nothing;

impl<E: WavefrontElement> Note<E> for Nothing {
    const BYTES: usize = 0;

    #[inline(always)]
    fn note(
        &self,
        _: [&CellOfLanes<E::Cell>; 3],
        _: &CellOfLanes<E::Cell>,
        _: &Each<E::Row>,
        _: &Each<E::Column>,
        _: &mut [u8],
    ) {
    }
}

/// The choices of `E`, in as few bits as they need, so that none lies in two bytes.
pub(super) struct Chosen<E: Traced> {
    choice: E::Choice,
    of: PhantomData<fn() -> E>,
}

impl<E: Traced> Clone for Chosen<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E: Traced> Copy for Chosen<E> {}

impl<E: Traced> Chosen<E> {
    pub fn new(element: &E) -> Self {
        Self { choice: element.choice(), of: PhantomData }
    }
}

/// Bits that a choice takes among others: as few as it needs, so that none lies in two bytes.
pub(in crate::cpu) const fn bits<E: Traced>() -> usize {
    E::BITS.next_power_of_two() as usize
}

/// Choice `at` of those in `packed`.
pub(in crate::cpu) fn choice_at<E: Traced>(packed: &[u8], at: usize) -> u8 {
    let bit = at * bits::<E>();
    (packed[bit / 8] >> (bit % 8)) & mask::<E>()
}

/// The bits of a choice.
pub(in crate::cpu) fn mask<E: Traced>() -> u8 {
    ((1u32 << E::BITS) - 1) as u8
}

impl<E: Traced> Note<E::Plain> for Chosen<E> {
    const BYTES: usize = LANES * bits::<E>() / 8;

    #[inline(always)]
    fn note(
        &self,
        [corner, north, west]: [&CellOfLanes<E::Cell>; 3],
        cells: &CellOfLanes<E::Cell>,
        a: &Each<E::Row>,
        b: &Each<E::Column>,
        to: &mut [u8],
    ) {
        let mut choices = [0u8; LANES];
        for l in 0..LANES {
            let near = [corner.at(l), north.at(l), west.at(l)];
            choices[l] = choice_of::<E>(&self.choice, near, cells.at(l), a[l], b[l]) & mask::<E>();
        }
        pack(bits::<E>(), &choices, to);
    }
}

/// A byte a choice to `bits` bits each, the first in the lowest. Choices fill whole bytes.
#[inline(always)]
pub(in crate::cpu) fn pack(bits: usize, choices: &[u8], to: &mut [u8]) {
    match bits {
        2 => {
            for (to, &four) in to.iter_mut().zip(choices.as_chunks::<4>().0) {
                let word = u32::from_le_bytes(four);
                *to = (word | word >> 6 | word >> 12 | word >> 18) as u8;
            }
        }
        4 => {
            for (to, [low, high]) in to.iter_mut().zip(choices.as_chunks::<2>().0) {
                *to = low | high << 4;
            }
        }
        8 => to.copy_from_slice(choices),
        _ => {
            for (to, few) in to.iter_mut().zip(choices.chunks_exact(8 / bits)) {
                *to = few.iter().rev().fold(0, |byte, choice| (byte << (bits % 8)) | choice);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_choices_are_where_they_are_looked_for() {
        for bits in [1, 2, 4, 8] {
            let choices: [u8; LANES] = std::array::from_fn(|l| (l * 7 % (1 << bits)) as u8);
            let mut to = vec![0; LANES * bits / 8];
            pack(bits, &choices, &mut to);
            for (l, &choice) in choices.iter().enumerate() {
                let bit = l * bits;
                let mask = ((1u32 << bits) - 1) as u8;
                assert_eq!((to[bit / 8] >> (bit % 8)) & mask, choice, "{bits} bits, lane {l}");
            }
        }
    }
}
