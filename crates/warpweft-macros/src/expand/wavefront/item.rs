//! What `#[wavefront]` leaves in the function's place.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{ItemFn, LifetimeParam, Path, Signature};

use super::lookups::Lookups;
use super::paired::Paired;
use super::relative::Relative;
use super::shape::{Role, Shape};
use crate::expand::translation::{Translation, declared, of_forever};
use crate::parse::parameters::{Named, element, shared};

/// All that is known of the function.
pub struct Item<'a> {
    pub function: &'a ItemFn,
    pub shape: &'a Shape,
    pub translation: Translation,
    /// The body of the specialised copy, which has its cells in arrays.
    pub body: TokenStream,
    /// The names of those.
    pub hidden: [Ident; 2],
    pub counts: [usize; 2],
    pub vectors: [TokenStream; 2],
    pub south: TokenStream,
    pub sums: bool,
    pub bounds: Option<Path>,
    pub relative: Option<Relative>,
    /// The members of the C++ struct that `WavefrontElement::PAIRED` says, if it has them.
    pub paired: Option<Paired>,
    pub lookups: Lookups,
}

/// What a row, a column and a cell are called where the function is called.
fn spots() -> [Ident; 3] {
    ["__a", "__b", "__x"].map(|name| Ident::new(name, Span::mixed_site()))
}

impl Item<'_> {
    /// The element, as `warpweft::wavefront::traceback::Choice`.
    pub fn choice(&self) -> TokenStream {
        let Shape { cell, .. } = self.shape;
        let signature = &self.signature();
        let (name, name_text) = (&signature.ident, signature.ident.to_string());
        let (generics, arguments, clause) = signature.generics.split_for_impl();
        let [row, column] = [0, 1].map(|which| self.shape.input(which));
        let (earlier, [a, b, x]) = (&self.hidden[0], spots());
        let (count, dependences) = (self.counts[0], &self.vectors[0]);
        let (element, passed) = (self.element(quote!()), self.passed());
        let (translated, cuda) = self.cuda(signature);
        let (tables, lookups) = (self.tables(), self.lookups.items(self.shape));
        quote! {
            #element
            #translated

            // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same
            // layout; of addresses the translation has those of `tables` only.
            unsafe impl #generics ::warpweft::wavefront::traceback::Choice for #name #arguments #clause {
                type Cell = #cell;
                type Row = #row;
                type Column = #column;
                type Earlier = [#cell; #count];
                const NAME: &'static str = #name_text;
                const DEPENDENCES: &'static [::warpweft::wavefront::Dependence] = #dependences;

                #[inline(always)]
                fn choice(
                    &self,
                    #earlier: [#cell; #count],
                    #x: #cell,
                    #a: #row,
                    #b: #column,
                ) -> u8 {
                    Self::__specialised(#earlier, [], #passed)
                }
                #tables
                #lookups
                #cuda
            }
        }
    }

    /// The element, as `warpweft::wavefront::WavefrontElement`.
    pub fn wavefront(&self) -> TokenStream {
        let Shape { cell, .. } = self.shape;
        let signature = &self.signature();
        let (name, name_text) = (&signature.ident, signature.ident.to_string());
        let (generics, arguments, clause) = signature.generics.split_for_impl();
        let [row, column, input] = [0, 1, 2].map(|which| self.shape.input(which));
        let ([earlier, old], [a, b, x]) = (&self.hidden, spots());
        let Self { counts: [count, old_count], vectors: [dependences, old_dependences], .. } = self;
        let Self { south, sums, .. } = self;
        let paired = self.paired.is_some();
        let [form, relative] = self.forms();
        let (element, passed, bounds) = (self.element(form), self.passed(), self.bounds());
        let (translated, cuda) = self.cuda(signature);
        let (tables, lookups) = (self.tables(), self.lookups.items(self.shape));
        let alike = self.alike();
        quote! {
            #element
            #translated

            // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same
            // layout; of addresses the translation has those of `tables` only.
            unsafe impl #generics ::warpweft::wavefront::WavefrontElement for #name #arguments #clause {
                type Cell = #cell;
                type Row = #row;
                type Column = #column;
                type Input = #input;
                type Earlier = [#cell; #count];
                type Old = [#cell; #old_count];
                const NAME: &'static str = #name_text;
                const DEPENDENCES: &'static [::warpweft::wavefront::Dependence] = #dependences;
                const OLD: &'static [::warpweft::wavefront::Dependence] = #old_dependences;
                const SOUTH: u32 = #south;
                const SUMS: bool = #sums;
                const PAIRED: bool = #paired;

                #[inline(always)]
                fn cell(
                    &self,
                    #earlier: [#cell; #count],
                    #old: [#cell; #old_count],
                    #a: #row,
                    #b: #column,
                    #x: #input,
                ) -> #cell {
                    Self::__specialised(#earlier, #old, #passed)
                }
                #alike
                #bounds
                #relative
                #tables
                #lookups
                #cuda
            }
        }
    }

    /// The parameters after the cells, in order.
    fn plain(&self) -> Vec<&Named> {
        let named = |role: &Role| match role {
            Role::Old => None,
            Role::Input(which) => self.shape.inputs[*which].as_ref(),
            Role::Rest(at) => Some(&self.shape.rest[*at]),
        };
        self.shape.order.iter().filter_map(named).collect()
    }

    /// The same as the trait's functions pass them on.
    fn passed(&self) -> TokenStream {
        let spots = spots();
        let passed = self.shape.order.iter().filter_map(|role| match role {
            Role::Old => None,
            Role::Input(which) => {
                let name = &spots[*which];
                Some(quote!(#name))
            }
            Role::Rest(at) => Some(self.shape.rest[*at].passed()),
        });
        quote!(#(#passed),*)
    }

    /// The signature, with the lifetime of slices if there are some.
    fn signature(&self) -> Signature {
        let mut signature = self.shape.signature.clone();
        if self.shape.reads_slices() {
            signature.generics.params.insert(0, LifetimeParam::new(shared()).into());
        }
        signature
    }

    /// Whether another element computes the same.
    fn alike(&self) -> TokenStream {
        let both = self.shape.rest.iter().map(|Named { ident, items, .. }| match items {
            Some(_) => quote!(&self.#ident.get(), &__other.#ident.get()),
            None => quote!(&self.#ident, &__other.#ident),
        });
        quote! {
            fn alike(&self, __other: &Self) -> bool {
                #[allow(unused_imports)]
                use ::warpweft::wavefront::{Incomparable as _, Same as _};
                true #(&& (&::warpweft::wavefront::Both(#both)).same())*
            }
        }
    }

    /// Where the parameters hold slices.
    fn tables(&self) -> TokenStream {
        let tables = self.shape.rest.iter().filter(|named| named.items.is_some());
        let idents: Vec<_> = tables.map(|named| &named.ident).collect();
        if idents.is_empty() {
            return quote!();
        }
        quote! {
            fn tables(&self) -> ::std::vec::Vec<::warpweft::element::TableBytes<'_>> {
                ::std::vec![#(self.#idents.table(::core::mem::offset_of!(Self, #idents))),*]
            }
        }
    }

    /// The struct of the parameters, with the function as written, the specialised copy and `form`.
    fn element(&self, form: TokenStream) -> TokenStream {
        let Self { body, hidden: [earlier, old], counts: [count, old_count], .. } = self;
        let Shape { cell, output, rest, .. } = self.shape;
        let plain = declared(self.plain());
        let specialised = quote! {
            #[doc(hidden)]
            #[inline(always)]
            #[allow(unused, clippy::all)]
            fn __specialised(
                #earlier: [#cell; #count],
                #old: [#cell; #old_count],
                #plain
            ) -> #output #body
            #form
        };
        element(self.function, &self.signature(), rest, "cell", specialised)
    }

    /// The function `cuda` of the trait, and what comes before its implementation.
    fn cuda(&self, signature: &Signature) -> (TokenStream, TokenStream) {
        let Shape { earlier, old, cell, output, .. } = self.shape;
        let old = old.as_ref().map(|old| quote!(#old: ::warpweft::wavefront::Old<#cell>,));
        let plain = declared(self.plain());
        let shadowed = quote!(#earlier: ::warpweft::wavefront::Earlier<#cell>, #old #plain);
        let name = &signature.ident;
        let cuda = self.translation.cuda(quote!(), name, &shadowed, &quote!(-> #output));
        of_forever(signature, self.shape.reads_slices(), cuda)
    }

    fn bounds(&self) -> Option<TokenStream> {
        let path = self.bounds.as_ref()?;
        Some(quote! {
            fn bounds(&self, __rows: u64, __columns: u64) -> ::core::option::Option<[f64; 2]> {
                ::core::option::Option::Some(#path(self, __rows, __columns))
            }
        })
    }

    /// The copy for cells of 16 bits and what of the trait calls it, if there is one.
    fn forms(&self) -> [TokenStream; 2] {
        let [earlier, old] = &self.hidden;
        match &self.relative {
            Some(relative) => {
                let [copy, method] =
                    relative.items(self.shape, [earlier, old], self.counts[1], &self.body);
                let paired = self.paired.as_ref();
                let plain = (declared(self.plain()), self.passed());
                let [copies, methods] = paired
                    .and_then(|paired| {
                        relative.parts(self.shape, earlier, paired, &self.body, plain)
                    })
                    .unwrap_or_default();
                [quote!(#copy #copies), quote!(#method #methods)]
            }
            None => [quote!(), quote!()],
        }
    }
}
