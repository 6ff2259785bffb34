//! `#[device]`: the function as it is, and a type of its name that carries the translation.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::visit::Visit;
use syn::{ItemFn, Pat};

use crate::check::attributes;
use crate::check::{Binding, Lower, NoInputs};
use crate::emit::{self, Cuda, Returns, mark, weave};
use crate::ir::{Pattern, Statement};
use crate::parse::signature::{no_lifetimes, output, parameters, phantom, returns_value};

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    let parameters = parameters(signature)?;
    no_lifetimes(&signature.generics)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let name = &signature.ident;
    let mut inputs = NoInputs;
    let mut lower = Lower::new(name, &signature.generics, &mut inputs);

    let name_hole = lower.hole(quote!(__name.to_string()));
    let mut head = vec![];
    let mut bindings = vec![];
    for (i, parameter) in parameters.iter().enumerate() {
        let ty = &parameter.ty;
        let hole = lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit)));
        let ty = mark(hole);
        let (name, mutable) = match &parameter.pat {
            Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
                let by_mut_ref = parameter.reference == Some(true);
                let name = lower.declare(&ident.ident, |name| Binding {
                    by_mut_ref,
                    ..Binding::variable(name)
                });
                (name, ident.mutability.is_some())
            }
            pattern => {
                let name = format!("p{i}");
                bindings.push((lower.pattern(pattern)?, name.clone()));
                (name, false)
            }
        };
        head.push(match parameter.reference {
            Some(true) => format!("{ty}& {name}"),
            Some(false) => format!("const {ty}& {name}"),
            None if mutable => format!("{ty} {name}"),
            None => format!("const {ty} {name}"),
        });
    }
    let wanted = returns_value(&signature.output);
    let output = output(signature);
    let output_hole =
        lower.hole(quote!(<#output as ::warpweft::element::DeviceType>::cuda(__unit)));
    let (shadow, mut block) = lower.body(&function.block, wanted)?;
    for (pattern, of) in bindings.into_iter().rev() {
        block.statements.insert(0, destructure(pattern, of));
    }
    let returns = if wanted { Returns::Value } else { Returns::Unit };
    let text = format!(
        "WW_FN {} {}({}) {{\n{}}}\n",
        mark(output_hole),
        mark(name_hole),
        head.join(", "),
        Cuda::body(&block, returns, 1),
    );
    let text = weave(&text, &lower.holes);

    let slots = &lower.slots;
    let clean = emit::clean(&name.to_string());
    let vis = &function.vis;
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let types = phantom(&signature.generics);
    let full = &signature.generics;
    let pats = parameters.iter().map(|parameter| &parameter.pat);
    let wholes: Vec<_> = parameters.iter().map(|parameter| &parameter.whole).collect();
    let numbers: Vec<_> = (0..parameters.len()).map(|i| format_ident!("__p{i}")).collect();
    Ok(quote! {
        #function

        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, missing_docs)]
        #vis struct #name #full #clause {
            #[doc(hidden)]
            pub __types: #types,
        }

        #[allow(dead_code, clippy::all)]
        impl #generics #name #arguments #clause {
            #[doc(hidden)]
            #[inline(always)]
            pub fn __device_call(
                _: &::warpweft::element::Slot<Self>,
                #(#numbers: #wholes),*
            ) -> #output {
                #name #turbofish (#(#numbers),*)
            }
        }

        #[allow(warnings, clippy::all)]
        impl #generics ::warpweft::element::DeviceFn for #name #arguments #clause {
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#(#pats: #wholes),*| -> #output { #shadow };
                __unit.define(&::warpweft::element::key::<Self>(), #clean, |__unit, __name| #text)
            }
        }
    })
}

fn destructure(pattern: Pattern, of: String) -> Statement {
    Statement::Let(pattern, crate::ir::Expr::Local(of))
}
