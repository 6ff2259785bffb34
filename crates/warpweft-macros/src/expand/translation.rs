//! What the translation of a function leaves in its crate: the shadow that types it, and the C++ text.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{ItemFn, Signature, Type};

use crate::check::{Binding, Lower, NoInputs};
use crate::emit::{Cuda, Returns, clean, mark, weave};
use crate::parse::parameters::{Members, Named, members};

/// A translated function.
pub struct Translation {
    slots: Vec<Ident>,
    shadow: TokenStream,
    text: TokenStream,
}

impl Translation {
    /// Of the `shadow` and the `text` that `lower` has made.
    pub fn new(lower: Lower<'_>, shadow: TokenStream, text: &str) -> Self {
        Self { text: weave(text, &lower.holes), slots: lower.slots, shadow }
    }

    /// Of a function of two values, which the struct of its C++ text takes as such; the `rest` are members.
    ///
    /// # Errors
    /// A body that has no translation.
    pub fn of_pair(
        function: &ItemFn,
        pair: [&Named; 2],
        rest: &[Named],
        output: &Type,
    ) -> syn::Result<Self> {
        let signature = &function.sig;
        let mut inputs = NoInputs;
        let mut lower = Lower::new(&signature.ident, &signature.generics, &mut inputs);
        let name = mark(lower.hole(quote!(__name.to_string())));
        let Members { data, checks, copies } = members(&mut lower, &name, rest);
        let head = pair.map(|Named { ident, mutable, ty, .. }| {
            let hole = lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit)));
            let name = lower.declare(ident, Binding::variable);
            format!("{}{} {name}", if *mutable { "" } else { "const " }, mark(hole))
        });
        let output = lower.hole(quote!(<#output as ::warpweft::element::DeviceType>::cuda(__unit)));
        let (shadow, mut block) = lower.body(&function.block, true)?;
        block.statements.splice(0..0, copies);
        let text = format!(
            "struct {name} {{\n{data}  WW_FN {} operator()({}) const {{\n{}  }}\n}};\n{checks}",
            mark(output),
            head.join(", "),
            Cuda::body(&block, Returns::Value, 2),
        );
        Ok(Self::new(lower, shadow, &text))
    }

    /// The function `cuda` of a pattern's trait, which adds the text to a unit; `parameters` and `output`, with its
    /// arrow, are the shadow's.
    pub fn cuda(
        &self,
        receiver: TokenStream,
        name: &Ident,
        parameters: &TokenStream,
        output: &TokenStream,
    ) -> TokenStream {
        let Self { slots, shadow, text } = self;
        let name = clean(&name.to_string());
        quote! {
            #[allow(warnings, clippy::all)]
            fn cuda(#receiver __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#parameters| #output { #shadow };
                __unit.define(&::warpweft::element::key::<Self>(), #name, move |__unit, __name| #text)
            }
        }
    }
}

/// The function `cuda` of a pattern's trait for an element that may have slices, whose `signature` begins with their lifetime
/// then: of one that has, the text is that of the element whose slices live for ever, which alone has a type to name. What
/// comes first stands before the implementation of the trait.
pub fn of_forever(
    signature: &Signature,
    slices: bool,
    cuda: TokenStream,
) -> (TokenStream, TokenStream) {
    if !slices {
        return (quote!(), cuda);
    }
    let name = &signature.ident;
    let mut generics = signature.generics.clone();
    generics.params = generics.params.into_iter().skip(1).collect();
    let (generics, _, clause) = generics.split_for_impl();
    let types = signature.generics.type_params().map(|parameter| &parameter.ident);
    let forever = quote!(#name::<'static, #(#types),*>);
    let translated = quote! {
        impl #generics #forever #clause {
            #cuda
        }
    };
    let cuda = quote! {
        fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            #forever::cuda(__unit)
        }
    };
    (translated, cuda)
}

/// Parameters as a function declares them, each with a comma.
pub fn declared<'n>(parameters: impl IntoIterator<Item = &'n Named>) -> TokenStream {
    let each = parameters.into_iter().map(Named::declared);
    quote!(#(#each,)*)
}

/// The function of a pattern's trait that tells two elements of one function apart.
pub fn parameters_text(parameters: &[Named]) -> TokenStream {
    let idents = parameters.iter().map(|named| &named.ident);
    quote! {
        fn parameters_text(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            ::warpweft::element::texts(__unit, &[#(&self.#idents),*])
        }
    }
}
