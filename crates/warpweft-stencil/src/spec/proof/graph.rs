//! An element function as a graph of the operations on cells, without statements and variables. Not: the order in which
//! a kernel does them.

use std::collections::{BTreeMap, HashMap};

use super::syntax::{Expr, Functor, Statement};
use crate::spec::stage::Stage;

/// A value, by the nodes that it is made of; these have smaller numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    /// A number or the name of a constant, as C++.
    Constant(String),
    /// A parameter by its name.
    Parameter(String),
    /// A field of the cell at an offset.
    Tap(usize, Vec<isize>),
    /// A function, an operator or `?` with what stands between `<` and `>`.
    Operation(String, String, Vec<usize>),
}

/// The operations of an element function, and the new value of each field that it assigns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub nodes: Vec<Node>,
    pub assigned: BTreeMap<usize, usize>,
}

impl Graph {
    /// That of a stage without tables and branches; none if its text has something else.
    pub fn of(stage: &dyn Stage) -> Option<Self> {
        if stage.knows().anything() || !stage.tables().is_empty() {
            return None;
        }
        let functor = Functor::of(stage).ok()?;
        let mut build = Build::default();
        for (member, _) in &functor.members {
            let node = build.node(Node::Parameter(member.clone()));
            build.variables.insert(member.clone(), Some(node));
        }
        build.run(&functor.body)?;
        Some(build.graph)
    }

    /// The number of a tap, which is added if it is not there.
    pub fn tap(&mut self, field: usize, offset: Vec<isize>) -> usize {
        let tap = Node::Tap(field, offset);
        self.nodes.iter().position(|node| *node == tap).unwrap_or_else(|| {
            self.nodes.push(tap);
            self.nodes.len() - 1
        })
    }

    /// The nodes that `node` is made of.
    pub fn operands(&self, node: usize) -> &[usize] {
        match &self.nodes[node] {
            Node::Operation(_, _, operands) => operands,
            _ => &[],
        }
    }
}

#[derive(Default)]
struct Build {
    graph: Graph,
    numbers: HashMap<Node, usize>,
    /// What variables hold; none before they have a value.
    variables: HashMap<String, Option<usize>>,
}

impl Build {
    fn node(&mut self, node: Node) -> usize {
        let next = self.graph.nodes.len();
        let number = *self.numbers.entry(node.clone()).or_insert(next);
        if number == next {
            self.graph.nodes.push(node);
        }
        number
    }

    /// Runs statements; whether they end with a `return`.
    fn run(&mut self, statements: &[Statement]) -> Option<bool> {
        for statement in statements {
            match statement {
                Statement::Let(name, value) => {
                    let value = match value {
                        Some(value) => Some(self.value(value)?),
                        None => None,
                    };
                    self.variables.insert(name.clone(), value);
                }
                Statement::Assign(Expr::Name(name), value) => {
                    let value = self.value(value)?;
                    self.variables.insert(name.clone(), Some(value));
                }
                Statement::Assign(Expr::Next(field), value) => {
                    let value = self.value(value)?;
                    self.graph.assigned.insert(*field, value);
                }
                Statement::Block(inner) => {
                    if self.run(inner)? {
                        return Some(true);
                    }
                }
                Statement::Return(None) => return Some(true),
                _ => return None,
            }
        }
        Some(false)
    }

    fn value(&mut self, expr: &Expr) -> Option<usize> {
        let node = match expr {
            Expr::Name(name) => match self.variables.get(name) {
                Some(value) => return *value,
                None => Node::Constant(name.clone()),
            },
            Expr::Number(number) => Node::Constant(number.clone()),
            Expr::Tap(field, offset) => Node::Tap(*field, offset.clone()),
            Expr::Next(field) => return self.graph.assigned.get(field).copied(),
            Expr::List(_) => return None,
            Expr::Call(name, of, operands) => {
                Node::Operation(name.clone(), of.clone(), self.values(operands)?)
            }
            Expr::Compare(sign, sides) => {
                Node::Operation(sign.clone(), String::new(), self.values(&sides[..])?)
            }
            Expr::Choice(parts) => {
                Node::Operation("?".into(), String::new(), self.values(&parts[..])?)
            }
        };
        Some(self.node(node))
    }

    fn values(&mut self, exprs: &[Expr]) -> Option<Vec<usize>> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }
}
