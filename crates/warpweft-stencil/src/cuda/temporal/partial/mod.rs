//! Element functions taken apart by planes: what can be computed of a cell's new value once a plane is there, and what must be
//! kept until the next one is. A sum over neighbours in the order of planes keeps one number, its partial sum; operations and their
//! order are those of the function. Not: the kernel (partial.cuh).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::cuda::text::reach::type_of;
use crate::spec::proof::graph::{Graph, Node};
use crate::spec::stage::RawTap;
use crate::{Spec, Stage};

/// Whether levels keep planes: not in three dimensions where a stage reads off the cell along two axes at once.
pub fn keeps_planes(stencil: &Spec) -> bool {
    let axes = |tap: &RawTap| tap.offset.iter().filter(|&&offset| offset != 0).count();
    let mut taps = stencil.stages.iter().flat_map(|stage| stage.taps());
    stencil.rank() != 3 || taps.all(|tap| axes(tap) < 2)
}

/// The stages taken apart by planes where levels keep no planes; none where that is not possible.
pub fn parts(stencil: &Spec) -> Option<Vec<PartialStage>> {
    if keeps_planes(stencil) {
        return Some(Vec::new());
    }
    let fields = used_fields(stencil);
    let stages = stencil.stages.iter();
    let of = stages.map(|stage| PartialStage::of(&**stage, stage.radius()[0].into(), &fields));
    let of: Vec<_> = of.collect::<Option<_>>()?;
    // Names of functions and constants are those of a stage alone: others may have the same.
    (of.len() == 1 || of.iter().all(PartialStage::names_nothing)).then_some(of)
}

/// The fields that any stage uses.
pub fn used_fields(stencil: &Spec) -> Vec<usize> {
    let stages = &stencil.stages;
    let used = |f: &usize| {
        stages.iter().any(|s| s.writes().contains(f) || s.taps().iter().any(|t| t.field == *f))
    };
    (0..stencil.cell.len()).filter(used).collect()
}

/// One stage taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialStage {
    graph: Graph,
    /// Per node, the last plane that it needs, of `low` before the cell's; none if it needs no cell.
    ready: Vec<Option<isize>>,
    /// The new value of each field, whether assigned or not.
    results: BTreeMap<usize, usize>,
    /// What is kept after each plane but the last, ascending.
    kept: Vec<BTreeSet<usize>>,
    /// Per node, its type, where that is known.
    types: Vec<Option<String>>,
    low: isize,
}

impl PartialStage {
    /// Of a stage in three dimensions, from `low` planes before the cell's up to `high` after it, over a cell of these fields;
    /// none where its text does not allow it.
    pub fn of(stage: &dyn Stage, (low, high): (usize, usize), fields: &[usize]) -> Option<Self> {
        let mut graph = Graph::of(stage)?;
        let results = fields.iter().map(|&f| {
            let assigned = graph.assigned.get(&f).copied();
            (f, assigned.unwrap_or_else(|| graph.tap(f, vec![0; 3])))
        });
        let results = results.collect();
        let (low, high) = (low as isize, high as isize);
        let mut whole = Self {
            ready: ready(&graph),
            types: types(&graph, stage),
            graph,
            results,
            kept: vec![],
            low,
        };
        whole.kept = (-low..high).map(|plane| whole.kept_after(plane)).collect();
        let known = |node: &usize| whole.types[*node].is_some();
        let all_known = whole.kept.iter().flatten().all(known);
        (all_known && whole.write(&mut String::new(), 0, "").is_ok()).then_some(whole)
    }

    /// Whether it calls no function and reads no constant of the user's.
    fn names_nothing(&self) -> bool {
        self.graph.nodes.iter().all(|node| match node {
            Node::Constant(text) => {
                let first = text.trim_start_matches('-').chars().next();
                first.is_some_and(|first| first.is_ascii_digit()) || text.starts_with("ww::")
            }
            Node::Operation(name, ..) => {
                name.starts_with("ww::") || !name.starts_with(char::is_alphabetic)
            }
            Node::Parameter(_) | Node::Tap(..) => true,
        })
    }

    /// Operations of a new cell.
    pub fn operations(&self) -> usize {
        let operation = |node: &&Node| matches!(node, Node::Operation(..));
        self.graph.nodes.iter().filter(operation).count()
    }

    /// 32-bit words that are kept of a cell, over all planes.
    pub fn words(&self) -> usize {
        self.kept.iter().flatten().map(|&node| self.words_of(node)).sum()
    }

    /// Words of the widest new value.
    pub fn width(&self) -> usize {
        self.results.values().map(|&node| self.words_of(node)).max().unwrap_or(1)
    }

    fn words_of(&self, node: usize) -> usize {
        match self.types[node].as_deref() {
            Some("ww::f64" | "ww::i64" | "ww::u64" | "ww::isize" | "ww::usize") => 2,
            _ => 1,
        }
    }

    /// Planes that it reads.
    pub fn planes(&self) -> usize {
        self.kept.len() + 1
    }

    /// The nodes that are computed by `plane` and used later, without those that are one operation on others of them.
    fn kept_after(&self, plane: isize) -> BTreeSet<usize> {
        let there = |node: usize| self.ready[node].is_some_and(|ready| ready <= plane);
        let mut kept = BTreeSet::new();
        for user in 0..self.graph.nodes.len() {
            if self.ready[user].is_some_and(|ready| ready > plane) {
                kept.extend(self.graph.operands(user).iter().copied().filter(|&node| there(node)));
            }
        }
        kept.extend(self.results.values().copied().filter(|&node| there(node)));
        for node in kept.clone().into_iter().rev() {
            let operands = self.graph.operands(node);
            let again = |of: &usize| self.ready[*of].is_none() || kept.contains(of);
            if !operands.is_empty() && operands.iter().all(again) {
                kept.remove(&node);
            }
        }
        kept
    }

    /// Writes the parts of stage `number`, whose functor has this name: `ww_kept<N, P>`, what is kept after P planes, and
    /// `ww_part_N_P`, which takes in the next one.
    pub fn write(&self, text: &mut String, number: usize, functor: &str) -> std::fmt::Result {
        for (n, kept) in self.kept.iter().enumerate() {
            write!(text, "template <>\nstruct ww_kept<{number}, {}> {{", n + 1)?;
            for &node in kept {
                write!(text, " {} v{node};", self.types[node].as_deref().unwrap_or_default())?;
            }
            writeln!(text, " }};")?;
        }
        for part in 0..self.planes() {
            writeln!(
                text,
                "template <class Now, class Before, class After>
WW_FN void ww_part_{number}_{part}(const {functor}& element, const Now& now, const Before& before, After& after) {{"
            )?;
            self.write_part(text, part)?;
            text.push_str("}\n");
        }
        Ok(())
    }

    fn write_part(&self, text: &mut String, part: usize) -> std::fmt::Result {
        let mut written = Written { stage: self, part, text, done: BTreeSet::new() };
        if part > 0 {
            for node in &self.kept[part - 1] {
                writeln!(written.text, "  const auto v{node} = before.v{node};")?;
                written.done.insert(*node);
            }
        }
        match self.kept.get(part) {
            Some(kept) => kept.iter().try_for_each(|&node| {
                let value = written.value(node)?;
                writeln!(written.text, "  after.v{node} = {value};")
            }),
            None => self.results.iter().try_for_each(|(field, &node)| {
                let value = written.value(node)?;
                writeln!(written.text, "  after.template ref<{field}>() = {value};")
            }),
        }
    }
}

/// The text of a part as it grows.
struct Written<'a> {
    stage: &'a PartialStage,
    part: usize,
    text: &'a mut String,
    /// Nodes that are variables by now.
    done: BTreeSet<usize>,
}

impl Written<'_> {
    /// C++ for a node, after what it is made of.
    fn value(&mut self, node: usize) -> Result<String, std::fmt::Error> {
        if self.done.contains(&node) {
            return Ok(format!("v{node}"));
        }
        let value = match &self.stage.graph.nodes[node] {
            Node::Constant(text) => return Ok(text.clone()),
            Node::Parameter(name) => return Ok(format!("element.{name}")),
            Node::Tap(field, offset) => {
                let [z, y, x] = offset[..] else { return Err(std::fmt::Error) };
                // Of the plane that is taken in: what others are needed for is kept.
                if z + self.stage.low != self.part as isize {
                    return Err(std::fmt::Error);
                }
                format!("now.template at<{field}, {z}, {y}, {x}>()")
            }
            Node::Operation(name, of, operands) => {
                let values = operands.iter().map(|&operand| self.value(operand));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                operation(name, of, &values)
            }
        };
        writeln!(self.text, "  const auto v{node} = {value};")?;
        self.done.insert(node);
        Ok(format!("v{node}"))
    }
}

/// C++ for an operation.
fn operation(name: &str, of: &str, values: &[String]) -> String {
    match (name, values) {
        ("?", [condition, then, other]) => format!("({condition} ? {then} : {other})"),
        ("&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">=", [left, right]) => {
            format!("({left} {name} {right})")
        }
        _ if of.is_empty() => format!("{name}({})", values.join(", ")),
        _ => format!("{name}<{of}>({})", values.join(", ")),
    }
}

/// Per node, the last plane that it needs.
fn ready(graph: &Graph) -> Vec<Option<isize>> {
    let mut ready: Vec<Option<isize>> = Vec::new();
    for node in &graph.nodes {
        ready.push(match node {
            Node::Constant(_) | Node::Parameter(_) => None,
            Node::Tap(_, offset) => offset.first().copied(),
            Node::Operation(_, _, operands) => operands.iter().filter_map(|&of| ready[of]).max(),
        });
    }
    ready
}

/// Per node, its type in C++: that of its cells, where the operation is one that keeps it.
fn types(graph: &Graph, stage: &dyn Stage) -> Vec<Option<String>> {
    const KEEP: [&str; 14] = [
        "ww::add",
        "ww::sub",
        "ww::mul",
        "ww::div",
        "ww::neg",
        "ww::mul_add",
        "ww::abs",
        "ww::add_abs",
        "ww::min",
        "ww::max",
        "ww::sqrt",
        "ww::bit_and",
        "ww::bit_or",
        "ww::bit_xor",
    ];
    let mut types: Vec<Option<String>> = Vec::new();
    for node in &graph.nodes {
        types.push(match node {
            Node::Constant(_) | Node::Parameter(_) => None,
            Node::Tap(field, _) => Some(type_of(stage.cell_type(), *field)),
            Node::Operation(name, of, operands) => match name.as_str() {
                "ww::cast" => Some(of.clone()),
                "&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">=" => Some("bool".into()),
                "?" => operands[1..].iter().find_map(|&of| types[of].clone()),
                name if KEEP.contains(&name) => operands.iter().find_map(|&of| types[of].clone()),
                _ => None,
            },
        });
    }
    types
}
