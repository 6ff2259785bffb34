//! Whole cells of several fields in a body: `g[[0, 1]].u` and `g[[0, 1]]`.
//!
//! Fields lie apart in memory, so there is no cell to refer to. A field of one is read as `g.u[[0, 1]]` is, and a whole cell
//! is put together from all of its fields.

use proc_macro2::Ident;
use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit_mut::{VisitMut, visit_expr_mut};
use syn::{Block, Expr, ExprArray, Macro, Member, Type, parse_quote_spanned};

use super::reads::{in_macro, is_name};

/// Writes every `g[[..]].u` in `body` as `g.u[[..]]`, and `g[[..]].f[i]` as `g.f[i][[..]]`.
pub fn by_field(body: &mut Block, near: &Ident) {
    ByField { near, found: false }.visit_block_mut(body);
}

/// Writes every `g[[..]]` in `body` as what puts the cell together.
pub fn put_together(body: &mut Block, near: &Ident, state: &Type) {
    Whole { near, state, found: false }.visit_block_mut(body);
}

/// The cell at `offset`, put together from the fields of the neighbourhood `near`.
pub fn whole(near: &Ident, state: &Type, offset: &ExprArray) -> Expr {
    let at = quote_spanned!(offset.span()=> <#state as ::warpweft::element::Fields>::at);
    parse_quote_spanned!(offset.span()=> #at(&#near, #offset))
}

struct ByField<'a> {
    near: &'a Ident,
    found: bool,
}

impl VisitMut for ByField<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_expr_mut(self, expr);
        if let Some(read) = self.of_array(expr) {
            *expr = read;
            return;
        }
        let Expr::Field(field) = &*expr else { return };
        let (Member::Named(_), Expr::Index(index)) = (&field.member, unwrapped(&field.base)) else {
            return;
        };
        if !is_name(&index.expr, self.near) || !matches!(*index.index, Expr::Array(_)) {
            return;
        }
        let mut read = index.clone();
        let mut of = field.clone();
        *of.base = (*index.expr).clone();
        *read.expr = Expr::Field(of);
        *expr = Expr::Index(read);
        self.found = true;
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        let mut inner = Self { near: self.near, found: false };
        let mut changed = call.clone();
        in_macro(&mut changed, &mut inner, false);
        if inner.found {
            *call = changed;
            self.found = true;
        }
    }
}

impl ByField<'_> {
    /// `g.f[[..]][i]`, which was `g[[..]].f[i]`, as `g.f[i][[..]]`.
    fn of_array(&self, expr: &Expr) -> Option<Expr> {
        let Expr::Index(member) = expr else { return None };
        let Expr::Index(read) = unwrapped(&member.expr) else { return None };
        let Expr::Field(field) = &*read.expr else { return None };
        let offset = matches!(*read.index, Expr::Array(_));
        if !offset || !is_name(&field.base, self.near) || matches!(*member.index, Expr::Array(_)) {
            return None;
        }
        let (mut read, mut member) = (read.clone(), member.clone());
        *member.expr = (*read.expr).clone();
        *read.expr = Expr::Index(member);
        Some(Expr::Index(read))
    }
}

/// What stands in parentheses.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => unwrapped(&inner.expr),
        Expr::Group(inner) => unwrapped(&inner.expr),
        other => other,
    }
}

struct Whole<'a> {
    near: &'a Ident,
    state: &'a Type,
    found: bool,
}

impl VisitMut for Whole<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_expr_mut(self, expr);
        let Expr::Index(index) = &*expr else { return };
        if let (true, Expr::Array(offset)) = (is_name(&index.expr, self.near), &*index.index) {
            *expr = whole(self.near, self.state, offset);
            self.found = true;
        }
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        let mut inner = Self { near: self.near, state: self.state, found: false };
        let mut changed = call.clone();
        in_macro(&mut changed, &mut inner, false);
        if inner.found {
            *call = changed;
            self.found = true;
        }
    }
}
