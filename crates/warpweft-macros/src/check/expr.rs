//! Expressions without control flow.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{BinOp as B, Expr as E, Lit, UnOp as U};

use super::{Lower, Lowered};
use crate::diag::reject;
use crate::ir::{BinOp, Expr, Member, UnOp};

/// A literal, possibly negated or in parentheses.
fn is_number(expr: &E) -> bool {
    match expr {
        E::Lit(lit) => matches!(lit.lit, Lit::Int(_) | Lit::Float(_) | Lit::Byte(_)),
        E::Unary(unary) => matches!(unary.op, U::Neg(_)) && is_number(&unary.expr),
        E::Paren(paren) => is_number(&paren.expr),
        E::Group(group) => is_number(&group.expr),
        _ => false,
    }
}

/// A literal that no division faults on: neither 0 nor -1.
fn is_safe_divisor(expr: &E) -> bool {
    match expr {
        E::Lit(lit) => match &lit.lit {
            Lit::Int(int) => int.base10_parse::<u128>().is_ok_and(|value| value != 0),
            Lit::Float(_) => true,
            _ => false,
        },
        E::Paren(paren) => is_safe_divisor(&paren.expr),
        _ => false,
    }
}

pub fn binary_op(op: &B) -> Option<(BinOp, bool)> {
    Some(match op {
        B::Add(_) => (BinOp::Add, false),
        B::Sub(_) => (BinOp::Sub, false),
        B::Mul(_) => (BinOp::Mul, false),
        B::Div(_) => (BinOp::Div, false),
        B::Rem(_) => (BinOp::Rem, false),
        B::BitAnd(_) => (BinOp::BitAnd, false),
        B::BitOr(_) => (BinOp::BitOr, false),
        B::BitXor(_) => (BinOp::BitXor, false),
        B::Shl(_) => (BinOp::Shl, false),
        B::Shr(_) => (BinOp::Shr, false),
        B::Eq(_) => (BinOp::Eq, false),
        B::Ne(_) => (BinOp::Ne, false),
        B::Lt(_) => (BinOp::Lt, false),
        B::Le(_) => (BinOp::Le, false),
        B::Gt(_) => (BinOp::Gt, false),
        B::Ge(_) => (BinOp::Ge, false),
        B::AddAssign(_) => (BinOp::Add, true),
        B::SubAssign(_) => (BinOp::Sub, true),
        B::MulAssign(_) => (BinOp::Mul, true),
        B::DivAssign(_) => (BinOp::Div, true),
        B::RemAssign(_) => (BinOp::Rem, true),
        B::BitAndAssign(_) => (BinOp::BitAnd, true),
        B::BitOrAssign(_) => (BinOp::BitOr, true),
        B::BitXorAssign(_) => (BinOp::BitXor, true),
        B::ShlAssign(_) => (BinOp::Shl, true),
        B::ShrAssign(_) => (BinOp::Shr, true),
        _ => return None,
    })
}

pub fn member(member: &syn::Member) -> Member {
    match member {
        syn::Member::Named(name) => Member::Named(name.to_string()),
        syn::Member::Unnamed(index) => Member::Index(index.index),
    }
}

impl Lower<'_> {
    /// An expression whose value is wanted.
    pub fn expr(&mut self, expr: &E) -> syn::Result<Lowered> {
        if let Some(input) = self.input(expr)? {
            return Ok(input);
        }
        let span = expr.span();
        match expr {
            E::Lit(lit) => self.literal(lit),
            E::Unary(_) if is_number(expr) => Ok(self.constant(expr.to_token_stream(), span)),
            E::Unary(unary) => self.unary(unary),
            E::Paren(paren) => {
                let inner = self.expr(&paren.expr)?;
                let rust = inner.rust;
                Ok(Lowered::new(quote_spanned!(span=> (#rust)), inner.ir))
            }
            E::Group(group) => self.expr(&group.expr),
            E::Path(path) => self.path(path),
            E::Binary(binary) => self.binary(binary),
            E::Assign(assign) => self.assign(assign),
            E::Cast(cast) => self.cast(cast),
            E::Call(call) => self.call(call),
            E::MethodCall(call) => self.method(call),
            E::Tuple(tuple) if tuple.elems.is_empty() => Ok(Lowered::new(quote!(()), Expr::Unit)),
            E::Tuple(tuple) => {
                if tuple.elems.len() > 4 {
                    return Err(reject(
                        tuple,
                        "device code has tuples of at most 4 members",
                        "use a `#[repr(C)]` struct with `#[derive(Device)]`",
                    ));
                }
                let (rust, members) = self.list(&tuple.elems)?;
                Ok(Lowered::new(quote_spanned!(span=> (#(#rust,)*)), Expr::Tuple(members)))
            }
            E::Array(array) if array.elems.is_empty() => Err(reject(
                array,
                "an empty array has no form in device code",
                "give the array at least one element",
            )),
            E::Array(array) => {
                let (rust, items) = self.list(&array.elems)?;
                Ok(Lowered::new(quote_spanned!(span=> [#(#rust),*]), Expr::Array(items)))
            }
            E::Repeat(repeat) => {
                let value = self.expr(&repeat.expr)?;
                let (rust, len) = (value.rust, &repeat.len);
                let (rust, array) = self.typed(quote_spanned!(span=> [#rust; #len]), span);
                Ok(Lowered::new(rust, Expr::Repeat { array, value: Box::new(value.ir) }))
            }
            E::Struct(literal) => self.struct_literal(literal),
            E::Field(_) | E::Index(_) => self.place(expr),
            E::If(_) | E::Match(_) | E::Block(_) | E::Loop(_) => self.control(expr, true),
            E::While(_) | E::ForLoop(_) => self.control(expr, false),
            E::Return(_) | E::Break(_) | E::Continue(_) => self.jump(expr),
            E::Macro(call) => self.macro_call(&call.mac),
            E::Reference(_) => {
                self.slice(expr)?.map(|part| part.lowered).ok_or_else(|| unsupported(expr))
            }
            other => Err(unsupported(other)),
        }
    }

    /// Several operands in order.
    pub fn list<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e E>,
    ) -> syn::Result<(Vec<TokenStream>, Vec<Expr>)> {
        let mut both = (vec![], vec![]);
        for expr in exprs {
            let lowered = self.expr(expr)?;
            both.0.push(lowered.rust);
            both.1.push(lowered.ir);
        }
        Ok(both)
    }

    fn literal(&mut self, lit: &syn::ExprLit) -> syn::Result<Lowered> {
        match &lit.lit {
            Lit::Bool(value) => Ok(Lowered::new(lit.to_token_stream(), Expr::Bool(value.value))),
            Lit::Int(_) | Lit::Float(_) | Lit::Byte(_) => {
                Ok(self.constant(lit.to_token_stream(), lit.span()))
            }
            Lit::Str(_) | Lit::ByteStr(_) | Lit::CStr(_) => Err(reject(
                lit,
                "device code has no strings",
                "return a number or an enum with `#[derive(Device)]` and format it on the host",
            )),
            Lit::Char(_) => Err(reject(
                lit,
                "device code has no `char`",
                "write a byte, as in `b'a'`, of type `u8`",
            )),
            _ => Err(reject(lit, "device code has no such literal", "write a number")),
        }
    }

    fn unary(&mut self, unary: &syn::ExprUnary) -> syn::Result<Lowered> {
        let span = unary.span();
        let value = match unary.op {
            U::Deref(_) => self.referent(&unary.expr)?,
            _ => self.expr(&unary.expr)?,
        };
        let (op, rust) = (&unary.op, value.rust);
        let which = match op {
            U::Neg(_) => UnOp::Neg,
            U::Not(_) => UnOp::Not,
            // References are C++ references: what they refer to has the same spelling.
            _ => return Ok(Lowered::new(quote_spanned!(span=> #op #rust), value.ir)),
        };
        Ok(Lowered::new(
            quote_spanned!(span=> (#op ::warpweft::element::scalar(#rust))),
            Expr::Unary(which, Box::new(value.ir)),
        ))
    }

    fn path(&mut self, path: &syn::ExprPath) -> syn::Result<Lowered> {
        let rust = path.to_token_stream();
        if let Some(name) = path.path.get_ident() {
            if let Some(known) = self.scopes.get(&name.to_string()) {
                if known.by_mut_ref {
                    return Err(reject(
                        path,
                        "a `&mut` parameter can't be kept or moved in device code",
                        format_args!(
                            "use `*{name}`, a member, an element, or pass it to a `#[device]` function"
                        ),
                    ));
                }
                if known.slice.is_some() {
                    return Err(reject(
                        path,
                        format_args!("`{name}` is a slice, not a value"),
                        format_args!(
                            "read an item, `{name}[i]`, or pass it to a `#[device]` function"
                        ),
                    ));
                }
                return Ok(Lowered::new(rust, Expr::Local(known.name.clone())));
            }
            if let Some(error) = self.inputs.as_ref().and_then(|inputs| inputs.bare(name)) {
                return Err(error);
            }
        }
        let hole = self.hole(quote_spanned! {super::ours(path.span())=>
            ::warpweft::element::DeviceType::cuda_const(&#path, __unit)
        });
        Ok(Lowered::new(rust, Expr::Value(hole)))
    }

    fn binary(&mut self, binary: &syn::ExprBinary) -> syn::Result<Lowered> {
        let span = binary.span();
        let token = &binary.op;
        let lazy = matches!(token, B::And(_) | B::Or(_));
        if let Some((_, true)) = binary_op(token) {
            return self.assign_op(binary);
        }
        let left = self.expr(&binary.left)?;
        let right = self.expr(&binary.right)?;
        let (l, r) = (left.rust, right.rust);
        let (left, right) = (Box::new(left.ir), Box::new(right.ir));
        if lazy {
            let rust = quote_spanned!(span=> (#l #token #r));
            let ir = match token {
                B::And(_) => Expr::And(left, right),
                _ => Expr::Or(left, right),
            };
            return Ok(Lowered::new(rust, ir));
        }
        let Some((op, _)) = binary_op(token) else {
            return Err(reject(token, "device code has no such operator", "use another"));
        };
        let compares =
            matches!(op, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge);
        let check = if compares { quote!(comparable) } else { quote!(scalar) };
        // Another type on the right finds no overload, except as the amount of a shift.
        let r = match op {
            BinOp::Shl | BinOp::Shr => quote_spanned!(span=> ::warpweft::element::scalar(#r)),
            _ => r,
        };
        let rust = quote_spanned!(span=> (::warpweft::element::#check(#l) #token #r));
        let sites = self.sites_of(op, token, &binary.right);
        Ok(Lowered::new(rust, Expr::Binary { op, left, right, sites }))
    }

    /// The faults a division may raise: none for a divisor that can be seen to be fine.
    pub fn sites_of(&mut self, op: BinOp, token: &impl Spanned, divisor: &E) -> Vec<usize> {
        let what = match op {
            _ if is_safe_divisor(divisor) => return vec![],
            BinOp::Div => ["attempt to divide by zero", "attempt to divide with overflow"],
            BinOp::Rem => [
                "attempt to calculate the remainder with a divisor of zero",
                "attempt to calculate the remainder with overflow",
            ],
            _ => return vec![],
        };
        what.iter().map(|what| self.site(token, what)).collect()
    }

    fn cast(&mut self, cast: &syn::ExprCast) -> syn::Result<Lowered> {
        let span = cast.span();
        if is_number(&cast.expr) {
            // The type of a literal under a cast follows rules of its own: let Rust do it all.
            return Ok(self.constant(quote_spanned!(span=> (#cast)), span));
        }
        let value = self.expr(&cast.expr)?;
        let (rust, ty) = (value.rust, &cast.ty);
        let (rust, to) = self.typed(quote_spanned!(span=> (#rust) as #ty), span);
        Ok(Lowered::new(rust, Expr::Cast { to, value: Box::new(value.ir) }))
    }

    fn struct_literal(&mut self, literal: &syn::ExprStruct) -> syn::Result<Lowered> {
        let span = literal.span();
        let path = &literal.path;
        let mut rust = vec![];
        let mut members = vec![];
        for field in &literal.fields {
            let value = self.expr(&field.expr)?;
            let (name, tokens) = (&field.member, value.rust);
            rust.push(quote!(#name: #tokens));
            members.push((member(name), value.ir));
        }
        let (rest, base) = match &literal.rest {
            Some(base) => {
                let value = self.expr(base)?;
                let tokens = value.rust;
                (quote!(..#tokens), Some(Box::new(value.ir)))
            }
            None => (quote!(), None),
        };
        let whole = quote_spanned!(span=> #path { #(#rust,)* #rest });
        let (rust, name) = self.typed(whole, span);
        Ok(Lowered::new(rust, Expr::Struct { name, members, base }))
    }
}

/// The error for an expression that has no lowering.
fn unsupported(expr: &E) -> syn::Error {
    let (what, instead) = match expr {
        E::Closure(_) => ("closures", "write the expression out, or a function with `#[device]`"),
        E::Reference(_) => (
            "references here",
            "pass values; `&x` and `&mut x` may only be arguments of a `#[device]` function",
        ),
        E::Async(_) | E::Await(_) => {
            ("`async`", "an element function computes one cell and returns")
        }
        E::Unsafe(_) => ("`unsafe` blocks", "write it with the safe operations of the subset"),
        E::Try(_) => ("`?`", "test the value and `return` a number that says what went wrong"),
        E::Range(_) => ("ranges as values", "write the range in the head of a `for`"),
        E::RawAddr(_) => ("raw addresses", "pass values"),
        E::Const(_) => ("`const` blocks", "make it a `const` item"),
        E::Let(_) => ("`let` here", "use `if let` with one condition, or `matches!`"),
        E::Yield(_) => ("`yield`", "an element function computes one cell and returns"),
        E::TryBlock(_) => ("`try` blocks", "use `if` and `return`"),
        E::Infer(_) => ("`_` here", "give the destination a name"),
        _ => ("this expression", "see docs/guide/elements.md for the subset"),
    };
    reject(expr, format_args!("device code has no {what}"), instead)
}
