//! Slices in the lowering: parts of them, halves, lengths. What they are is known from the parameters on, by name.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Expr as E, RangeLimits, Type, UnOp};

use super::{Binding, Lower, Lowered, ours};
use crate::diag::reject;
use crate::ir::{Expr, Hole};

/// An expression that is a slice.
pub struct Sliced {
    pub lowered: Lowered,
    /// Names its type in C++.
    pub ty: Hole,
    /// Whether its words may be written through it.
    pub mutable: bool,
}

/// The type of the words of a slice, if `ty` is a reference to one.
pub fn words_of(ty: &Type) -> Option<(&Type, bool)> {
    let Type::Reference(reference) = ty else { return None };
    let Type::Slice(slice) = &*reference.elem else { return None };
    Some((&slice.elem, reference.mutability.is_some()))
}

/// The type of a slice of `words` in calls on a device.
pub fn device_type(words: &Type) -> Type {
    syn::parse_quote!(::warpweft::element::LentSlice<#words>)
}

impl Lower<'_> {
    /// The hole that names the type of slices of `words`.
    pub fn slice_hole(&mut self, words: &Type) -> Hole {
        self.hole(quote!(::std::format!(
            "ww::slice<{}>",
            <#words as ::warpweft::element::DeviceType>::cuda(__unit)
        )))
    }

    /// Makes the variable `ident`, which there is, a slice of `words`.
    pub fn mark_slice(&mut self, ident: &Ident, words: &Type) {
        let slice = Some(self.slice_hole(words));
        let known = self.scopes.get(&ident.to_string()).cloned();
        if let Some(binding) = known {
            self.scopes.insert(ident.to_string(), Binding { slice, ..binding });
        }
    }

    /// The type of the slice that the variable `expr` is.
    pub fn slice_variable(&self, expr: &E) -> Option<(String, Hole)> {
        match expr {
            E::Paren(inner) => self.slice_variable(&inner.expr),
            E::Group(inner) => self.slice_variable(&inner.expr),
            E::Path(path) => {
                let binding = self.scopes.get(&path.path.get_ident()?.to_string())?;
                Some((binding.name.clone(), binding.slice?))
            }
            _ => None,
        }
    }

    /// The slice that `expr` is, if it is one: a variable, `&keys[a..b]`, `&mut keys[a..]`, `&*keys`.
    pub fn slice(&mut self, expr: &E) -> syn::Result<Option<Sliced>> {
        let span = expr.span();
        if let Some((name, ty)) = self.slice_variable(expr) {
            // Whether the variable is mutable rustc knows.
            let lowered = Lowered::new(quote!(#expr), Expr::Local(name));
            return Ok(Some(Sliced { lowered, ty, mutable: true }));
        }
        let E::Reference(reference) = expr else { return Ok(None) };
        let (mutability, mutable) = (&reference.mutability, reference.mutability.is_some());
        match &*reference.expr {
            E::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                let Some((name, ty)) = self.slice_variable(&unary.expr) else { return Ok(None) };
                let lowered = Lowered::new(quote!(#expr), Expr::Local(name));
                Ok(Some(Sliced { lowered, ty, mutable }))
            }
            E::Index(index) => {
                let E::Range(range) = &*index.index else { return Ok(None) };
                let Some((name, ty)) = self.slice_variable(&index.expr) else { return Ok(None) };
                let (bounds, ir) = self.part(name, range)?;
                let of = &index.expr;
                let rust = quote_spanned!(span=> &#mutability #of[#bounds]);
                Ok(Some(Sliced { lowered: Lowered::new(rust, ir), ty, mutable }))
            }
            _ => Ok(None),
        }
    }

    /// Arguments of a call that is spawned, which alone with those of `#[device]` functions may be slices.
    pub fn arguments<'e>(
        &mut self,
        exprs: impl IntoIterator<Item = &'e E>,
    ) -> syn::Result<(Vec<TokenStream>, Vec<Expr>)> {
        let mut both = (vec![], vec![]);
        for expr in exprs {
            let Lowered { rust, ir } = match self.slice(expr)? {
                Some(slice) => slice.lowered,
                None => self.expr(expr)?,
            };
            both.0.push(rust);
            both.1.push(ir);
        }
        Ok(both)
    }

    /// The words of the slice `name` in a range, with the shadow of the range.
    fn part(&mut self, name: String, range: &syn::ExprRange) -> syn::Result<(TokenStream, Expr)> {
        if let RangeLimits::Closed(_) = range.limits {
            return Err(reject(range, "a part of a slice by `..=`", "write `a..b + 1`"));
        }
        let whole = Expr::Local(name);
        let bound = |lower: &mut Self, end: &Option<Box<E>>, otherwise: Expr| match end {
            Some(end) => lower.expr(end).map(|end| (end.rust, end.ir)),
            None => Ok((TokenStream::new(), otherwise)),
        };
        let none = Expr::Value(self.hole(quote!("ww::usize(0)".to_string())));
        let (low, first) = bound(self, &range.start, none)?;
        let all =
            Expr::Method { name: "length".into(), arguments: vec![whole.clone()], sites: vec![] };
        let (high, end) = bound(self, &range.end, all)?;
        let sites = vec![self.site(range, "range out of bounds of a slice")];
        let arguments = vec![whole, first, end];
        Ok((quote!(#low..#high), Expr::Method { name: "part".into(), arguments, sites }))
    }

    /// `keys.split_at(middle)` and `keys.split_at_mut(middle)`: two slices of the type that comes along.
    pub fn halves(&mut self, expr: &E) -> syn::Result<Option<(Lowered, Hole)>> {
        let E::MethodCall(call) = expr else { return Ok(None) };
        let method = &call.method;
        if (method != "split_at" && method != "split_at_mut") || call.args.len() != 1 {
            return Ok(None);
        }
        let Some((name, ty)) = self.slice_variable(&call.receiver) else { return Ok(None) };
        let middle = self.expr(&call.args[0])?;
        let sites = vec![self.site(method, "middle out of bounds of a slice")];
        let (of, at) = (&call.receiver, middle.rust);
        let rust = quote_spanned!(ours(call.span())=> #of.#method(#at));
        let arguments = vec![Expr::Local(name), middle.ir];
        let ir = Expr::Method { name: "split_at".into(), arguments, sites };
        Ok(Some((Lowered::new(rust, ir), ty)))
    }

    /// A method of a slice.
    pub fn slice_method(&mut self, call: &syn::ExprMethodCall) -> syn::Result<Option<Lowered>> {
        let Some((name, _)) = self.slice_variable(&call.receiver) else { return Ok(None) };
        let (of, method) = (&call.receiver, &call.method);
        if method == "len" && call.args.is_empty() {
            let rust = quote_spanned!(call.span()=> #of.#method());
            let (method, arguments) = ("length".into(), vec![Expr::Local(name)]);
            let ir = Expr::Method { name: method, arguments, sites: vec![] };
            return Ok(Some(Lowered::new(rust, ir)));
        }
        let instead = match method.to_string().as_str() {
            "split_at" | "split_at_mut" => {
                "take both at once: `let (low, high) = keys.split_at_mut(middle);`"
            }
            "is_empty" => "write `keys.len() == 0`",
            _ => {
                "a slice has `len()`, `split_at(i)`, `split_at_mut(i)`, words `keys[i]` and parts `&keys[a..b]`"
            }
        };
        let what = format!("`{method}` of a slice, here, is not part of device code");
        Err(reject(method, what, instead))
    }
}
