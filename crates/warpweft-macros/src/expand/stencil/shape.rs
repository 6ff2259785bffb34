//! What a stencil function's signature says.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{GenericArgument, PathArguments, ReturnType, Signature, Type};

use super::places::{Place, marker};
use crate::diag::reject;
use crate::parse::parameters::Named;
use crate::parse::signature::{Parameter, Slices, parameters_and, plain_name, returns_value};

/// The signature taken apart.
pub struct Shape {
    pub near: Ident,
    pub state: Type,
    pub dimensions: TokenStream,
    /// Whether a cell certainly holds one scalar.
    pub scalar: bool,
    /// The name of `next`, in the form with several fields.
    pub next: Option<Ident>,
    /// What the function is told about its cell, in order.
    pub places: Vec<(Place, Named)>,
    /// The parameters given at construction.
    pub rest: Vec<Named>,
}

impl Shape {
    /// The parameters after the neighbourhood and the new cell.
    pub fn values(&self) -> impl Iterator<Item = &Named> {
        self.places.iter().map(|(_, named)| named).chain(&self.rest)
    }

    /// Whether the function is told this.
    pub fn knows(&self, place: Place) -> bool {
        self.places.iter().any(|(told, _)| *told == place)
    }
}

/// Takes the signature apart, or says what it should be; the markers are taken off.
pub fn shape(signature: &mut Signature) -> syn::Result<Shape> {
    let markers = signature.inputs.iter_mut().map(marker).collect::<syn::Result<Vec<_>>>()?;
    let signature = &*signature;
    let mut parameters = parameters_and(signature, Slices::Read)?.into_iter().zip(markers);
    let (first, marked) = parameters.next().ok_or_else(|| {
        reject(
            &signature.ident,
            "a stencil function reads a neighbourhood",
            "make the first parameter one, as in `u: Near<f32, 3>`",
        )
    })?;
    if marked.is_some() {
        return Err(reject(
            &first.whole,
            "the neighbourhood has no marker",
            "mark a parameter after it",
        ));
    }
    let (state, dimensions) = near_arguments(&first)?;
    let near = plain_name(&first, "stencil")?.0;
    let scalar = is_scalar(&state, &signature.generics);
    let (places, rest) = (vec![], vec![]);
    let mut shape = Shape { near, state, dimensions, scalar, next: None, places, rest };
    parameters.try_for_each(|(parameter, marker)| shape.add(parameter, marker))?;
    check_output(signature, &shape.state, shape.next.is_some())?;
    Ok(shape)
}

impl Shape {
    /// A parameter after the neighbourhood: the new cell, what the function is told, or a value of its own.
    fn add(&mut self, parameter: Parameter, marker: Option<Place>) -> syn::Result<()> {
        let (ident, mutable) = plain_name(&parameter, "stencil")?;
        let ty = parameter.ty;
        let state = &self.state;
        match (parameter.reference, marker) {
            (Some(true), None) if self.next.is_none() && self.values().next().is_none() => {
                if quote!(#ty).to_string() != quote!(#state).to_string() {
                    return Err(reject(
                        &ty,
                        "the second parameter holds the cell's new fields",
                        format_args!("write `&mut {}`", quote!(#state)),
                    ));
                }
                self.next = Some(ident);
                Ok(())
            }
            (Some(false), None) if !mutable && matches!(ty, Type::Slice(_)) => {
                self.rest.extend(Named::table(&ident, &ty));
                Ok(())
            }
            (Some(_), _) => Err(reject(
                &parameter.whole,
                "a parameter of a stencil function is the same for every cell",
                "take the value, or a table of numbers, `&[f32]`",
            )),
            (None, Some(place)) => {
                if self.knows(place) || !self.rest.is_empty() {
                    return Err(reject(
                        &ident,
                        format_args!(
                            "`#[{}]` stands once, before the function's own parameters",
                            place.marker()
                        ),
                        "order them `now, next, #[at] at, #[step] step, ..`",
                    ));
                }
                place.check(&ty)?;
                self.places.push((place, Named::value(ident, mutable, ty)));
                Ok(())
            }
            (None, None) => {
                self.rest.push(Named::value(ident, mutable, ty));
                Ok(())
            }
        }
    }
}

/// The function returns what a cell holds, or assigns it.
fn check_output(signature: &syn::Signature, state: &Type, assigns: bool) -> syn::Result<()> {
    match (assigns, returns_value(&signature.output)) {
        (false, true) | (true, false) => {}
        (false, false) => {
            return Err(reject(
                &signature.ident,
                "a stencil function computes the cell's new value",
                "return it, or take `next: &mut State` as the second parameter and assign its fields",
            ));
        }
        (true, true) => {
            return Err(reject(
                &signature.output,
                "a stencil function that assigns `next` returns nothing",
                "drop the return type, or the parameter",
            ));
        }
    }
    if let (false, ReturnType::Type(_, ty)) = (assigns, &signature.output)
        && quote!(#ty).to_string() != quote!(#state).to_string()
    {
        return Err(reject(
            ty,
            "a stencil function returns what a cell holds",
            format_args!("return `{}`", quote!(#state)),
        ));
    }
    Ok(())
}

/// Whether `state` is a scalar by its name, or a type parameter, which stands for one.
fn is_scalar(state: &Type, generics: &syn::Generics) -> bool {
    const SCALARS: [&str; 15] = [
        "i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize", "f32", "f64",
        "bool", "f16", "bf16",
    ];
    let Type::Path(path) = state else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    SCALARS.iter().any(|scalar| last.ident == scalar)
        || generics.type_params().any(|parameter| path.path.is_ident(&parameter.ident))
}

/// State and dimensions of `Near<S, D>`.
fn near_arguments(first: &Parameter) -> syn::Result<(Type, TokenStream)> {
    let refused = || {
        reject(
            &first.whole,
            "the first parameter of a stencil function is the neighbourhood of a cell",
            "write `Near<f32, 3>`: what a cell holds, and the dimensions of the volume",
        )
    };
    let (Type::Path(path), None) = (&first.ty, first.reference) else { return Err(refused()) };
    let last = path.path.segments.last().filter(|last| last.ident == "Near").ok_or_else(refused)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Err(refused()) };
    let mut types = arguments.args.iter().filter(|a| !matches!(a, GenericArgument::Lifetime(_)));
    match (types.next(), types.next(), types.next()) {
        (Some(GenericArgument::Type(state)), Some(dimensions), None) => {
            Ok((state.clone(), quote!(#dimensions)))
        }
        _ => Err(refused()),
    }
}
