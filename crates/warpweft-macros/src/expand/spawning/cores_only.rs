//! `#[spawning(cores)]`: a function for the cores only, which may borrow and whose body may be any Rust.
//!
//! Its calls hold what the function borrows, all for one lifetime. Not here: how spawns are written (`forked`).

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{FnArg, ItemFn, Lifetime, Pat, ReturnType, Type, TypeReference, parse_quote};

use super::calls;
use super::cores::on_cores;
use super::outstanding::Walk;
use super::region::{MOST, at_most};
use crate::diag::reject;
use crate::parse::parameters::Named;
use crate::parse::signature::{no_lifetimes, plain};

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    plain(&function.sig)?;
    no_lifetimes(&function.sig.generics)?;
    if let ReturnType::Type(_, ty) = &function.sig.output
        && borrows(&mut (**ty).clone())
    {
        let why = "the value of a call that is spawned may not borrow";
        return Err(reject(ty, why, "return a value, or write through a `&mut` parameter"));
    }
    let mut parameters = vec![];
    let mut any = false;
    for argument in &function.sig.inputs {
        let (named, borrowed) = parameter(argument)?;
        parameters.push(named);
        any |= borrowed;
    }
    Walk::of(&function.block)?;
    at_most(MOST, &function.block)?;
    // As the type of calls sees it.
    let mut typed = function.clone();
    if any {
        typed.sig.generics.params.insert(0, parse_quote!('__a));
    }
    let (calls, cores) = (calls(&typed, &parameters), on_cores(&typed, &parameters, any));
    // Where all its calls are spawned nobody calls it plainly.
    Ok(quote!(#[allow(dead_code)] #function #calls #cores))
}

/// A parameter with its type for calls, and whether that borrows.
fn parameter(argument: &FnArg) -> syn::Result<(Named, bool)> {
    let FnArg::Typed(typed) = argument else {
        let instead = "make it a free function that takes the value as a parameter";
        return Err(reject(argument, "a method can't be spawned", instead));
    };
    let (ident, mutable) = match &*typed.pat {
        Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
            (ident.ident.clone(), ident.mutability.is_some())
        }
        other => {
            let why = "a parameter of a spawning function has a plain name";
            return Err(reject(other, why, "name it and take it apart with `let`"));
        }
    };
    let mut ty = (*typed.ty).clone();
    if let Type::ImplTrait(_) = ty {
        let instead = "name a type parameter: `fn f<T: Ord + Send>(x: T)`";
        return Err(reject(&ty, "a spawning function has no `impl Trait` parameters", instead));
    }
    let borrowed = borrows(&mut ty);
    Ok((Named::value(ident, mutable, ty), borrowed))
}

/// Whether `ty` has references or `'_`, which then have the lifetime of calls.
fn borrows(ty: &mut Type) -> bool {
    let mut found = Elided(false);
    found.visit_type_mut(ty);
    found.0
}

struct Elided(bool);

impl VisitMut for Elided {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        self.0 = true;
        reference.lifetime.get_or_insert_with(of_calls);
        syn::visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            self.0 = true;
            *lifetime = of_calls();
        }
    }

    // Their own lifetimes are theirs.
    fn visit_type_bare_fn_mut(&mut self, _: &mut syn::TypeBareFn) {}
}

fn of_calls() -> Lifetime {
    Lifetime::new("'__a", Span::call_site())
}
