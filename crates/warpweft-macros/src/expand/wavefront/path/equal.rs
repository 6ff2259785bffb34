//! Whether one of the terms with a given earlier cell equals the finished cell.
//!
//! A term is computed as in the function: its cell, and the numbers that are added to it or subtracted from it, innermost
//! first. Sums wrap: where one overflows, the function takes another term, which differs from it by less than 2^32 (2^64).

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit::Visit;
use syn::{BinOp, Block, Expr, ItemFn, Pat, PatIdent, Stmt, Type};

use super::{names, read};
use crate::diag::reject;

/// Whether a term of `body` with the cell of `vector`, or with none, equals the cell called `finished`. As
/// [`super::terms::Terms`] demands, `body` is made of such terms.
///
/// # Errors
/// A variable that depends on cells and is computed from another whose name is given twice or that may change.
pub fn equal(
    body: &Block,
    (cells, cell): (&Ident, &Type),
    given: &Given,
    vector: Option<[i128; 2]>,
) -> syn::Result<TokenStream> {
    let mut equal = Equal { cells, cell, given, vector, known: vec![], added: vec![], sums: 0 };
    Ok(equal.block(body)?.unwrap_or_else(|| quote!(false)))
}

/// A variable in scope: how it is defined, if it depends on earlier cells. It is then written out where it is used.
type Variable = (Ident, Option<Expr>);

struct Equal<'a> {
    cells: &'a Ident,
    cell: &'a Type,
    given: &'a Given,
    vector: Option<[i128; 2]>,
    /// Innermost last.
    known: Vec<Variable>,
    /// What the present expression has added: methods with the names of their numbers, outermost first.
    added: Vec<(&'static str, Ident)>,
    /// Names given so far.
    sums: usize,
}

impl Equal<'_> {
    /// None where no term of the block has the cell.
    fn block(&mut self, block: &Block) -> syn::Result<Option<TokenStream>> {
        let outside = self.known.len();
        let (mut before, mut value) = (vec![], None);
        for (at, statement) in block.stmts.iter().enumerate() {
            match statement {
                Stmt::Local(local) => {
                    let defined = local.init.as_ref().map(|init| &*init.expr);
                    if let Some(defined) = defined.filter(|defined| self.depends(*defined)) {
                        self.known
                            .extend(bound(&local.pat).map(|name| (name, Some(defined.clone()))));
                    } else {
                        before.push(statement);
                        self.known.extend(bound(&local.pat).map(|name| (name, None)));
                    }
                }
                Stmt::Expr(expr, None) if at + 1 == block.stmts.len() => value = self.expr(expr)?,
                statement => before.push(statement),
            }
        }
        self.known.truncate(outside);
        Ok(value.map(|value| match before.is_empty() {
            true => value,
            false => quote!({ #(#before)* #value }),
        }))
    }

    fn expr(&mut self, expr: &Expr) -> syn::Result<Option<TokenStream>> {
        if !self.depends(expr) {
            return Ok(self.vector.is_none().then(|| self.term(expr)));
        }
        if read(expr, self.cells).is_some() {
            let wanted = read(expr, self.cells).flatten() == self.vector;
            return Ok(wanted.then(|| self.term(expr)));
        }
        match expr {
            Expr::Paren(inner) => self.expr(&inner.expr),
            Expr::Group(inner) => self.expr(&inner.expr),
            Expr::Block(inner) => self.block(&inner.block),
            Expr::If(choice) => {
                let outside = self.known.len();
                self.known
                    .extend(Given::of(&choice.cond).0.into_iter().map(|(name, _)| (name, None)));
                let then = self.block(&choice.then_branch)?;
                self.known.truncate(outside);
                let Some((_, otherwise)) = &choice.else_branch else { return Ok(None) };
                let otherwise = self.expr(otherwise)?;
                let condition = &choice.cond;
                Ok((then.is_some() || otherwise.is_some()).then(|| {
                    let [then, otherwise] = [then, otherwise].map(or_false);
                    quote!(if #condition { #then } else { #otherwise })
                }))
            }
            Expr::Match(choice) => self.arms(choice),
            Expr::Binary(sum) => self.sum(sum),
            Expr::MethodCall(call) => {
                let each = [self.expr(&call.receiver)?, self.expr(&call.args[0])?];
                Ok(match each {
                    [Some(one), Some(other)] => Some(quote!((#one) | (#other))),
                    [one, other] => one.or(other),
                })
            }
            Expr::Path(path) => self.variable(path.path.require_ident()?),
            // `Terms` lets nothing else depend on cells.
            _ => Ok(None),
        }
    }

    /// That `expr` with what is added to it equals the finished cell.
    fn term(&self, expr: &Expr) -> TokenStream {
        let cell = self.cell;
        let sum = self.added.iter().rev().fold(quote!(path_term), |sum, (method, number)| {
            let method = Ident::new(method, Span::call_site());
            quote!(#sum.#method(#number))
        });
        quote!({ let path_term: #cell = #expr; finished == #sum })
    }

    fn sum(&mut self, sum: &syn::ExprBinary) -> syn::Result<Option<TokenStream>> {
        let left = self.depends(&sum.left);
        let (cell, number) = if left { (&sum.left, &sum.right) } else { (&sum.right, &sum.left) };
        let method = match sum.op {
            BinOp::Sub(_) => "wrapping_sub",
            _ => "wrapping_add",
        };
        let name = format_ident!("path_number_{}", self.sums);
        self.sums += 1;
        self.added.push((method, name.clone()));
        let equal = self.expr(cell)?;
        self.added.pop();
        let cell = self.cell;
        Ok(equal.map(|equal| quote!({ let #name: #cell = #number; #equal })))
    }

    fn arms(&mut self, choice: &syn::ExprMatch) -> syn::Result<Option<TokenStream>> {
        let (mut arms, mut any) = (vec![], false);
        for arm in &choice.arms {
            let outside = self.known.len();
            self.known.extend(bound(&arm.pat).map(|name| (name, None)));
            let equal = self.expr(&arm.body)?;
            self.known.truncate(outside);
            any |= equal.is_some();
            let (pattern, equal) = (&arm.pat, or_false(equal));
            let guard = arm.guard.as_ref().map(|(_, guard)| quote!(if #guard));
            arms.push(quote!(#pattern #guard => { #equal }));
        }
        let of = &choice.expr;
        Ok(any.then(|| quote!(match #of { #(#arms)* })))
    }

    /// A variable that depends on cells, by its definition. What that is computed from has its value here too: names that are
    /// given once and do not change, or else variables that are written out themselves.
    fn variable(&mut self, name: &Ident) -> syn::Result<Option<TokenStream>> {
        let Some(at) = self.known.iter().rposition(|(known, _)| known == name) else {
            return Ok(None);
        };
        let since = self.known.split_off(at);
        let defined = since[0].1.clone();
        let equal = defined.map_or(Ok(None), |defined| {
            for used in names(defined.to_token_stream()) {
                if !self.is_dependent(&used) {
                    self.given.once(&used, name)?;
                }
            }
            self.expr(&defined)
        });
        self.known.extend(since);
        equal
    }

    /// Whether `tokens` has earlier cells, or variables that depend on them.
    fn depends(&self, tokens: &(impl ToTokens + ?Sized)) -> bool {
        let all = names(tokens.to_token_stream());
        all.iter().any(|name| name == self.cells || self.is_dependent(name))
    }

    fn is_dependent(&self, name: &Ident) -> bool {
        let known = self.known.iter().rev().find(|(known, _)| known == name);
        known.is_some_and(|(_, of)| of.is_some())
    }
}

fn or_false(equal: Option<TokenStream>) -> TokenStream {
    equal.unwrap_or_else(|| quote!(false))
}

/// All names that patterns give, and whether they may change.
#[derive(Default)]
pub struct Given(Vec<(Ident, bool)>);

impl Given {
    /// Those of a function's parameters and body.
    pub fn within(function: &ItemFn, body: &Block) -> Self {
        let mut all = Self::default();
        all.visit_signature(&function.sig);
        all.visit_block(body);
        all
    }

    fn of(expr: &Expr) -> Self {
        let mut all = Self::default();
        all.visit_expr(expr);
        all
    }

    /// Whether `used` has one value wherever it can be used; `by` is computed from it.
    fn once(&self, used: &Ident, by: &Ident) -> syn::Result<()> {
        let mut given = self.0.iter().filter(|(name, _)| name == used);
        match (given.next(), given.next()) {
            (Some((name, true)), _) | (_, Some((name, _))) => {
                let what = format!(
                    "`{by}` is computed from `{used}`, whose name stands for several values"
                );
                Err(reject(name, what, "give each value its own name"))
            }
            _ => Ok(()),
        }
    }
}

impl<'a> Visit<'a> for Given {
    fn visit_pat_ident(&mut self, name: &'a PatIdent) {
        self.0.push((name.ident.clone(), name.mutability.is_some()));
        syn::visit::visit_pat_ident(self, name);
    }
}

/// The names that a pattern gives.
fn bound(pattern: &Pat) -> impl Iterator<Item = Ident> + use<> {
    let mut names = Given::default();
    names.visit_pat(pattern);
    names.0.into_iter().map(|(name, _)| name)
}
