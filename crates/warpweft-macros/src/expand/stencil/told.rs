//! What an element function is told of its cell, in C++ and in Rust.

use proc_macro2::TokenStream;
use quote::quote;

use super::places::Place;
use super::shape::Shape;
use crate::check::{Binding, Lower};
use crate::emit::mark;

/// The C++ that gives these parameters their values, before the body, which finds them under their names.
pub fn declarations(lower: &mut Lower<'_>, shape: &Shape) -> String {
    let mut text = String::new();
    for (place, named) in &shape.places {
        let (ty, dimensions) = (&named.ty, &shape.dimensions);
        let of = lower.hole(quote!(<#ty as ::warpweft::element::DeviceType>::cuda(__unit)));
        let name = lower.declare(&named.ident, Binding::variable);
        let value = match place {
            Place::At => {
                let axes = lower.hole(quote!({
                    const AXES: ::core::primitive::usize = #dimensions;
                    AXES.to_string()
                }));
                format!("now.template index<{}>()", mark(axes))
            }
            Place::Step => "now.step()".into(),
        };
        let constant = if named.mutable { "" } else { "const " };
        text.push_str(&format!("    {constant}{} {name} = {value};\n", mark(of)));
    }
    text
}

/// The arguments of a call that are what the function is told, each with a comma.
pub fn arguments(shape: &Shape) -> TokenStream {
    shape.places.iter().map(|(place, _)| place.argument()).collect()
}

/// `Knows` of the function.
pub fn knows(shape: &Shape) -> TokenStream {
    let [at, step] = [Place::At, Place::Step].map(|place| shape.knows(place));
    quote!(::warpweft::stencil::Knows { at: #at, step: #step })
}
