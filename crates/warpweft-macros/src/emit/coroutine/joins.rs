//! Waits: a body whose calls give their values to variables of its frame stops where one of them still runs.

use std::collections::BTreeSet;

use super::states::{Held, States, WAIT};
use super::{Coroutine, Target, Typed, Values};
use crate::emit::liveness::Flow;
use crate::emit::value::how_number;
use crate::ir::{How, Name};

impl Coroutine<'_> {
    /// `sync!()`: it stops if a call runs.
    pub(super) fn wait(&mut self) {
        let label = WAIT + self.waits;
        self.waits += 1;
        self.glue("if constexpr (GOES_ON) if (lane.waits()) {");
        self.glue(&format!("  at = lane.at_wait({label}u);"));
        self.glue("  return;");
        self.glue("}");
        self.label_of_stop(label);
    }

    /// Where a body goes on that has its value and waits for the calls that are still running.
    pub(super) fn finish_label(&mut self) {
        let label = WAIT + self.waits;
        self.waits += 1;
        self.label_of_stop(label);
        self.glue("lane.give(f.finished);");
        self.glue("return;");
    }

    fn label_of_stop(&mut self, label: u32) {
        self.next();
        self.flow.0[self.now].stop = Some(label);
        self.glue(&format!("stop_{label}:;"));
    }

    /// Notes where the value of the call with this label goes: what the call's text says of it.
    pub(super) fn aim(&mut self, label: u32, how: How, target: Option<&Name>) -> (String, String) {
        let (Values::Arrive { .. }, Some(name)) = (self.values, target) else {
            return Default::default();
        };
        let known = self.targets.iter_mut().find(|it| it.name == *name && it.how == how);
        match known {
            Some(known) => known.sites.push(label),
            None => {
                let (name, sites) = (name.clone(), vec![label]);
                let needed = BTreeSet::new();
                self.targets.push(Target { name, how, sites, needed });
            }
        }
        (format!(", {}", how_number(how)), format!(", {name}"))
    }
}

/// The stops of a body whose calls wait.
pub struct Spawns {
    /// Those before calls have the labels from 1 to this.
    pub sites: u32,
    pub waits: u32,
    pub in_loops: BTreeSet<u32>,
    /// The label at which a body waits that has its value, if there is one.
    pub last_wait: Option<u32>,
}

impl Spawns {
    /// The states in which the body stops, and which of `members` each needs.
    pub fn states(&self, flow: &Flow, targets: &[Target], members: &[Typed]) -> States {
        let stop_of = |label| flow.0.iter().position(|chunk| chunk.stop == Some(label));
        let mut pairs = BTreeSet::new();
        for site in 1..=self.sites {
            let after = stop_of(site).map(|at| flow.stops_after(at, |_| false));
            let after = after.unwrap_or_default().into_iter().chain(self.last_wait);
            pairs.extend(after.map(|label| (site, label)));
        }
        let first = flow.stops_after(0, |label| label >= WAIT);
        let alone = (WAIT..WAIT + self.waits).chain(self.in_loops.iter().copied());
        let alone: BTreeSet<_> = alone.chain(first.iter().copied()).collect();
        let held = |member: &Typed| {
            let needs = flow.stops_that_need(&member.name);
            let stored = |site| {
                let of = |it: &&Target| it.name == member.name && it.how == How::Store;
                targets.iter().filter(of).any(|it| it.sites.contains(&site))
            };
            let kept = pairs.iter().filter(|(site, label)| needs.contains(label) && !stored(*site));
            Held {
                sites: kept.map(|(site, _)| *site).collect(),
                alone: alone.iter().copied().filter(|label| needs.contains(label)).collect(),
                first: first.iter().any(|label| needs.contains(label)),
            }
        };
        let held = members.iter().map(held).collect();
        States { pairs, alone, held, sites: self.sites, waits: self.waits }
    }
}
