//! A body cut where it waits: pieces of C++, and the variables that live from one to another.
//!
//! "A sub-kernel is created whenever sync is encountered" (Orr et al., section 5.2). A piece saves what later ones mention
//! into members of `Live` and loads what it mentions itself; values of calls arrive there in between.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Block, Pat, Stmt};

use super::spawns::sync;
use crate::check::Lower;
use crate::diag::reject;
use crate::emit::{Cuda, Returns, has_word, mark, place};
use crate::ir::{self, Expr, Hole, How, Input, Name, Pattern, Statement};

/// A body in pieces.
pub struct Pieces {
    /// Rust that types it.
    pub shadow: TokenStream,
    /// Members of `Live`.
    pub live: String,
    /// The cases of a `switch` over pieces.
    pub cases: String,
    pub count: usize,
    /// Whether a piece after the first mentions a parameter.
    pub keeps: bool,
    pub quota: Quota,
    /// The statements of each piece, spawns with their targets.
    pub blocks: Vec<ir::Block>,
}

/// How many calls may be spawned.
#[derive(Clone, Copy, Default)]
pub struct Quota {
    /// Outside of loops.
    pub spawns: usize,
    /// Whether there are some in loops.
    pub loops: bool,
    /// The pieces that spawn, a bit each.
    pub pieces: u32,
}

/// More are not told apart.
const MOST: usize = 31;

/// A variable of the outermost block.
struct Variable {
    name: Name,
    ty: Hole,
    /// The piece that declares it.
    piece: usize,
    /// Whether it is declared by a spawn into it.
    spawned: bool,
}

impl Pieces {
    /// Of `body`, whose parameters are in scope: `copies` of some, of the others `members`.
    pub fn of(
        lower: &mut Lower<'_>,
        body: &Block,
        wanted: bool,
        returns_early: bool,
        copies: Vec<(Ident, Statement)>,
        members: &[String],
    ) -> syn::Result<Self> {
        let parts: Vec<_> = body.stmts.split(sync).collect();
        let count = parts.len();
        if count > MOST {
            let what = format!("{} times `sync!()`", count - 1);
            let syncs = body.stmts.iter().find(|statement| sync(statement));
            return Err(reject(&syncs, what, "cut the function in two"));
        }
        let returns = match returns_early {
            true => Returns::Give("finish(lane, s, "),
            false => Returns::Give("lane.give("),
        };
        let mut made =
            Made { shadow: TokenStream::new(), variables: vec![], quota: Quota::default() };
        let mut pieces: Vec<String> = vec![];
        let mut blocks = vec![];
        for (number, part) in parts.into_iter().enumerate() {
            let end = (number + 1 == count).then_some(wanted);
            let copies = if number == 0 { &copies[..] } else { &[] };
            let block =
                made.piece(lower, Part { number, statements: part, end }, copies, members)?;
            pieces.push(Cuda::body(&block, returns.clone(), 3));
            blocks.push(block);
        }
        Ok(Self::put_together(made, (pieces, blocks), members, returns_early))
    }

    fn put_together(
        made: Made,
        (pieces, blocks): (Vec<String>, Vec<ir::Block>),
        members: &[String],
        returns_early: bool,
    ) -> Self {
        let Made { shadow, variables, quota } = made;
        let variables = &variables[..];
        let count = pieces.len();
        let mentions = |piece: usize, name: &str| has_word(&pieces[piece], name);
        let later = |piece: usize, name: &str| (piece + 1..count).any(|at| mentions(at, name));
        let lives = |variable: &Variable| {
            let target = place(&variable.name);
            later(variable.piece, &variable.name)
                || pieces.iter().any(|text| text.contains(&target))
        };
        let live: String = variables
            .iter()
            .filter(|variable| lives(variable))
            .map(|variable| format!("    {} {};\n", mark(variable.ty), variable.name))
            .collect();
        let mut cases = String::new();
        for (number, piece) in pieces.iter().enumerate() {
            cases.push_str(&format!("    case {number}: {{\n"));
            for Variable { name, .. } in
                variables.iter().filter(|v| v.piece < number && mentions(number, &v.name))
            {
                cases.push_str(&format!("      auto {name} = s.{name};\n"));
            }
            cases.push_str(piece);
            if number + 1 < count {
                for variable in variables.iter().filter(|v| lives(v)) {
                    let Variable { name, piece, spawned, .. } = variable;
                    let declared_here = *piece == number && !spawned;
                    let loaded = *piece < number && mentions(number, name);
                    if declared_here || loaded {
                        cases.push_str(&format!("      s.{name} = {name};\n"));
                    }
                }
                cases.push_str(&format!("      if (lane.wait({}u)) return;\n", number + 1));
            }
            cases.push_str("    }\n");
        }
        if returns_early {
            cases.push_str(&format!("    case {count}: lane.give(s.result);\n"));
        }
        let keeps = members.iter().any(|member| later(0, member));
        Self { shadow, live, cases, count, keeps, quota, blocks }
    }
}

/// The statements between two syncs.
struct Part<'a> {
    number: usize,
    statements: &'a [Stmt],
    /// Of the last part: whether the function's value is wanted.
    end: Option<bool>,
}

/// What is known of the pieces so far.
struct Made {
    shadow: TokenStream,
    variables: Vec<Variable>,
    quota: Quota,
}

impl Made {
    /// The statements of one piece, with its variables noted.
    fn piece(
        &mut self,
        lower: &mut Lower<'_>,
        part: Part<'_>,
        copies: &[(Ident, Statement)],
        members: &[String],
    ) -> syn::Result<ir::Block> {
        let Part { number, statements, end } = part;
        // Types of variables are asked for before the value of the function ends the shadow.
        let value = usize::from(end == Some(true)).min(statements.len());
        let (before, value) = statements.split_at(statements.len() - value);
        let (tokens, mut block) = lower.statements(before, false)?;
        self.shadow.extend(tokens);
        block.statements.splice(0..0, copies.iter().map(|(_, copy)| copy.clone()));
        let first = self.variables.len();
        for ident in declared(before, copies.iter().map(|(name, _)| name)) {
            self.variables.extend(variable(lower, &mut self.shadow, &ident, number, members));
        }
        let (tokens, value) = lower.statements(value, true)?;
        self.shadow.extend(tokens);
        block.statements.extend(value.statements);
        block.tail = value.tail;
        if end == Some(false) {
            block.statements.push(Statement::Expr(Expr::Return(None)));
        }
        let mut targets = vec![];
        let mut own = Quota::default();
        aim(&mut block, false, &mut targets, &mut own);
        self.quota.spawns += own.spawns;
        self.quota.loops |= own.loops;
        self.quota.pieces |= u32::from(own.spawns > 0 || own.loops) << number;
        for variable in &mut self.variables[first..] {
            variable.spawned = targets.contains(&variable.name);
        }
        Ok(block)
    }
}

/// The variable `ident` of piece `number`, unless it is a parameter.
fn variable(
    lower: &mut Lower<'_>,
    shadow: &mut TokenStream,
    ident: &Ident,
    piece: usize,
    members: &[String],
) -> Option<Variable> {
    let name = lower.scopes.get(&ident.to_string())?.name.clone();
    if members.contains(&name) {
        return None;
    }
    let slot = lower.slot(ident.span());
    shadow.extend(quote!(#slot.like(&#ident);));
    let ty = lower.type_hole(&slot, ident.span());
    Some(Variable { name, ty, piece, spawned: false })
}

/// The names that the statements of a piece declare in the outermost block, `others` first.
fn declared<'n>(part: &[Stmt], others: impl Iterator<Item = &'n Ident>) -> Vec<Ident> {
    let mut names: Vec<_> = others.cloned().collect();
    // The last of a name is the one in scope.
    let mut add = |ident: &Ident| {
        if !names.contains(ident) {
            names.push(ident.clone());
        }
    };
    for statement in part {
        match statement {
            Stmt::Local(local) => bound(&local.pat, &mut add),
            Stmt::Item(syn::Item::Const(item)) => add(&item.ident),
            _ => {}
        }
    }
    names
}

fn bound(pat: &Pat, add: &mut dyn FnMut(&Ident)) {
    match pat {
        Pat::Ident(ident) => {
            add(&ident.ident);
            if let Some((_, inner)) = &ident.subpat {
                bound(inner, add);
            }
        }
        Pat::Type(typed) => bound(&typed.pat, add),
        Pat::Paren(paren) => bound(&paren.pat, add),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|pat| bound(pat, add)),
        Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|pat| bound(pat, add)),
        Pat::Struct(pat) => pat.fields.iter().for_each(|field| bound(&field.pat, add)),
        _ => {}
    }
}

/// Gives every spawn below `block` its place; `targets` get those that are declared by it.
fn aim(block: &mut ir::Block, in_loop: bool, targets: &mut Vec<Name>, quota: &mut Quota) {
    let mut count = || match in_loop {
        true => quota.loops = true,
        false => quota.spawns += 1,
    };
    for statement in &mut block.statements {
        match statement {
            Statement::Let(Pattern::Bind { name, .. }, Expr::Input(Input::Spawn { .. })) => {
                let name = name.clone();
                let Statement::Let(_, Expr::Input(input)) = statement else { continue };
                *statement = Statement::Expr(aimed(input, How::Store, &name));
                targets.push(name);
                count();
            }
            Statement::Expr(expr) => match expr {
                Expr::Assign { place, value } => {
                    if let (Expr::Local(name), Expr::Input(input @ Input::Spawn { .. })) =
                        (&**place, &mut **value)
                    {
                        *expr = aimed(input, How::Store, name);
                        count();
                    }
                }
                Expr::AssignOp { op, place, value, .. } => {
                    if let (Expr::Local(name), Expr::Input(input @ Input::Spawn { .. })) =
                        (&**place, &mut **value)
                    {
                        let how = match op {
                            ir::BinOp::Add => How::Add,
                            ir::BinOp::BitOr => How::Or,
                            _ => How::Xor,
                        };
                        *expr = aimed(input, how, name);
                        count();
                    }
                }
                Expr::Input(Input::Spawn { .. }) => count(),
                _ => {}
            },
            _ => {}
        }
    }
    let nested = block.statements.iter_mut().filter_map(|statement| match statement {
        Statement::Expr(expr) => Some(expr),
        Statement::Let(..) => None,
    });
    for expr in nested.chain(block.tail.as_deref_mut()) {
        aim_in(expr, in_loop, targets, quota);
    }
}

fn aim_in(expr: &mut Expr, in_loop: bool, targets: &mut Vec<Name>, quota: &mut Quota) {
    match expr {
        Expr::Block(block) => aim(block, in_loop, targets, quota),
        Expr::If { then, otherwise, .. } => {
            aim(then, in_loop, targets, quota);
            if let Some(otherwise) = otherwise {
                aim_in(otherwise, in_loop, targets, quota);
            }
        }
        Expr::Loop { body, .. } | Expr::While { body, .. } | Expr::For { body, .. } => {
            aim(body, true, targets, quota);
        }
        _ => {}
    }
}

fn aimed(input: &mut Input, how: How, name: &Name) -> Expr {
    let mut input = input.clone();
    if let Input::Spawn { how: known, target, .. } = &mut input {
        (*known, *target) = (how, Some(name.clone()));
    }
    Expr::Input(input)
}
