//! The plan of a graph, if the graph can be run.

use super::{Group, Need, Needs, Plan};
use crate::flow::graph::{FlowGraph, KernelNode};
use warpweft_core::error::{Error, Result};

impl FlowGraph {
    /// As [`FlowGraph::check`], with the plan.
    pub(in crate::flow) fn plan(&self) -> Result<Plan> {
        if let Some((what, hint)) = &self.refused {
            return Err(Error::spec(what, hint));
        }
        if self.kernels.is_empty() {
            return Err(Error::spec("a graph without kernels", "connect a kernel to a channel"));
        }
        for KernelNode { node, .. } in &self.kernels {
            if node.total() == 0 && !node.edges().is_empty() {
                let what = format!("`{}` may emit 0 items in all", node.name());
                return Err(Error::spec(what, "give it a `total` of at least 1, or no outputs"));
            }
            for edge in node.edges() {
                if edge.bound == 0 {
                    let what = format!("an output of `{}` is for 0 items", node.name());
                    return Err(Error::spec(
                        what,
                        "take it away, or let it have at least 1: `Out<T, 1>`",
                    ));
                }
                let target = self.channels.get(edge.channel);
                if edge.graph != self.number
                    || target.is_none_or(|channel| channel.item != edge.item)
                {
                    return Err(foreign(node.name(), "channel", edge.channel));
                }
            }
            for used in node.uses() {
                let buffer = self.buffers.get(used.buffer);
                if used.graph != self.number
                    || buffer.is_none_or(|buffer| buffer.word() != used.word)
                {
                    return Err(foreign(node.name(), "buffer", used.buffer));
                }
            }
        }
        if self.channels.iter().all(|channel| channel.first.len() == 0) {
            return Err(Error::spec(
                "the graph has no initial items",
                "put at least one into a channel (`FlowGraph::put`)",
            ));
        }
        Plan::of(self)
    }
}

fn foreign(whose: &str, what: &str, index: usize) -> Error {
    Error::spec(
        format!("`{whose}` uses {what} {index} of another graph"),
        format!("use the {what}s that this graph returned"),
    )
}

impl Plan {
    /// The plan of a graph whose handles have been checked.
    fn of(graph: &FlowGraph) -> Result<Self> {
        let next = successors(graph);
        let components = components(&next);
        let mut group_of = vec![None; graph.channels.len()];
        let mut groups = Vec::new();
        for component in components {
            let consumed = |&&channel: &&usize| graph.channels[channel].consumer.is_some();
            let members: Vec<usize> = component.iter().filter(consumed).copied().collect();
            let Some(&first) = members.first() else { continue };
            let cyclic = members.len() > 1 || next[first].contains(&first);
            let levels = if cyclic { levels(graph, &members)? } else { 1 };
            let capacity = members.iter().map(|&member| graph.channels[member].capacity).min();
            members.iter().for_each(|&member| group_of[member] = Some(groups.len()));
            groups.push(Group { capacity: capacity.unwrap_or(1), levels, cyclic });
        }
        let mut order: Vec<usize> =
            (0..group_of.len()).filter(|&channel| group_of[channel].is_some()).collect();
        order.sort_by_key(|&channel| group_of[channel]);
        let needs = graph.kernels.iter().map(|kernel| needs(kernel, &group_of)).collect();
        let names = graph.channels.iter().map(|channel| channel.name.clone()).collect();
        let plan = Self { groups, group_of, needs, names, order };
        plan.check(graph)?;
        Ok(plan)
    }

    /// Whether one firing's outputs fit everywhere.
    fn check(&self, graph: &FlowGraph) -> Result<()> {
        for (kernel, needs) in graph.kernels.iter().zip(&self.needs) {
            let own = Need { group: needs.own, bound: needs.own_bound };
            for need in needs.others.iter().chain([&own]) {
                let capacity = self.groups[need.group].capacity;
                if need.bound <= capacity {
                    continue;
                }
                let members = graph.channels.iter().zip(&self.group_of);
                let small = members
                    .filter(|(channel, group)| {
                        **group == Some(need.group) && channel.capacity == capacity
                    })
                    .map(|(channel, _)| channel.name.as_str());
                return Err(Error::spec(
                    format!(
                        "channel `{}` holds {capacity} items, but one item of `{}` may emit {} into it",
                        small.collect::<Vec<_>>().join("`, `"),
                        kernel.node.name(),
                        need.bound
                    ),
                    format!("take a capacity of at least {}", need.bound),
                ));
            }
        }
        Ok(())
    }
}

/// The channels that are one kernel away from each.
fn successors(graph: &FlowGraph) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); graph.channels.len()];
    for KernelNode { input, node } in &graph.kernels {
        next[*input].extend(node.edges().iter().map(|edge| edge.channel));
    }
    next
}

/// The levels that all channels of a cycle have.
fn levels(graph: &FlowGraph, members: &[usize]) -> Result<usize> {
    let levels = graph.channels[members[0]].levels;
    let Some(&other) = members.iter().find(|&&member| graph.channels[member].levels != levels)
    else {
        return Ok(levels);
    };
    let [a, b] = [members[0], other].map(|member| &graph.channels[member]);
    Err(Error::spec(
        format!(
            "channels `{}` and `{}` of one cycle have {} and {} levels",
            a.name, b.name, a.levels, b.levels
        ),
        "give all channels of a cycle the same number of levels",
    ))
}

fn needs(kernel: &KernelNode, group_of: &[Option<usize>]) -> Needs {
    let own = group_of[kernel.input].unwrap_or_default();
    let mut needs = Needs { input: kernel.input, own, ..Needs::default() };
    for edge in kernel.node.edges() {
        // The host takes all that comes.
        let Some(group) = group_of[edge.channel] else { continue };
        if group == own {
            needs.own_bound += edge.bound;
            continue;
        }
        match needs.others.iter_mut().find(|need| need.group == group) {
            Some(need) => need.bound += edge.bound,
            None => needs.others.push(Need { group, bound: edge.bound }),
        }
    }
    let total = kernel.node.total();
    needs.own_bound = needs.own_bound.min(total);
    needs.others.iter_mut().for_each(|need| need.bound = need.bound.min(total));
    // All producers take credits in one order.
    needs.others.sort_by_key(|need| need.group);
    needs
}

/// The strongly connected components, each after all that it leads to (Tarjan, "Depth-first search and linear graph
/// algorithms", 1972).
fn components(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        next,
        index: vec![None; next.len()],
        low: vec![0; next.len()],
        stack: Vec::new(),
        open: vec![false; next.len()],
        count: 0,
        found: Vec::new(),
    };
    for node in 0..next.len() {
        if search.index[node].is_none() {
            search.visit(node);
        }
    }
    search.found
}

struct Search<'g> {
    next: &'g [Vec<usize>],
    index: Vec<Option<usize>>,
    low: Vec<usize>,
    stack: Vec<usize>,
    open: Vec<bool>,
    count: usize,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    fn visit(&mut self, node: usize) {
        self.index[node] = Some(self.count);
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.open[node] = true;
        for &other in &self.next[node] {
            match self.index[other] {
                None => {
                    self.visit(other);
                    self.low[node] = self.low[node].min(self.low[other]);
                }
                Some(index) if self.open[other] => self.low[node] = self.low[node].min(index),
                Some(_) => {}
            }
        }
        if Some(self.low[node]) == self.index[node] {
            let at = self.stack.iter().rposition(|&member| member == node).unwrap_or(0);
            let mut members = self.stack.split_off(at);
            members.iter().for_each(|&member| self.open[member] = false);
            members.sort_unstable();
            self.found.push(members);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_come_after_what_they_lead_to() {
        // 0 -> 1 <-> 2 -> 3, 3 -> 3, 0 -> 4.
        let next = [vec![1, 4], vec![2], vec![1, 3], vec![3], vec![]];
        assert_eq!(components(&next), [vec![3], vec![1, 2], vec![4], vec![0]]);
    }
}
