//! CUDA C++: a body that stops before each call that it spawns, unless its earlier calls have ended, and goes on from there.
//!
//! The text is one routine, of which C++ makes two: one that runs from the start of the body to its first stop, and one
//! that goes on from a stop, spawns one call and runs up to the next stop. A stop stands as far ahead of its call as
//! nothing else is decided in between. What lives across a stop are members of a frame, all else is local.

mod branches;
mod joins;
mod states;

use std::collections::{BTreeMap, BTreeSet};

use super::cuda::{Cuda, Returns, Sink};
use super::liveness::{Flow, has_word};
use super::{IF_FAULTS, mark};
use crate::ir::{Block, Expr, How, Input, Name, Pattern, Statement};

pub use states::{Held, States};

/// What becomes of the values of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They are combined where they arise: waits are no stops.
    Given,
    /// They go to variables of the frame, and the body stops at a wait while a call runs. `early`: it may return before.
    Arrive { early: bool },
}

/// A variable that values of calls go to, how they go there, and the labels of these calls.
#[derive(Clone, Debug)]
pub struct Target {
    pub name: Name,
    pub how: How,
    pub sites: Vec<u32>,
    /// The labels at which it is needed, when all are known.
    pub needed: BTreeSet<u32>,
}

/// A variable and the C++ text of its type.
#[derive(Clone, Debug)]
pub struct Typed {
    pub name: Name,
    pub ty: String,
}

/// A routine and what it keeps.
pub struct Routine {
    /// Declarations of locals, then the statements.
    pub text: String,
    /// Members of the frame.
    pub members: Vec<Typed>,
    /// Stops before calls: their labels are 1 up to this.
    pub sites: u32,
    /// The labels of stops that come after others.
    pub later: BTreeSet<u32>,
    /// Where values of calls go.
    pub targets: Vec<Target>,
    /// The label of the last wait, if there is one.
    pub last_wait: u32,
    /// In which states the body may stop, and what it needs in each.
    pub states: States,
}

/// A loop around, with the chunks at which it goes on and ends.
struct Around {
    again: usize,
    end: usize,
}

/// Writes a routine.
pub struct Coroutine<'a> {
    cuda: Cuda,
    types: &'a BTreeMap<Name, String>,
    /// Variables that are never assigned to again.
    fixed: &'a BTreeSet<Name>,
    /// Types of variables that only this text has.
    own: BTreeMap<Name, String>,
    flow: Flow,
    /// The text, each part with its chunk.
    out: Vec<(usize, String)>,
    now: usize,
    loops: Vec<Around>,
    /// The label of the next stop.
    site: u32,
    values: Values,
    /// Waits so far.
    waits: u32,
    targets: Vec<Target>,
    /// The labels of stops in loops.
    in_loops: BTreeSet<u32>,
}

/// Statements that are still to be put before or behind a stop: their text, and what they declare.
#[derive(Default)]
struct Pending {
    text: String,
    declares: Vec<Name>,
}

impl<'a> Coroutine<'a> {
    /// With the types of all variables that a stop may part from their declarations.
    pub fn new(
        types: &'a BTreeMap<Name, String>,
        fixed: &'a BTreeSet<Name>,
        values: Values,
    ) -> Self {
        let mut flow = Flow::default();
        let now = flow.chunk([]);
        let returns = match values {
            Values::Arrive { early: true } => Returns::Give("finish<GOES_ON>(lane, f, at, "),
            _ => Returns::Give("lane.give("),
        };
        let cuda = Cuda::new(returns, 2);
        let (own, out, loops, waits, targets) = Default::default();
        let in_loops = BTreeSet::new();
        Self {
            cuda,
            types,
            fixed,
            own,
            flow,
            out,
            now,
            loops,
            site: 1,
            values,
            waits,
            targets,
            in_loops,
        }
    }

    /// The routine of a body in `parts`; `given` are the parameters, of which those in `uniform` are the same in all calls.
    /// None if the type of a variable that it must keep is unknown.
    pub fn routine(
        mut self,
        parts: &[Block],
        given: &[Typed],
        uniform: &[Name],
    ) -> Option<Routine> {
        for (number, part) in parts.iter().enumerate() {
            if number > 0 && self.values != Values::Given {
                self.wait();
            }
            self.block(part, &Sink::Return);
        }
        self.glue("return;");
        if self.values == (Values::Arrive { early: true }) {
            self.finish_label();
        }
        self.finish(given, uniform)
    }

    fn finish(self, given: &[Typed], uniform: &[Name]) -> Option<Routine> {
        let Self {
            cuda, types, own, flow, out, site, waits, mut targets, in_loops, values, ..
        } = self;
        let type_of = |name: &Name| types.get(name).or_else(|| own.get(name)).cloned();
        let declared = flow.0.iter().flat_map(|chunk| &chunk.declares);
        let apart = |name: &&Name| own.contains_key(*name) || flow.leaves_its_chunk(name);
        let mut hoisted: BTreeSet<_> = declared.filter(apart).cloned().collect();
        hoisted.extend(targets.iter().map(|target| target.name.clone()));
        let parameters = given.iter().map(|it| &it.name);
        let mut kept = flow.kept(hoisted.iter().chain(parameters));
        // Values arrive there while the body does not run.
        kept.extend(targets.iter().map(|target| target.name.clone()));
        let mut members = vec![];
        let mut head = String::new();
        if cuda.watches {
            head.push_str(&format!("  {IF_FAULTS}ww::watch watch;\n"));
        }
        for Typed { name, ty } in given {
            let held = kept.contains(name);
            let place =
                if held { format!("auto& {name} = f.{name};") } else { format!("{ty} {name};") };
            let taken = format!("  {place}\n  if constexpr (!GOES_ON) {name} = given.{name};\n");
            match uniform.contains(name) {
                true => head.push_str(&format!(
                    "#if WW_UNIFORM\n  const auto& {name} = lane.uniform().{name};\n#else\n{taken}#endif\n"
                )),
                false => head.push_str(&taken),
            }
            if held {
                members.push(Typed { name: name.clone(), ty: ty.clone() });
            }
        }
        for name in &hoisted {
            let ty = type_of(name)?;
            match kept.contains(name) {
                true => {
                    head.push_str(&format!("  auto& {name} = f.{name};\n"));
                    members.push(Typed { name: name.clone(), ty });
                }
                false => head.push_str(&format!("  {ty} {name};\n")),
            }
        }
        for target in &mut targets {
            target.needed = flow.stops_that_need(&target.name);
        }
        let (sites, last_wait) = (site - 1, states::WAIT + waits.saturating_sub(1));
        let early = (values == Values::Arrive { early: true }).then_some(last_wait);
        let spawns = joins::Spawns { sites, waits, in_loops, last_wait: early };
        let states = spawns.states(&flow, &targets, &members);
        head.push_str(&states.dispatch(values != Values::Given, &targets));
        let mut text = head;
        for (_, part) in out {
            text.push_str(&assigned(&part, &hoisted));
        }
        let later = flow.reached_from_stops();
        Some(Routine { text, members, sites, later, targets, last_wait, states })
    }

    /// Text of the present chunk.
    fn push(&mut self, text: String) {
        self.flow.0[self.now].text.push_str(&text);
        self.out.push((self.now, text));
    }

    /// A line that belongs to the present chunk.
    fn glue(&mut self, line: &str) {
        let before = std::mem::take(&mut self.cuda.text);
        self.cuda.line(line);
        let text = std::mem::replace(&mut self.cuda.text, before);
        self.push(text);
    }

    /// What `emit` writes.
    fn text(&mut self, emit: impl FnOnce(&mut Cuda)) -> String {
        let before = std::mem::take(&mut self.cuda.text);
        emit(&mut self.cuda);
        std::mem::replace(&mut self.cuda.text, before)
    }

    /// The next chunk, after the present one.
    fn next(&mut self) {
        self.now = self.flow.chunk([self.now]);
    }

    /// Whether text may leave a loop or the function, but for loops that a fault ends.
    fn jumps(text: &str) -> bool {
        text.lines().filter(|line| !line.contains(IF_FAULTS)).any(|line| {
            ["return", "break", "continue", "goto"].iter().any(|word| has_word(line, word))
        })
    }

    /// Runs what is pending at once.
    fn run(&mut self, pending: Pending) {
        if pending.text.is_empty() {
            return;
        }
        let Pending { text, declares } = pending;
        self.flow.0[self.now].declares.extend(declares);
        if Self::jumps(&text) {
            for k in 0..self.loops.len() {
                let (again, end) = (self.loops[k].again, self.loops[k].end);
                self.flow.edge(self.now, again);
                self.flow.edge(self.now, end);
            }
        }
        self.glue("{");
        self.push(text);
        self.glue("}");
        self.next();
    }

    /// Stops here; what follows begins at the label. A body that goes on and whose calls are all done spawns at once, but for
    /// a loop's.
    fn stop(&mut self, label: u32) {
        if self.values == Values::Given {
            self.glue(&format!("at = {label}u;"));
            self.glue("return;");
        } else {
            // In a loop lanes would take turns, each with another number of calls.
            let stops = if self.loops.is_empty() { "if (lane.stops()) " } else { "" };
            let stop = format!("at = {label}u; return;");
            self.glue(&format!("if constexpr (GOES_ON) {{ {stops}{{ {stop} }} }}"));
            self.glue(&format!("else {{ {stop} }}"));
        }
        if !self.loops.is_empty() {
            self.in_loops.insert(label);
        }
        self.next();
        self.flow.0[self.now].stop = Some(label);
        self.glue(&format!("stop_{label}:;"));
    }

    /// Spawns a call: a stop, then what was pending and the call.
    fn spawn(&mut self, pending: Pending, input: &Input) {
        let Input::Spawn { callee, arguments, how, target } = input else { return };
        let label = self.site;
        self.site += 1;
        self.stop(label);
        let callee = mark(*callee);
        let (kinds, place) = self.aim(label, *how, target.as_ref());
        let call = self.text(|cuda| {
            let arguments: Vec<_> = arguments.iter().collect();
            let values = cuda.values(&arguments).join(", ");
            cuda.line(format!(
                "lane.template spawn<{callee}{kinds}>({label}u{place}, {callee}{{{values}}});"
            ));
        });
        self.flow.0[self.now].declares.extend(pending.declares);
        // What the value is stored in is needed no more, unless the call itself needs it.
        let mentions = |name: &Name| {
            has_word(&pending.text, name)
                || has_word(call.split_once(&place).map_or(&call, |it| it.1), name)
        };
        if let (How::Store, Some(name)) = (*how, target)
            && self.values != Values::Given
            && !mentions(name)
        {
            self.flow.0[self.now].declares.push(name.clone());
        }
        self.glue("if constexpr (GOES_ON) {");
        self.push(pending.text);
        self.push(call);
        self.glue("}");
        self.next();
    }

    fn block(&mut self, block: &Block, sink: &Sink) {
        let mut pending = Pending::default();
        for statement in &block.statements {
            match statement {
                Statement::Expr(Expr::Input(input @ Input::Spawn { .. })) => {
                    let pending = std::mem::take(&mut pending);
                    self.spawn(pending, input);
                }
                Statement::Expr(expr) if spawns_in(expr) => {
                    let pending = std::mem::take(&mut pending);
                    self.run(pending);
                    self.open(expr);
                }
                other => {
                    let text = self.text(|cuda| cuda.statement(other));
                    let decides = Self::jumps(&text);
                    pending.text.push_str(&text);
                    if let Statement::Let(pattern, _) = other {
                        bound(pattern, &mut pending.declares);
                    }
                    if decides {
                        let pending = std::mem::take(&mut pending);
                        self.run(pending);
                    }
                }
            }
        }
        match &block.tail {
            Some(tail) if spawns_in(tail) => {
                self.run(pending);
                self.open(tail);
            }
            Some(tail) => {
                let text = self.text(|cuda| cuda.into(tail, sink));
                pending.text.push_str(&text);
                self.run(pending);
            }
            None => self.run(pending),
        }
    }
}

/// `text` with the declarations of variables that are declared elsewhere turned into assignments.
fn assigned(text: &str, hoisted: &BTreeSet<Name>) -> String {
    let mut made = String::new();
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim_start();
        let after = trimmed.strip_prefix("const auto ").or_else(|| trimmed.strip_prefix("auto "));
        let named = |rest: &str| {
            let name = rest.split(' ').next().unwrap_or_default();
            hoisted.contains(name) && rest[name.len()..].starts_with(" = ")
        };
        match after {
            Some(rest) if named(rest) => {
                made.push_str(&line[..line.len() - trimmed.len()]);
                made.push_str(rest);
            }
            // `type name;`, for a value that branches assign.
            _ if trimmed.starts_with(super::OPEN)
                && trimmed
                    .trim_end()
                    .strip_suffix(';')
                    .and_then(|rest| rest.split_once(' '))
                    .is_some_and(|(_, name)| hoisted.contains(name)) => {}
            _ => made.push_str(line),
        }
    }
    made
}

/// The names that a pattern binds.
fn bound(pattern: &Pattern, names: &mut Vec<Name>) {
    match pattern {
        Pattern::Bind { name, inner, .. } => {
            names.push(name.clone());
            if let Some(inner) = inner {
                bound(inner, names);
            }
        }
        Pattern::Members(members) => members.iter().for_each(|(_, inner)| bound(inner, names)),
        _ => {}
    }
}

/// Whether a statement spawns, itself or in a branch or loop.
pub fn spawns(statement: &Statement) -> bool {
    match statement {
        Statement::Expr(expr) => spawns_in(expr),
        Statement::Let(_, expr) => matches!(expr, Expr::Input(Input::Spawn { .. })),
    }
}

fn spawns_in(expr: &Expr) -> bool {
    let block = |block: &Block| {
        block.statements.iter().any(spawns) || block.tail.as_deref().is_some_and(spawns_in)
    };
    match expr {
        Expr::Input(Input::Spawn { .. }) => true,
        Expr::Block(inner) => block(inner),
        Expr::If { then, otherwise, .. } => {
            block(then) || otherwise.as_deref().is_some_and(spawns_in)
        }
        Expr::Loop { body, .. } | Expr::While { body, .. } | Expr::For { body, .. } => block(body),
        _ => false,
    }
}
