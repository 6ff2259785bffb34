//! Loops over constants, written out.
//!
//! `for k in 1..=4 { body }` becomes four blocks `{ let k = 1; body }` and so on. Offsets that use
//! `k` are then constant, for the footprint and for template arguments; and an inclusive range does
//! not vectorise in Rust (0.33 against 1.83 Gpts/s for an order-8 element), its copies do.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal, TokenStream, TokenTree};
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprForLoop, Pat, Stmt, parse_quote, parse_quote_spanned};

use crate::parse::constant::{Constant, Integer, evaluate};

/// Copies of a body, all enclosing loops together, when it reads neighbours, and when it does not.
const MOST_COPIES: usize = 4096;
const MOST_PLAIN_COPIES: usize = 64;

/// `body` with its constant loops written out. `near` names the neighbourhoods.
pub fn unroll(body: &Block, near: &[&Ident]) -> syn::Result<Block> {
    let mut body = body.clone();
    let mut unroller = Unroller { near, known: vec![HashMap::new()], copies: 1 };
    unroller.visit_block_mut(&mut body);
    Ok(body)
}

struct Unroller<'a> {
    near: &'a [&'a Ident],
    /// Names in scope; `None` for those whose value is not known.
    known: Vec<HashMap<String, Option<Constant>>>,
    /// How often the place being visited is repeated already.
    copies: usize,
}

impl Unroller<'_> {
    fn value(&self, expr: &Expr) -> Option<Constant> {
        evaluate(expr, &|name| *self.known.iter().rev().find_map(|scope| scope.get(name))?)
    }

    fn note(&mut self, name: &Ident, value: Option<Constant>) {
        if let Some(scope) = self.known.last_mut() {
            scope.insert(name.to_string(), value);
        }
    }

    fn const_value(&self, item: &syn::ItemConst) -> Option<Constant> {
        self.value(&item.expr)?.typed(Integer::of(&item.ty))
    }

    /// Notes the constants of `block`, which are visible before their declaration too.
    fn foresee(&mut self, block: &Block) {
        let consts = || {
            block.stmts.iter().filter_map(|statement| match statement {
                Stmt::Item(syn::Item::Const(item)) => Some(item),
                _ => None,
            })
        };
        for item in consts() {
            self.note(&item.ident, None);
        }
        // One may use another that stands after it.
        for item in consts().flat_map(|_| consts()) {
            let value = self.const_value(item);
            self.note(&item.ident, value);
        }
    }

    /// Every name that `pat` binds hides an outer one.
    fn hide(&mut self, pat: &Pat) {
        struct Names(Vec<Ident>);
        impl<'ast> Visit<'ast> for Names {
            fn visit_pat_ident(&mut self, ident: &'ast syn::PatIdent) {
                self.0.push(ident.ident.clone());
            }
        }
        let mut names = Names(vec![]);
        names.visit_pat(pat);
        for name in names.0 {
            self.note(&name, None);
        }
    }

    /// The values that a `for` runs over, and an end of the range that is no literal, for its type.
    fn range(&self, expr: &Expr) -> Option<(Vec<Constant>, Option<Expr>)> {
        match expr {
            Expr::Paren(paren) => self.range(&paren.expr),
            Expr::Range(range) => {
                let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
                let (first, last) = (self.value(start)?, self.value(end)?);
                let ty = first.ty.or(last.ty);
                let (first, last) = (first.typed(ty)?.certain()?, last.typed(ty)?.certain()?);
                let (low, mut high) = (first.value, last.value);
                if matches!(range.limits, syn::RangeLimits::Closed(_)) {
                    high += 1;
                }
                if high - low > MOST_COPIES as i128 {
                    return None;
                }
                let mut ends = [(start, first), (end, last)];
                ends.sort_by_key(|(_, value)| value.ty.is_none());
                let typed = ends.into_iter().find(|(end, _)| !is_bare_literal(end));
                let values: Option<_> = (low..high).map(|value| Constant::new(value, ty)).collect();
                Some((values?, typed.map(|(end, _)| end.clone())))
            }
            Expr::MethodCall(call) if call.method == "rev" => {
                let (mut values, typed) = self.range(&call.receiver)?;
                values.reverse();
                Some((values, typed))
            }
            Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
                let step =
                    usize::try_from(self.value(&call.args[0])?.value).ok().filter(|&s| s > 0)?;
                let (values, typed) = self.range(&call.receiver)?;
                Some((values.into_iter().step_by(step).collect(), typed))
            }
            _ => None,
        }
    }

    fn written_out(&mut self, expr: &ExprForLoop) -> Option<Expr> {
        let (values, typed) = self.range(&expr.expr)?;
        let variable = match &*expr.pat {
            Pat::Ident(ident) if ident.mutability.is_none() && ident.subpat.is_none() => {
                Some(&ident.ident)
            }
            Pat::Wild(_) => None,
            _ => return None,
        };
        let mut look = Look { near: self.near, reads: false, jumps: false, depth: 0 };
        look.visit_block(&expr.body);
        let most = if look.reads { MOST_COPIES } else { MOST_PLAIN_COPIES };
        let copies = self.copies * values.len().max(1);
        if look.jumps || expr.label.is_some() || copies > most {
            return None;
        }
        let before = std::mem::replace(&mut self.copies, copies);
        let mut blocks: Vec<Stmt> = vec![];
        for value in values {
            self.known.push(HashMap::new());
            let mut body = expr.body.clone();
            let mut stmts: Vec<Stmt> = vec![];
            if let Some(variable) = variable {
                self.note(variable, Some(value));
                let value = value.value;
                let mut literal = Literal::i128_unsuffixed(value.abs());
                literal.set_span(expr.expr.span());
                let number = if value < 0 { quote!(-#literal) } else { quote!(#literal) };
                let number = match &typed {
                    Some(end) => quote!(::warpweft::element::like(#end, #number)),
                    None => number,
                };
                stmts.push(parse_quote_spanned!(expr.expr.span()=> let #variable = #number;));
            }
            self.visit_block_mut(&mut body);
            self.known.pop();
            stmts.append(&mut body.stmts);
            blocks.push(parse_quote!({ #(#stmts)* }));
        }
        self.copies = before;
        Some(parse_quote!({ #(#blocks)* }))
    }
}

/// Whether a name that `wanted` accepts stands anywhere in `tokens`.
pub fn mentions(tokens: TokenStream, wanted: &dyn Fn(&Ident) -> bool) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => wanted(&ident),
        TokenTree::Group(group) => mentions(group.stream(), wanted),
        _ => false,
    })
}

fn is_bare_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(lit) => matches!(&lit.lit, syn::Lit::Int(int) if int.suffix().is_empty()),
        Expr::Unary(unary) => is_bare_literal(&unary.expr),
        Expr::Paren(paren) => is_bare_literal(&paren.expr),
        _ => false,
    }
}

impl VisitMut for Unroller<'_> {
    fn visit_block_mut(&mut self, block: &mut Block) {
        self.known.push(HashMap::new());
        self.foresee(block);
        syn::visit_mut::visit_block_mut(self, block);
        self.known.pop();
    }

    /// The names that `if let` binds hide outer ones in its first branch.
    fn visit_expr_if_mut(&mut self, e: &mut syn::ExprIf) {
        struct Bound(Vec<Pat>);
        impl<'ast> Visit<'ast> for Bound {
            fn visit_expr_let(&mut self, e: &'ast syn::ExprLet) {
                self.0.push((*e.pat).clone());
                syn::visit::visit_expr_let(self, e);
            }
        }
        let mut bound = Bound(vec![]);
        bound.visit_expr(&e.cond);
        self.visit_expr_mut(&mut e.cond);
        self.known.push(HashMap::new());
        for pat in &bound.0 {
            self.hide(pat);
        }
        self.visit_block_mut(&mut e.then_branch);
        self.known.pop();
        if let Some((_, otherwise)) = &mut e.else_branch {
            self.visit_expr_mut(otherwise);
        }
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        syn::visit_mut::visit_local_mut(self, local);
        // The value is that of the names before this `let` hides any.
        let outer = local.init.as_ref().map(|init| self.value(&init.expr));
        self.hide(&local.pat);
        let ident = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            other => other,
        };
        let ty = match &local.pat {
            Pat::Type(typed) => Integer::of(&typed.ty),
            _ => None,
        };
        if let (Pat::Ident(ident), Some(init)) = (ident, outer)
            && ident.mutability.is_none()
        {
            let value = init.and_then(|value| value.typed(ty));
            self.note(&ident.ident, value);
        }
    }

    fn visit_item_const_mut(&mut self, item: &mut syn::ItemConst) {
        let value = self.const_value(item);
        self.note(&item.ident, value);
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        self.known.push(HashMap::new());
        self.hide(&arm.pat);
        syn::visit_mut::visit_arm_mut(self, arm);
        self.known.pop();
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::ForLoop(inner) = expr {
            if let Some(blocks) = self.written_out(inner) {
                *expr = blocks;
                return;
            }
            self.known.push(HashMap::new());
            self.hide(&inner.pat);
            syn::visit_mut::visit_expr_mut(self, expr);
            self.known.pop();
            return;
        }
        syn::visit_mut::visit_expr_mut(self, expr);
    }
}

/// What stands in a loop's body.
struct Look<'a> {
    near: &'a [&'a Ident],
    /// It reads neighbours.
    reads: bool,
    /// It jumps out of or within this very loop.
    jumps: bool,
    depth: usize,
}

impl<'ast> Visit<'ast> for Look<'_> {
    /// The operands of a macro are tokens yet: whatever stands there may be used.
    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.reads |= mentions(call.tokens.clone(), &|name| self.near.contains(&name));
        self.jumps |= mentions(call.tokens.clone(), &|name| name == "break" || name == "continue");
    }
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.reads |= self.near.contains(&ident);
    }
    fn visit_expr_break(&mut self, jump: &'ast syn::ExprBreak) {
        self.jumps |= self.depth == 0 && jump.label.is_none();
        syn::visit::visit_expr_break(self, jump);
    }
    fn visit_expr_continue(&mut self, jump: &'ast syn::ExprContinue) {
        self.jumps |= self.depth == 0 && jump.label.is_none();
    }
    fn visit_expr_loop(&mut self, expr: &'ast syn::ExprLoop) {
        self.depth += 1;
        syn::visit::visit_expr_loop(self, expr);
        self.depth -= 1;
    }
    fn visit_expr_while(&mut self, expr: &'ast syn::ExprWhile) {
        self.depth += 1;
        syn::visit::visit_expr_while(self, expr);
        self.depth -= 1;
    }
    fn visit_expr_for_loop(&mut self, expr: &'ast ExprForLoop) {
        self.depth += 1;
        syn::visit::visit_expr_for_loop(self, expr);
        self.depth -= 1;
    }
}
