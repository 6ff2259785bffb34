//! Trees of calls: Fibonacci numbers, queens, and trees whose shape a hash decides.

use serde_json::json;
use warpweft::Result;
use warpweft_apps::uts::{Search, Shape, Tree};
use warpweft_apps::{fib, queens};

use super::options::{By, Depth, Options, Said, alike};
use crate::run::check::Check;
use crate::run::outcome::Outcome;

/// Nodes of a part of a tree that a loop may visit for a check: about a second.
const CHECKED_NODES: u64 = 5_000_000;

#[derive(clap::Args)]
#[command(
    after_help = "The result is compared with that of doubling, the number of calls with 2 fib(N + 1) - 1.

Examples:
  warpweft channels fib 40
  warpweft channels fib 40 --device cpu --threads 2"
)]
pub struct Fib {
    /// Index of the number, 0 to 93.
    n: u32,
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(
    after_help = "For up to 18 columns the result is compared with a list of solutions (OEIS A000170).

Examples:
  warpweft channels queens 13
  warpweft channels queens 12 --json"
)]
pub struct Queens {
    /// Columns and rows of the board, 1 to 32.
    n: u32,
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    options: Options,
}

#[derive(clap::Args)]
#[command(
    after_help = "The check compares the number of nodes with the published one. For a part of a tree (--depth),
a loop counts the nodes: up to 5 million of them, or any number with --check full.

Examples:
  warpweft channels uts T1               4,130,071 nodes, geometric
  warpweft channels uts T3L              111,345,631 nodes, 17,845 levels, binomial
  warpweft channels uts T1 --depth 7     a part: 7 levels below the root"
)]
pub struct Uts {
    /// The tree: T1, T1L, T1XL, T3 or T3L.
    tree: String,
    /// Levels below the root, for T1, T1L and T1XL only [default: 10, 13, 15].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    depth: Option<u32>,
    #[command(flatten)]
    by: By,
    #[command(flatten)]
    options: Options,
}

impl Fib {
    pub fn outcome(&self) -> Result<Outcome> {
        let n = self.n;
        let ran = self.options.run_tree(&self.depth.of(fib::channels(n)?), &self.by)?;
        let (found, calls) = (ran.values[0], ran.report.done);
        let check = self.options.checking.unless_none(|| match calls == fib::calls(n) {
            true => alike("doubling", found, fib::plain(n)),
            false => Check::failed(format!("{calls} calls were run, expected {}", fib::calls(n))),
        });
        let settings = vec![("n", json!(n)), ("levels", json!(self.depth.levels))];
        let said = Said { settings, answer: vec![("value", json!(found))], check };
        Ok(self.options.outcome("fib", format!("F({n})"), ran, said))
    }
}

impl Queens {
    pub fn outcome(&self) -> Result<Outcome> {
        let n = self.n;
        let ran = self.options.run_tree(&self.depth.of(queens::channels(n)?), &self.by)?;
        let found = ran.values[0];
        let known = || match queens::SOLUTIONS.get(n as usize - 1) {
            Some(&expect) => alike("list of solutions (OEIS A000170)", found, expect),
            None => Check::none(format!("the list ends at {}", queens::SOLUTIONS.len())),
        };
        let check = self.options.checking.unless_none(known);
        let settings = vec![("n", json!(n)), ("levels", json!(self.depth.levels))];
        let said = Said { settings, answer: vec![("solutions", json!(found))], check };
        Ok(self.options.outcome("queens", format!("{n} on {n} x {n} squares"), ran, said))
    }
}

impl Uts {
    pub fn outcome(&self) -> Result<Outcome> {
        let known = Tree::named(&self.tree)?;
        let tree = match self.depth {
            Some(depth) => known.with_depth(depth)?,
            None => known,
        };
        let (ran, nodes) = match tree.search() {
            Search::Geometric(calls) => {
                let ran = self.options.run_tree(&calls, &self.by)?;
                let nodes = ran.values[0];
                (ran, nodes)
            }
            Search::Binomial(calls, others) => {
                let ran = self.options.run_tree(&calls, &self.by)?;
                let nodes = ran.values.iter().sum::<u64>() + others;
                (ran, nodes)
            }
        };
        let most = self.options.checking.most(CHECKED_NODES);
        let check = self.options.checking.unless_none(|| match tree == known {
            true => alike("published number of nodes", nodes, tree.nodes),
            false if nodes <= most => alike("loop over all nodes", nodes, tree.plain_nodes()),
            false => Check::none(format!(
                "this part has more than {CHECKED_NODES} nodes; --check full counts them"
            )),
        });
        let title = match tree.shape {
            Shape::Geometric { depth } => format!("{}, {depth} levels below the root", tree.name),
            Shape::Binomial { .. } => tree.name.to_string(),
        };
        let settings = vec![("tree", json!(tree.name)), ("depth", json!(self.depth))];
        let said = Said { settings, answer: vec![("nodes", json!(nodes))], check };
        Ok(self.options.outcome("uts", title, ran, said))
    }
}
