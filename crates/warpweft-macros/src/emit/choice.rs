//! CUDA C++: `match` and patterns, as chains of tests and copies.

use super::cuda::{Cuda, Sink};
use super::mark;
use super::spill::hoists;
use super::value::spelled;
use crate::ir::{Arm, Expr, Pattern, PatternValue};

impl Cuda {
    pub(super) fn match_(&mut self, scrutinee: &Expr, arms: &[Arm], sink: &Sink) {
        let value = self.value(scrutinee);
        let whole = self.temporary();
        self.line(format!("const auto {whole} = {value};"));
        let flagged = arms.iter().any(|arm| {
            arm.guard.as_ref().is_some_and(|guard| arm.pattern.binds() || hoists(guard))
        });
        if flagged {
            return self.flagged_match(&whole, arms, sink);
        }
        let mut first = true;
        for (i, arm) in arms.iter().enumerate() {
            let last = i + 1 == arms.len();
            let guard = arm.guard.as_ref().map(|guard| self.value(guard));
            let tests: Vec<_> = condition(&arm.pattern, &whole).into_iter().chain(guard).collect();
            // The last arm needs no test: a match is exhaustive.
            let always = (last && arm.guard.is_none()) || tests.is_empty();
            let head = match (first, always) {
                (true, true) => String::new(),
                (true, false) => format!("if ({})", tests.join(" && ")),
                (false, true) => "else".into(),
                (false, false) => format!("else if ({})", tests.join(" && ")),
            };
            self.braced(&head, |cuda| cuda.arm(arm, &whole, sink));
            first = false;
            if always {
                break;
            }
        }
    }

    /// A match whose guards need variables or statements of their own.
    fn flagged_match(&mut self, whole: &str, arms: &[Arm], sink: &Sink) {
        let done = self.temporary();
        self.line(format!("bool {done} = false;"));
        for (i, arm) in arms.iter().enumerate() {
            // As above; what a watched loop returns need not be a variant of an enum.
            let always = i + 1 == arms.len() && arm.guard.is_none();
            let test = condition(&arm.pattern, whole).filter(|_| !always);
            let test = test.map(|test| format!(" && {test}"));
            self.braced(&format!("if (!{done}{})", test.unwrap_or_default()), |cuda| {
                cuda.bind(&arm.pattern, whole);
                let Some(guard) = &arm.guard else {
                    cuda.line(format!("{done} = true;"));
                    return cuda.arm_body(&arm.body, sink);
                };
                let guard = cuda.value(guard);
                cuda.braced(&format!("if ({guard})"), |cuda| {
                    cuda.line(format!("{done} = true;"));
                    cuda.arm_body(&arm.body, sink);
                });
            });
        }
        if matches!(sink, Sink::Return) {
            self.line("__builtin_unreachable();");
        }
    }

    fn arm(&mut self, arm: &Arm, whole: &str, sink: &Sink) {
        self.bind(&arm.pattern, whole);
        self.arm_body(&arm.body, sink);
    }

    fn arm_body(&mut self, body: &Expr, sink: &Sink) {
        match body {
            Expr::Block(block) => self.block_into(block, sink),
            other => self.into(other, sink),
        }
    }

    pub(super) fn matches(
        &mut self,
        scrutinee: &Expr,
        pattern: &Pattern,
        guard: Option<&Expr>,
    ) -> String {
        let mut whole = self.value(scrutinee);
        if !matches!(scrutinee, Expr::Local(_)) {
            let name = self.temporary();
            self.line(format!("const auto {name} = {whole};"));
            whole = name;
        }
        let test = condition(pattern, &whole).unwrap_or_else(|| "true".into());
        let Some(guard) = guard else { return test };
        let name = self.temporary();
        self.line(format!("bool {name} = {test};"));
        self.braced(&format!("if ({name})"), |cuda| {
            cuda.bind(pattern, &whole);
            let guard = cuda.value(guard);
            cuda.line(format!("{name} = {guard};"));
        });
        name
    }

    /// Declares what `pattern` binds in the place `of`.
    pub(super) fn bind(&mut self, pattern: &Pattern, of: &str) {
        match pattern {
            Pattern::Bind { name, mutable, inner } => {
                let auto = if *mutable { "auto" } else { "const auto" };
                self.line(format!("{auto} {name} = {of};"));
                if let Some(inner) = inner {
                    self.bind(inner, of);
                }
            }
            Pattern::Members(members) => {
                for (member, inner) in members {
                    self.bind(inner, &format!("{of}.{}", spelled(member)));
                }
            }
            _ => {}
        }
    }
}

/// The test whether the place `of` matches; `None` when it always does.
fn condition(pattern: &Pattern, of: &str) -> Option<String> {
    match pattern {
        Pattern::Any => None,
        Pattern::Bind { inner, .. } => condition(inner.as_deref()?, of),
        Pattern::Bool(true) => Some(of.into()),
        Pattern::Bool(false) => Some(format!("!{of}")),
        Pattern::Value(value) => Some(format!("({of} == {})", spell_value(value))),
        Pattern::Range { low, high, inclusive } => {
            let less = if *inclusive { "<=" } else { "<" };
            let low = low.as_ref().map(|low| format!("{of} >= {}", spell_value(low)));
            let high = high.as_ref().map(|high| format!("{of} {less} {}", spell_value(high)));
            let tests: Vec<_> = low.into_iter().chain(high).collect();
            (!tests.is_empty()).then(|| format!("({})", tests.join(" && ")))
        }
        Pattern::Members(members) => {
            let tests: Vec<_> = members
                .iter()
                .filter_map(|(member, inner)| {
                    condition(inner, &format!("{of}.{}", spelled(member)))
                })
                .collect();
            (!tests.is_empty()).then(|| format!("({})", tests.join(" && ")))
        }
        Pattern::Or(options) => {
            let tests: Option<Vec<_>> =
                options.iter().map(|option| condition(option, of)).collect();
            Some(format!("({})", tests?.join(" || ")))
        }
    }
}

fn spell_value(value: &PatternValue) -> String {
    match value {
        // C++ has no literal for the lowest value: it negates one that does not fit.
        PatternValue::Int(value) if *value == i64::MIN.into() => {
            "(-9223372036854775807ll - 1)".into()
        }
        PatternValue::Int(value) if *value > i64::MAX.into() => format!("{value}ull"),
        PatternValue::Int(value) => format!("{value}ll"),
        PatternValue::Const(hole) => mark(*hole),
        PatternValue::Local(name) => name.clone(),
    }
}
