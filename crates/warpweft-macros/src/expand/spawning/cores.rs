//! What a call promises for cores.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ItemFn;

use super::forked::{Rest, forked, level, worker};
use crate::parse::parameters::Named;
use crate::parse::signature::output;

/// The function with its spawns for workers, and the trait by which they run its calls.
pub fn on_cores(function: &ItemFn, parameters: &[Named], may_borrow: bool) -> TokenStream {
    let (signature, block) = (&function.sig, &function.block);
    let (name, name_text) = (&signature.ident, signature.ident.to_string());
    let output = output(signature);
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let rest = if may_borrow { Rest::Inside } else { Rest::Apart(&output) };
    let (worker, level, forked) = (worker(), level(), forked(block, rest));
    let names = parameters.iter().map(|named| &named.ident);
    let declared = parameters.iter().map(Named::declared);
    quote! {
        #[allow(warnings, clippy::all)]
        impl #generics #name #arguments #clause {
            // Arguments one by one: a call of itself then passes them in registers.
            fn __forked(
                #worker: &::warpweft::channels::cpu::Worker<'_>,
                #level: u32,
                #(#declared,)*
            ) -> #output {
                #forked
            }
        }

        impl #generics ::warpweft::channels::Call for #name #arguments #clause {
            type Output = #output;
            const NAME: &'static str = #name_text;

            #[inline(always)]
            fn forked(self, __worker: &::warpweft::channels::cpu::Worker<'_>, __level: u32) -> #output {
                Self::__forked(__worker, __level, #(self.#names),*)
            }
        }
    }
}
