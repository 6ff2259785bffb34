//! `#[boundary]`: a function of position and time, as `warpweft::stencil::BoundaryFunction`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, Type};

use crate::check::attributes;
use crate::check::{Binding, Lower, NoInputs};
use crate::diag::reject;
use crate::emit::{Cuda, Returns, clean, mark, weave};
use crate::parse::parameters::{Members, Named, element, members};
use crate::parse::signature::{no_lifetimes, parameters, returned};

/// The signature taken apart.
struct Shape {
    at: Named,
    dimensions: TokenStream,
    step: Named,
    /// The parameters given at construction.
    rest: Vec<Named>,
    state: Type,
}

fn shape(function: &ItemFn) -> syn::Result<Shape> {
    let signature = &function.sig;
    let first = || {
        reject(
            &signature.inputs,
            "a boundary function takes a position and a number of steps",
            "begin with `at: [i64; 2], step: u64`, as many indices as the volume has axes",
        )
    };
    let mut all = parameters(signature)?.into_iter();
    let (Some(at), Some(step)) = (all.next(), all.next()) else { return Err(first()) };
    let is = |ty: &Type, name: &str| matches!(ty, Type::Path(path) if path.path.is_ident(name));
    let dimensions = match (&at.ty, at.reference) {
        (Type::Array(array), None) if is(&array.elem, "i64") => {
            let length = &array.len;
            quote!(#length)
        }
        _ => return Err(first()),
    };
    if step.reference.is_some() || !is(&step.ty, "u64") {
        return Err(first());
    }
    let named = |parameter| {
        let why = "a parameter of a boundary function is the same for every cell";
        Named::by_value(parameter, "boundary", [why, "take the value"])
    };
    let why = "a boundary function returns what a cell holds";
    let state = returned(signature, [why, "return the state, as in `-> f32`"])?;
    let (at, step) = (named(at)?, named(step)?);
    let rest = all.map(named).collect::<syn::Result<_>>()?;
    Ok(Shape { at, dimensions, step, rest, state })
}

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let Shape { at, dimensions, step, rest, state } = shape(&function)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let name = &signature.ident;
    let mut inputs = NoInputs;
    let mut lower = Lower::new(name, &signature.generics, &mut inputs);
    let name_mark = mark(lower.hole(quote!(__name.to_string())));
    let Members { data, checks, copies } = members(&mut lower, &name_mark, &rest);
    let mut head = vec![];
    for Named { ident, mutable, ty } in [&at, &step] {
        let hole = lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit)));
        let name = lower.declare(ident, Binding::variable);
        head.push(format!("{}{} {name}", if *mutable { "" } else { "const " }, mark(hole)));
    }
    let output = lower.hole(quote!(<#state as ::warpweft::element::DeviceType>::cuda(__unit)));
    let (shadow, mut block) = lower.body(&function.block, true)?;
    block.statements.splice(0..0, copies);
    let text = format!(
        "struct {name_mark} {{\n{data}  WW_FN {} operator()({}) const {{\n{}  }}\n}};\n{checks}",
        mark(output),
        head.join(", "),
        Cuda::body(&block, Returns::Value, 2),
    );
    let text = weave(&text, &lower.holes);
    let slots = &lower.slots;

    let element = element(&function, signature, &rest, "cell", quote!());
    let clean_name = clean(&name.to_string());
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let all: Vec<_> = [&at, &step].into_iter().chain(&rest).collect();
    let shadowed = all.iter().map(|Named { ident, mutable, ty }| {
        let mutable = if *mutable { quote!(mut) } else { quote!() };
        quote!(#mutable #ident: #ty)
    });
    let idents: Vec<_> = rest.iter().map(|named| &named.ident).collect();
    Ok(quote! {
        #element

        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same layout,
        // and the parameters are the bytes of it.
        unsafe impl #generics ::warpweft::stencil::BoundaryFunction<#state, { #dimensions }>
            for #name #arguments #clause
        {
            fn name(&self) -> &'static str {
                #name_text
            }
            fn value(&self, __at: [i64; { #dimensions }], __step: u64) -> #state {
                Self::cell(__at, __step, #(self.#idents),*)
            }
            #[allow(warnings, clippy::all)]
            fn cuda(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#(#shadowed),*| -> #state { #shadow };
                __unit.define(&::warpweft::element::key::<Self>(), #clean_name, |__unit, __name| #text)
            }
            fn parameters_text(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                let __texts: ::std::vec::Vec<::std::string::String> =
                    vec![#(::warpweft::element::DeviceType::cuda_value(&self.#idents, __unit)),*];
                __texts.join(", ")
            }
            fn parameters(&self) -> *const ::core::ffi::c_void {
                (&raw const *self).cast()
            }
            fn parameters_size(&self) -> usize {
                ::core::mem::size_of::<Self>()
            }
        }
    })
}
