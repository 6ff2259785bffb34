//! Branches, loops and jumps.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr as E, Pat};

use super::pattern::shadow;
use super::{Binding, LoopFrame, Lower, Lowered};
use crate::diag::reject;
use crate::ir::{Arm, Block, Expr, Hole, Pattern, Range};

impl Lower<'_> {
    /// A branch, block or loop; `wanted`: whether its value is used.
    pub fn control(&mut self, expr: &E, wanted: bool) -> syn::Result<Lowered> {
        let (rust, mut ir) = match expr {
            E::If(e) => self.if_(e, wanted)?,
            E::Match(e) => self.match_(e, wanted)?,
            E::Block(e) => {
                if let Some(label) = &e.label {
                    return Err(reject(
                        label,
                        "device code has no labels on blocks",
                        "put the label on a loop, or use `if`",
                    ));
                }
                let (rust, block) = self.block(&e.block.stmts, wanted)?;
                (quote_spanned!(e.span()=> { #rust }), Expr::Block(block))
            }
            E::Loop(e) => {
                let id = self.enter_loop(&e.label, wanted);
                let body = self.block(&e.body.stmts, false);
                self.loops.pop();
                let (rust, body) = body?;
                let label = &e.label;
                let rust = quote_spanned!(e.span()=> #label loop { #rust });
                (rust, Expr::Loop { value: None, id, body })
            }
            E::While(e) => self.while_(e)?,
            E::ForLoop(e) => self.for_(e)?,
            other => return Err(reject(other, "no control flow", "see docs/guide/elements.md")),
        };
        if !wanted || matches!(expr, E::While(_) | E::ForLoop(_)) {
            return Ok(Lowered::new(rust, ir));
        }
        let (rust, hole) = self.typed(rust, expr.span());
        set_type(&mut ir, hole);
        Ok(Lowered::new(rust, ir))
    }

    fn if_(&mut self, e: &syn::ExprIf, wanted: bool) -> syn::Result<(TokenStream, Expr)> {
        let span = e.span();
        let wanted = wanted && e.else_branch.is_some();
        if let E::Let(condition) = &*e.cond {
            return self.if_let(e, condition, wanted);
        }
        let condition = self.expr(&e.cond)?;
        let (then_rust, then) = self.block(&e.then_branch.stmts, wanted)?;
        let (else_rust, otherwise) = self.else_(e, wanted)?;
        let c = condition.rust;
        let rust = quote_spanned!(span=> if #c { #then_rust } #else_rust);
        let otherwise = otherwise.map(Box::new);
        let ir = Expr::If { value: None, condition: Box::new(condition.ir), then, otherwise };
        Ok((rust, ir))
    }

    fn else_(&mut self, e: &syn::ExprIf, wanted: bool) -> syn::Result<(TokenStream, Option<Expr>)> {
        let Some((token, branch)) = &e.else_branch else { return Ok((quote!(), None)) };
        // An `else if` needs no slot of its own: it yields through the whole `if`.
        let (rust, ir) = match &**branch {
            E::If(inner) => self.if_(inner, wanted)?,
            E::Block(inner) => {
                let (rust, block) = self.block(&inner.block.stmts, wanted)?;
                (quote!({ #rust }), Expr::Block(block))
            }
            other => return Err(reject(other, "no block after `else`", "write one")),
        };
        Ok((quote_spanned!(token.span()=> else #rust), Some(ir)))
    }

    fn if_let(
        &mut self,
        e: &syn::ExprIf,
        condition: &syn::ExprLet,
        wanted: bool,
    ) -> syn::Result<(TokenStream, Expr)> {
        let scrutinee = self.expr(&condition.expr)?;
        self.scopes.enter();
        let pattern = self.pattern(&condition.pat);
        let then = self.block(&e.then_branch.stmts, wanted);
        self.scopes.leave();
        let (pattern, (then_rust, then)) = (pattern?, then?);
        let (else_rust, otherwise) = self.else_(e, wanted)?;
        let (pat, s) = (shadow(&condition.pat), scrutinee.rust);
        let rust = quote_spanned!(e.span()=> if let #pat = #s { #then_rust } #else_rust);
        let otherwise = otherwise.unwrap_or(Expr::Block(Block::default()));
        let arms = vec![
            Arm { pattern, guard: None, body: Expr::Block(then) },
            Arm { pattern: Pattern::Any, guard: None, body: otherwise },
        ];
        Ok((rust, Expr::Match { value: None, scrutinee: Box::new(scrutinee.ir), arms }))
    }

    fn match_(&mut self, e: &syn::ExprMatch, wanted: bool) -> syn::Result<(TokenStream, Expr)> {
        if e.arms.is_empty() {
            return Err(reject(e, "a `match` with no arms", "give it arms"));
        }
        let scrutinee = self.expr(&e.expr)?;
        let mut rust = vec![];
        let mut arms = vec![];
        for arm in &e.arms {
            self.scopes.enter();
            let lowered = self.arm(arm, wanted);
            self.scopes.leave();
            let (tokens, arm) = lowered?;
            rust.push(tokens);
            arms.push(arm);
        }
        let s = scrutinee.rust;
        let rust = quote_spanned!(e.span()=> match #s { #(#rust)* });
        Ok((rust, Expr::Match { value: None, scrutinee: Box::new(scrutinee.ir), arms }))
    }

    fn arm(&mut self, arm: &syn::Arm, wanted: bool) -> syn::Result<(TokenStream, Arm)> {
        let pattern = self.pattern(&arm.pat)?;
        let guard = arm.guard.as_ref().map(|(_, guard)| self.expr(guard)).transpose()?;
        let body = if wanted { self.expr(&arm.body)? } else { self.effect(&arm.body)? };
        let (pat, b) = (shadow(&arm.pat), body.rust);
        let g = guard.as_ref().map(|guard| {
            let guard = &guard.rust;
            quote!(if #guard)
        });
        let rust = quote_spanned!(arm.span()=> #pat #g => { #b });
        Ok((rust, Arm { pattern, guard: guard.map(|guard| guard.ir), body: body.ir }))
    }

    fn enter_loop(&mut self, label: &Option<syn::Label>, valued: bool) -> usize {
        self.counter += 1;
        let label = label.as_ref().map(|label| label.name.ident.to_string());
        self.loops.push(LoopFrame { id: self.counter, label, valued });
        self.counter
    }

    fn while_(&mut self, e: &syn::ExprWhile) -> syn::Result<(TokenStream, Expr)> {
        if let E::Let(condition) = &*e.cond {
            return Err(reject(
                condition,
                "device code has no `while let`",
                "use `loop` with `match` and `break`",
            ));
        }
        let id = self.enter_loop(&e.label, false);
        let condition = self.expr(&e.cond);
        let body = self.block(&e.body.stmts, false);
        self.loops.pop();
        let (condition, (body_rust, body)) = (condition?, body?);
        let (label, c) = (&e.label, condition.rust);
        let rust = quote_spanned!(e.span()=> #label while #c { #body_rust });
        Ok((rust, Expr::While { id, condition: Box::new(condition.ir), body }))
    }

    fn for_(&mut self, e: &syn::ExprForLoop) -> syn::Result<(TokenStream, Expr)> {
        let (head, range, number) = self.range(&e.expr)?;
        let variable = match &*e.pat {
            Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
                if let Some(mutable) = &ident.mutability {
                    return Err(reject(
                        mutable,
                        "the loop variable of a `for` can't be `mut` in device code",
                        "copy it: `let mut x = i;`",
                    ));
                }
                Some(&ident.ident)
            }
            Pat::Wild(_) => None,
            other => {
                return Err(reject(other, "a `for` binds one variable", "write `for i in a..b`"));
            }
        };
        self.scopes.enter();
        let name = variable.map(|ident| self.declare(ident, Binding::variable));
        let id = self.enter_loop(&e.label, false);
        let body = self.block(&e.body.stmts, false);
        self.loops.pop();
        self.scopes.leave();
        let (body_rust, body) = body?;
        let (label, pat) = (&e.label, &e.pat);
        let rust = quote_spanned!(e.span()=> #label for #pat in #head { #body_rust });
        let range = Box::new(range);
        Ok((rust, Expr::For { id, variable: name, number, range, body }))
    }

    /// The head of a `for`, and the hole that names its variable's type.
    fn range(&mut self, expr: &E) -> syn::Result<(TokenStream, Range, Hole)> {
        match expr {
            E::Paren(paren) => {
                let (rust, range, number) = self.range(&paren.expr)?;
                Ok((quote!((#rust)), range, number))
            }
            E::Range(syn::ExprRange { start: Some(start), limits, end: Some(end), .. }) => {
                let low = self.expr(start)?;
                let high = self.expr(end)?;
                let slot = self.slot(expr.span());
                let number = self.type_hole(&slot, expr.span());
                let (l, h) = (low.rust, high.rust);
                let rust = quote_spanned!(expr.span()=> #slot.is(#l) #limits #slot.is(#h));
                let mut inclusive = matches!(limits, syn::RangeLimits::Closed(_));
                let mut high = high.ir;
                if let Some(last) = self.known(end).filter(|&last| inclusive && last < 127) {
                    // One more fits every type, and a plain loop is one that compilers unroll.
                    let past = proc_macro2::Literal::i128_unsuffixed((last + 1).abs());
                    let past = if last + 1 < 0 { quote!(-#past) } else { quote!(#past) };
                    let hole = quote!(::warpweft::element::value_of(&#slot, __unit, #past));
                    high = Expr::Value(self.hole(hole));
                    inclusive = false;
                }
                let few = matches!((self.known(start), self.known(end)), (Some(low), Some(high))
                    if high <= low || high.abs_diff(low) <= Range::FEW);
                let (low, reversed, step) = (low.ir, false, None);
                let range = Range { low, high, inclusive, reversed, step, few };
                Ok((rust, range, number))
            }
            E::MethodCall(call) if call.method == "rev" && call.args.is_empty() => {
                let (rust, mut range, number) = self.range(&call.receiver)?;
                if range.step.is_some() || range.reversed {
                    return Err(reject(
                        call,
                        "`.rev()` comes first",
                        "write `(a..b).rev().step_by(n)`",
                    ));
                }
                range.reversed = true;
                Ok((quote_spanned!(call.span()=> #rust.rev()), range, number))
            }
            E::MethodCall(call) if call.method == "step_by" && call.args.len() == 1 => {
                let (rust, mut range, number) = self.range(&call.receiver)?;
                if range.step.is_some() {
                    return Err(reject(call, "two steps in one range", "multiply them"));
                }
                let step = self.expr(&call.args[0])?;
                let site = self.site(&call.method, "assertion failed: step != 0");
                range.step = Some((step.ir, site));
                let s = step.rust;
                Ok((quote_spanned!(call.span()=> #rust.step_by(#s)), range, number))
            }
            other => Err(reject(
                other,
                "device code loops over ranges of integers only",
                "write `for i in a..b`, with `.rev()` or `.step_by(n)` if needed",
            )),
        }
    }

    pub fn jump(&mut self, expr: &E) -> syn::Result<Lowered> {
        let span = expr.span();
        match expr {
            E::Return(e) => {
                let value = e.expr.as_ref().map(|value| self.expr(value)).transpose()?;
                let v = value.as_ref().map(|value| &value.rust);
                let rust = quote_spanned!(span=> return #v);
                Ok(Lowered::new(rust, Expr::Return(value.map(|value| Box::new(value.ir)))))
            }
            E::Break(e) => {
                let (id, valued) = self.target_of(&e.label, expr)?;
                let value = e.expr.as_ref().map(|value| self.expr(value)).transpose()?;
                let (label, v) = (&e.label, value.as_ref().map(|value| &value.rust));
                let rust = quote_spanned!(span=> break #label #v);
                let value = value.filter(|_| valued).map(|value| Box::new(value.ir));
                Ok(Lowered::new(rust, Expr::Break { id, value }))
            }
            E::Continue(e) => {
                let (id, _) = self.target_of(&e.label, expr)?;
                let label = &e.label;
                let rust = quote_spanned!(span=> continue #label);
                Ok(Lowered::new(rust, Expr::Continue { id }))
            }
            other => Err(reject(other, "no jump", "see docs/guide/elements.md")),
        }
    }

    fn target_of(&self, label: &Option<syn::Lifetime>, expr: &E) -> syn::Result<(usize, bool)> {
        let frame = match label {
            Some(label) => {
                let name = label.ident.to_string();
                self.loops.iter().rev().find(|frame| frame.label.as_deref() == Some(&name))
            }
            None => self.loops.last(),
        };
        frame.map(|frame| (frame.id, frame.valued)).ok_or_else(|| {
            reject(expr, "this jump has no loop to act on", "use `return`, or put it into a loop")
        })
    }
}

fn set_type(ir: &mut Expr, hole: Hole) {
    match ir {
        Expr::If { value, .. } | Expr::Match { value, .. } | Expr::Loop { value, .. } => {
            *value = Some(hole);
        }
        // The value of a block is that of its tail.
        _ => {}
    }
}
