//! `#[wavefront]`: an element function of earlier cells, as `warpweft::wavefront::WavefrontElement`.

mod inputs;
mod relative;
mod shape;
mod south;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, Path, Token, parse_quote};

use self::inputs::{WavefrontInputs, spelled_out};
use self::relative::Relative;
use self::shape::{Role, Shape, shape};
use self::south::south;
use crate::check::attributes;
use crate::check::{Binding, Lower};
use crate::diag::reject;
use crate::emit::{Cuda, Returns, clean, mark, weave};
use crate::parse::parameters::{Members, Named, element, members};
use crate::parse::reads::{number, replace};
use crate::parse::signature::no_lifetimes;
use crate::parse::unroll::unroll;

pub fn expand(tokens: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let Arguments { bounds, step, sums, choice } = arguments(tokens)?;
    let shape = shape(&function, choice)?;
    if let Some(old) = shape.old.as_ref().filter(|_| choice) {
        let instead = "take the finished cell as `#[cell] cell: C`";
        return Err(reject(old, "a choice is told from finished cells, none of them old", instead));
    }
    let signature = &shape.signature;
    no_lifetimes(&signature.generics)?;
    attributes::check(|found| {
        found.visit_signature(signature);
        found.visit_block(&function.block);
    })?;
    let names: Vec<_> = std::iter::once(&shape.earlier).chain(&shape.old).collect();
    let body = spelled_out(&function.block, &shape)?;
    let mut body = unroll(&body, &names)?;
    let south = south(&body, &shape.earlier, &shape.cell);
    number(&mut body, &names);

    let mut inputs = WavefrontInputs::new(&shape);
    let translation = Translation::of(&function, &shape, &body, &mut inputs)?;
    let [vectors, old_vectors] = &inputs.vectors;
    if vectors.is_empty() && !choice {
        return Err(reject(
            &signature.ident,
            "this function depends on no earlier cell",
            format_args!(
                "read at least one, as in `{}.w`; a function of old cells alone is a stencil",
                shape.earlier
            ),
        ));
    }
    let relative = step.map(|step| Relative::of(step, &shape, vectors)).transpose()?;
    let hidden = ["__earlier", "__old"].map(|name| Ident::new(name, Span::mixed_site()));
    let specialised = replace(body, &names, &|number, _| {
        let (kind, at) = inputs.reads.get(&number)?;
        let (cells, at) = (&hidden[*kind], Literal::usize_unsuffixed(*at));
        Some(parse_quote!(#cells[#at]))
    });
    Ok(item(
        &function,
        &shape,
        &translation,
        Item {
            body: quote!(#specialised),
            hidden,
            counts: [vectors.len(), old_vectors.len()],
            vectors: [vectors, old_vectors].map(|vectors| list(vectors)),
            south,
            sums,
            bounds,
            relative,
            choice,
        },
    ))
}

/// What stands in the attribute.
#[derive(Default)]
struct Arguments {
    bounds: Option<Path>,
    step: Option<Path>,
    sums: bool,
    choice: bool,
}

/// `bounds = path`, `step = path` and `sums`, each at most once; or `choice` alone.
fn arguments(tokens: TokenStream) -> syn::Result<Arguments> {
    let refused = reject(
        &tokens,
        "`#[wavefront]` takes no such arguments",
        "drop them, or write `bounds = path` with a function of the element, rows and columns, \
         `step = path` with one of the element and a border cell, `sums`, or `choice` alone",
    );
    let mut found = Arguments::default();
    let parse = |input: syn::parse::ParseStream| {
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if name == "bounds" && found.bounds.is_none() {
                input.parse::<Token![=]>()?;
                found.bounds = Some(input.parse()?);
            } else if name == "step" && found.step.is_none() {
                input.parse::<Token![=]>()?;
                found.step = Some(input.parse()?);
            } else if name == "sums" && !found.sums {
                found.sums = true;
            } else if name == "choice" && !found.choice {
                found.choice = true;
            } else {
                return Err(input.error("no such argument"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        match found {
            Arguments { bounds: None, step: None, sums: false, choice: true }
            | Arguments { choice: false, .. } => Ok(()),
            _ => Err(input.error("`choice` stands alone")),
        }
    };
    syn::parse::Parser::parse2(parse, tokens).map_err(|_| refused)?;
    Ok(found)
}

fn list(vectors: &[[i128; 2]]) -> TokenStream {
    let vectors = vectors.iter().map(|vector| {
        let vector = vector.map(Literal::i128_unsuffixed);
        quote!([#(#vector),*])
    });
    quote!(&[#(#vectors),*])
}

/// The function as C++, and the shadow that types it.
struct Translation {
    slots: Vec<Ident>,
    shadow: TokenStream,
    text: TokenStream,
}

impl Translation {
    fn of(
        function: &ItemFn,
        shape: &Shape,
        body: &syn::Block,
        inputs: &mut WavefrontInputs<'_>,
    ) -> syn::Result<Self> {
        let signature = &function.sig;
        let mut lower = Lower::new(&signature.ident, &signature.generics, inputs);
        let type_of =
            |ty: &TokenStream| quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit));
        let name = mark(lower.hole(quote!(__name.to_string())));
        let output = &shape.output;
        let output = mark(lower.hole(type_of(&quote!(#output))));
        let [row, column] = [0, 1].map(|which| mark(lower.hole(type_of(&shape.input(which)))));
        let Members { data, checks, copies } = members(&mut lower, &name, &shape.rest);
        let given: Vec<_> = shape
            .inputs
            .iter()
            .map(|input| match input {
                Some(Named { ident, .. }) => lower.declare(ident, Binding::variable),
                None => String::new(),
            })
            .collect();
        let input = match &given[2][..] {
            "" => String::new(),
            x => format!("    auto {x} = h.input();\n"),
        };
        let (shadow, mut block) = lower.body(body, true)?;
        block.statements.splice(0..0, copies);
        let text = format!(
            "struct {name} {{
{data}  using Row = {row};
  using Column = {column};
  WW_FN Row row(Row a) const {{ return a; }}
  WW_FN Column column(Column b) const {{ return b; }}
  template<class Earlier> WW_FN {output} operator()(const Earlier& h, Row {}, Column {}) const {{
{input}{}  }}
}};
{checks}",
            given[0],
            given[1],
            Cuda::body(&block, Returns::Value, 2),
        );
        let text = weave(&text, &lower.holes);
        Ok(Self { slots: std::mem::take(&mut lower.slots), shadow, text })
    }
}

/// What the specialised copy is made of.
struct Item {
    body: TokenStream,
    hidden: [Ident; 2],
    counts: [usize; 2],
    vectors: [TokenStream; 2],
    south: TokenStream,
    sums: bool,
    bounds: Option<Path>,
    relative: Option<Relative>,
    choice: bool,
}

/// All that the attribute leaves in the function's place.
fn item(function: &ItemFn, shape: &Shape, translation: &Translation, item: Item) -> TokenStream {
    let Item {
        body,
        hidden: [earlier, old],
        counts: [count, old_count],
        vectors,
        south,
        sums,
        bounds,
        relative,
        choice,
    } = item;
    let [dependences, old_dependences] = vectors;
    let Translation { slots, shadow, text } = translation;
    let Shape { signature, cell, output, .. } = shape;
    let name = &signature.ident;
    let clean_name = clean(&name.to_string());
    let name_text = name.to_string();
    let (generics, arguments, clause) = signature.generics.split_for_impl();
    let [row, column, input] = [0, 1, 2].map(|which| shape.input(which));
    // The parameters after the cells, as declared and as passed.
    let spot =
        |n: usize| ["__a", "__b", "__x"].map(|n| Ident::new(n, Span::mixed_site()))[n].clone();
    let declared = |Named { ident, mutable, ty }: &Named| match mutable {
        true => quote!(mut #ident: #ty),
        false => quote!(#ident: #ty),
    };
    let plain = shape.order.iter().filter_map(|role| match role {
        Role::Old => None,
        Role::Input(which) => shape.inputs[*which].as_ref().map(declared),
        Role::Rest(at) => Some(declared(&shape.rest[*at])),
    });
    let plain: Vec<_> = plain.collect();
    let passed = shape.order.iter().filter_map(|role| match role {
        Role::Old => None,
        Role::Input(which) => {
            let name = spot(*which);
            Some(quote!(#name))
        }
        Role::Rest(at) => {
            let ident = &shape.rest[*at].ident;
            Some(quote!(self.#ident))
        }
    });
    let [a, b, x] = [0, 1, 2].map(spot);
    let h = &shape.earlier;
    let old_parameter =
        shape.old.as_ref().map(|old| quote!(#old: ::warpweft::wavefront::Old<#cell>,));
    let bounds = bounds.map(|path| {
        quote! {
            fn bounds(&self, __rows: u64, __columns: u64) -> ::core::option::Option<[f64; 2]> {
                ::core::option::Option::Some(#path(self, __rows, __columns))
            }
        }
    });
    let specialised = quote! {
        #[doc(hidden)]
        #[inline(always)]
        #[allow(unused, clippy::all)]
        fn __specialised(
            #earlier: [#cell; #count],
            #old: [#cell; #old_count],
            #(#plain),*
        ) -> #output #body
    };
    let [form, relative] = match relative {
        Some(relative) => relative.items(shape, [&earlier, &old], old_count, &body),
        None => [quote!(), quote!()],
    };
    let element = element(function, signature, &shape.rest, "cell", quote!(#specialised #form));
    let cuda = quote! {
        #[allow(warnings, clippy::all)]
        fn cuda(__unit: &mut ::warpweft::element::Unit) -> ::std::string::String {
            #(let #slots = ::warpweft::element::Slot::new();)*
            let _shadow = |
                #h: ::warpweft::wavefront::Earlier<#cell>,
                #old_parameter
                #(#plain),*
            | -> #output { #shadow };
            __unit.define(&::warpweft::element::key::<Self>(), #clean_name, |__unit, __name| #text)
        }
    };
    if choice {
        return quote! {
            #element

            // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same
            // layout; the translation has values only, no addresses.
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
                    Self::__specialised(#earlier, [], #(#passed),*)
                }
                #cuda
            }
        };
    }
    quote! {
        #element

        // SAFETY: the struct is `repr(C)` with the C++ struct's members, which asserts the same
        // layout; the translation has values only, no addresses.
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

            #[inline(always)]
            fn cell(
                &self,
                #earlier: [#cell; #count],
                #old: [#cell; #old_count],
                #a: #row,
                #b: #column,
                #x: #input,
            ) -> #cell {
                Self::__specialised(#earlier, #old, #(#passed),*)
            }
            #bounds
            #relative
            #cuda
        }
    }
}
