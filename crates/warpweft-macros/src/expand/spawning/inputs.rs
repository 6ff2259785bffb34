//! `spawn!(f(x))` in the lowering: a call of which the shadow knows the value and the device the place.

use proc_macro2::Ident;
use quote::{quote, quote_spanned};
use syn::Expr as E;
use syn::spanned::Spanned;

use super::spawns::{callee, is};
use crate::check::{Inputs, Lower, Lowered};
use crate::ir::{Expr, How, Input};

/// What `spawn!` adds to the language.
pub struct Spawns;

impl Inputs for Spawns {
    fn input(&mut self, expr: &E, lower: &mut Lower) -> syn::Result<Option<Lowered>> {
        let E::Macro(found) = expr else { return Ok(None) };
        if !is(&found.mac, "spawn") {
            return Ok(None);
        }
        let call = callee(&found.mac)?;
        if let E::Path(path) = &*call.func {
            lower.marked(path, "spawning")?;
        }
        let (rust, arguments) = lower.arguments(&call.args)?;
        let (span, path) = (call.span(), &call.func);
        let slot = lower.slot(path.span());
        let callee = lower.hole(quote!(::warpweft::channels::name_of(&#slot, __unit)));
        let shadow = quote_spanned!(path.span()=> #path::__spawned);
        let rust = quote_spanned!(span=> #shadow(&#slot, #(#rust),*));
        // Where the value goes is told by the statement around it.
        let input = Input::Spawn { callee, how: How::Nothing, target: None, arguments };
        Ok(Some(Lowered::new(rust, Expr::Input(input))))
    }

    fn bare(&self, _: &Ident) -> Option<syn::Error> {
        None
    }

    fn again(&self) -> &'static str {
        "write `spawn!(..)` around the call"
    }
}
