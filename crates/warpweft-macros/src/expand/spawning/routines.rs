//! The function as routines that stop before each call, for lanes of a GPU that go depth first.

use std::collections::{BTreeMap, BTreeSet};

use quote::quote;

use super::joins::frame;
use super::sum::{Operation, Sum};
use crate::check::Lower;
use crate::diag::reject;
use crate::emit::{Coroutine, Routine, Typed, Values, mark, member_name};
use crate::ir::{Block, Expr, Input, Name, Pattern, Statement};
use crate::parse::parameters::Named;

/// The routines of a function.
pub struct Routines {
    /// Of one whose value is a sum, with the operation.
    sum: Option<(Operation, Routine)>,
    /// Of any function: its calls wait for those that they spawn.
    joins: Routine,
    /// Whether its value may be known while calls run.
    early: bool,
    /// The label of its only wait, if it has no value, nothing follows and its calls give it nothing; else 0.
    tail: u32,
    /// Parameters that each call of the function passes on as they are.
    uniform: Vec<Name>,
}

impl Routines {
    /// Of a function whose body is `blocks` in C++; whether it may return while calls run, and whether its value may be a sum
    /// for which no call waits.
    pub fn of(
        lower: &mut Lower<'_>,
        blocks: &[Block],
        parameters: &[Named],
        signature: &syn::Signature,
        (early, may_be_sum): (bool, bool),
    ) -> syn::Result<Self> {
        let given: Vec<_> = parameters
            .iter()
            .map(|Named { ident, ty, .. }| {
                let text = quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit));
                let ty = mark(lower.hole(text));
                Typed { name: member_name(&ident.to_string()), ty }
            })
            .collect();
        let noted = lower.noted.take().unwrap_or_default();
        let mut types: BTreeMap<_, _> =
            noted.into_iter().map(|(name, ty)| (name, mark(ty))).collect();
        // The body begins with copies of those that change.
        let copied = parameters.iter().zip(&given).filter(|(named, _)| named.mutable);
        for ((_, it), statement) in copied.zip(blocks.iter().flat_map(|block| &block.statements)) {
            if let Statement::Let(Pattern::Bind { name, .. }, _) = statement {
                types.insert(name.clone(), it.ty.clone());
            }
        }
        let mut calls = vec![];
        let mut fixed = BTreeSet::new();
        for block in blocks {
            visit(block, &mut calls, &mut fixed);
        }
        let kept = parameters.iter().zip(&given).filter(|(named, _)| !named.mutable);
        fixed.extend(kept.clone().map(|(_, it)| it.name.clone()));
        let at = |it: &Typed| given.iter().position(|other| other.name == it.name).unwrap_or(0);
        let same = |it: &Typed| {
            calls.iter().all(|arguments| matches!(arguments.get(at(it)), Some(Expr::Local(name)) if *name == it.name))
        };
        let uniform: Vec<_> =
            kept.filter(|(_, it)| same(it)).map(|(_, it)| it.name.clone()).collect();
        let sum = may_be_sum.then(|| Sum::of(lower, blocks, &signature.output)).flatten();
        let sum = sum.and_then(|Sum { operation, parts }| {
            let routine = Coroutine::new(&types, &fixed, Values::Given);
            Some((operation, routine.routine(&parts, &given, &uniform)?))
        });
        let joins = Coroutine::new(&types, &fixed, Values::Arrive { early });
        let Some(joins) = joins.routine(blocks, &given, &uniform) else {
            let what = "a variable lives across a spawn, and its type is not known";
            return Err(reject(&signature.ident, what, "bind it by a `let` with a plain name"));
        };
        let ends = |block: &Block| {
            matches!(block.statements[..], [Statement::Expr(Expr::Return(None))])
                && block.tail.is_none()
        };
        let plain = !early && joins.targets.is_empty();
        let tail = match blocks {
            [_, last] if plain && ends(last) => joins.last_wait,
            _ => 0,
        };
        Ok(Self { sum, joins, early, tail, uniform })
    }

    /// Members of the C++ struct `name`.
    pub fn declarations(&self, name: &str) -> String {
        let is_uniform = |member: &Typed| self.uniform.contains(&member.name);
        let frame = frame(name, &self.joins, self.early, is_uniform);
        let sum = match &self.sum {
            None => String::new(),
            Some((operation, routine)) => format!(
                "  static constexpr ww::u32 SUM = {}u, SUM_SITES = {}u, SUM_LATER = {}u;
  struct Sum {{
{}  }};
  template<bool GOES_ON, class Lane> static WW_FN void sum(Lane& lane, Sum& f, ww::u32& at, const {name}& given);
",
                *operation as u32,
                routine.sites,
                only(&routine.later),
                self.members(&routine.members),
            ),
        };
        let tail = format!("  static constexpr ww::u32 TAIL = {}u;\n", self.tail);
        format!("#if WW_JOINS\n{frame}{tail}#else\n{sum}#endif\n")
    }

    /// What a host needs to know: `sum`, the number of the operation and the type `output`, or `joins`.
    pub fn note(&self, output: &str) -> String {
        match &self.sum {
            Some((operation, _)) => format!("sum {} {output}", *operation as u32),
            None => "joins".into(),
        }
    }

    fn members(&self, members: &[Typed]) -> String {
        let mut text = String::new();
        for Typed { name, ty } in members {
            let line = format!("    {ty} {name};\n");
            match self.uniform.contains(name) {
                true => text.push_str(&format!("#if !WW_UNIFORM\n{line}#endif\n")),
                false => text.push_str(&line),
            }
        }
        text
    }

    /// The routines' bodies.
    pub fn definitions(&self, name: &str) -> String {
        let of = |kind: &str, frame: &str, routine: &Routine| {
            format!(
                "template<bool GOES_ON, class Lane> WW_FN void {name}::{kind}(Lane& lane, {frame}& f, ww::u32& at, const {name}& given) {{
{}}}
",
                routine.text
            )
        };
        let sum = self.sum.as_ref().map(|(_, routine)| of("sum", "Sum", routine));
        let joins = of("joins", "Joins", &self.joins);
        format!("#if WW_JOINS\n{joins}#else\n{}#endif\n", sum.unwrap_or_default())
    }
}

/// The label that all frames which wait have, 0 if there are several.
fn only(later: &BTreeSet<u32>) -> u32 {
    match later.iter().collect::<Vec<_>>()[..] {
        [] => 1,
        [label] => *label,
        _ => 0,
    }
}

/// The arguments of all calls below `block`, and the variables that nothing assigns to.
fn visit<'b>(block: &'b Block, calls: &mut Vec<&'b [Expr]>, fixed: &mut BTreeSet<Name>) {
    for statement in &block.statements {
        match statement {
            Statement::Let(Pattern::Bind { name, mutable: false, .. }, _) => {
                fixed.insert(name.clone());
            }
            Statement::Let(..) => {}
            Statement::Expr(expr) => visit_in(expr, calls, fixed),
        }
    }
    if let Some(tail) = &block.tail {
        visit_in(tail, calls, fixed);
    }
}

fn visit_in<'b>(expr: &'b Expr, calls: &mut Vec<&'b [Expr]>, fixed: &mut BTreeSet<Name>) {
    match expr {
        Expr::Input(Input::Spawn { arguments, .. }) => calls.push(arguments),
        Expr::Block(block) => visit(block, calls, fixed),
        Expr::If { then, otherwise, .. } => {
            visit(then, calls, fixed);
            if let Some(otherwise) = otherwise {
                visit_in(otherwise, calls, fixed);
            }
        }
        Expr::Loop { body, .. } | Expr::While { body, .. } | Expr::For { body, .. } => {
            visit(body, calls, fixed);
        }
        _ => {}
    }
}
