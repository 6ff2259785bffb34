//! Calls: of `#[device]` functions, of associated functions of numbers, of constructors, of macros.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr as E;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;

use super::{AGAIN, Lower, Lowered, method};
use crate::check::attributes;
use crate::diag::reject;
use crate::ir::{Expr, Member};

const NUMBERS: &[&str] =
    &["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64", "bool"];
const STORED: &[&str] = &["f16", "bf16"];

impl Lower<'_> {
    pub fn call(&mut self, call: &syn::ExprCall) -> syn::Result<Lowered> {
        let E::Path(path) = &*call.func else {
            return Err(reject(
                &call.func,
                "only functions can be called by name",
                "call a function with `#[device]` by its path",
            ));
        };
        if let Some(value) = crate::parse::constant::typed_like(call) {
            let lowered = self.constant(quote!(#value), call.span());
            let slot = self.slots.last();
            let rust = quote_spanned!(call.span()=> #slot.is(#call));
            return Ok(Lowered::new(rust, lowered.ir));
        }
        let segments = &path.path.segments;
        let Some(last) = segments.last() else { return Err(reject(path, "empty path", "name it")) };
        let name = last.ident.to_string();
        if let ("Some" | "Ok" | "Err", 1) = (name.as_str(), segments.len()) {
            let instead = "use a number or a `bool` next to the value, or a tuple of both";
            return Err(reject(call, "device code has no `Option` and no `Result`", instead));
        }
        if segments.len() == 1 && self.scopes.get(&name).is_some() {
            return Err(reject(
                call,
                "device code can't call through a variable",
                "call a function with `#[device]` by its path",
            ));
        }
        if let Some(owner) = self.number_type(path) {
            if is_one_of(&owner, STORED) && !matches!(&*name, "narrow" | "from_f32" | "default") {
                return Err(reject(
                    path,
                    format_args!("`{owner}::{name}` is not part of device code"),
                    format_args!("compute in `f32`, and round with `{owner}::narrow(x)`"),
                ));
            }
            return self.associated(call, path, &owner, &last.ident);
        }
        if segments.len() > 1
            && matches!(name.as_str(), "new" | "default" | "from" | "with_capacity")
        {
            return Err(reject(
                call,
                format_args!("associated function `{name}` is not part of device code"),
                "write a struct literal, an array, or a free function with `#[device]`",
            ));
        }
        if name.starts_with(char::is_uppercase) {
            return self.constructor(call, path);
        }
        if name == self.function && segments.len() == 1 && !self.recursive {
            return Err(reject(
                call,
                format_args!("`{name}` calls itself: only functions with `#[device]` may"),
                self.inputs.as_ref().map_or(AGAIN, |inputs| inputs.again()),
            ));
        }
        self.device_call(call, path)
    }

    /// The type of numbers, or the type parameter, that `path` names a function of.
    fn number_type(&self, path: &syn::ExprPath) -> Option<Ident> {
        let segments = &path.path.segments;
        let owner = match &path.qself {
            Some(of) if segments.len() == 1 => type_name(&of.ty)?,
            None if segments.len() == 2 => segments[0].ident.clone(),
            _ => return None,
        };
        let known = is_one_of(&owner, NUMBERS)
            || is_one_of(&owner, STORED)
            || self.generics.contains(&owner.to_string());
        known.then_some(owner)
    }

    fn device_call(&mut self, call: &syn::ExprCall, path: &syn::ExprPath) -> syn::Result<Lowered> {
        self.marked(path, "device")?;
        let span = call.span();
        let mut rust = vec![];
        let mut arguments = vec![];
        let mut effects = false;
        for argument in &call.args {
            let (tokens, ir, writes) = self.argument(argument)?;
            rust.push(tokens);
            arguments.push(ir);
            effects |= writes;
        }
        let slot = self.slot(path.span());
        let function = self.hole(quote!(::warpweft::element::function_of(&#slot, __unit)));
        let shadow = quote_spanned!(path.span()=> #path::__device_call);
        let rust = quote_spanned!(span=> #shadow(&#slot, #(#rust),*));
        Ok(Lowered::new(rust, Expr::Call { function, arguments, effects }))
    }

    /// An argument, which alone may be a reference; whether the callee may write through it.
    fn argument(&mut self, expr: &E) -> syn::Result<(TokenStream, Expr, bool)> {
        if let Some(slice) = self.slice(expr)? {
            let Lowered { rust, ir } = slice.lowered;
            return Ok((rust, ir, slice.mutable));
        }
        if let E::Reference(reference) = expr {
            let value = self.expr(&reference.expr)?;
            let (rust, mutability) = (value.rust, &reference.mutability);
            let rust = quote_spanned!(expr.span()=> &#mutability #rust);
            return Ok((rust, Expr::Reference(Box::new(value.ir)), mutability.is_some()));
        }
        if self.by_mut_ref(expr) {
            let value = self.referent(expr)?;
            return Ok((value.rust, Expr::Reference(Box::new(value.ir)), true));
        }
        let value = self.expr(expr)?;
        Ok((value.rust, value.ir, false))
    }

    /// `f32::max(a, b)`, `T::lit(0.25)`, `u64::from(x)`.
    fn associated(
        &mut self,
        call: &syn::ExprCall,
        path: &syn::ExprPath,
        owner: &Ident,
        ident: &Ident,
    ) -> syn::Result<Lowered> {
        let span = call.span();
        let name = ident.to_string();
        match (name.as_str(), call.args.len()) {
            ("default", 0) => return Ok(self.constant(quote!(#call), span)),
            ("lit", 1) if self.is_literal(&call.args[0]) => {
                return Ok(self.constant(quote!(#call), span));
            }
            ("lit" | "from" | "from_f64" | "from_f32" | "narrow", 1) => {
                return self.conversion(call, path, owner, &name);
            }
            _ => {}
        }
        let (rust, arguments) = self.list(&call.args)?;
        if (name.as_str(), arguments.len()) == ("from_bits", 1) {
            let rust = quote_spanned! {span=>
                ::warpweft::element::method::from_bits::<#owner>(#(#rust),*)
            };
            return Ok(Lowered::new(rust, Expr::Method { name, arguments, sites: vec![] }));
        }
        let faults = arguments.len().checked_sub(1).and_then(|rest| method::faults(&name, rest));
        match (faults, rust.split_first()) {
            (Some(faults), Some((receiver, rest))) => {
                let sites = faults.iter().map(|what| self.site(path, what)).collect();
                let rust = method::own(ident, quote!(::<_, #owner>), receiver, rest, span);
                Ok(Lowered::new(rust, Expr::Method { name, arguments, sites }))
            }
            _ => Err(reject(
                path,
                format_args!("`{name}` is not a function of numbers in device code"),
                "use one listed in docs/guide/elements.md, or a function with `#[device]`",
            )),
        }
    }

    /// `T::lit(x)`, `T::from(x)`, `T::narrow(x)` and so on: those of the library and of Rust.
    fn conversion(
        &mut self,
        call: &syn::ExprCall,
        path: &syn::ExprPath,
        owner: &Ident,
        name: &str,
    ) -> syn::Result<Lowered> {
        let span = call.span();
        let value = self.expr(&call.args[0])?;
        let rust = value.rust;
        let at = path.span();
        let wanted = match name {
            "lit" => quote_spanned!(at=> <#owner as ::warpweft::element::Real>::lit),
            "from" => quote_spanned!(at=> <#owner as ::core::convert::From<_>>::from),
            "narrow" => quote_spanned!(at=> <#owner as ::warpweft::element::Stored>::narrow),
            "from_f32" => quote_spanned!(at=> ::warpweft::element::method::from_f32::<#owner>),
            _ => quote_spanned!(at=> <#owner as ::warpweft::element::Scalar>::from_f64),
        };
        let function = match name {
            // Inherent, as `from_bits`.
            "from_f32" => wanted,
            _ => quote_spanned!(span=> ::warpweft::element::method::resolved(#path, #wanted)),
        };
        let rust = quote_spanned!(span=> #function(::warpweft::element::convertible(#rust)));
        let (rust, to) = self.typed(rust, span);
        Ok(Lowered::new(rust, Expr::Cast { to, value: Box::new(value.ir) }))
    }

    fn is_literal(&self, expr: &E) -> bool {
        match expr {
            E::Lit(_) => true,
            E::Unary(unary) => self.is_literal(&unary.expr),
            E::Paren(paren) => self.is_literal(&paren.expr),
            E::Binary(binary) => self.is_literal(&binary.left) && self.is_literal(&binary.right),
            _ => false,
        }
    }

    /// `Point(a, b)`.
    fn constructor(&mut self, call: &syn::ExprCall, path: &syn::ExprPath) -> syn::Result<Lowered> {
        let span = call.span();
        let (rust, values) = self.list(&call.args)?;
        let (rust, name) = self.typed(quote_spanned!(span=> #path(#(#rust),*)), span);
        let members =
            values.into_iter().enumerate().map(|(i, value)| (Member::Index(i as u32), value));
        Ok(Lowered::new(rust, Expr::Struct { name, members: members.collect(), base: None }))
    }

    pub fn macro_call(&mut self, call: &syn::Macro) -> syn::Result<Lowered> {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let arguments = Punctuated::<E, syn::Token![,]>::parse_terminated;
        let span = call.span();
        match name.as_str() {
            "matches" => self.matches_macro(call),
            "assert" => {
                let parsed = call.parse_body_with(arguments)?;
                let Some(first) = parsed.first() else {
                    return Err(reject(call, "`assert!` without a condition", "give one"));
                };
                for (i, more) in parsed.iter().enumerate().skip(1) {
                    if i > 1 || !is_plain_text(more) {
                        return Err(reject(
                            more,
                            "the message of an `assert!` takes no values in device code",
                            "drop the message's arguments: write plain text, or no message",
                        ));
                    }
                }
                attributes::check(|found| found.visit_expr(first))?;
                let condition = self.expr(first)?;
                let what = format!("assertion failed: {}", quote!(#first));
                let site = self.site(call, &what);
                let rust = condition.rust;
                let condition = Box::new(condition.ir);
                Ok(Lowered::new(
                    quote_spanned!(span=> assert!(#rust)),
                    Expr::Assert { condition, site },
                ))
            }
            _ => Err(reject(
                call,
                format_args!("the macro `{name}!` is not part of device code"),
                match name.as_str() {
                    "vec" => "write an array, `[x; N]`",
                    "println" | "print" | "eprintln" | "dbg" | "format" => {
                        "return the value and print it on the host"
                    }
                    "panic" | "unreachable" | "todo" | "unimplemented" => {
                        "return a value that says what went wrong, or use `assert!(condition)`"
                    }
                    "debug_assert" | "debug_assert_eq" | "assert_eq" | "assert_ne" => {
                        "use `assert!(condition)`"
                    }
                    _ => "write the expression out, or a function with `#[device]`",
                },
            )),
        }
    }

    fn matches_macro(&mut self, call: &syn::Macro) -> syn::Result<Lowered> {
        let (value, pattern, guard) = matches_parts(call)?;
        attributes::check(|found| {
            found.visit_expr(&value);
            found.visit_pat(&pattern);
            guard.iter().for_each(|guard| found.visit_expr(guard));
        })?;
        let scrutinee = self.expr(&value)?;
        self.scopes.enter();
        let shape = self.pattern(&pattern)?;
        let guard = guard.map(|guard| self.expr(&guard)).transpose()?;
        self.scopes.leave();
        let (v, g) = (scrutinee.rust, guard.as_ref().map(|guard| &guard.rust));
        let g = g.map(|g| quote!(if #g));
        let pattern = super::pattern::shadow(&pattern);
        let rust = quote_spanned!(call.span()=> matches!(#v, #pattern #g));
        let ir = Expr::Matches {
            scrutinee: Box::new(scrutinee.ir),
            pattern: shape,
            guard: guard.map(|guard| Box::new(guard.ir)),
        };
        Ok(Lowered::new(rust, ir))
    }
}

/// The value, the pattern and the guard in a `matches!`.
pub fn matches_parts(call: &syn::Macro) -> syn::Result<(E, syn::Pat, Option<E>)> {
    call.parse_body_with(|input: syn::parse::ParseStream| {
        let value: E = input.parse()?;
        input.parse::<syn::Token![,]>()?;
        let pattern = syn::Pat::parse_multi_with_leading_vert(input)?;
        let guard = match input.parse::<Option<syn::Token![if]>>()? {
            Some(_) => Some(input.parse::<E>()?),
            None => None,
        };
        input.parse::<Option<syn::Token![,]>>()?;
        Ok((value, pattern, guard))
    })
}

/// A message without values.
fn is_plain_text(expr: &E) -> bool {
    match expr {
        E::Lit(lit) => match &lit.lit {
            syn::Lit::Str(text) => !text.value().replace("{{", "").contains('{'),
            _ => false,
        },
        _ => false,
    }
}

fn is_one_of(owner: &Ident, names: &[&str]) -> bool {
    names.iter().any(|name| owner == name)
}

/// The name of a type that is one.
fn type_name(ty: &syn::Type) -> Option<Ident> {
    match ty {
        syn::Type::Path(path) => path.path.get_ident().cloned(),
        syn::Type::Group(group) => type_name(&group.elem),
        syn::Type::Paren(paren) => type_name(&paren.elem),
        _ => None,
    }
}
