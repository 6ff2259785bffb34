//! Loops over constants, written out.
//!
//! `for k in 1..=4 { body }` becomes four blocks `{ let k = 1; body }` and so on. Offsets that use
//! `k` are then constant, for the footprint and for template arguments; and an inclusive range does
//! not vectorise in Rust (0.33 against 1.83 Gpts/s for an order-8 element), its copies do.

use std::collections::HashMap;

use proc_macro2::{Ident, Literal};
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{Block, Expr, ExprForLoop, Pat, Stmt, parse_quote, parse_quote_spanned};

use crate::constant::evaluate;

/// Copies of a body, all enclosing loops together, when it reads neighbours, and when it does not.
const MOST_COPIES: usize = 4096;
const MOST_PLAIN_COPIES: usize = 64;

/// `body` with its constant loops written out. `near` names the neighbourhood.
pub fn unroll(body: &Block, near: &Ident) -> syn::Result<Block> {
    let mut body = body.clone();
    let mut unroller = Unroller { near, known: vec![HashMap::new()], copies: 1 };
    unroller.visit_block_mut(&mut body);
    Ok(body)
}

struct Unroller<'a> {
    near: &'a Ident,
    /// Names in scope; `None` for those whose value is not known.
    known: Vec<HashMap<String, Option<i128>>>,
    /// How often the place being visited is repeated already.
    copies: usize,
}

impl Unroller<'_> {
    fn value(&self, expr: &Expr) -> Option<i128> {
        evaluate(expr, &|name| *self.known.iter().rev().find_map(|scope| scope.get(name))?)
    }

    fn note(&mut self, name: &Ident, value: Option<i128>) {
        if let Some(scope) = self.known.last_mut() {
            scope.insert(name.to_string(), value);
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
    fn range(&self, expr: &Expr) -> Option<(Vec<i128>, Option<Expr>)> {
        match expr {
            Expr::Paren(paren) => self.range(&paren.expr),
            Expr::Range(range) => {
                let (start, end) = (range.start.as_deref()?, range.end.as_deref()?);
                let (low, mut high) = (self.value(start)?, self.value(end)?);
                if matches!(range.limits, syn::RangeLimits::Closed(_)) {
                    high += 1;
                }
                if high - low > MOST_COPIES as i128 {
                    return None;
                }
                let typed = [start, end].into_iter().find(|end| !is_bare_literal(end));
                Some(((low..high).collect(), typed.cloned()))
            }
            Expr::MethodCall(call) if call.method == "rev" => {
                let (mut values, typed) = self.range(&call.receiver)?;
                values.reverse();
                Some((values, typed))
            }
            Expr::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
                let step = usize::try_from(self.value(&call.args[0])?).ok().filter(|&s| s > 0)?;
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
        syn::visit_mut::visit_block_mut(self, block);
        self.known.pop();
    }

    fn visit_local_mut(&mut self, local: &mut syn::Local) {
        syn::visit_mut::visit_local_mut(self, local);
        self.hide(&local.pat);
        let ident = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            other => other,
        };
        if let (Pat::Ident(ident), Some(init)) = (ident, &local.init)
            && ident.mutability.is_none()
        {
            let value = self.value(&init.expr);
            self.note(&ident.ident, value);
        }
    }

    fn visit_item_const_mut(&mut self, item: &mut syn::ItemConst) {
        let value = self.value(&item.expr);
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
    near: &'a Ident,
    /// It reads neighbours.
    reads: bool,
    /// It jumps out of or within this very loop.
    jumps: bool,
    depth: usize,
}

impl<'ast> Visit<'ast> for Look<'_> {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.reads |= ident == self.near;
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
