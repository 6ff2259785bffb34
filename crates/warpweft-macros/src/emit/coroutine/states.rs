//! The states in which a body stops, what it needs in each, and which variables may share words.

use std::collections::BTreeSet;

use super::Target;
use crate::emit::value::how_number;

/// The label of the first wait. Those of calls are smaller.
pub const WAIT: u32 = 512;

/// Calls of a body up to which variables share words: more make long tests.
const SITES: u32 = 8;

/// The states in which a body stops.
pub struct States {
    /// A call that runs, and the label at which the body goes on after it.
    pub pairs: BTreeSet<(u32, u32)>,
    /// Labels at which it may go on when none of its calls runs on the same lane.
    pub alone: BTreeSet<u32>,
    /// What is known of each variable.
    pub held: Vec<Held>,
    pub sites: u32,
    pub waits: u32,
}

/// Where a variable is needed.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// While these calls run, whose value it is not.
    pub sites: BTreeSet<u32>,
    /// At these labels when no call runs.
    pub alone: BTreeSet<u32>,
    /// At the first stop.
    pub first: bool,
}

impl Held {
    fn interferes(&self, other: &Self) -> bool {
        !self.sites.is_disjoint(&other.sites)
            || !self.alone.is_disjoint(&other.alone)
            || (self.first && other.first)
    }

    /// Whether it is on a stack at times.
    pub fn is_stacked(&self) -> bool {
        !self.sites.is_empty()
    }

    /// C++: whether the variable is needed while the call `site` runs or, if it is 0, at `label`.
    pub fn condition(&self) -> String {
        let is = |what: &str, numbers: &BTreeSet<u32>| {
            let each: Vec<_> = numbers.iter().map(|it| format!("{what} == {it}u")).collect();
            if each.is_empty() { "false".into() } else { each.join(" || ") }
        };
        let (site, label) = (is("site", &self.sites), is("label", &self.alone));
        format!("{site} || (site == 0u && ({label}))")
    }
}

impl States {
    /// C++: a jump to the stop that the label says. `arrives`: values of calls arrive here.
    pub fn dispatch(&self, arrives: bool, targets: &[Target]) -> String {
        let [ended, bits] = if arrives { ["Lane::ENDED", " & 1023u"] } else { ["0u", ""] };
        let mut text = format!(
            "  const ww::u32 from = at;\n  at = {ended};\n  if constexpr (GOES_ON) switch (from{bits}) {{\n"
        );
        for label in (1..=self.sites).chain(WAIT..WAIT + self.waits) {
            let arrival = if arrives { self.arrival(label, targets) } else { String::new() };
            text.push_str(&format!("    case {label}u: {arrival}goto stop_{label};\n"));
        }
        text.push_str("    default: return;\n  }\n");
        text
    }

    /// C++ for the beginning of what follows a stop: the value of the call that ran arrives.
    fn arrival(&self, label: u32, targets: &[Target]) -> String {
        let sites: BTreeSet<_> =
            self.pairs.iter().filter(|(_, at)| *at == label).map(|(site, _)| *site).collect();
        if sites.is_empty() {
            return String::new();
        }
        let needed = |target: &&Target| {
            target.needed.contains(&label) && target.sites.iter().any(|site| sites.contains(site))
        };
        let needed: Vec<_> = targets.iter().filter(needed).collect();
        let combined = match needed[..] {
            [] => String::new(),
            [Target { name, how, sites: of, .. }] if sites.iter().all(|site| of.contains(site)) => {
                let how = how_number(*how);
                format!("Lane::Words::template combine<{how}>({name}, lane.arrived()); ")
            }
            _ => "arrive<typename Lane::Words>(f, from >> 10 & 1023u, lane.arrived()); ".into(),
        };
        let rest = match label < WAIT {
            true => "lane.closes(); ".to_string(),
            false => format!("if (lane.is_held()) {{ at = lane.at_wait({label}u); return; }} "),
        };
        let condition = match self.alone.contains(&label) {
            true => "if (Lane::ARRIVES && from >> 10 != 0u)",
            false => "if constexpr (Lane::ARRIVES)",
        };
        format!("{condition} {{ {combined}{rest}}} ")
    }

    /// Where the value is needed of a body that has it and waits at `label`.
    pub fn finished(&self, label: u32) -> Held {
        let sites = self.pairs.iter().map(|(site, _)| *site).collect();
        Held { sites, alone: BTreeSet::from([label]), first: false }
    }

    /// The variables in classes that each take the same words: those on stacks first, and of these those that a call begins
    /// with. `apart`: variables that share with none.
    pub fn classes(held: &[Held], sites: u32, apart: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let mut order: Vec<_> = (0..held.len()).collect();
        order.sort_by_key(|&at| (!held[at].is_stacked(), !held[at].first));
        let mut classes: Vec<Vec<usize>> = vec![];
        for at in order {
            let fits = |class: &&mut Vec<usize>| {
                let alone = |other: usize| apart(other) || held[at].interferes(&held[other]);
                sites <= SITES && !apart(at) && !class.iter().any(|&other| alone(other))
            };
            match classes.iter_mut().find(fits) {
                Some(class) => class.push(at),
                None => classes.push(vec![at]),
            }
        }
        classes
    }
}
