//! Patterns of `let`, `match` and `if let`.

use quote::quote_spanned;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Expr as E, Pat};

use super::expr::member;
use super::{Binding, Lower};
use crate::diag::reject;
use crate::ir::{Member, Pattern, PatternValue};

/// Whether a name by itself is a constant, not a variable to bind: as rustc's lints have it, one
/// with a capital is.
fn constant_by_name(pat: &syn::PatIdent) -> bool {
    pat.subpat.is_none()
        && pat.mutability.is_none()
        && pat.ident.to_string().starts_with(char::is_uppercase)
}

/// The shadow of a pattern that need not match: `name @ _` where a variable is bound. A `name` by
/// itself rustc takes for a constant if there is one, and this it refuses.
pub fn shadow(pat: &Pat) -> Pat {
    struct Bind;
    impl VisitMut for Bind {
        fn visit_pat_ident_mut(&mut self, pat: &mut syn::PatIdent) {
            syn::visit_mut::visit_pat_ident_mut(self, pat);
            if pat.subpat.is_none() && !constant_by_name(pat) {
                pat.subpat = Some((Default::default(), Box::new(syn::parse_quote!(_))));
            }
        }
        fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
            syn::visit_mut::visit_field_pat_mut(self, field);
            field.colon_token.get_or_insert_with(Default::default);
        }
    }
    let mut pat = pat.clone();
    Bind.visit_pat_mut(&mut pat);
    pat
}

impl Lower<'_> {
    pub fn pattern(&mut self, pattern: &Pat) -> syn::Result<Pattern> {
        match pattern {
            Pat::Wild(_) => Ok(Pattern::Any),
            Pat::Paren(paren) => self.pattern(&paren.pat),
            Pat::Type(typed) => self.pattern(&typed.pat),
            Pat::Ident(ident) => self.ident_pattern(ident),
            Pat::Lit(lit) => match &lit.lit {
                syn::Lit::Bool(value) => Ok(Pattern::Bool(value.value)),
                _ => Ok(Pattern::Value(self.pattern_value(&E::Lit(lit.clone()))?)),
            },
            Pat::Path(path) => Ok(Pattern::Value(self.pattern_value(&E::Path(path.clone()))?)),
            Pat::Range(range) => {
                let low = range.start.as_ref().map(|e| self.pattern_value(e)).transpose()?;
                let high = range.end.as_ref().map(|e| self.pattern_value(e)).transpose()?;
                let inclusive = matches!(range.limits, syn::RangeLimits::Closed(_));
                Ok(Pattern::Range { low, high, inclusive })
            }
            Pat::Or(or) => self.alternatives(or),
            Pat::Tuple(tuple) => self.positions(&tuple.elems),
            Pat::TupleStruct(tuple) => {
                if tuple
                    .path
                    .segments
                    .last()
                    .is_some_and(|s| ["Some", "Ok", "Err"].contains(&s.ident.to_string().as_str()))
                {
                    return Err(reject(
                        tuple,
                        "device code has no `Option` and no `Result`",
                        "use a number or a `bool` next to the value",
                    ));
                }
                self.positions(&tuple.elems)
            }
            Pat::Struct(fields) => {
                let mut members = vec![];
                for field in &fields.fields {
                    members.push((member(&field.member), self.pattern(&field.pat)?));
                }
                Ok(Pattern::Members(members))
            }
            Pat::Reference(_) => Err(reject(
                pattern,
                "device code has no patterns of references",
                "match the value itself",
            )),
            Pat::Slice(_) => {
                Err(reject(pattern, "device code has no patterns of slices", "index the array"))
            }
            _ => Err(reject(pattern, "this pattern is not part of device code", "use `if`")),
        }
    }

    fn alternatives(&mut self, or: &syn::PatOr) -> syn::Result<Pattern> {
        let options = or.cases.iter().map(|case| self.pattern(case));
        let options = options.collect::<syn::Result<Vec<_>>>()?;
        if options.iter().any(Pattern::binds) {
            return Err(reject(
                or,
                "alternatives of a pattern can't bind variables in device code",
                "write one arm for each alternative",
            ));
        }
        Ok(Pattern::Or(options))
    }

    fn positions<'p>(&mut self, pats: impl IntoIterator<Item = &'p Pat>) -> syn::Result<Pattern> {
        let mut members = vec![];
        for (i, pat) in pats.into_iter().enumerate() {
            if let Pat::Rest(rest) = pat {
                return Err(reject(
                    rest,
                    "device code has no `..` in patterns by position",
                    "write `_` for each member",
                ));
            }
            members.push((Member::Index(i as u32), self.pattern(pat)?));
        }
        Ok(Pattern::Members(members))
    }

    fn ident_pattern(&mut self, ident: &syn::PatIdent) -> syn::Result<Pattern> {
        if let Some(by_ref) = &ident.by_ref {
            return Err(reject(by_ref, "device code has no `ref` patterns", "bind the value"));
        }
        let text = ident.ident.to_string();
        if constant_by_name(ident) {
            let name = &ident.ident;
            return Ok(Pattern::Value(self.pattern_value(&syn::parse_quote!(#name))?));
        }
        if self.scopes.get(&text).is_some_and(|known| known.constant) {
            return Err(reject(
                &ident.ident,
                format_args!("`{text}` is a constant here, and would bind in device code"),
                "give constants names in capitals",
            ));
        }
        let inner = match &ident.subpat {
            Some((_, inner)) => Some(Box::new(self.pattern(inner)?)),
            None => None,
        };
        let name = self.declare(&ident.ident, Binding::variable);
        Ok(Pattern::Bind { name, mutable: ident.mutability.is_some(), inner })
    }

    fn pattern_value(&mut self, expr: &E) -> syn::Result<PatternValue> {
        if let Some(value) = crate::parse::constant::evaluate(expr, &|_| None) {
            return Ok(PatternValue::Int(value.value));
        }
        let E::Path(path) = expr else {
            return Err(reject(
                expr,
                "device code matches integers, truth values, enums and constants",
                "compare in a guard, `x if x == 0.5 =>`",
            ));
        };
        if let Some(name) = path.path.get_ident()
            && let Some(local) = self.scopes.get(&name.to_string())
        {
            return Ok(PatternValue::Local(local.name.clone()));
        }
        let hole = self.hole(quote_spanned! {super::ours(path.span())=>
            ::warpweft::element::DeviceType::cuda_value(&#path, __unit)
        });
        Ok(PatternValue::Const(hole))
    }
}
