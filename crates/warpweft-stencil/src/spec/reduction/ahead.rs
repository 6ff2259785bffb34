//! Reductions that a program asks for after sweeps by certain functions, time and again: the next such sweep takes them in
//! while its cells are in the cache. Sums are exact, so it does not matter when cells are taken in. Not here: how
//! (`cpu::measure`).

use std::any::TypeId;

use super::Reduce;
use crate::plan::Region;
use crate::spec::stage::StageList;

/// Lists of functions that are remembered at most.
const FUNCTIONS: usize = 8;
/// Reductions after each of them.
const EACH: usize = 4;

/// A reduction that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    pub what: Reduce,
    pub fields: [usize; 2],
    pub region: Region,
}

impl Asked {
    /// Products of fields do not depend on their order.
    pub fn new(what: Reduce, [a, b]: [usize; 2], region: Region) -> Self {
        Self { what, fields: [a.min(b), a.max(b)], region }
    }
}

/// What is expected, and what the last sweep made of it.
#[derive(Debug)]
pub(crate) struct Ahead<T> {
    /// The functions of sweeps, and what was asked for after the last of them.
    known: Vec<(Vec<TypeId>, Vec<Asked>)>,
    /// The functions of the last sweep, if nobody has written cells since.
    last: Option<Vec<TypeId>>,
    /// What its cells came to, and whether that was asked for.
    ready: Vec<(Asked, T, bool)>,
}

impl<T> Default for Ahead<T> {
    fn default() -> Self {
        Self { known: Vec::new(), last: None, ready: Vec::new() }
    }
}

impl<T: Clone> Ahead<T> {
    /// What is expected of a sweep over `region` by `stages`, which begins.
    pub fn expected(&mut self, stages: &StageList, region: &Region) -> Vec<Asked> {
        self.forget();
        let functions: Vec<_> = stages.iter().map(|stage| stage.function()).collect();
        let known = self.known.iter().find(|(of, _)| *of == functions);
        let asked = known.map_or(Vec::new(), |(_, asked)| {
            asked.iter().filter(|asked| asked.region == *region).copied().collect()
        });
        self.last = Some(functions);
        asked
    }

    /// What the cells came to that the sweep wrote.
    pub fn came(&mut self, all: impl Iterator<Item = (Asked, T)>) {
        self.ready.extend(all.map(|(asked, value)| (asked, value, false)));
    }

    /// What the last sweep made of `asked`; otherwise the next by the same functions is expected to.
    pub fn take(&mut self, asked: &Asked) -> Option<T> {
        if let Some((_, value, used)) = self.ready.iter_mut().find(|(of, ..)| of == asked) {
            *used = true;
            return Some(value.clone());
        }
        let last = self.last.as_ref()?;
        let known = match self.known.iter().position(|(of, _)| of == last) {
            Some(known) => known,
            None => {
                self.known.truncate(FUNCTIONS - 1);
                self.known.insert(0, (last.clone(), Vec::new()));
                0
            }
        };
        let known = &mut self.known[known].1;
        if known.len() < EACH && !known.contains(asked) {
            known.push(*asked);
        }
        None
    }

    /// Whether the last sweep has made `asked`.
    #[cfg(test)]
    pub fn has(&self, asked: &Asked) -> bool {
        self.ready.iter().any(|(of, ..)| of == asked)
    }

    /// Cells change. What nobody asked for is not expected again.
    pub fn forget(&mut self) {
        if let Some(last) = self.last.take()
            && let Some((_, known)) = self.known.iter_mut().find(|(of, _)| *of == last)
        {
            let unused =
                |asked: &Asked| self.ready.iter().any(|(of, _, used)| of == asked && !used);
            known.retain(|asked| !unused(asked));
        }
        self.ready.clear();
    }
}
