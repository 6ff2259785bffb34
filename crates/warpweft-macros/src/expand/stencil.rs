//! `#[stencil]`: an element function of a neighbourhood, as `warpweft::stencil::StencilElement`.

mod inputs;
mod places;
mod shape;
mod specialise;
mod told;
mod with;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{Block, ItemFn, Signature};

use self::inputs::{Part, StencilInputs, element_number, field_number};
use self::shape::{Shape, shape};
use self::specialise::specialise;
use super::translation::{Translation, declared, parameters_text};
use crate::check::Lower;
use crate::check::attributes;
use crate::emit::{Cuda, Returns, mark};
use crate::parse::cells::{by_field, put_together};
use crate::parse::parameters::{Members, Named, element, members};
use crate::parse::reads::number;
use crate::parse::signature::no_lifetimes;
use crate::parse::unroll::unroll;

/// The most fields of a cell; the library's `MAX_FIELDS`.
const MAX_FIELDS: usize = 32;

pub fn expand(mut function: ItemFn) -> syn::Result<TokenStream> {
    no_lifetimes(&function.sig.generics)?;
    let shape = shape(&mut function.sig)?;
    attributes::check(|found| {
        found.visit_signature(&function.sig);
        found.visit_block(&function.block);
    })?;
    by_field(&mut function.block, &shape.near);
    let mut body = unroll(&function.block, &[&shape.near])?;
    number(&mut body, &[&shape.near]);
    let mut inputs = StencilInputs::new(&shape, &body);
    let translation = translated(&function.sig, &shape, &body, &mut inputs)?;
    if !shape.scalar {
        put_together(&mut function.block, &shape.near, &shape.state);
    }
    let unchecked = unchecked(&function.sig, &shape, body, &inputs);
    let element = element(&function, &function.sig, &shape.rest, "cell", unchecked);
    let implementation = implementation(&function.sig, &shape, &inputs, &translation);
    let with = with::with(&function.sig, &shape.rest);
    Ok(quote!(#element #with #implementation))
}

/// The function as C++, and the shadow that types it.
fn translated(
    signature: &Signature,
    shape: &Shape,
    body: &Block,
    inputs: &mut StencilInputs,
) -> syn::Result<Translation> {
    let mut lower = Lower::new(&signature.ident, &signature.generics, inputs);
    let name = mark(lower.hole(quote!(__name.to_string())));
    let Members { data, checks, copies } = members(&mut lower, &name, &shape.rest);
    let told = told::declarations(&mut lower, shape);
    let (shadow, mut block) = lower.body(body, shape.next.is_none())?;
    block.statements.splice(0..0, copies);
    let returns = match shape.next {
        None => Returns::Store(store(&mut lower, shape)),
        Some(_) => Returns::Nothing,
    };
    let text = format!(
        "struct {name} {{\n{data}  template<class Now, class Next> WW_FN void operator()(const Now& now, Next& next) const {{\n{told}{}  }}\n}};\n{checks}",
        Cuda::body(&block, returns, 2),
    );
    Ok(Translation::new(lower, shadow, &text))
}

/// What stands before and after the value that the function returns.
fn store(lower: &mut Lower<'_>, shape: &Shape) -> [String; 2] {
    if shape.scalar {
        return ["next.template ref<0>() = ".into(), ";".into()];
    }
    let state = &shape.state;
    [0usize, 1].map(|side| {
        mark(lower.hole(
            quote!(<#state as ::warpweft::element::Fields>::cuda_store(__unit)[#side].clone()),
        ))
    })
}

fn next_parameter(shape: &Shape) -> TokenStream {
    let state = &shape.state;
    shape.next.as_ref().map_or(quote!(), |next| quote!(#next: &mut #state,))
}

/// The neighbourhood of the specialised copy.
fn unchecked_type(Shape { state, dimensions, .. }: &Shape) -> TokenStream {
    quote! {
        <#state as ::warpweft::element::Fields>::Near<
            '_, ::warpweft::element::Unchecked<{ #dimensions }>, { #dimensions }>
    }
}

/// The specialised copy.
fn unchecked(
    signature: &Signature,
    shape: &Shape,
    body: Block,
    inputs: &StencilInputs,
) -> TokenStream {
    let hidden = Ident::new("__near", Span::mixed_site());
    let body = specialise(body, shape, &hidden, inputs);
    let (near, next) = (unchecked_type(shape), next_parameter(shape));
    let rest = declared(shape.values());
    let output = &signature.output;
    quote! {
        #[doc(hidden)]
        #[inline(always)]
        #[allow(unused, clippy::all)]
        fn __unchecked(#hidden: #near, #next #rest) #output #body
    }
}

/// The footprint.
fn taps(shape: &Shape, inputs: &StencilInputs) -> TokenStream {
    let Shape { state, dimensions, .. } = shape;
    let each = inputs.taps.iter().map(|(part, offset)| {
        let field = match part {
            Part::Scalar => quote!(0usize),
            Part::Field(field) => field_number(state, field),
            Part::Element(element) => element_number(state, element),
            Part::Whole => quote!(::core::primitive::usize::MAX),
        };
        let offset = offset.iter().map(|&o| Literal::i128_unsuffixed(o));
        quote!(::warpweft::stencil::Tap { field: #field, offset: [#(#offset),*] })
    });
    let taps = quote!(&[#(#each),*]);
    if !inputs.taps.iter().any(|(part, _)| *part == Part::Whole) {
        return taps;
    }
    let most = inputs.taps.len() * MAX_FIELDS;
    quote! {{
        let __all: &'static ([::warpweft::stencil::Tap<{ #dimensions }>; #most], usize) =
            &const { ::warpweft::stencil::each_field::<#state, { #dimensions }, #most>(#taps) };
        __all.0.split_at(__all.1).0
    }}
}

/// The fields that are assigned, in the order of their numbers.
fn writes(shape: &Shape, inputs: &StencilInputs) -> TokenStream {
    let state = &shape.state;
    match (&shape.next, shape.scalar) {
        (None, true) => quote!(&[0]),
        (None, false) => quote!(::warpweft::element::all_fields::<#state>()),
        (Some(_), _) => {
            let fields = inputs.writes.iter().map(|field| field_number(state, field));
            let elements = inputs.elements.iter().map(|element| element_number(state, element));
            let writes = fields.chain(elements);
            quote!(&::warpweft::element::ascending([#(#writes),*]))
        }
    }
}

/// The element's trait.
fn implementation(
    signature: &Signature,
    shape: &Shape,
    inputs: &StencilInputs,
    translation: &Translation,
) -> TokenStream {
    let Shape { near, state, dimensions, .. } = shape;
    let (name, name_text) = (&signature.ident, signature.ident.to_string());
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let passed: Vec<_> = shape.rest.iter().map(Named::passed).collect();
    let tables = tables(shape);
    let (taps, writes, unchecked) =
        (taps(shape, inputs), writes(shape, inputs), unchecked_type(shape));
    let (next, rest) = (next_parameter(shape), declared(shape.values()));
    let (told, knows, output) = (told::arguments(shape), told::knows(shape), &signature.output);
    let [checked_call, unchecked_call] =
        [quote!(cell), quote!(__unchecked)].map(|copy| match shape.next {
            None => quote!(*__next = Self::#copy(__now, #told #(#passed),*)),
            Some(_) => quote!(Self::#copy(__now, __next, #told #(#passed),*)),
        });
    let shadowed = quote!(#near: ::warpweft::element::Near<#state, #dimensions>, #next #rest);
    let cuda = translation.cuda(quote!(), name, &shadowed, &quote!(#output));
    let parameters_text = parameters_text(&shape.rest);
    quote! {
        // SAFETY: the translator collected TAPS and wrote those very offsets, as literals, into the
        // body that `cell_unchecked` runs, which has no other access to the neighbourhood; and
        // the struct is `repr(C)` with the C++ struct's members, which asserts the same layout.
        unsafe impl #generics ::warpweft::stencil::StencilElement<{ #dimensions }> for #name #arguments #clause {
            type State = #state;
            const NAME: &'static str = #name_text;
            const TAPS: &'static [::warpweft::stencil::Tap<{ #dimensions }>] = #taps;
            const WRITES: &'static [usize] = #writes;
            const KNOWS: ::warpweft::stencil::Knows = #knows;

            #[inline]
            fn cell(
                &self,
                __now: ::warpweft::element::Near<'_, #state, { #dimensions }>,
                __next: &mut #state,
                __place: ::warpweft::stencil::Place<{ #dimensions }>,
            ) {
                #checked_call
            }
            #[inline(always)]
            unsafe fn cell_unchecked(
                &self,
                __now: #unchecked,
                __next: &mut #state,
                __place: ::warpweft::stencil::Place<{ #dimensions }>,
            ) {
                #unchecked_call
            }
            #cuda
            #parameters_text
            #tables
        }
    }
}

/// Where the parameters hold tables.
fn tables(shape: &Shape) -> TokenStream {
    let tables = shape.rest.iter().filter(|named| named.items.is_some());
    let idents: Vec<_> = tables.map(|named| &named.ident).collect();
    if idents.is_empty() {
        return quote!();
    }
    quote! {
        fn tables(&self) -> ::std::vec::Vec<::warpweft::element::TableBytes<'_>> {
            ::std::vec![#(self.#idents.bytes(::core::mem::offset_of!(Self, #idents))),*]
        }
    }
}
