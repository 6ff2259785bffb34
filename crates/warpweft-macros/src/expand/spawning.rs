//! `#[spawning]`: the function as it is, a copy for the cores, and routines that stop before calls and at waits for GPUs.

mod cores;
pub mod cores_only;
mod forked;
mod inputs;
mod joins;
mod outstanding;
mod pieces;
mod region;
mod routines;
mod slices;
mod spawns;
mod sum;
pub mod team;

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{Ident, ItemFn, Type};

use self::cores::on_cores;
use self::inputs::Spawns;
use self::outstanding::Walk;
use self::pieces::Pieces;
use self::region::{MOST, at_most};
use self::routines::Routines;
use super::translation::declared;
use crate::check::Lower;
use crate::check::attributes;
use crate::emit::{clean, mark, weave_used};
use crate::parse::parameters::{Members, Named, members};
use crate::parse::signature::{
    Parameter, Slices, no_lifetimes, output, parameters_and, phantom, returns_value,
};

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    let parameters = parameters_and(signature, Slices::All)?;
    no_lifetimes(&signature.generics)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    if parameters.iter().any(|parameter| matches!(parameter.ty, Type::Slice(_))) {
        return slices::expand(&function, parameters);
    }
    let parameters = parameters.into_iter().map(value);
    let parameters = parameters.collect::<syn::Result<Vec<_>>>()?;
    let form = Form::of(&function, &parameters, &[])?;
    Ok(item(&function, &parameters, &form))
}

/// A parameter that is a value.
fn value(parameter: Parameter) -> syn::Result<Named> {
    let why =
        "a call on a GPU takes values and slices: what else it refers to may be gone when it runs";
    let instead = "take the value or a slice, or write `#[spawning(cores)]` if the function is for the cores only";
    Named::by_value(parameter, "spawning", [why, instead])
}

/// The function for GPUs.
struct Form {
    slots: Vec<proc_macro2::Ident>,
    shadow: TokenStream,
    text: TokenStream,
    body: TokenStream,
    /// What the host may know of the function.
    note: TokenStream,
}

impl Form {
    /// Of a function, with its `parameters` as calls on a device have them; those of `slices` are slices of such words.
    fn of(function: &ItemFn, parameters: &[Named], slices: &[(Ident, Type)]) -> syn::Result<Self> {
        let signature = &function.sig;
        let early = Walk::of(&function.block)?.returns_early;
        at_most(MOST, &function.block)?;
        let mut inputs = Spawns;
        let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
        lower.noted = Some(vec![]);
        let name = mark(lower.hole(quote!(__name.to_string())));
        let number = mark(lower.hole(quote!(__unit.number(__name).to_string())));
        let Members { data, checks, copies } = members(&mut lower, &name, parameters);
        slices.iter().for_each(|(ident, words)| lower.mark_slice(ident, words));
        let output = output(signature);
        let output =
            mark(lower.hole(quote!(<#output as ::warpweft::element::DeviceType>::cuda(__unit))));
        let wanted = returns_value(&signature.output);
        let pieces = Pieces::of(&mut lower, &function.block, wanted, copies)?;
        // What a call writes through a slice is there for the call that waits: there must be a wait.
        let early = (early, slices.is_empty());
        let routines = Routines::of(&mut lower, &pieces.blocks, parameters, signature, early)?;
        let text = declaration(&routines, [&name, &number, &output, &data, &checks]);
        let text = weave_used(&text, &lower.holes);
        let body = weave_used(&routines.definitions(&name), &lower.holes);
        let note = routines.note(&output);
        let note = weave_used(&note, &lower.holes);
        Ok(Self { slots: lower.slots, shadow: pieces.shadow, text, body, note })
    }
}

impl Form {
    /// The function `cuda` of a call's trait, with the shadow's parameters and output.
    fn cuda(&self, clean_name: &str, declared: &TokenStream, output: &TokenStream) -> TokenStream {
        let Self { slots, shadow, text, body, note } = self;
        quote! {
            #[allow(warnings, clippy::all)]
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#declared| -> #output { #shadow };
                let __key = ::warpweft::element::key::<Self>();
                let __name = __unit.define(&__key, #clean_name, move |__unit, __name| #text);
                let __called = __name.clone();
                __unit.promise(&__key, |__unit| {
                    let __name = &*__called;
                    let __note = #note;
                    __unit.note(&__note);
                    #body
                });
                __name
            }
        }
    }
}

/// The C++ struct of the calls, without its function.
fn declaration(routines: &Routines, [name, number, output, data, checks]: [&str; 5]) -> String {
    format!(
        "struct {name} {{
{data}  using Output = {output};
  static constexpr ww::u32 NUMBER = {number}, TEAM_BYTES = 0u, LANES = 0u;
  static constexpr bool TEAM = false;
{}}};
{checks}",
        routines.declarations(name),
    )
}

/// All that the attribute leaves: the function, and a type of its name for its calls.
fn item(function: &ItemFn, parameters: &[Named], form: &Form) -> TokenStream {
    let calls = calls(function, parameters);
    let cores = on_cores(function, parameters, false);
    let implementation = implementation(function, parameters, form);
    let copies = copies(function, &function.sig.ident);
    quote!(#function #calls #copies #cores #implementation)
}

/// Calls of values are copied.
fn copies(function: &ItemFn, name: &Ident) -> TokenStream {
    let (generics, arguments, clause) = function.sig.generics.split_for_impl();
    quote! {
        impl #generics ::core::clone::Clone for #name #arguments #clause {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl #generics ::core::marker::Copy for #name #arguments #clause {}
    }
}

/// The type of the function's calls.
fn calls(function: &ItemFn, parameters: &[Named]) -> TokenStream {
    let (signature, vis) = (&function.sig, &function.vis);
    let (name, full) = (&signature.ident, &signature.generics);
    let (generics, arguments, clause) = full.split_for_impl();
    let types = phantom(full);
    let idents: Vec<_> = parameters.iter().map(|named| &named.ident).collect();
    let tys: Vec<_> = parameters.iter().map(|named| &named.ty).collect();
    quote! {
        #[doc = "A call of the function."]
        #[allow(non_camel_case_types, dead_code)]
        #[repr(C)]
        #vis struct #name #full #clause {
            #(#idents: #tys,)*
            __types: #types,
        }

        #[allow(dead_code, clippy::all)]
        impl #generics #name #arguments #clause {
            /// The call with these arguments.
            #[inline(always)]
            pub fn call(#(#idents: #tys),*) -> Self {
                Self { #(#idents,)* __types: ::core::marker::PhantomData }
            }
        }
    }
}

/// What a call promises for GPUs.
fn implementation(function: &ItemFn, parameters: &[Named], form: &Form) -> TokenStream {
    let signature = &function.sig;
    let (name, name_text) = (&signature.ident, signature.ident.to_string());
    let (clean_name, output) = (clean(&name_text), output(signature));
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let idents = parameters.iter().map(|named| &named.ident);
    let declared = declared(parameters);
    let cuda = form.cuda(&clean_name, &declared, &output);
    let names: Vec<_> = parameters.iter().map(|named| &named.ident).collect();
    let tys = parameters.iter().map(|named| &named.ty);
    quote! {
        #[allow(dead_code, clippy::all)]
        impl #generics #name #arguments #clause {
            #[doc(hidden)]
            pub fn __spawned(_: &::warpweft::element::Slot<Self>, #(#names: #tys),*) -> #output {
                #name #turbofish (#(#names),*)
            }
        }

        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout, and
        // has values only.
        unsafe impl #generics ::warpweft::channels::Spawning for #name #arguments #clause {
            #[inline]
            fn plain(self) -> #output {
                #name #turbofish (#(self.#idents),*)
            }

            #cuda
        }
    }
}
