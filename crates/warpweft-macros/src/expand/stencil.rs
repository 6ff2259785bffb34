//! `#[stencil]`: an element function of a neighbourhood, as `warpweft::stencil::StencilElement`.

mod inputs;
mod shape;
mod specialise;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::ItemFn;
use syn::visit::Visit;

use self::inputs::{StencilInputs, field_number};
use self::shape::shape;
use self::specialise::specialise;
use crate::check::Lower;
use crate::check::attributes;
use crate::emit::{Cuda, Returns, clean, mark, weave};
use crate::parse::parameters::{Members, element, members};
use crate::parse::reads::number;
use crate::parse::signature::no_lifetimes;
use crate::parse::unroll::unroll;

pub fn expand(function: ItemFn) -> syn::Result<TokenStream> {
    let signature = &function.sig;
    no_lifetimes(&signature.generics)?;
    let shape = shape(&function)?;
    let name = &signature.ident;
    let state = &shape.state;
    let dimensions = &shape.dimensions;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let mut body = unroll(&function.block, &[&shape.near])?;
    number(&mut body, &[&shape.near]);

    let mut inputs = StencilInputs::new(&shape, &body);
    let mut lower = Lower::new(name, &signature.generics, &mut inputs);
    let name_mark = mark(lower.hole(quote!(__name.to_string())));
    let Members { data, checks, copies } = members(&mut lower, &name_mark, &shape.rest);
    let (shadow, mut block) = lower.body(&body, shape.next.is_none())?;
    block.statements.splice(0..0, copies);
    let returns = match shape.next {
        None => Returns::Into("next.template ref<0>()".into()),
        Some(_) => Returns::Nothing,
    };
    let text = format!(
        "struct {name_mark} {{\n{data}  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {{\n{}  }}\n}};\n{checks}",
        Cuda::body(&block, returns, 2),
    );
    let text = weave(&text, &lower.holes);
    let slots = std::mem::take(&mut lower.slots);
    drop(lower);
    let taps = inputs.taps.iter().map(|(field, offset)| {
        let field = field_number(state, field.as_ref());
        let offset = offset.iter().map(|&o| proc_macro2::Literal::i128_unsuffixed(o));
        quote!(::warpweft::stencil::Tap { field: #field, offset: [#(#offset),*] })
    });
    let writes = match shape.next {
        None => vec![quote!(0)],
        Some(_) => inputs.writes.iter().map(|f| field_number(state, Some(f))).collect(),
    };

    let output = &signature.output;
    let clean_name = clean(&name.to_string());
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let idents: Vec<_> = shape.rest.iter().map(|named| &named.ident).collect();
    let tys: Vec<_> = shape.rest.iter().map(|named| &named.ty).collect();
    let muts: Vec<_> =
        shape.rest.iter().map(|named| if named.mutable { quote!(mut) } else { quote!() }).collect();
    let near = &shape.near;
    let hidden = Ident::new("__near", Span::mixed_site());
    let body = specialise(body, near, &hidden, &inputs.offsets);
    let near_type = quote!(::warpweft::element::Near<#state, #dimensions>);
    let unchecked = quote! {
        <#state as ::warpweft::element::Fields>::Near<
            '_, ::warpweft::element::Unchecked<{ #dimensions }>, { #dimensions }>
    };
    let next = shape.next.as_ref();
    // What a returned state of several fields changes can't be told from the text.
    let returned = next.is_none().then(|| {
        quote! {
            assert!(
                <#state as ::warpweft::element::Fields>::FIELDS.len() == 1,
                "a state of several fields isn't returned: take `next: &mut State` after the \
                 neighbourhood and assign the fields that change"
            );
        }
    });
    let next_parameter = next.map(|next| quote!(#next: &mut #state,));
    let (checked_call, unchecked_call) = match next {
        None => (
            quote!(*__next = Self::cell(__now, #(self.#idents),*)),
            quote!(*__next = Self::__unchecked(__now, #(self.#idents),*)),
        ),
        Some(_) => (
            quote!(Self::cell(__now, __next, #(self.#idents),*)),
            quote!(Self::__unchecked(__now, __next, #(self.#idents),*)),
        ),
    };
    let name_text = name.to_string();
    let unchecked_copy = quote! {
        #[doc(hidden)]
        #[inline(always)]
        #[allow(unused, clippy::all)]
        fn __unchecked(#hidden: #unchecked, #next_parameter #(#muts #idents: #tys),*) #output #body
    };
    let element = element(&function, signature, &shape.rest, "cell", unchecked_copy);
    Ok(quote! {
        #element

        // SAFETY: the translator collected TAPS and wrote those very offsets, as literals, into the
        // body that `cell_unchecked` runs, which has no other access to the neighbourhood; and
        // the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        unsafe impl #generics ::warpweft::stencil::StencilElement<{ #dimensions }> for #name #arguments #clause {
            type State = #state;
            const NAME: &'static str = #name_text;
            const TAPS: &'static [::warpweft::stencil::Tap<{ #dimensions }>] = &[#(#taps),*];
            const WRITES: &'static [usize] = {
                #returned
                const fn sorted<const N: usize>(mut fields: [usize; N]) -> [usize; N] {
                    let mut i = 1;
                    while i < N {
                        let mut j = i;
                        while j > 0 && fields[j] < fields[j - 1] {
                            let lower = fields[j];
                            fields[j] = fields[j - 1];
                            fields[j - 1] = lower;
                            j -= 1;
                        }
                        i += 1;
                    }
                    fields
                }
                &sorted([#(#writes),*])
            };

            #[inline]
            fn cell(&self, __now: ::warpweft::element::Near<'_, #state, { #dimensions }>, __next: &mut #state) {
                #checked_call
            }
            #[inline(always)]
            unsafe fn cell_unchecked(&self, __now: #unchecked, __next: &mut #state) {
                #unchecked_call
            }
            #[allow(warnings, clippy::all)]
            fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                #(let #slots = ::warpweft::element::Slot::new();)*
                let _shadow = |#near: #near_type, #next_parameter #(#muts #idents: #tys),*| #output { #shadow };
                __unit.define(&::warpweft::element::key::<Self>(), #clean_name, |__unit, __name| #text)
            }
            fn parameters_text(&self, __unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
                let __texts: ::std::vec::Vec<::std::string::String> =
                    vec![#(::warpweft::element::DeviceType::cuda_value(&self.#idents, __unit)),*];
                __texts.join(", ")
            }
        }
    })
}
