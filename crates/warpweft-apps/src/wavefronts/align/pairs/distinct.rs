//! Which pairs have which sequences.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use warpweft::error::{Error, Result};
use warpweft::memory::room;

use crate::align::Sequence;

/// Pairs by the numbers of their sequences: a sequence of several pairs is copied to a device once.
pub struct Distinct<'s> {
    /// The rows of each query.
    pub queries: Vec<&'s [u8]>,
    /// The columns of each target.
    pub targets: Vec<&'s [u8]>,
    /// A query and a target.
    pub pairs: Vec<[u32; 2]>,
}

impl<'s> Distinct<'s> {
    /// Those of `pairs`.
    ///
    /// # Errors
    /// 2^32 pairs or more; too little memory.
    pub fn of(pairs: &[(&'s Sequence, &'s Sequence)]) -> Result<Self> {
        if u32::try_from(pairs.len()).is_err() {
            return Err(Error::spec(format!("{} pairs", pairs.len()), "align fewer at once"));
        }
        let (mut queries, mut targets) = (Vec::new(), Vec::new());
        let mut numbers = [HashMap::new(), HashMap::new()];
        // The letters of a sequence are none of another: their address tells which one it is.
        let mut number = |which: usize, all: &mut Vec<&'s [u8]>, letters: &'s [u8]| match numbers
            [which]
            .entry(letters.as_ptr())
        {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(unknown) => {
                all.push(letters);
                *unknown.insert((all.len() - 1) as u32)
            }
        };
        let mut all = room(pairs.len(), "align fewer pairs at once")?;
        for (query, target) in pairs {
            let query = number(0, &mut queries, query.as_rows());
            all.push([query, number(1, &mut targets, target.as_columns())]);
        }
        Ok(Self { queries, targets, pairs: all })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_of_several_pairs_are_listed_once() {
        // Two of them have the same letters.
        let [queries, targets] = [[b"ACGT", b"TTGA", b"ACGT"], [b"GATT", b"CATT", b"AAAA"]]
            .map(|texts| texts.map(|text| Sequence::new("s", text).unwrap()));
        let with = |query| targets.iter().map(move |target| (query, target));
        let pairs: Vec<_> = queries.iter().flat_map(with).collect();
        let found = Distinct::of(&pairs).unwrap();
        assert_eq!([found.queries.len(), found.targets.len()], [3, 3]);
        for (pair, [query, target]) in pairs.iter().zip(found.pairs) {
            assert_eq!(found.queries[query as usize], pair.0.as_rows());
            assert_eq!(found.targets[target as usize], pair.1.as_columns());
        }
    }
}
