//! Unbalanced tree search: counts the nodes of trees whose shape a hash decides (Olivier et al., "UTS: an unbalanced tree
//! search benchmark", LCPC 2006).
//!
//! A node is the SHA-1 digest of its parent's and of its number among the children.

use warpweft::error::{Error, Result};
use warpweft::prelude::*;

use super::sha1::sha1_block;

/// The node of number `number` below `parent`.
#[device]
pub fn child(parent: [u32; 5], number: u32) -> [u32; 5] {
    let (a, b, c, d) = (parent[0], parent[1], parent[2], parent[3]);
    sha1_block([a, b, c, d, parent[4], number, 0x8000_0000, 0, 0, 0, 0, 0, 0, 0, 0, 192])
}

/// The root of the tree of this seed.
#[device]
pub fn root(seed: u32) -> [u32; 5] {
    let mut block = [0; 16];
    block[4] = seed;
    block[5] = 0x8000_0000;
    block[15] = 160;
    sha1_block(block)
}

/// How many children a node has, 4 on average and 100 at most: floor(log(1 - u) / log(0.8)), where u is the node's
/// last word over 2^31. Here by powers of 0.8, so that every device counts the same.
#[device]
pub fn many(node: [u32; 5]) -> u32 {
    let left = 2147483648.0 - (node[4] & 0x7fff_ffff) as f64;
    let mut bound = 2147483648.0 * 0.8;
    let mut count = 0;
    while count < 100 && left <= bound {
        bound *= 0.8;
        count += 1;
    }
    count
}

/// Nodes of a geometric tree from `node` on, which may have so many levels below it.
#[spawning]
pub fn geometric(node: [u32; 5], below: u32) -> u64 {
    let mut nodes = 1;
    if below > 0 {
        let count = many(node);
        for number in 0..count {
            nodes += spawn!(geometric(child(node, number), below - 1));
        }
    }
    sync!();
    nodes
}

/// Nodes of a binomial tree from `node` on: one has `count` children if its last word, without the first bit, is below
/// `limit`, else none.
#[spawning]
pub fn binomial(node: [u32; 5], count: u32, limit: u32) -> u64 {
    let mut nodes = 1;
    if (node[4] & 0x7fff_ffff) < limit {
        for number in 0..count {
            nodes += spawn!(binomial(child(node, number), count, limit));
        }
    }
    sync!();
    nodes
}

/// How children are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// 4 on average down to a level.
    Geometric {
        /// The last level.
        depth: u32,
    },
    /// `first` of the root; `count` of another node with the probability `chance`.
    Binomial {
        /// Children of the root.
        first: u32,
        /// Children of others.
        count: u32,
        /// That a node has some.
        chance: f64,
    },
}

/// A tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tree {
    /// As the benchmark calls it.
    pub name: &'static str,
    /// How children are drawn.
    pub shape: Shape,
    /// Of the root.
    pub seed: u32,
    /// Nodes as published with the benchmark.
    pub nodes: u64,
}

/// The trees of the benchmark's distribution that are of these shapes.
pub const TREES: [Tree; 5] = [
    Tree { name: "T1", shape: Shape::Geometric { depth: 10 }, seed: 19, nodes: 4_130_071 },
    Tree { name: "T1L", shape: Shape::Geometric { depth: 13 }, seed: 29, nodes: 102_181_082 },
    Tree { name: "T1XL", shape: Shape::Geometric { depth: 15 }, seed: 29, nodes: 1_635_119_272 },
    Tree {
        name: "T3",
        shape: Shape::Binomial { first: 2000, count: 8, chance: 0.124_875 },
        seed: 42,
        nodes: 4_112_897,
    },
    Tree {
        name: "T3L",
        shape: Shape::Binomial { first: 2000, count: 5, chance: 0.200_014 },
        seed: 7,
        nodes: 111_345_631,
    },
];

/// What is to be computed of a tree: the calls give the nodes below them, and so many more there are.
pub enum Search {
    /// From the root.
    Geometric(Channels<geometric>),
    /// From the root's children.
    Binomial(Channels<binomial>, u64),
}

impl Tree {
    /// The tree of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self> {
        let found = TREES.into_iter().find(|tree| tree.name.eq_ignore_ascii_case(name));
        let names = TREES.map(|tree| tree.name).join(", ");
        found
            .ok_or_else(|| Error::spec(format!("no tree '{name}'"), format!("take one of {names}")))
    }

    /// The tree with another number of levels below the root.
    ///
    /// # Errors
    /// It is binomial.
    pub fn with_depth(&self, depth: u32) -> Result<Self> {
        match self.shape {
            Shape::Geometric { .. } => Ok(Self { shape: Shape::Geometric { depth }, ..*self }),
            Shape::Binomial { .. } => {
                let what = format!("the depth of the tree {} can't be chosen", self.name);
                Err(Error::spec(what, "its depth is random; use T1, T1L or T1XL"))
            }
        }
    }

    /// The search of the whole tree.
    pub fn search(&self) -> Search {
        let root = root(self.seed);
        match self.shape {
            Shape::Geometric { depth } => {
                let calls = Channels::of(geometric::call(root, depth));
                Search::Geometric(calls.levels(depth + 1).children(100))
            }
            Shape::Binomial { first, count, chance } => {
                let limit = self.limit(chance);
                let calls = (0..first).map(|k| binomial::call(child(root, k), count, limit));
                // The deepest of these trees has 17,845 levels.
                Search::Binomial(Channels::all(calls).levels(20_000).children(count), 1)
            }
        }
    }

    /// The least number of 31 bits that stands for more than `chance`.
    fn limit(&self, chance: f64) -> u32 {
        (chance * 2_147_483_648.0).ceil() as u32
    }

    /// Nodes by a loop over them.
    pub fn plain_nodes(&self) -> u64 {
        let digest = |message: &[u8]| {
            let mut bytes = [0u8; 64];
            bytes[..message.len()].copy_from_slice(message);
            bytes[message.len()] = 0x80;
            bytes[63] = 8 * message.len() as u8;
            let word = |k: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| bytes[4 * k + byte]));
            let words = sha1_block(std::array::from_fn(word)).map(u32::to_be_bytes);
            std::array::from_fn(|k| words[k / 4][k % 4])
        };
        self.plain(digest)[0]
    }

    /// Nodes, leaves and levels by a loop with a stack of its own, and with `digest` for SHA-1.
    pub fn plain(&self, digest: impl Fn(&[u8]) -> [u8; 20]) -> [u64; 3] {
        let last = |node: &[u8; 20]| {
            f64::from(u32::from_be_bytes([node[16], node[17], node[18], node[19]]) & 0x7fff_ffff)
                / 2_147_483_648.0
        };
        let mut seed = [0u8; 20];
        seed[16..].copy_from_slice(&self.seed.to_be_bytes());
        let mut stack = vec![(digest(&seed), 0)];
        let [mut nodes, mut leaves, mut levels] = [0; 3];
        while let Some((node, height)) = stack.pop() {
            let count = match self.shape {
                Shape::Geometric { depth } if height >= depth => 0,
                Shape::Geometric { .. } => {
                    ((1.0 - last(&node)).ln() / 0.8f64.ln()).floor().min(100.0) as u32
                }
                Shape::Binomial { first, .. } if height == 0 => first,
                Shape::Binomial { count, chance, .. } => {
                    if last(&node) < chance {
                        count
                    } else {
                        0
                    }
                }
            };
            nodes += 1;
            leaves += u64::from(count == 0);
            levels = levels.max(u64::from(height) + 1);
            for number in 0..count {
                let mut message = [0; 24];
                message[..20].copy_from_slice(&node);
                message[20..].copy_from_slice(&number.to_be_bytes());
                stack.push((digest(&message), height + 1));
            }
        }
        [nodes, leaves, levels]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha1::{Digest, Sha1};

    /// At the numbers where one more child begins, and all around them, powers and logarithms agree.
    #[test]
    fn children_are_those_of_the_logarithm() {
        for k in 1..=100 {
            let edge = 2_147_483_648.0 * (1.0 - 0.8f64.powi(k));
            for word in (edge as u32).saturating_sub(3)..=(edge as u32 + 3).min(0x7fff_ffff) {
                let u = f64::from(word) / 2_147_483_648.0;
                let expect = ((1.0 - u).ln() / 0.8f64.ln()).floor().min(100.0) as u32;
                assert_eq!(many([0, 0, 0, 0, word]), expect, "{word}");
            }
        }
    }

    /// Small trees of both shapes by another program's SHA-1.
    #[test]
    fn small_trees_have_the_nodes_of_the_loop() {
        let geometric = Tree { shape: Shape::Geometric { depth: 6 }, ..TREES[0] };
        let shape = Shape::Binomial { first: 30, count: 8, chance: 0.118 };
        let binomial = Tree { shape, ..TREES[3] };
        for tree in [geometric, binomial] {
            let [nodes, ..] = tree.plain(|message| Sha1::digest(message).into());
            assert!(nodes > 200 && nodes == tree.plain_nodes(), "{nodes}");
            let machine = Machine::detect().unwrap();
            let run = warpweft::channels::Run { target: Target::Cpu, ..Default::default() };
            let (found, calls) = match tree.search() {
                Search::Geometric(calls) => {
                    let (nodes, report) = calls.run_with(&machine, &run).unwrap();
                    (nodes, report.done)
                }
                Search::Binomial(calls, others) => {
                    let (nodes, report) = calls.run_all_with(&machine, &run).unwrap();
                    (nodes.iter().sum::<u64>() + others, report.done + others)
                }
            };
            assert_eq!((found, calls), (nodes, nodes), "{tree:?}");
        }
        assert!(Tree::named("t3l").is_ok() && Tree::named("T9").is_err());
    }

    #[test]
    fn both_shapes_compile_for_ampere_and_hopper() {
        use warpweft::channels::cuda::compile_check;
        if let Err(error) = warpweft::cuda::compiler() {
            return println!("skipped: {error}");
        }
        compile_check::<geometric>("sm_80").unwrap();
        compile_check::<binomial>("sm_90").unwrap();
    }
}
