//! `#[wavefront]`: an element function of earlier cells, as `warpweft::wavefront::WavefrontElement`.

mod arguments;
mod inputs;
mod item;
mod lookups;
mod paired;
mod path;
mod relative;
mod shape;
mod south;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::quote;
use syn::visit::Visit;
use syn::{ItemFn, parse_quote};

use self::arguments::{Arguments, arguments};
use self::inputs::{WavefrontInputs, spelled_out};
use self::item::Item;
use self::lookups::lookups;
use self::paired::Paired;
use self::path::path;
use self::relative::Relative;
use self::shape::{Shape, shape};
use self::south::south;
use super::translation::Translation;
use crate::check::attributes;
use crate::check::{Binding, Lower};
use crate::diag::reject;
use crate::emit::{Cuda, Returns, mark};
use crate::parse::parameters::{Members, Named, members};
use crate::parse::reads::{number, replace};
use crate::parse::signature::no_lifetimes;
use crate::parse::unroll::unroll;

pub fn expand(tokens: TokenStream, function: ItemFn) -> syn::Result<TokenStream> {
    let Arguments { bounds, step, sums, choice, path: extreme } = arguments(tokens)?;
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
    let spelled = spelled_out(&function.block, &shape)?;
    let mut body = unroll(&spelled, &names)?;
    let south = south(&body, &shape.earlier, &shape.cell);
    number(&mut body, &names);

    let mut inputs = WavefrontInputs::new(&shape);
    let mut marked = body.clone();
    let lookups = lookups(&mut marked, &shape);
    let (translation, paired) = translated(&function, &shape, &marked, &mut inputs)?;
    let [vectors, old_vectors] = &inputs.vectors;
    if vectors.is_empty() && !choice {
        return Err(alone(&shape));
    }
    let relative = step.map(|step| Relative::of(step, &shape, vectors)).transpose()?;
    let hidden = ["__earlier", "__old"].map(|name| Ident::new(name, Span::mixed_site()));
    let specialised = replace(body, &names, &|number, _| {
        let (kind, at) = inputs.reads.get(&number)?;
        let (cells, at) = (&hidden[*kind], Literal::usize_unsuffixed(*at));
        Some(parse_quote!(#cells[#at]))
    });
    let item = Item {
        function: &function,
        shape: &shape,
        translation,
        body: quote!(#specialised),
        hidden,
        counts: [vectors.len(), old_vectors.len()],
        vectors: [vectors, old_vectors].map(|vectors| list(vectors)),
        south,
        sums,
        bounds,
        relative,
        paired,
        lookups,
    };
    if choice {
        return Ok(item.choice());
    }
    let path = extreme.map(|extreme| path(&function, &shape, &spelled, vectors, extreme));
    let (path, item) = (path.transpose()?, item.wavefront());
    Ok(quote!(#item #path))
}

/// A function without earlier cells.
fn alone(shape: &Shape) -> syn::Error {
    reject(
        &shape.signature.ident,
        "this function depends on no earlier cell",
        format_args!(
            "read at least one, as in `{}.w`; a function of old cells alone is a stencil",
            shape.earlier
        ),
    )
}

fn list(vectors: &[[i128; 2]]) -> TokenStream {
    let vectors = vectors.iter().map(|vector| {
        let vector = vector.map(Literal::i128_unsuffixed);
        quote!([#(#vector),*])
    });
    quote!(&[#(#vectors),*])
}

/// The function as C++ and the shadow that types it; its two parts, if it has them.
fn translated(
    function: &ItemFn,
    shape: &Shape,
    body: &syn::Block,
    inputs: &mut WavefrontInputs<'_>,
) -> syn::Result<(Translation, Option<Paired>)> {
    let signature = &function.sig;
    let mut lower = Lower::new(&signature.ident, &signature.generics, inputs);
    let type_of = |ty: &TokenStream| quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit));
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
    let cell = (!relative::is_number(&shape.cell)).then_some(&output[..]);
    let parts = || paired::paired(&block, [&given[0], &given[1]], cell);
    let paired = copies.is_empty().then(parts).flatten();
    block.statements.splice(0..0, copies);
    let text = format!(
        "struct {name} {{
{data}  using Row = {row};
  using Column = {column};
  WW_FN Row row(Row a) const {{ return a; }}
  WW_FN Column column(Column b) const {{ return b; }}
  template<class Earlier> WW_FN {output} operator()(const Earlier& h, Row {}, Column {}) const {{
{input}{}  }}
{}}};
{checks}",
        given[0],
        given[1],
        Cuda::body(&block, Returns::Value, 2),
        paired.as_ref().map_or("", |paired| &paired.text),
    );
    Ok((Translation::new(lower, shadow, &text), paired))
}
