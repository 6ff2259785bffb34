//! Waits: a body whose calls give their values to variables of its frame stops where one of them still runs.

use super::{Coroutine, Target, Values};
use crate::emit::value::how_number;
use crate::ir::{How, Name};

/// The label of the first wait. Those of calls are smaller.
pub const WAIT: u32 = 512;

impl Coroutine<'_> {
    /// `sync!()`: it stops if a call runs.
    pub(super) fn wait(&mut self) {
        let label = WAIT + self.waits;
        self.waits += 1;
        self.glue("if constexpr (GOES_ON) if (lane.waits()) {");
        self.glue(&format!("  at = {label}u;"));
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
                self.targets.push(Target { name, how, sites });
            }
        }
        (format!(", {}", how_number(how)), format!(", {name}"))
    }
}
