//! Which variables must outlive a stop: the flow of a body in chunks of text, and what each mentions.

use std::collections::BTreeSet;

use crate::ir::Name;

/// A chunk of text that runs from its start to its end, unless it jumps out of a loop.
#[derive(Debug, Default)]
pub struct Chunk {
    pub text: String,
    /// The variables that it declares. Its other mentions of them come after that.
    pub declares: Vec<Name>,
    /// The chunks that may follow.
    pub next: Vec<usize>,
    /// The stop at which it begins: what it needs is kept while the body is not running.
    pub stop: Option<u32>,
}

/// The chunks of a body.
#[derive(Debug, Default)]
pub struct Flow(pub Vec<Chunk>);

impl Flow {
    /// A chunk that may follow `before`.
    pub fn chunk(&mut self, before: impl IntoIterator<Item = usize>) -> usize {
        let new = self.0.len();
        self.0.push(Chunk::default());
        for chunk in before {
            self.edge(chunk, new);
        }
        new
    }

    /// `to` may follow `from`.
    pub fn edge(&mut self, from: usize, to: usize) {
        if !self.0[from].next.contains(&to) {
            self.0[from].next.push(to);
        }
    }

    /// Whether chunk `at` mentions `name`.
    pub fn mentions(&self, at: usize, name: &str) -> bool {
        has_word(&self.0[at].text, name)
    }

    /// Whether a chunk other than the one that declares `name` mentions it.
    pub fn leaves_its_chunk(&self, name: &str) -> bool {
        (0..self.0.len())
            .any(|at| self.mentions(at, name) && !self.0[at].declares.iter().any(|it| it == name))
    }

    /// Those of `names` that a chunk after a stop may need.
    pub fn kept<'n>(&self, names: impl IntoIterator<Item = &'n Name>) -> BTreeSet<Name> {
        names.into_iter().filter(|name| self.is_kept(name)).cloned().collect()
    }

    fn is_kept(&self, name: &str) -> bool {
        let needs = self.needs(name);
        (0..self.0.len()).any(|at| self.0[at].stop.is_some() && needs[at])
    }

    /// For each chunk, whether it or one after it mentions `name` before a declaration.
    fn needs(&self, name: &str) -> Vec<bool> {
        let count = self.0.len();
        let declares = |at: usize| self.0[at].declares.iter().any(|it| it == name);
        let mut needs: Vec<_> =
            (0..count).map(|at| self.mentions(at, name) && !declares(at)).collect();
        // Backwards until nothing changes.
        loop {
            let before = needs.clone();
            for at in (0..count).rev() {
                needs[at] |= !declares(at) && self.0[at].next.iter().any(|&next| needs[next]);
            }
            if needs == before {
                return needs;
            }
        }
    }

    /// The labels of the stops at which `name` is needed.
    pub fn stops_that_need(&self, name: &str) -> BTreeSet<u32> {
        let needs = self.needs(name);
        self.0.iter().zip(needs).filter(|(_, needs)| *needs).filter_map(|(it, _)| it.stop).collect()
    }

    /// The labels of the first stops after chunk `first`, other than those that are `passed`.
    pub fn stops_after(&self, first: usize, passed: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let (mut seen, mut open) = (BTreeSet::new(), self.0[first].next.clone());
        while let Some(at) = open.pop() {
            if !seen.insert(at) {
                continue;
            }
            match self.0[at].stop {
                Some(stop) if !passed(stop) => drop(found.insert(stop)),
                _ => open.extend(&self.0[at].next),
            }
        }
        found
    }

    /// The stops that are reached from a stop, without those that only the start of the body reaches.
    pub fn reached_from_stops(&self) -> BTreeSet<u32> {
        let stops = (0..self.0.len()).filter(|&at| self.0[at].stop.is_some());
        stops.flat_map(|at| self.stops_after(at, |_| false)).collect()
    }
}

/// Whether `word` stands in `text` by itself.
pub fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(inside) && !text[at + word.len()..].starts_with(inside)
    })
}
