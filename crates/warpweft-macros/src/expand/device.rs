//! `#[device]`: the function as it is, and a type of its name that carries the translation.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::visit::Visit;
use syn::{ItemFn, Pat};

use super::translation::Translation;
use crate::check::attributes;
use crate::check::{Binding, Lower, NoInputs, words_of};
use crate::emit::{Cuda, Returns, mark};
use crate::ir::{Expr, Statement};
use crate::parse::signature::{
    Parameter, Slices, no_lifetimes, output, parameters_and, phantom, plain_name, returns_value,
};

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    let parameters = parameters_and(signature, Slices::All)?;
    no_lifetimes(&signature.generics)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let mut inputs = NoInputs;
    let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
    lower.recursive = true;
    let translation = translated(lower, &function, &parameters)?;
    let implementation = implementation(&function, &parameters, &translation);
    Ok(quote!(#function #implementation))
}

/// The function as C++, and the shadow that types it.
fn translated(
    mut lower: Lower<'_>,
    function: &ItemFn,
    parameters: &[Parameter],
) -> syn::Result<Translation> {
    let signature = &function.sig;
    let name = lower.hole(quote!(__name.to_string()));
    let mut head = vec![];
    let mut bindings = vec![];
    for (i, parameter) in parameters.iter().enumerate() {
        let (declared, binding) = declared(&mut lower, parameter, i)?;
        head.push(declared);
        bindings.extend(binding);
    }
    let wanted = returns_value(&signature.output);
    let output = output(signature);
    let output = lower.hole(quote!(<#output as ::warpweft::element::DeviceType>::cuda(__unit)));
    let (shadow, mut block) = lower.body(&function.block, wanted)?;
    block.statements.splice(0..0, bindings);
    let returns = if wanted { Returns::Value } else { Returns::Unit };
    let text = format!(
        "WW_FN {} {}({}) {{\n{}}}\n",
        mark(output),
        mark(name),
        head.join(", "),
        Cuda::body(&block, returns, 1),
    );
    Ok(Translation::new(lower, shadow, &text))
}

/// Parameter number `i` in C++, and what takes it apart.
fn declared(
    lower: &mut Lower<'_>,
    parameter: &Parameter,
    i: usize,
) -> syn::Result<(String, Option<Statement>)> {
    if let Some((words, _)) = words_of(&parameter.whole) {
        return slice(lower, parameter, words);
    }
    let ty = &parameter.ty;
    let ty = mark(lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit))));
    let (name, mutable, binding) = match &parameter.pat {
        Pat::Ident(ident) if ident.subpat.is_none() && ident.by_ref.is_none() => {
            let by_mut_ref = parameter.reference == Some(true);
            let name = lower
                .declare(&ident.ident, |name| Binding { by_mut_ref, ..Binding::variable(name) });
            (name, ident.mutability.is_some(), None)
        }
        pattern => {
            let name = format!("p{i}");
            let binding = Statement::Let(lower.pattern(pattern)?, Expr::Local(name.clone()));
            (name, false, Some(binding))
        }
    };
    let declared = match parameter.reference {
        Some(true) => format!("{ty}& {name}"),
        Some(false) => format!("const {ty}& {name}"),
        None if mutable => format!("{ty} {name}"),
        None => format!("const {ty} {name}"),
    };
    Ok((declared, binding))
}

/// A parameter that is a slice of `words`.
fn slice(
    lower: &mut Lower<'_>,
    parameter: &Parameter,
    words: &syn::Type,
) -> syn::Result<(String, Option<Statement>)> {
    let (ident, mutable) = plain_name(parameter, "device")?;
    let slice = lower.slice_hole(words);
    let binding = |name| Binding { slice: Some(slice), ..Binding::variable(name) };
    let name = lower.declare(&ident, binding);
    let constant = if mutable { "" } else { "const " };
    Ok((format!("{constant}{} {name}", mark(slice)), None))
}

/// The type of the function's name.
fn implementation(
    function: &ItemFn,
    parameters: &[Parameter],
    translation: &Translation,
) -> TokenStream {
    let signature = &function.sig;
    let (vis, name, full) = (&function.vis, &signature.ident, &signature.generics);
    let (generics, arguments, clause) = full.split_for_impl();
    let (turbofish, types, output) = (arguments.as_turbofish(), phantom(full), output(signature));
    let pats = parameters.iter().map(|parameter| &parameter.pat);
    let wholes: Vec<_> = parameters.iter().map(|parameter| &parameter.whole).collect();
    let numbers: Vec<_> = (0..parameters.len()).map(|i| format_ident!("__p{i}")).collect();
    let shadowed = quote!(#(#pats: #wholes),*);
    let cuda = translation.cuda(quote!(), name, &shadowed, &quote!(-> #output));
    quote! {
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

        impl #generics ::warpweft::element::DeviceFn for #name #arguments #clause {
            #cuda
        }
    }
}
